"""Temporal formulas over the slices of a path: Always, Eventually, Until, Sequence.

Always, Eventually and Until are the operators of linear temporal logic over finite
traces (De Giacomo and Vardi, "Linear temporal logic and linear dynamic logic on finite
traces", IJCAI 2013), here over the slices that their `times` select.
"""

from collections.abc import Sequence as Sequential
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations_with_replacement
from math import comb
from typing import Any, TypeAlias, cast

from posewise.objectives.terms.interval import Slices
from posewise.robots.config import Config

from ..errors import PredicateError
from .formula import Formula, set_parts
from .messages import format_predicate
from .predicate import Predicate
from .schedule import MAX_PLANS, Plans, Schedule, plans_for_all, plans_for_any
from .trajectory import StateTrajectory, check_times

Times: TypeAlias = Sequential[float] | float | None
"""None: all slices; [t]: one; [from, to]: all between; more: each. Kept as a tuple."""


class Temporal(Formula):
    """A statement about the slices of a path that `times` select.

    `times` are as in `KOMO.add_objective`: None or [] for all slices, [t] for the
    nearest slice, [from, to] for all slices between and including both; three or more
    times each select one slice.
    """

    is_momentary = False
    times: Times

    def holds(self, C: Config) -> bool:
        raise PredicateError(
            f"{type(self).__name__} is about a path; call holds_along(C, path, times)."
        )

    def explain(self, C: Config) -> str:
        raise PredicateError(
            f"{type(self).__name__} is about a path; call explain_along(C, path,"
            " times)."
        )

    def _with_parts(self, *parts: Predicate) -> "Temporal":
        """Return the same statement about other parts."""
        kind: Any = type(self)
        return kind(*parts, times=self.times)

    def ground(self, C: Config) -> Predicate:
        return self._with_parts(*(p.ground(C) for p in self.parts))

    def nnf(self, negate: bool = False) -> Predicate:
        # Until and Sequence have no dual here, so they count as leaves.
        formula = self._with_parts(*(p.nnf() for p in self.parts))
        return ~formula if negate else formula

    @property
    def _times(self) -> tuple[float, ...]:
        """`times` as `_set_fields` keeps them."""
        return cast(tuple[float, ...], self.times)

    def _slices(self, trajectory: StateTrajectory) -> tuple[int, ...]:
        return trajectory.select_slices(self._times, type(self).__name__)

    def _scheduled_slices(self, schedule: Schedule) -> Slices:
        for part in self.parts:
            _require_momentary(part)
        return schedule.select_slices(self._times, type(self).__name__)

    def _plans_at(
        self, part: Predicate, C: Config, schedule: Schedule, k: int
    ) -> Plans:
        """Return the plans of a part on one slice, with the time in their names."""
        name = f"{format_predicate(part)} at t = {schedule.slice_time(k):g}"
        plans = part.normal_form_plans(C, schedule.on_slices((k,)))
        return [
            p._replace(name=f"{name} ({p.name})" if p.name else name) for p in plans
        ]

    def _set_fields(self, *parts: Predicate) -> None:
        """Set the parts and times after checking them."""
        set_parts(self, *parts)
        times = check_times(type(self).__name__, self.times)
        object.__setattr__(self, "times", times)

    def __repr__(self) -> str:
        shown = [format_predicate(p) for p in self.parts]
        shown += [f"times={list(self._times)}"] if self._times else []
        return f"{type(self).__name__}({', '.join(shown)})"


class _SinglePart(Temporal):
    """A statement about the slices on which one predicate holds."""

    part: Predicate

    def __post_init__(self) -> None:
        self._set_fields(self.part)

    def _first_slice(self, trajectory: StateTrajectory, truth: bool) -> int | None:
        return first_slice(self.part, trajectory, self._slices(trajectory), truth)


@dataclass(frozen=True, repr=False)
class Always(_SinglePart):
    """A predicate holds on all slices of the times.

    Args:
        part: a momentary predicate.
        times: see `Temporal`.

    Raises:
        PredicateError: when `part` is not a predicate, or `times` are not times.
    """

    part: Predicate
    times: Times = None

    def holds_on(self, trajectory: StateTrajectory) -> bool:
        return self._first_slice(trajectory, False) is None

    def explain_on(self, trajectory: StateTrajectory) -> str:
        k = self._first_slice(trajectory, False)
        if k is None:
            span = _span(trajectory, self._slices(trajectory))
            return f"{format_predicate(self.part)} holds {span}."
        reason = self.part.explain(trajectory.world_at(k))
        return f"{_instant(trajectory, k)}: {reason}"

    def nnf(self, negate: bool = False) -> Predicate:
        kind = Eventually if negate else Always
        return kind(self.part.nnf(negate), self.times)

    def path_plans(self, C: Config, schedule: Schedule) -> Plans:
        slices = self._scheduled_slices(schedule)
        return self.part.normal_form_plans(C, schedule.on_slices(slices))


