"""Hints of constraints for the starts of placements, one function for each kind.

A kind of constraint registers its own, `@start_region.register(MyPredicate)`; for all
others there are none.
"""

from functools import singledispatch
from typing import TypeAlias

import numpy as np
from jaxtyping import Bool, Float

from posewise.robots.config import Config
from posewise.robots.typing import FrameName

Witnesses: TypeAlias = dict[str, dict[str, str]]
"""For each addition to a world, such as a ghost arm, the real joint names mapped to
those of their copies."""


@singledispatch
def start_region(
    constraint: object, C: Config, name: FrameName
) -> Float[np.ndarray, "2 3"] | None:
    """Return a box for the origin of an object in the world [m]; None: anywhere.

    The box is only a hint for random starts.
    """
    return None


@singledispatch
def admits_poses(
    constraint: object, C: Config, name: FrameName, poses: Float[np.ndarray, "n 7"]
) -> Bool[np.ndarray, " n"]:
    """Return which poses of an object's root frame may satisfy a constraint.

    The answer is only a hint for random starts; all other frames stay where they are
    in the world.
    """
    return np.ones(len(poses), bool)


@singledispatch
def suits_poses(
    constraint: object, C: Config, name: FrameName, poses: Float[np.ndarray, "n 7"]
) -> Bool[np.ndarray, " n"]:
    """Return at which poses a constraint, if it holds, holds as it is likely meant.

    Of random starts that as many constraints admit, those that suit are taken: with all
    of an object in its container, or on a support that is no knob.
    """
    return np.ones(len(poses), bool)


@singledispatch
def holds_when_settled(constraint: object) -> bool:
    """Return whether a constraint likely holds of objects that stand on their faces.

    Several objects are placed and settled without such constraints first.
    """
    return False


@singledispatch
def add_witnesses(constraint: object, C: Config, world: Config) -> Witnesses:
    """Add frames to a copy of the world that the rows need, such as a ghost arm.

    A ghost arm reaches for a target while the real arm stays where it is.

    Args:
        constraint: about other configurations than the one that is solved.
        C: the world.
        world: the copy, in which joints may be locked.

    Returns:
        For each addition, joints of the world mapped to their copies.
    """
    return {}


@singledispatch
def improve_starts(
    constraint: object, C: Config, q: Float[np.ndarray, "n nq"]
) -> Float[np.ndarray, "n nq"]:
    """Return starts, moved to where a constraint is likelier to hold."""
    return q
