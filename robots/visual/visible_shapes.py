"""Shapes that are seen, and shapes for collision where there is nothing else to see."""

from dataclasses import replace
from functools import lru_cache

from ..geometry import shapes
from ..world.frame import Frame, Geometry
from ..world.frame_tree import FrameTree
from ..world.kinematics_builder import topological_order


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


@lru_cache(maxsize=64)
def drawn_frames(frames: tuple[Frame, ...]) -> tuple[Frame, ...]:
    """Return frames with a shape to draw for each link that has any shape.

    Of a link without visual shapes those for collision are drawn. A link is what a
    model fixes to each other, so that coarse shapes about a part that is drawn, such as
    safety zones, stay invisible.
    """
    link = [*range(len(frames))]
    for i in topological_order(frames):
        parent, joint = frames[i].parent, frames[i].joint
        is_fixed = joint is None or joint.dim == 0
        if parent is not None and is_fixed and frames[i].is_part_of_model:
            link[i] = link[parent]
    drawn_links = {
        link[i] for i, f in enumerate(frames) if any(map(_is_drawn, f.geometries))
    }
    return tuple(
        frame if link[i] in drawn_links else _with_drawn_collisions(frame)
        for i, frame in enumerate(frames)
    )


def _with_drawn_collisions(frame: Frame) -> Frame:
    if not any(g.collision and not g.visual for g in frame.geometries):
        return frame
    drawn = (replace(g, visual=g.visual or g.collision) for g in frame.geometries)
    return replace(frame, geometries=tuple(drawn))


def _is_drawn(geometry: Geometry) -> bool:
    return geometry.visual and not isinstance(geometry.shape, shapes.Marker)
