"""The shapes of a model as simulators know them, for the writers of their formats.

What is not convex collides as its convex parts, those that posewise takes it for; what
is drawn keeps its triangles.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from ..geometry.convex_parts import convex_parts
from ..geometry.hulls import hull_vertices
from ..geometry.shapes import (
    Box,
    Convex,
    Cylinder,
    Marker,
    Mesh,
    PointCloud,
    Shape,
)
from ..world.frame import ContactMask, Frame, Geometry


@dataclass(frozen=True, eq=False)
class WrittenShape:
    """A shape of a link."""

    name: str
    """The frame, and the number of the shape."""
    shape: Shape
    """A primitive without rounded edges, a convex hull, or a mesh."""
    pose: Float[np.ndarray, "7"]
    """Pose in the frame."""
    collision: bool
    """Whether it collides; then it is convex."""
    visual: bool
    """Whether it is drawn."""
    color: tuple[float, ...] | None
    """RGBA, 0 to 1."""
    mask: ContactMask | None
    """Shapes of its model that it may touch; None: all that its frame may."""


def written_shapes(frame: Frame) -> list[WrittenShape]:
    """Return the shapes of a frame, those that collide first.

    Markers and point clouds are left out; rounded edges become sharp.

    Raises:
        ConfigError: For a mesh that has no convex parts.
    """
    shapes: list[WrittenShape] = []
    for geometry in frame.geometries:
        for part in _parts(geometry):
            is_solid = part.collision and frame.contact != 0
            if not (is_solid or part.visual):
                continue
            shapes.append(
                WrittenShape(
                    f"{frame.name}_{len(shapes)}",
                    part.shape,
                    np.asarray(part.pose, float),
                    is_solid,
                    part.visual,
                    part.color,
                    part.mask,
                )
            )
    return sorted(shapes, key=lambda shape: not shape.collision)


def _parts(geometry: Geometry) -> list[Geometry]:
    match geometry.shape:
        case Marker() | PointCloud():
            return []
        case Box(size):
            return [replace(geometry, shape=Box(size))]
        case Cylinder(length, radius):
            return [replace(geometry, shape=Cylinder(length, radius))]
        case Mesh() as mesh if geometry.collision:
            parts = convex_parts(mesh)
            if geometry.visual and _is_the_mesh(mesh, parts):
                return [geometry]
            hulls = [
                replace(geometry, shape=Convex(part), visual=False) for part in parts
            ]
            drawn = [replace(geometry, collision=False)] if geometry.visual else []
            return hulls + drawn
    return [geometry]


def _is_the_mesh(mesh: Mesh, parts: list[np.ndarray]) -> bool:
    """Return whether the convex parts of a mesh are the mesh itself."""
    if len(parts) > 1 or not mesh.is_convex:
        return False
    count = len(hull_vertices(np.asarray(mesh.mesh.vertices, float)))
    return len(hull_vertices(parts[0])) == count
