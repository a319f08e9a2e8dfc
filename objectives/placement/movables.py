"""Worlds in which the movables of a placement move, and nothing else."""

from collections.abc import Sequence

import numpy as np

from posewise.robots.config import Config
from posewise.robots.typing import FrameName, Frames

from ..terms.objective import ObjectiveError
from .sampling import SamplingBox, with_ancestors


def free_movables(C: Config, movable: Frames) -> tuple[Config, tuple[str, ...]]:
    """Return a copy in which only these frames move, and their names, parents first."""
    names = [movable] if isinstance(movable, str) else movable
    is_list = isinstance(names, list | tuple) and bool(names)
    if not is_list or not all(isinstance(name, str) for name in names):
        raise ObjectiveError(
            f"movable is {movable!r}, expected a list of names of one or more frames."
        )
    world = C.copy()
    world.joints.select([])
    indices = {C.tree.own_index(name) for name in names}
    depth = {i: len(with_ancestors(C.frames, i)) for i in indices}
    ordered = [C.frames[i].name for i in sorted(indices, key=lambda i: (depth[i], i))]
    for name in ordered:
        world.detach(name)
    return world, tuple(ordered)


def keep_inside(world: Config, names: Sequence[FrameName], region: SamplingBox) -> None:
    """Limit the origins of movables to a box in the world."""
    limits = np.array([[-np.inf], [np.inf]]) * np.ones(7)
    limits[:, :3] = region
    for name in names:
        world.joints.set_limits(name, limits)
