"""Shapes as nodes of a viser scene."""

from typing import Any

import numpy as np

from ...geometry import shapes
from ...world.frame import Geometry
from ..drawing import DEFAULT_COLOR

GROUND_SIZE = 4.0
"""Edge of the square that stands for a half-space [m]."""
MIN_POINT_SIZE = 0.004
"""Points without a radius are drawn this wide [m]."""


def draw_geometry(scene: Any, node: str, geometry: Geometry) -> None:
    """Add one shape, posed in its frame; roundings of boxes and cylinders are left out.

    Raises:
        ConfigError: for a mesh file that cannot be read.
    """
    shape = geometry.shape
    place = dict(position=geometry.pose[:3], wxyz=geometry.pose[3:])
    color, opacity = split_color(geometry.color or DEFAULT_COLOR)
    style: dict[str, Any] = dict(color=color, opacity=opacity, **place)
    match shape:
        case shapes.Marker(size):
            scene.add_frame(node, axes_length=size, axes_radius=size / 25, **place)
        case shapes.Sphere(radius):
            scene.add_icosphere(node, radius=radius, **style)
        case shapes.Ellipsoid(radii):
            scale = tuple(radii.tolist())
            scene.add_icosphere(node, radius=1.0, scale=scale, **style)
        case shapes.Box(size):
            scene.add_box(node, dimensions=tuple(size.tolist()), **style)
        case shapes.Cylinder(length, radius):
            scene.add_cylinder(node, radius=radius, height=length, **style)
        case shapes.Plane():
            size = dict(width=GROUND_SIZE, height=GROUND_SIZE)
            scene.add_grid(node, plane_color=color, plane_opacity=0.5, **size, **place)
        case shapes.PointCloud(points, radius):
            dots = dict(
                point_size=max(2 * radius, MIN_POINT_SIZE), point_shape="circle"
            )
            dots |= dict(precision="float32", **place)
            scene.add_point_cloud(node, points=points, colors=color, **dots)
        case shapes.Mesh() if geometry.color is None and _has_colors(shape.mesh):
            scene.add_mesh_trimesh(node, shape.mesh, **place)
        case _:
            vertices, faces = _triangles(shape)
            scene.add_mesh_simple(node, vertices, faces, flat_shading=True, **style)


def split_color(rgba: Any) -> tuple[tuple[int, ...], float | None]:
    """Red, green and blue from 0 to 255, and the opacity; None: wholly opaque."""
    numbers = np.clip(rgba, 0, 1)
    opaque = len(numbers) < 4 or numbers[3] == 1
    rgb = tuple(int(round(255 * c)) for c in numbers[:3])
    return rgb, None if opaque else float(numbers[3])


def _has_colors(mesh: Any) -> bool:
    return mesh.visual.kind is not None


def _triangles(shape: Any) -> tuple[np.ndarray, np.ndarray]:
    import trimesh

    match shape:
        case shapes.Capsule(length, radius):
            body = trimesh.creation.capsule(height=length, radius=radius)
            body.apply_translation(-body.bounds.mean(0))
        case shapes.Convex(vertices):
            body = trimesh.convex.convex_hull(vertices)
        case _:
            body = shape.mesh
    return np.asarray(body.vertices, np.float32), np.asarray(body.faces, np.uint32)
