"""Formulas of paths: always, eventually, until, and one after the other."""

from dataclasses import dataclass, field
from functools import partial
from itertools import combinations_with_replacement
from math import comb
from typing import Any

from posewise.objectives.interval import Slices
from posewise.robots.config import Config

from ..errors import PredicateError
from ..planning.schedule import MAX_PLANS, Plans, Schedule, plans_for_all, plans_for_any
from ..planning.trajectory import StateTrajectory, check_times
from .formula import Formula, plans_of, set_parts
from .messages import format_predicate
from .predicate import Predicate

Times = Any
"""None: all slices; [t]: one; [from, to]: all between; more: each. Kept as a tuple."""


class Temporal(Formula):
    """A statement about the slices of a path that `times` select.

    `times` are as those of `KOMO.add_objective`: None or [] for all slices, [t] for the
    nearest one, [from, to] for all from one to the other inclusive; three or more are
    that many single ones.
    """

    is_momentary = False
    times: Times

    def holds(self, C: Config) -> bool:
        """Raise a PredicateError: it is not about one moment."""
        raise PredicateError(
            f"{type(self).__name__} speaks of a path; ask holds_along(C, path, times)."
        )

    def explain(self, C: Config) -> str:
        """Raise a PredicateError: it is not about one moment."""
        raise PredicateError(
            f"{type(self).__name__} speaks of a path; ask explain_along(C, path,"
            " times)."
        )

    def _with(self, *parts: Predicate) -> "Temporal":
        """The same of other parts."""
        kind: Any = type(self)
        return kind(*parts, times=self.times)

    def ground(self, C: Config) -> Predicate:
        """See `Predicate`."""
        return self._with(*(p.ground(C) for p in self.parts))

    def nnf(self, negate: bool = False) -> Predicate:
        """See `Predicate`; Until and Sequence count as leaves."""
        made = self._with(*(p.nnf() for p in self.parts))
        return ~made if negate else made

    def _slices(self, trajectory: StateTrajectory) -> tuple[int, ...]:
        return trajectory.slices(self.times, type(self).__name__)

    def _selected(self, when: Schedule) -> Slices:
        for part in self.parts:
            _require_momentary(part)
        return when.select_slices(self.times, type(self).__name__)

    def _comes(self, part: Predicate, C: Config, when: Schedule, k: int) -> Plans:
        """Plans of a part on one slice, under names that say when."""
        named = f"{format_predicate(part)} at t = {when.time(k):g}"
        plans = plans_of(part, C, when.on((k,)))
        return [
            p._replace(name=f"{named} ({p.name})" if p.name else named) for p in plans
        ]

    def _set(self, *parts: Any) -> None:
        """Parts and times, checked."""
        set_parts(self, *parts)
        times = check_times(type(self).__name__, self.times)
        object.__setattr__(self, "times", times)

    def __repr__(self) -> str:
        shown = [format_predicate(p) for p in self.parts]
        shown += [f"times={list(self.times)}"] if self.times else []
        return f"{type(self).__name__}({', '.join(shown)})"


class _SinglePart(Temporal):
    """A statement about the slices on which one predicate holds."""

    part: Any

    def __post_init__(self) -> None:
        self._set(self.part)

    def _first(self, trajectory: StateTrajectory, truth: bool) -> int | None:
        return first_slice(self.part, trajectory, self._slices(trajectory), truth)


@dataclass(frozen=True, repr=False)
class Always(_SinglePart):
    """Its part holds on all slices of the times.

    Args:
        part: a predicate of one moment.
        times: see `Temporal`.

    Raises:
        PredicateError: for what is no predicate, and times that are none.
    """

    part: Any
    times: Times = None

    def holds_on(self, trajectory: StateTrajectory) -> bool:
        """See `Formula`."""
        return self._first(trajectory, False) is None

    def explain_on(self, trajectory: StateTrajectory) -> str:
        """See `Formula`."""
        k = self._first(trajectory, False)
        if k is None:
            span = _span(trajectory, self._slices(trajectory))
            return f"{format_predicate(self.part)} holds {span}."
        return f"{_when(trajectory, k)}: {self.part.explain(trajectory.world_at(k))}"

    def nnf(self, negate: bool = False) -> Predicate:
        """See `Predicate`."""
        kind = Eventually if negate else Always
        return kind(self.part.nnf(negate), self.times)

    def normal_plans(self, C: Config, when: Schedule) -> Plans:
        """See `Formula`: the rows of the part on all slices."""
        return plans_of(self.part, C, when.on(self._selected(when)))


