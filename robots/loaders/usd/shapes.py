"""Reader of the shapes of USD: primitives and meshes, their colours and friction."""

from typing import Any

import numpy as np
from jaxtyping import Float

from ...errors import ConfigError
from ...geometry.shapes import (
    Box,
    Capsule,
    Cylinder,
    Ellipsoid,
    Mesh,
    MeshMode,
    Plane,
    Shape,
    Sphere,
)
from ...kinematics.transforms import IDENTITY, make_pose, matrix_to_quat, pose_multiply
from ...validation import is_bounded
from ...world.frame import Geometry
from .pxr_extra import Pxr
from .shape_writer import RADII
from .transforms import rotation_and_scale

SHAPE_NAMES = ("Cube", "Sphere", "Cylinder", "Capsule", "Plane", "Mesh")
"""Types of prims that are read; all others with a surface are left out."""
DECOMPOSED = "convexDecomposition"
"""Approximation of a mesh by convex parts; by all others it stands for its hull."""
EVEN_TOLERANCE = 1e-6
"""Relative difference of scales that count as equal [1]; a larger one lets ellipsoids
pass as balls."""
TURNS = {
    "X": [[0.0, 0, 1], [1, 0, 0], [0, 1, 0]],
    "Y": [[0.0, 1, 0], [0, 0, 1], [1, 0, 0]],
    "Z": np.eye(3),
}
"""Rotations that turn z to the axis of a round shape."""


def read_geometry(
    pxr: Pxr, prim: Any, transform: Float[np.ndarray, "3 4"]
) -> Geometry | str:
    """Return a shape in its frame, or why it cannot be used.

    Args:
        pxr: The modules of OpenUSD.
        prim: A prim with a surface.
        transform: Rotation with scale, and position, of the prim in the frame.
    """
    kind = str(prim.GetTypeName())
    if kind not in SHAPE_NAMES:
        return f"it is a {kind}, expected one of {', '.join(SHAPE_NAMES)}"
    try:
        posed = (
            _read_mesh(pxr, prim, transform)
            if kind == "Mesh" and prim.GetCustomDataByKey(RADII) is None
            else _read_primitive(pxr, prim, kind, transform)
        )
    except ConfigError as error:
        return str(error).rstrip(".")
    if isinstance(posed, str):
        return posed
    shape, pose = posed
    image = pxr.UsdGeom.Imageable(prim)
    purpose = str(image.ComputePurpose())
    is_drawn = purpose in ("default", "render")
    is_drawn &= str(image.ComputeVisibility()) != "invisible"
    collision = prim.HasAPI(pxr.UsdPhysics.CollisionAPI)
    if collision:
        enabled = pxr.UsdPhysics.CollisionAPI(prim).GetCollisionEnabledAttr().Get()
        collision = enabled is not False
    color = _read_color(pxr, prim)
    return Geometry(shape, pose, bool(collision), bool(is_drawn), color)


def read_friction(pxr: Pxr, prim: Any) -> float | None:
    """Return the coefficient of friction of a prim's physical material, if any."""
    material, _ = pxr.UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial("physics")
    physical = material.GetPrim() if material else None
    if physical is None or not physical.HasAPI(pxr.UsdPhysics.MaterialAPI):
        return None
    friction = pxr.UsdPhysics.MaterialAPI(physical).GetStaticFrictionAttr().Get()
    is_usable = friction is not None and 0 <= friction < np.inf
    return float(friction) if is_usable else None


def _read_primitive(
    pxr: Pxr, prim: Any, kind: str, transform: np.ndarray
) -> tuple[Shape, np.ndarray] | str:
    parts = rotation_and_scale(transform[:, :3])
    if parts is None:
        return "its transform is flat or has shear"
    R, scale = parts
    pose = make_pose(transform[:, 3], np.asarray(matrix_to_quat(R)))
    if kind == "Mesh":
        return Ellipsoid(np.array(prim.GetCustomDataByKey(RADII), float) * scale), pose
    geometry = getattr(pxr.UsdGeom, kind)(prim)
    if kind == "Cube":
        return Box(float(geometry.GetSizeAttr().Get()) * scale), pose
    is_even = np.ptp(scale) <= EVEN_TOLERANCE * scale.max()
    if kind == "Sphere":
        radii = float(geometry.GetRadiusAttr().Get()) * scale
        return (Sphere(float(radii[0])) if is_even else Ellipsoid(radii)), pose
    axis = str(geometry.GetAxisAttr().Get())
    turn = IDENTITY.copy()
    turn[3:] = matrix_to_quat(np.array(TURNS[axis]))
    pose = np.asarray(pose_multiply(pose, turn))
    if kind == "Plane":
        return Plane(), pose
    along = float(scale["XYZ".index(axis)])
    across = np.delete(scale, "XYZ".index(axis))
    if np.ptp(across) > EVEN_TOLERANCE * scale.max() or (
        kind == "Capsule" and not is_even
    ):
        return "it is round, but scaled unevenly"
    length = along * float(geometry.GetHeightAttr().Get())
    radius = float(across[0]) * float(geometry.GetRadiusAttr().Get())
    is_capsule = kind == "Capsule"
    return (Capsule if is_capsule else Cylinder)(length, radius), pose


def _read_mesh(
    pxr: Pxr, prim: Any, transform: np.ndarray
) -> tuple[Shape, np.ndarray] | str:
    """Return a mesh, whose scale and shear are in its points."""
    import trimesh

    mesh = pxr.UsdGeom.Mesh(prim)
    points = np.array(mesh.GetPointsAttr().Get() or [], float).reshape(-1, 3)
    counts = np.array(mesh.GetFaceVertexCountsAttr().Get() or [], int)
    indices = np.array(mesh.GetFaceVertexIndicesAttr().Get() or [], int)
    is_sound = len(points) and counts.sum() == len(indices) and (counts >= 3).all()
    if not is_sound or not len(counts) or not is_bounded(points):
        return "its faces and points do not fit, or there are none"
    if indices.min() < 0 or indices.max() >= len(points):
        return "a face has a point that does not exist"
    starts = np.cumsum(counts) - counts
    faces = [
        [indices[start], indices[start + k], indices[start + k + 1]]
        for start, count in zip(starts, counts, strict=True)
        for k in range(1, count - 1)
    ]
    if str(mesh.GetOrientationAttr().Get()) == "leftHanded":
        faces = [face[::-1] for face in faces]
    placed = points @ transform[:, :3].T
    triangles = trimesh.Trimesh(placed, np.array(faces), process=False)
    mode: MeshMode = "convex"
    if prim.HasAPI(pxr.UsdPhysics.MeshCollisionAPI):
        api = pxr.UsdPhysics.MeshCollisionAPI(prim)
        if str(api.GetApproximationAttr().Get()) == DECOMPOSED:
            mode = "decompose"
    pose = IDENTITY.copy()
    pose[:3] = transform[:, 3]
    return Mesh(triangles, mode), pose


def _read_color(pxr: Pxr, prim: Any) -> tuple[float, ...] | None:
    """Return RGBA of the first display colour, if any."""
    geometry = pxr.UsdGeom.Gprim(prim)
    colors = geometry.GetDisplayColorAttr().Get()
    if not colors:
        return None
    opacities = geometry.GetDisplayOpacityAttr().Get()
    opacity = float(opacities[0]) if opacities else 1.0
    rgba = np.clip([*map(float, colors[0]), opacity], 0.0, 1.0)
    return tuple(rgba.tolist()) if np.isfinite(rgba).all() else None
