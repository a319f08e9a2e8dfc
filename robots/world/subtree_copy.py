"""Copies of a subtree under another parent that move as the original does."""

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

import numpy as np

from ..contact.collision_pairs import ordered_pairs
from ..contact.filter import CollisionFilter
from ..errors import ConfigError
from ..kinematics.builder import topological_order
from ..typing import FrameName
from .add import append_frames
from .frame import Joint
from .frame_tree import FrameTree


def copy_subtree(
    tree: FrameTree,
    collision_filter: CollisionFilter,
    root: FrameName,
    parent: FrameName,
    rename: Callable[[str], str],
    *,
    origin: np.ndarray,
    joint: Joint | None,
    without: Collection[str],
) -> tuple[FrameTree, CollisionFilter, dict[str, str]]:
    """Copy a frame and everything below it; see `Config.copy_subtree`.

    Copies ignore collisions with all frames that their originals ignore, except those
    that the root ignores because a hand holds it.

    Returns:
        The new tree and filter, and the names of the copies by those of the originals.
    """
    frames, top = tree.frames, tree.own_index(root)
    originals: list[int] = []
    for i in topological_order(frames):
        is_below = i == top or frames[i].parent in originals
        if is_below and frames[i].name not in without:
            originals.append(i)
    new_parent = tree.parent_index(parent)
    if new_parent in originals:
        raise ConfigError(f"{root!r} cannot be attached to {parent!r}, a part of it.")
    copy_index = {i: len(frames) + k for k, i in enumerate(originals)}
    copies = []
    for i in originals:
        frame, up = frames[i], frames[i].parent
        changes: dict[str, Any] = dict(
            parent=new_parent, joint=joint, origin=origin, is_part_of_model=False
        )
        if i != top and up is not None:
            changes = dict(
                parent=copy_index[up], joint=_mimicking_joint(frame.joint, rename)
            )
        copies.append(replace(frame, name=rename(frame.name), **changes))
    counterparts = {i: (i, copy_index[i]) for i in originals}
    ignored = {
        (min(a, b), max(a, b)): reason
        for pair, reason in collision_filter.reasons.items()
        if counterparts.keys() & set(pair)
        for a in counterparts.get(pair[0], (pair[0],))
        for b in counterparts.get(pair[1], (pair[1],))
    }
    new_filter = collision_filter.ignoring(ignored)
    for i in copy_index.keys() & collision_filter.held.keys() - {top}:
        within = (p for p in collision_filter.held[i] if copy_index.keys() >= set(p))
        pairs = ordered_pairs((copy_index[a], copy_index[b]) for a, b in within)
        new_filter = new_filter.holding(copy_index[i], pairs)
    names = {frames[i].name: rename(frames[i].name) for i in originals}
    return append_frames(tree, copies), new_filter, names


def _mimicking_joint(joint: Joint | None, rename: Callable[[str], str]) -> Joint | None:
    """Return a joint that takes its value from the one it is copied from."""
    if joint is None or joint.dim == 0:
        return joint
    name = rename(joint.name)
    if joint.mimic is not None:
        return replace(joint, name=name)
    return replace(joint, name=name, mimic=joint.name, multiplier=1.0, offset=0.0)
