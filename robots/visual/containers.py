"""Containers that hide what is inside them, to be drawn translucent."""

from collections.abc import Collection
from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Float

from ..world.palette import body_roots, robot_bodies
from .drawn_scene import DrawnScene
from .framing import body_boxes
from .viewable_world import ViewableWorld
from .visible_shapes import drawn_frames

MAX_CONTAINER_OPACITY = 0.3
"""Largest opacity of what hides the inside of a container [1]; a lower one shows
more."""
SAMPLED_SHARE = 0.8
"""Size of the box of sampled points as a share of that of an object in a container. A
larger one samples nearer to its corners."""
HIDDEN_SHARE = 0.5
"""Share of an object's points that are hidden from which its container opens."""


def hiding_frames(
    world: ViewableWorld, scene: DrawnScene, eye: Float[np.ndarray, "3"]
) -> set[int]:
    """Return the frames of containers between the eye and what is inside them.

    What has its middle within the box about another body, which is no robot, is inside
    that: containers of files have no annotation.

    Args:
        world: The world.
        scene: Its triangles.
        eye: Direction to the eye.
    """
    roots = np.array(body_roots(world.frames))
    boxes = body_boxes(drawn_frames(world.frames), world.poses())
    hiding: set[int] = set()
    for root in set(boxes) - robot_bodies(world.frames):
        walls = np.flatnonzero(roots[scene.bodies] == root)
        low, high = boxes[root].min(0), boxes[root].max(0)
        for content, box in boxes.items():
            middle = (box.min(0) + box.max(0)) / 2
            if content == root or not ((low < middle) & (middle < high)).all():
                continue
            points = np.concatenate([[middle], middle + SAMPLED_SHARE * (box - middle)])
            hits = _rays_hit(points, eye, scene.corners[walls])
            if hits.any(1).mean() > HIDDEN_SHARE:
                hiding |= {int(i) for i in scene.bodies[walls[hits.any(0)]]}
    return hiding


def with_translucent(scene: DrawnScene, frames: Collection[int]) -> DrawnScene:
    """Return a scene in which some frames are translucent."""
    colors = scene.colors.copy()
    is_chosen = np.isin(scene.bodies, [*frames])
    colors[is_chosen, 3] = np.minimum(colors[is_chosen, 3], MAX_CONTAINER_OPACITY)
    return replace(scene, colors=colors)


def _rays_hit(
    points: Float[np.ndarray, "n 3"],
    direction: Float[np.ndarray, "3"],
    triangles: Float[np.ndarray, "m 3 3"],
) -> Bool[np.ndarray, "n m"]:
    """Return which triangles a ray from each point hits (Möller and Trumbore)."""
    first, edges = triangles[:, 0], triangles[:, 1:] - triangles[:, :1]
    normal = np.cross(direction, edges[:, 1])
    scale = (edges[:, 0] * normal).sum(1)
    is_level = np.abs(scale) < 1e-12
    scale = np.where(is_level, 1.0, scale)
    offset = points[:, None] - first
    u = (offset * normal).sum(-1) / scale
    across = np.cross(offset, edges[:, 0])
    v = across @ direction / scale
    ahead = (across * edges[:, 1]).sum(-1) / scale
    return (u >= 0) & (v >= 0) & (u + v <= 1) & (ahead > 0) & ~is_level
