"""Objectives: features with a type (eq, ineq, sos) and slices on which they hold."""

from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import numpy as np

from posewise.features import Feature, FeatureError
from posewise.robots.named_members import NamedMembers
from posewise.robots.validation import float_array
from posewise.solvers import EQ, INEQ, SOS

from .typing import Slices, Times


class OT(Enum, metaclass=NamedMembers):
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
    slices: Slices
    weights: tuple[float, ...] | None = None
    """Factor of each slice, on top of the feature's scale; None: 1 in all slices."""
    fraction: float | None = None
    """Fraction of the straight way from the slice before at which it holds, to begin
    with; None: it holds in its slices."""
    between: float | None = None
    """Largest deviation on the straight way between its slices, in the feature's unit;
    None: it holds in its slices only."""
    source: "Objective | None" = None
    """Objective of the user's problem of which this one has other slices or numbers;
    None: it is the user's."""

    @property
    def is_avoidance(self) -> bool:
        """Whether it keeps distances for `KOMO.avoid_collisions`."""
        return self.feature.symbol.pair_margins is not None

    @cached_property
    def max_unit_cost(self) -> float:
        """Largest cost in one slice of a unit change of the feature."""
        scale, weights = self.feature.scale, self.weights
        max_scale = 1.0 if scale is None else float(np.max(np.abs(scale)))
        factor = max_scale * (1.0 if weights is None else float(np.mean(weights)))
        return factor * factor


class ObjectiveError(FeatureError):
    """Raised for times, types or orders that do not fit the problem."""


def slice_index(time: float, slices_per_phase: int) -> int:
    """Return the slice at a time in phases; 1.0 is the last slice of phase 0."""
    # Rounded half up, with a small bias because times such as 1/3 * 3 fall below 1.
    return int((time * slices_per_phase + 0.500001) // 1) - 1


def select_slices(times: Times, slices_per_phase: int, T: int, label: str) -> Slices:
    """Return the slices that times select.

    None or [] selects all slices, [t] one slice, [a, b] the slices from a to b
    inclusive. A single negative time selects the last slice; an interval is clipped to
    the path.

    Args:
        times: in phases.
        slices_per_phase: slices in each phase.
        T: number of slices.
        label: what the times belong to, for messages.

    Raises:
        ObjectiveError: when no slice is selected, with the times that exist.
    """
    if times is None:
        return tuple(range(T))
    values = float_array(f"{label}: times", times, "numbers (phases)", ObjectiveError)
    listed = np.atleast_1d(values).tolist()
    if values.size == 0:
        return tuple(range(T))
    first_time, last_time = 1 / slices_per_phase, T / slices_per_phase
    if values.ndim > 1 or len(listed) > 2 or not np.isfinite(values).all():
        raise ObjectiveError(
            f"{label}: times are {listed}, expected none, one, or two (from, to)."
        )
    # Times far beyond the end are cut first, because their product may overflow.
    ends = [
        T - 1 if t < 0 else slice_index(min(t, last_time + 1), slices_per_phase)
        for t in listed
    ]
    low, high = ends[0], ends[-1]
    if len(listed) == 2:
        low, high = max(low, 0), min(high, T - 1)
    if not 0 <= low <= high < T:
        raise ObjectiveError(
            f"{label}: times {listed} select no slice; slices lie at {first_time:g} to"
            f" {last_time:g} (in phases, {slices_per_phase} slices each)."
        )
    return tuple(range(low, high + 1))