@dataclass(frozen=True, repr=False)
class Eventually(_SinglePart):
    """A predicate holds on at least one slice of the times.

    Args:
        part: a momentary predicate.
        times: see `Temporal`.

    Raises:
        PredicateError: when `part` is not a predicate, or `times` are not times.
    """

    part: Predicate
    times: Times = None

    def holds_on(self, trajectory: StateTrajectory) -> bool:
        return self._first_slice(trajectory, True) is not None

    def explain_on(self, trajectory: StateTrajectory) -> str:
        k, slices = self._first_slice(trajectory, True), self._slices(trajectory)
        if k is not None:
            reason = self.part.explain(trajectory.world_at(k))
            return f"{_instant(trajectory, k)}: {reason}"
        reason = self.part.explain(trajectory.world_at(slices[-1]))
        never = (
            f"{format_predicate(self.part)} does not hold {_span(trajectory, slices)}"
        )
        return f"{never}; {_instant(trajectory, slices[-1]).lower()}: {reason}"

    def nnf(self, negate: bool = False) -> Predicate:
        kind = Always if negate else Eventually
        return kind(self.part.nnf(negate), self.times)

    def path_plans(self, C: Config, schedule: Schedule) -> Plans:
        # Late slices come first, because they leave most time to reach the state.
        slices = self._scheduled_slices(schedule)
        plans_at = partial(self._plans_at, self.part, C, schedule)
        return plans_for_any([partial(plans_at, k) for k in slices[::-1]])


@dataclass(frozen=True, repr=False)
class Until(Temporal):
    """A goal holds on some slice of the times, and a predicate on all slices before.

    The goal must be reached (strong until). On the slice where it is, the predicate
    need not hold. Slices before the times do not count.

    Args:
        part: a momentary predicate.
        goal: a momentary predicate.
        times: see `Temporal`.

    Raises:
        PredicateError: when an argument is not a predicate, or `times` are not times.
    """

    part: Predicate
    goal: Predicate
    times: Times = None

    def __post_init__(self) -> None:
        self._set_fields(self.part, self.goal)

    def holds_on(self, trajectory: StateTrajectory) -> bool:
        truth, _ = self._deciding_slice(trajectory)
        return truth

    def explain_on(self, trajectory: StateTrajectory) -> str:
        truth, k = self._deciding_slice(trajectory)
        goal = self.goal.explain(trajectory.world_at(k))
        if truth:
            return f"{_instant(trajectory, k)}: {goal}"
        if self.part.holds(trajectory.world_at(k)):
            span = _span(trajectory, self._slices(trajectory))
            shown = format_predicate(self.goal)
            return f"{shown} does not hold {span}; at the end: {goal}"
        part = self.part.explain(trajectory.world_at(k))
        return f"{_instant(trajectory, k)}: {part} And not yet: {goal}"

    def path_plans(self, C: Config, schedule: Schedule) -> Plans:
        slices = self._scheduled_slices(schedule)
        plans_until = partial(self._plans_until, C, schedule, slices)
        return plans_for_any([partial(plans_until, k) for k in slices[::-1]])

    def _plans_until(
        self, C: Config, schedule: Schedule, slices: Slices, k: int
    ) -> Plans:
        """Return plans for the goal on slice k and the part on all slices before."""
        before = tuple(j for j in slices if j < k)
        goal_plans = self._plans_at(self.goal, C, schedule, k)
        if not before:
            return goal_plans
        part_plans = self.part.normal_form_plans(C, schedule.on_slices(before))
        return plans_for_all([goal_plans, part_plans])

    def _deciding_slice(self, trajectory: StateTrajectory) -> tuple[bool, int]:
        """Return the truth, and the slice where the goal holds or the part fails."""
        slices = self._slices(trajectory)
        for k in slices:
            if self.goal.holds(trajectory.world_at(k)):
                return True, k
            if not self.part.holds(trajectory.world_at(k)):
                return False, k
        return False, slices[-1]


