"""Links of one robot: which frames belong together, and which of them are neighbours.

A robot is a tree of frames that joints connect. It ends where a frame floats (joint
"free"), where it stands on a root frame named "world", and at a frame that was attached
later, such as what a hand holds.
"""

from collections.abc import Collection

import numpy as np
from jaxtyping import Int

from ..world.frame import Frame
from ..world.frame_tree import FrameTree
from ..world.kinematics_builder import topological_order
from .collision_pairs import FramePair, can_collide, ordered_pairs
from .hands import floats


def robot_roots(
    frames: tuple[Frame, ...], others: Collection[int] = ()
) -> Int[np.ndarray, " frames"]:
    """Return for each frame the index of the root of its robot.

    Args:
        frames: all frames.
        others: attached frames, which are no part of the robot above them.
    """
    root = np.arange(len(frames))
    for i in topological_order(frames):
        parent = frames[i].parent
        if parent is not None and not _is_separate(frames, i) and i not in others:
            root[i] = root[parent]
    return root


def adjacent_pairs(tree: FrameTree, others: Collection[int] = ()) -> set[FramePair]:
    """Return the pairs of frames with shapes whose links are neighbours.

    Links are neighbours if one joint is between them, or only links without shapes.

    Args:
        tree: the frames.
        others: see `robot_roots`.
    """
    frames = tree.frames
    link: dict[int, int] = {}
    above: dict[int, int | None] = {}
    solid: dict[int, list[int]] = {}
    for i in topological_order(frames):
        parent = frames[i].parent
        up = None
        if parent is not None and not _is_separate(frames, i) and i not in others:
            up = link[parent]
        link[i] = i if up is None or frames[i].joint is not None else up
        if link[i] == i:
            above[i], solid[i] = up, []
        if can_collide(frames[i]):
            solid[link[i]].append(i)
    pairs: set[FramePair] = set()
    for head, members in solid.items():
        up = above[head]
        while up is not None and not solid[up]:
            up = above[up]
        if up is not None:
            pairs |= ordered_pairs((a, b) for a in solid[up] for b in members)
    return pairs


def _is_separate(frames: tuple[Frame, ...], i: int) -> bool:
    """Whether a frame floats, or stands on a root frame that is the world."""
    parent = frames[i].parent
    if parent is None or floats(frames[i]):
        return True
    return frames[parent].parent is None and frames[parent].name == "world"
