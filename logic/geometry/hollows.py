"""Hollows of containers that their collision shapes fill."""

from collections.abc import Sequence

from posewise.robots.geometry.shapes import Convex, Mesh
from posewise.robots.world.frame import Geometry

from .frame_groups import FrameGroup


def filled_hollow(group: FrameGroup) -> str:
    """Return a sentence if a hull stands for a mesh of an object that is not convex.

    Nothing can be in its hollow then: distances and rays are those of the hull.
    """
    for i in group.collision_frames:
        frame = group.C.frames[i]
        if _is_filled(frame.geometries):
            return (
                f"For collisions and containment the mesh of {frame.name!r} stands for"
                " its convex hull, which fills its hollow. Give it convex parts:"
                f" C.set_shape({frame.name!r}, pw.Mesh(file, mode='decompose'))."
            )
    return ""


def _is_filled(geometries: Sequence[Geometry]) -> bool:
    solid = [g.shape for g in geometries if g.collision]
    drawn = [g.shape for g in geometries if isinstance(g.shape, Mesh)]
    hulls = [s for s in solid if isinstance(s, Mesh) and s.mode == "convex"]
    if any(not hull.is_convex for hull in hulls):
        return True
    is_one_hull = len(solid) == 1 and isinstance(solid[0], Convex)
    return is_one_hull and any(not mesh.is_convex for mesh in drawn)
