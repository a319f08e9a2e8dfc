"""Copies of a subtree under another parent, that move as the original does."""

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ConfigError
from ..kinematics.builder import topological_order
from .frame import Joint

if TYPE_CHECKING:
    from ..config import Config


def copy_subtree(
    C: "Config",
    root: str,
    parent: str,
    rename: Callable[[str], str],
    *,
    origin: np.ndarray,
    joint: Joint | None = None,
    without: Collection[str] = (),
) -> dict[str, str]:
    """Copy a frame and all attached to it; joints inside follow the original's.

    Args:
        C: the world, which gets the copies.
        root: the frame.
        parent: what its copy is attached to.
        rename: names of the copies.
        origin: of the root's copy in the parent (7,), before its joint.
        joint: of the root's copy.
        without: frames that are not copied, nor what is attached to them.

    Returns:
        Names of the copies by those of the originals.

    Raises:
        ConfigError: when the parent hangs on the root itself.
    """
    frames, top = C.frames, C.index(root)
    inside: list[int] = []
    for i in topological_order(frames):
        below = i == top or frames[i].parent in inside
        if below and frames[i].name not in without:
            inside.append(i)
    onto = C.index(parent)
    if onto in inside:
        raise ConfigError(f"{root!r} cannot be attached to {parent!r}, a part of it.")
    place = {i: len(frames) + k for k, i in enumerate(inside)}
    made = []
    for i in inside:
        f, up = frames[i], frames[i].parent
        at: dict[str, Any] = {"joint": joint, "origin": origin}
        at["parent"] = None if onto == len(frames) else onto
        if i != top and up is not None:
            at = {"parent": place[up], "joint": _mimicking_joint(f.joint, rename)}
        made.append(replace(f, name=rename(f.name), **at))
    C._extend(made, {})
    same = {i: (i, place[i]) for i in inside}
    C._ignored |= {
        (min(a, b), max(a, b))
        for pair in C._ignored
        if same.keys() & set(pair)
        for a in same.get(pair[0], (pair[0],))
        for b in same.get(pair[1], (pair[1],))
    }
    C._forget()
    return {frames[i].name: rename(frames[i].name) for i in inside}


def _mimicking_joint(joint: Joint | None, rename: Callable[[str], str]) -> Joint | None:
    """A joint that takes its value from the one it is copied from."""
    if joint is None or joint.dim == 0:
        return joint
    name = rename(joint.name)
    if joint.mimic is not None:
        return replace(joint, name=name)
    return replace(joint, name=name, mimic=joint.name, multiplier=1.0, offset=0.0)
