"""Shapes that are seen: those that are drawn, in place of those for collision."""

from dataclasses import replace
from functools import lru_cache

from ..geometry import shapes
from ..world.frame import Frame, Geometry
from ..world.frame_tree import FrameTree


def visible_tree(tree: FrameTree) -> FrameTree:
    """Return a tree in which the shapes that are seen are those for collision.

    The given one, if no shape differs.
    """
    frames = tuple(map(visible_frame, tree.frames))
    if all(new is old for new, old in zip(frames, tree.frames, strict=True)):
        return tree
    return FrameTree(frames, tree.values, tree.model)


@lru_cache(maxsize=8192)
def visible_frame(frame: Frame) -> Frame:
    """Return a frame whose shapes for collision are those that are seen.

    Seen are the shapes that are drawn, or those for collision where none is. Of a frame
    with both, those for collision also stand for a drawn mesh, because the mesh would
    be its convex hull, which hides more.
    """
    drawn = [g for g in frame.geometries if _is_drawn(g)]
    solid = [g for g in frame.geometries if g.collision]
    has_mesh = any(isinstance(g.shape, shapes.Mesh) for g in drawn if not g.collision)
    if not drawn or drawn == solid or (solid and has_mesh):
        return frame
    return replace(frame, geometries=tuple(replace(g, collision=True) for g in drawn))


def _is_drawn(geometry: Geometry) -> bool:
    return geometry.visual and not isinstance(geometry.shape, shapes.Marker)
