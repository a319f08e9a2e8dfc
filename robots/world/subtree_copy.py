"""Copies of a subtree under another parent that move as the original does."""

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import ConfigError
from ..typing import FrameName
from .add import append_frames
from .frame import Joint
from .frame_tree import FrameTree
from .kinematics_builder import topological_order


def copy_subtree(
    tree: FrameTree,
    root: FrameName,
    parent: FrameName,
    rename: Callable[[str], str],
    *,
    origin: np.ndarray,
    joint: Joint | None,
    without: Collection[str],
) -> tuple[FrameTree, dict[int, int]]:
    """Copy a frame and everything below it; see `Config.copy_subtree`.

    Returns:
        The new tree, and the indices of the copies by those of the originals, the root
        first.
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
    return append_frames(tree, copies), copy_index


def _mimicking_joint(joint: Joint | None, rename: Callable[[str], str]) -> Joint | None:
    """Return a joint that takes its value from the one it is copied from."""
    if joint is None or joint.dim == 0:
        return joint
    name = rename(joint.name)
    if joint.mimic is not None:
        return replace(joint, name=name)
    return replace(joint, name=name, mimic=joint.name, multiplier=1.0, offset=0.0)
