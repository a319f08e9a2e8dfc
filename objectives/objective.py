"""An objective: a feature, what it means (eq, ineq, sos), and when it holds."""

from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np

from posewise.features import Feature, FeatureError
from posewise.robots.validation import float_array
from posewise.solvers import EQ, INEQ, SOS


class OT(Enum):
    """Objective types: cost Σφ², equality φ = 0, inequality φ <= 0."""

    sos = SOS
    eq = EQ
    ineq = INEQ

    def __repr__(self) -> str:
        return f"OT.{self.name}"


@dataclass(frozen=True, eq=False)
class Objective:
    """A feature with its type on a set of slices."""

    name: str
    feature: Feature
    type: OT
    slices: tuple[int, ...]
    weights: tuple[float, ...] | None = None
    """Of each slice, on top of the feature's scale."""

    @cached_property
    def steepness(self) -> float:
        """What one unit of the feature costs in a slice, at most."""
        scale, weights = self.feature.scale, self.weights
        most = 1.0 if scale is None else float(np.max(np.abs(scale)))
        one = most * (1.0 if weights is None else float(np.mean(weights)))
        return one * one


class ObjectiveError(FeatureError):
    """Times, types or orders that do not fit the problem."""


def slice_index(time: float, slices_per_phase: int) -> int:
    """The slice at a time in phases; 1.0 is the last slice of the first phase."""
    return int((time * slices_per_phase + 0.500001) // 1) - 1


def select_slices(
    times: Any, slices_per_phase: int, T: int, what: str
) -> tuple[int, ...]:
    """Slices that times select: none or []: all, [t]: one, [a, b]: a to b inclusive.

    A negative time is the last slice; an interval is clipped to the path.

    Raises:
        ObjectiveError: when no slice is selected, with the times that exist.
    """
    if times is None:
        return tuple(range(T))
    given = float_array(f"{what}: times", times, "numbers (phases)", ObjectiveError)
    times = np.atleast_1d(given).tolist()
    if given.size == 0:
        return tuple(range(T))
    last = T / slices_per_phase
    first = 1 / slices_per_phase
    if given.ndim > 1 or len(times) > 2 or not np.isfinite(given).all():
        raise ObjectiveError(
            f"{what}: times are {times}, expected none, one, or two (from, to)."
        )
    near = [min(t, last + 1) for t in times]  # huge ones, times slices, overflow
    ends = [T - 1 if t < 0 else slice_index(t, slices_per_phase) for t in near]
    low, high = ends[0], ends[-1]
    if len(times) == 2:
        low, high = max(low, 0), min(high, T - 1)
    if not 0 <= low <= high < T:
        raise ObjectiveError(
            f"{what}: times {times} select no slice; slices lie at {first:g} to"
            f" {last:g} (in phases, {slices_per_phase} slices each)."
        )
    return tuple(range(low, high + 1))