@dataclass(frozen=True, init=False, repr=False)
class Sequence(Temporal):
    """Predicates hold one after the other, on slices k1 <= k2 <= ... of the times.

    Two predicates may hold on the same slice. Slices between are not constrained.

    Args:
        *parts: momentary predicates.
        times: see `Temporal`.

    Raises:
        PredicateError: without parts, when a part is not a predicate, or `times` are
            not times.
    """

    parts: tuple[Predicate, ...]
    times: Times = field(default=None, kw_only=True)

    def __init__(self, *parts: Predicate, times: Times = None) -> None:
        if not parts:
            raise PredicateError("Sequence: there are no parts; give two or more.")
        object.__setattr__(self, "times", times)
        self._set_fields(*parts)

    def holds_on(self, trajectory: StateTrajectory) -> bool:
        return None not in self._earliest_slices(trajectory)

    def explain_on(self, trajectory: StateTrajectory) -> str:
        earliest = self._earliest_slices(trajectory)
        slices = self._slices(trajectory)
        if None not in earliest:
            reached = [
                f"{format_predicate(p)} holds at t = {trajectory.times[k]:g}"
                for p, k in zip(self.parts, earliest, strict=True)
            ]
            return f"{', then '.join(reached)}."
        i = earliest.index(None)
        start = slices[0] if i == 0 else earliest[i - 1] or 0
        remaining = tuple(k for k in slices if i == 0 or k >= start)
        part, last = self.parts[i], remaining[-1]
        return (
            f"Part {i + 1} of {len(earliest)}, {format_predicate(part)}, does not hold"
            f" {_span(trajectory, remaining)}; {_instant(trajectory, last).lower()}:"
            f" {part.explain(trajectory.world_at(last))}"
        )

    def path_plans(self, C: Config, schedule: Schedule) -> Plans:
        slices, n = self._scheduled_slices(schedule), len(self.parts)
        # Every second slice is dropped until all orders are few enough to plan.
        while len(slices) > n and comb(len(slices) + n - 1, n) > MAX_PLANS:
            slices = tuple(sorted({slices[0], *slices[1:-1:2], slices[-1]}))
        orders = combinations_with_replacement(slices, n)
        plans_on = partial(self._plans_on, C, schedule)
        return plans_for_any([partial(plans_on, order) for order in orders])

    def _plans_on(self, C: Config, schedule: Schedule, order: Slices) -> Plans:
        """Return plans in which each part holds on its slice."""
        pairs = zip(self.parts, order, strict=True)
        return plans_for_all([self._plans_at(p, C, schedule, k) for p, k in pairs])

    def _earliest_slices(self, trajectory: StateTrajectory) -> list[int | None]:
        """Return for each part the earliest slice after that of the part before."""
        remaining: tuple[int, ...] = self._slices(trajectory)
        earliest: list[int | None] = []
        for part in self.parts:
            k = first_slice(part, trajectory, remaining, True)
            earliest.append(k)
            remaining = () if k is None else tuple(j for j in remaining if j >= k)
        return earliest


def first_slice(
    part: Predicate, trajectory: StateTrajectory, slices: tuple[int, ...], truth: bool
) -> int | None:
    """Return the first of some slices on which a predicate has a truth, or None."""
    return next(
        (k for k in slices if part.holds(trajectory.world_at(k)) == truth), None
    )


def _require_momentary(part: Predicate) -> None:
    """Raise a PredicateError for temporal formulas inside of temporal formulas."""
    if isinstance(part, Temporal):
        raise PredicateError(
            f"{format_predicate(part)} is about a path, and is part of another"
            " statement about a path; join them by &, | and ~ instead."
        )
    for inner in part.parts if isinstance(part, Formula) else ():
        _require_momentary(inner)


def _instant(trajectory: StateTrajectory, k: int) -> str:
    return f"At t = {trajectory.times[k]:g} (slice {k})"


def _span(trajectory: StateTrajectory, slices: tuple[int, ...]) -> str:
    if len(slices) == 1:
        return f"at t = {trajectory.times[slices[0]]:g}"
    start, end = (trajectory.times[k] for k in (slices[0], slices[-1]))
    return f"on the {len(slices)} slices from t = {start:g} to {end:g}"
