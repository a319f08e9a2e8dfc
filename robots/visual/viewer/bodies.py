"""Shapes as nodes of a viser scene."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ...geometry import shapes
from ...typing import RGBA
from ...world.frame import Geometry

if TYPE_CHECKING:
    from viser import SceneApi

GROUND_SIZE = 20.0
"""Edge of the square that represents a half-space [m]; nothing is drawn beyond it."""
MIN_POINT_SIZE = 0.004
"""Least diameter at which points are drawn [m], so that those without a radius are
seen."""


def draw_geometry(
    scene: "SceneApi", node: str, geometry: Geometry, default: RGBA
) -> Any:
    """Add one shape, posed in its frame, and return its handle; edges are sharp.

    Args:
        scene: The scene.
        node: Name of the new node.
        geometry: The shape.
        default: Colour of shapes that have none.

    Raises:
        ConfigError: For a mesh file that cannot be read.
    """
    shape = geometry.shape
    placement: dict[str, Any] = dict(position=geometry.pose[:3], wxyz=geometry.pose[3:])
    color, opacity = split_color(geometry.color or default)
    style: dict[str, Any] = dict(color=color, opacity=opacity, **placement)
    match shape:
        case shapes.Marker(size):
            return scene.add_frame(
                node, axes_length=size, axes_radius=size / 25, **placement
            )
        case shapes.Sphere(radius):
            return scene.add_icosphere(node, radius=radius, **style)
        case shapes.Ellipsoid(radii):
            scale = tuple(radii.tolist())
            return scene.add_icosphere(node, radius=1.0, scale=scale, **style)
        case shapes.Box(size):
            return scene.add_box(node, dimensions=tuple(size.tolist()), **style)
        case shapes.Cylinder(length, radius):
            return scene.add_cylinder(node, radius=radius, height=length, **style)
        case shapes.Plane():
            extent = dict(width=GROUND_SIZE, height=GROUND_SIZE, **placement)
            # The grid of the view has the lines that give the scale.
            lines: dict[str, Any] = dict(cell_thickness=0.0, section_thickness=0.0)
            return scene.add_grid(
                node, plane_color=color, plane_opacity=0.25, **lines, **extent
            )
        case shapes.PointCloud(points, radius):
            dots = dict(
                point_size=max(2 * radius, MIN_POINT_SIZE),
                point_shape="circle",
                precision="float32",
                **placement,
            )
            return scene.add_point_cloud(node, points=points, colors=color, **dots)
        case shapes.Mesh() if geometry.color is None and _has_colors(shape.mesh):
            return scene.add_mesh_trimesh(node, shape.mesh, **placement)
        case _:
            vertices, faces = _triangles(shape)
            return scene.add_mesh_simple(
                node, vertices, faces, flat_shading=True, **style
            )


def split_color(rgba: RGBA) -> tuple[tuple[int, int, int], float | None]:
    """Return red, green and blue from 0 to 255, and the opacity; None: opaque."""
    numbers = np.clip(rgba, 0, 1)
    is_opaque = len(numbers) < 4 or numbers[3] == 1
    r, g, b = (int(round(255 * c)) for c in numbers[:3])
    return (r, g, b), None if is_opaque else float(numbers[3])


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