@dataclass(frozen=True, repr=False)
class Eventually(_SinglePart):
    """Its part holds on one slice of the times, or more.

    Args:
        part: a predicate of one moment.
        times: see `Temporal`.

    Raises:
        PredicateError: for what is no predicate, and times that are none.
    """

    part: Any
    times: Times = None

    def holds_on(self, trajectory: StateTrajectory) -> bool:
        """See `Formula`."""
        return self._first(trajectory, True) is not None

    def explain_on(self, trajectory: StateTrajectory) -> str:
        """See `Formula`."""
        k, slices = self._first(trajectory, True), self._slices(trajectory)
        if k is not None:
            return (
                f"{_when(trajectory, k)}: {self.part.explain(trajectory.world_at(k))}"
            )
        last = self.part.explain(trajectory.world_at(slices[-1]))
        never = (
            f"{format_predicate(self.part)} does not hold {_span(trajectory, slices)}"
        )
        return f"{never}; {_when(trajectory, slices[-1]).lower()}: {last}"

    def nnf(self, negate: bool = False) -> Predicate:
        """See `Predicate`."""
        kind = Always if negate else Eventually
        return kind(self.part.nnf(negate), self.times)

    def normal_plans(self, C: Config, when: Schedule) -> Plans:
        """See `Formula`: the rows of the part on one slice, the last one first."""
        slices = self._selected(when)
        comes = partial(self._comes, self.part, C, when)
        return plans_for_any([partial(comes, k) for k in slices[::-1]])


@dataclass(frozen=True, repr=False)
class Until(Temporal):
    """On some slice of the times the goal holds, and on all before it the part.

    The goal must come (strong until); on the slice where it does, the part need not
    hold. Slices before the times do not count.

    Args:
        part: a predicate of one moment.
        goal: another one.
        times: see `Temporal`.

    Raises:
        PredicateError: for what is no predicate, and times that are none.
    """

    part: Any
    goal: Any
    times: Times = None

    def __post_init__(self) -> None:
        self._set(self.part, self.goal)

    def holds_on(self, trajectory: StateTrajectory) -> bool:
        """See `Formula`."""
        truth, _ = self._end(trajectory)
        return truth

    def explain_on(self, trajectory: StateTrajectory) -> str:
        """See `Formula`."""
        truth, k = self._end(trajectory)
        goal = self.goal.explain(trajectory.world_at(k))
        if truth:
            return f"{_when(trajectory, k)}: {goal}"
        if self.part.holds(trajectory.world_at(k)):
            span = _span(trajectory, self._slices(trajectory))
            shown = format_predicate(self.goal)
            return f"{shown} does not hold {span}; at the end: {goal}"
        part = self.part.explain(trajectory.world_at(k))
        return f"{_when(trajectory, k)}: {part} And not yet: {goal}"

    def normal_plans(self, C: Config, when: Schedule) -> Plans:
        """See `Formula`: the goal on one slice, and the part on all before it."""
        slices = self._selected(when)
        until = partial(self._until, C, when, slices)
        return plans_for_any([partial(until, k) for k in slices[::-1]])

    def _until(self, C: Config, when: Schedule, slices: Slices, k: int) -> Plans:
        before = tuple(j for j in slices if j < k)
        comes = self._comes(self.goal, C, when, k)
        if not before:
            return comes
        return plans_for_all([comes, plans_of(self.part, C, when.on(before))])

    def _end(self, trajectory: StateTrajectory) -> tuple[bool, int]:
        """The slice that decides: where the goal comes, or the part fails."""
        slices = self._slices(trajectory)
        for k in slices:
            if self.goal.holds(trajectory.world_at(k)):
                return True, k
            if not self.part.holds(trajectory.world_at(k)):
                return False, k
        return False, slices[-1]


