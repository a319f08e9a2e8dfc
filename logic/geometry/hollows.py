"""Hollows of containers that their collision shapes fill."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float

from posewise.robots.geometry.hulls import hull_planes
from posewise.robots.geometry.shapes import Convex, Mesh
from posewise.robots.geometry.tessellation import polygons
from posewise.robots.world.frame import Geometry

from .frame_groups import FrameGroup

FILLED_SHARE = 0.95
"""Share of the hull of a mesh from which collision shapes count as filling its hollows
(fraction). Hollows of containers have a third of it or more; a larger share misses
rounded shapes, which leave corners free."""
LATTICE_POINTS = 12
"""Points on each side of the lattice on which that share is measured (count): 1,728 in
the bounding box. More take longer."""


def filled_hollow(group: FrameGroup) -> str:
    """Return a sentence if collision shapes of an object fill the hollow of its mesh.

    Nothing can be in its hollow then: distances and rays are those of the shapes.
    """
    for i in group.collision_frames:
        frame = group.C.frames[i]
        if filling := _filling(frame.geometries):
            return (
                f"For collisions and containment the mesh of {frame.name!r} stands for"
                f" {filling} its hollow. Give it convex parts:"
                f" C.set_shape({frame.name!r}, pw.Mesh(file, mode='decompose'))."
            )
    return ""


def _filling(geometries: Sequence[Geometry]) -> str:
    """Return what fills the hollow of a mesh, in words; empty: nothing."""
    solid = [g for g in geometries if g.collision]
    meshes = [g.shape for g in solid if isinstance(g.shape, Mesh)]
    if any(mesh.mode == "convex" and not mesh.is_convex for mesh in meshes):
        return "its convex hull, which fills"
    if meshes:
        return ""
    concave = [
        g for g in geometries if isinstance(g.shape, Mesh) and not g.shape.is_convex
    ]
    if not any(_is_filled(g, solid) for g in concave):
        return ""
    if len(solid) == 1 and isinstance(solid[0].shape, Convex):
        return "its convex hull, which fills"
    return "its collision shapes, which fill"


def _is_filled(drawn: Geometry, solid: Sequence[Geometry]) -> bool:
    """Return whether shapes fill the convex hull of a mesh, apart from its corners."""
    corners = _corners(drawn)
    low, high = corners.min(0), corners.max(0)
    fractions = (np.arange(LATTICE_POINTS) + 0.5) / LATTICE_POINTS
    lattice = np.stack(np.meshgrid(*[fractions] * 3), -1).reshape(-1, 3)
    points = low + lattice * (high - low)
    points = points[_is_within(points, corners)]
    is_inside = [_is_within(points, _corners(g)) for g in solid if polygons(g.shape)]
    return bool(len(points)) and bool(np.any(is_inside, 0).mean() >= FILLED_SHARE)


def _corners(geometry: Geometry) -> Float[np.ndarray, "n 3"]:
    return np.concatenate(polygons(geometry.shape, geometry.pose))


def _is_within(
    points: Float[np.ndarray, "n 3"], corners: Float[np.ndarray, "k 3"]
) -> Bool[np.ndarray, " n"]:
    """Return which points are in the convex hull of others; none if that is flat."""
    planes = hull_planes(corners)
    if not len(planes):
        return np.zeros(len(points), bool)
    return (points @ planes[:, :3].T <= planes[:, 3]).all(1)
