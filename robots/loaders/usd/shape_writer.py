"""Writer of shapes as prims of USD: primitives, meshes, colours and colliders."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...geometry.shapes import (
    Box,
    Capsule,
    Convex,
    Cylinder,
    Ellipsoid,
    Mesh,
    Sphere,
)
from ..mesh_writing import shape_mesh
from ..written_shapes import WrittenShape
from .pxr_extra import Pxr

RADII = "posewise:radii"
"""Key of the custom data of a mesh that stands for an ellipsoid."""
PLANE_WIDTH = 100.0
"""Width of the rectangle that a plane is drawn as [m]; larger ones show more of it."""


def add_shape(
    pxr: Pxr,
    stage: Any,
    base: str,
    shape: WrittenShape,
    set_pose: Callable[..., None],
) -> Any:
    """Add a shape below the prim of its frame, and return its prim.

    Args:
        pxr: The modules of OpenUSD.
        stage: The stage.
        base: Path of the frame's prim.
        shape: The shape.
        set_pose: Sets the pose and the scale of a prim.
    """
    number = shape.name.rpartition("_")[2]
    path = f"{base}/shape_{number}"
    geometry, scale = _define(pxr, stage, path, shape)
    set_pose(geometry, shape.pose, scale)
    prim = geometry.GetPrim()
    if shape.color is not None:
        rgba = [*map(float, shape.color), 1.0][:4]
        geometry.CreateDisplayColorAttr([pxr.Gf.Vec3f(*rgba[:3])])
        geometry.CreateDisplayOpacityAttr([rgba[3]])
    if not shape.visual:
        geometry.CreatePurposeAttr(pxr.UsdGeom.Tokens.guide)
    if shape.collision:
        pxr.UsdPhysics.CollisionAPI.Apply(prim)
        if isinstance(shape.shape, Mesh | Convex | Ellipsoid):
            api = pxr.UsdPhysics.MeshCollisionAPI.Apply(prim)
            api.CreateApproximationAttr(pxr.UsdPhysics.Tokens.convexHull)
    return prim


def _define(
    pxr: Pxr, stage: Any, path: str, shape: WrittenShape
) -> tuple[Any, np.ndarray | None]:
    """Define the prim of a shape; return it and its scale."""
    geometries = pxr.UsdGeom
    match shape.shape:
        case Box(size):
            cube = geometries.Cube.Define(stage, path)
            cube.CreateSizeAttr(1.0)
            return cube, size
        case Sphere(radius):
            ball = geometries.Sphere.Define(stage, path)
            ball.CreateRadiusAttr(radius)
            return ball, None
        case Ellipsoid(radii) as ellipsoid if shape.collision:
            # Colliders of UsdPhysics have even scales.
            hull = _define_mesh(pxr, stage, path, shape_mesh(ellipsoid))
            numbers = pxr.Vt.DoubleArray(list(map(float, radii)))
            hull.GetPrim().SetCustomDataByKey(RADII, numbers)
            return hull, None
        case Ellipsoid(radii):
            ball = geometries.Sphere.Define(stage, path)
            ball.CreateRadiusAttr(1.0)
            return ball, radii
        case Capsule(length, radius) | Cylinder(length, radius):
            is_capsule = isinstance(shape.shape, Capsule)
            kind = geometries.Capsule if is_capsule else geometries.Cylinder
            round_body = kind.Define(stage, path)
            round_body.CreateAxisAttr(geometries.Tokens.z)
            round_body.CreateHeightAttr(length)
            round_body.CreateRadiusAttr(radius)
            return round_body, None
        case Mesh() | Convex() as triangles:
            return _define_mesh(pxr, stage, path, shape_mesh(triangles)), None
    plane = geometries.Plane.Define(stage, path)
    plane.CreateAxisAttr(geometries.Tokens.z)
    plane.CreateWidthAttr(PLANE_WIDTH)
    plane.CreateLengthAttr(PLANE_WIDTH)
    return plane, None


def _define_mesh(pxr: Pxr, stage: Any, path: str, mesh: Any) -> Any:
    prim = pxr.UsdGeom.Mesh.Define(stage, path)
    points = np.asarray(mesh.vertices, np.float32)
    prim.CreatePointsAttr([pxr.Gf.Vec3f(*map(float, p)) for p in points])
    prim.CreateFaceVertexCountsAttr([3] * len(mesh.faces))
    prim.CreateFaceVertexIndicesAttr(np.asarray(mesh.faces, int).ravel().tolist())
    prim.CreateSubdivisionSchemeAttr(pxr.UsdGeom.Tokens.none)
    prim.CreateExtentAttr([
        pxr.Gf.Vec3f(*map(float, corner)) for corner in (points.min(0), points.max(0))
    ])  # fmt: skip
    return prim
