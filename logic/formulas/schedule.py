"""Plans that make statements about paths true: which rows hold on which slices.

A disjunction over time (on some slice, for a while) becomes several plans. None of them
adds an approximation: the error of a plan is that of its rows.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, product
from typing import Any, NamedTuple

import numpy as np

from posewise.features import Feature
from posewise.objectives.terms.interval import ObjectiveSpecs, SliceInterval, Slices
from posewise.objectives.terms.objective import OT, select_slices
from posewise.robots.config import Config

from ..errors import PredicateError
from ..relaxed import constraint_terms
from ..relaxed.constraint_terms import ConstraintTerm

MAX_PLANS = 256
"""Maximum number of plans of a statement (count).

More plans find more solutions but slow `KOMO.add`; of more, an even subsample is kept.
"""

Assumption = tuple[tuple[Any, ...], Any]
"""A fact and its value, such as (("in range", "steak", "stove", slice), True)."""
TimedObjective = tuple[Feature, OT, Slices]
"""A feature, its type, and the slices on which it holds."""
TimedObjectives = tuple[TimedObjective, ...]


class Plan(NamedTuple):
    """One of several alternatives that make a statement true."""

    name: str = ""
    objectives: TimedObjectives = ()
    assumptions: frozenset[Assumption] = frozenset()
    """Facts that the rows bring about.

    Two plans that assign different values to one fact cannot be combined.
    """


Plans = Sequence[Plan]


@dataclass(frozen=True, eq=False)
class Schedule:
    """Slices on which a statement must hold."""

    interval: SliceInterval
    """Interval of the path to which the statement is added."""
    slices: Slices
    """Slices on which momentary predicates hold."""
    state_slices: Slices
    """Slices on which predicates of extended states hold."""
    action_slices: Slices
    """Consecutive slices in which actions may bring these states about."""
    _cache: dict[Any, Any] = field(default_factory=dict, repr=False)

    def on_slices(self, slices: Slices) -> "Schedule":
        """Return the schedule for other slices.

        Actions that bring about a state there may use all slices until the last one.
        """
        until = tuple(range(slices[-1] + 1))
        return replace(self, slices=slices, state_slices=slices, action_slices=until)

    def select_slices(self, times: Sequence[float], label: str) -> Slices:
        """Return the slices that a statement's times select; by default, all of these.

        Raises:
            ObjectiveError: when no slice is selected.
            PredicateError: when both the statement and `KOMO.add` name times.
        """
        if not times:
            return self.slices
        if len(self.slices) < self.interval.T:
            raise PredicateError(
                f"{label} itself has times {list(times)}; add it without times, or"
                " leave them out."
            )
        groups = [times] if len(times) <= 2 else [[t] for t in times]
        per_phase, T = self.interval.slices_per_phase, self.interval.T
        selected = [select_slices(g, per_phase, T, label) for g in groups]
        return tuple(dict.fromkeys(k for slices in selected for k in slices))

    def slice_time(self, k: int) -> float:
        """Return the time of a slice, in phases."""
        return (k + 1) / self.interval.slices_per_phase

    def constraint_objectives(
        self, key: Hashable, C: Config, make_term: Callable[[], ConstraintTerm]
    ) -> TimedObjectives:
        """Return the rows of a term on all slices; see `timed_objectives`."""

        def specs() -> ObjectiveSpecs:
            return constraint_terms.objectives(make_term(), C, self.interval)

        return self.timed_objectives(key, specs)

    def timed_objectives(
        self, key: Hashable, make_specs: Callable[[], ObjectiveSpecs]
    ) -> TimedObjectives:
        """Return objectives on all slices.

        Features of one key are built once and shared by all plans, so that equal rows
        of different plans are the same objects and compile once.
        """
        if key not in self._cache:
            self._cache[key] = [(feature, type) for feature, type, _ in make_specs()]
        return tuple((feature, type, self.slices) for feature, type in self._cache[key])


def schedule_over(interval: SliceInterval) -> Schedule:
    """Return a schedule for an interval.

    Momentary predicates hold on all its slices, states on its last slice, by actions
    within the interval.
    """
    return Schedule(interval, interval.slices, interval.last, interval.slices)


def conjoin(plans: Iterable[Plan]) -> Plan | None:
    """Return the conjunction of plans; None when their assumptions contradict."""
    parts = list(plans)
    facts: frozenset[Assumption] = frozenset().union(*(p.assumptions for p in parts))
    if len({subject for subject, _ in facts}) < len(facts):
        return None
    name = ", ".join(dict.fromkeys(p.name for p in parts if p.name))
    return Plan(name, tuple(o for p in parts for o in p.objectives), facts)


def plans_for_all(parts: Sequence[Plans]) -> Plans:
    """Return plans that make all parts true.

    Raises:
        PredicateError: when every combination of plans is contradictory.
    """
    combined: Plans = [Plan()]
    for part in parts:
        pairs = (conjoin(pair) for pair in product(combined, part))
        combined = subsample([plan for plan in pairs if plan is not None])
        if not combined:
            raise PredicateError(
                "These statements exclude each other on a path of so few or such long"
                f" slices: {', '.join(_first_names(parts))}; take more slices."
            )
    return combined


def plans_for_any(parts: Sequence[Callable[[], Plans]]) -> Plans:
    """Return plans that make one of the parts true; parts without plans are skipped.

    Raises:
        PredicateError: the error of the first part, when no part has plans.
    """
    plans: list[Plan] = []
    errors: list[PredicateError] = []
    for part in parts:
        try:
            plans += part()
        except PredicateError as error:
            errors.append(error)
    if errors and not plans:
        raise errors[0]
    return subsample(plans)


def subsample(plans: Plans) -> Plans:
    """Return at most `MAX_PLANS` plans, evenly spaced."""
    if len(plans) <= MAX_PLANS:
        return plans
    return [plans[k] for k in np.linspace(0, len(plans) - 1, MAX_PLANS).astype(int)]


def _first_names(parts: Sequence[Plans]) -> list[str]:
    return [p.name for part in parts for p in islice(part, 1) if p.name]