@dataclass(frozen=True, init=False, repr=False)
class Sequence(Temporal):
    """Its parts hold one after the other: on slices k1 <= k2 <= ... of the times.

    Two parts may hold on the same slice; nothing is said of what holds in between.

    Args:
        *parts: predicates of one moment.
        times: see `Temporal`.

    Raises:
        PredicateError: for no parts, what is no predicate, and times that are none.
    """

    parts: tuple[Predicate, ...]
    times: Times = field(default=None, kw_only=True)

    def __init__(self, *parts: Any, times: Times = None) -> None:
        if not parts:
            raise PredicateError("Sequence: there are no parts; give two or more.")
        object.__setattr__(self, "times", times)
        self._set(*parts)

    def holds_on(self, trajectory: StateTrajectory) -> bool:
        """See `Formula`."""
        return None not in self._found(trajectory)

    def explain_on(self, trajectory: StateTrajectory) -> str:
        """See `Formula`."""
        found = self._found(trajectory)
        slices = self._slices(trajectory)
        if None not in found:
            named = zip(self.parts, found, strict=True)
            comes = [
                f"{format_predicate(p)} holds at t = {trajectory.times[k]:g}"
                for p, k in named
            ]
            return f"{', then '.join(comes)}."
        i = found.index(None)
        after = slices if i == 0 else [k for k in slices if k >= (found[i - 1] or 0)]
        part, last = self.parts[i], after[-1]
        return (
            f"Part {i + 1} of {len(found)}, {format_predicate(part)}, does not hold"
            f" {_span(trajectory, tuple(after))}; {_when(trajectory, last).lower()}:"
            f" {part.explain(trajectory.world_at(last))}"
        )

    def normal_plans(self, C: Config, when: Schedule) -> Plans:
        """See `Formula`: each part on a slice, in all orders there are, or many."""
        slices, n = self._selected(when), len(self.parts)
        while len(slices) > n and comb(len(slices) + n - 1, n) > MAX_PLANS:
            slices = tuple(sorted({slices[0], *slices[1:-1:2], slices[-1]}))
        every = combinations_with_replacement(slices, n)
        in_turn = partial(self._in_turn, C, when)
        return plans_for_any([partial(in_turn, ks) for ks in every])

    def _in_turn(self, C: Config, when: Schedule, ks: Slices) -> Plans:
        pairs = zip(self.parts, ks, strict=True)
        return plans_for_all([self._comes(part, C, when, k) for part, k in pairs])

    def _found(self, trajectory: StateTrajectory) -> list[int | None]:
        """For each part the earliest slice on which it can hold in turn."""
        left: tuple[int, ...] = self._slices(trajectory)
        found: list[int | None] = []
        for part in self.parts:
            k = first_slice(part, trajectory, left, True)
            found.append(k)
            left = () if k is None else tuple(j for j in left if j >= k)
        return found


def first_slice(
    part: Predicate, trajectory: StateTrajectory, slices: tuple[int, ...], truth: bool
) -> int | None:
    """The first of some slices on which a predicate has that truth, or None."""
    return next(
        (k for k in slices if part.holds(trajectory.world_at(k)) == truth), None
    )


def _require_momentary(part: Predicate) -> None:
    """Raise a PredicateError for statements of paths within others."""
    if isinstance(part, Temporal):
        raise PredicateError(
            f"{format_predicate(part)} speaks of a path, and stands within another"
            " statement of one; join them by &, | and ~ instead."
        )
    for inner in part.parts if isinstance(part, Formula) else ():
        _require_momentary(inner)


def _when(trajectory: StateTrajectory, k: int) -> str:
    return f"At t = {trajectory.times[k]:g} (slice {k})"


def _span(trajectory: StateTrajectory, slices: tuple[int, ...]) -> str:
    if len(slices) == 1:
        return f"at t = {trajectory.times[slices[0]]:g}"
    start, end = (trajectory.times[k] for k in (slices[0], slices[-1]))
    return f"on the {len(slices)} slices from t = {start:g} to {end:g}"
