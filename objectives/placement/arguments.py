"""Checks of the arguments of `solve_placement`."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from posewise.features import Feature
from posewise.robots.config import Config
from posewise.robots.errors import unknown_name
from posewise.robots.kinematics.transforms import quat_normalize
from posewise.robots.typing import FrameName
from posewise.robots.validation import float_array, integer, number, require_finite

from ..terms.objective import ObjectiveError
from .sampling import SamplingBox


def check_world(C: object) -> None:
    """Refuse what is no world."""
    if not isinstance(C, Config):
        raise ObjectiveError(f"C is {type(C).__name__}, expected a Config.")


def check_starts(
    names: Sequence[str], starts: int | Mapping[FrameName, Float[np.ndarray, "n 7"]]
) -> tuple[int, dict[str, Float[np.ndarray, "n 7"]]]:
    """Return the number of starts, and the checked poses to start from."""
    if not isinstance(starts, Mapping):
        return starts, {}
    checked: dict[str, np.ndarray] = {}
    for name, poses in starts.items():
        if name not in names:
            raise ObjectiveError(unknown_name("movable in starts", name, names))
        expected = "poses (n, 7), the same number for each movable"
        array = float_array(f"starts of {name!r}", poses, expected, ObjectiveError)
        require_finite(f"starts of {name!r}", array, ObjectiveError)
        is_valid = array.ndim == 2 and array.shape[-1] == 7
        counts = {len(x) for x in checked.values()}
        if not is_valid or not array[:, 3:].any(-1).all() or counts - {len(array)}:
            raise ObjectiveError(
                f"starts of {name!r} have shape {array.shape}, expected {expected},"
                " with quaternions that are not zero."
            )
        checked[name] = np.concatenate([array[:, :3], quat_normalize(array[:, 3:])], -1)
    count = max((len(x) for x in checked.values()), default=0)
    return count + 1, checked


def check_count(count: int | None, max_solutions: int | None) -> int | None:
    """Return the number of distinct solutions that are wanted after checking it.

    Args:
        count: the argument.
        max_solutions: its old name.
    """
    if max_solutions is not None:
        if count is not None:
            raise ObjectiveError(
                "max_solutions is the old name of count; give count only."
            )
        message = "solve_placement: max_solutions is now called count."
        warnings.warn(message, DeprecationWarning, stacklevel=3)
        count = max_solutions
    if count is None:
        return None
    at_least_one = "at least 1, or None"
    return integer("count", count, at_least_one, lambda n: n >= 1, ObjectiveError)


def check_constraints(constraints: Any) -> list[Any]:
    """Return constraints after checking their types."""
    if not isinstance(constraints, Sequence) or isinstance(constraints, str):
        raise ObjectiveError(
            f"constraints is {constraints!r}, expected a list of predicates,"
            " presets or pairs (Feature, OT)."
        )
    for k, constraint in enumerate(constraints):
        is_pair = isinstance(constraint, tuple) and len(constraint) == 2
        if is_pair and isinstance(constraint[0], Feature):
            continue
        if not hasattr(constraint, "objectives"):
            raise ObjectiveError(
                f"constraints[{k}] is {constraint!r}, expected a predicate, a preset"
                " or a pair (Feature, OT)."
            )
    return list(constraints)


def check_region(region: Any) -> SamplingBox:
    """Return the corners of a region after checking them."""
    corners = float_array("region", region, "(2, 3) numbers", ObjectiveError)
    is_valid = corners.shape == (2, 3) and np.isfinite(corners).all()
    if not is_valid or (corners[0] > corners[1]).any():
        raise ObjectiveError(
            f"region is {corners.tolist()}, expected the lower and the upper corner of"
            " a box in the world: (2, 3) finite numbers, none of the lower above the"
            " upper one."
        )
    return corners


def check_separation(
    min_separation: tuple[float, float],
) -> tuple[float, float]:
    """Return the checked distance [m] and angle [rad]."""
    try:
        distance, angle = min_separation
    except (TypeError, ValueError):
        raise ObjectiveError(
            f"min_separation is {min_separation!r}, expected two numbers:"
            " metres and radians."
        ) from None

    def check(unit: str, value: float) -> float:
        label = f"min_separation: {unit}"
        return number(label, value, "a number >= 0", lambda v: v >= 0, ObjectiveError)

    return check("metres", distance), check("radians", angle)
