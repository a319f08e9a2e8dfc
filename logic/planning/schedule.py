"""Ways to make statements about paths true: which rows hold on which slices.

What is a disjunction over time (on some slice, for a while) becomes several plans, each
without any approximation of its own: errors are those of the rows alone.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from posewise.features import Feature
from posewise.objectives.interval import ObjectiveSpecs, SliceInterval, Slices
from posewise.objectives.objective import OT, select_slices
from posewise.robots.config import Config

from ..errors import PredicateError
from ..relaxed import constraint_terms

if TYPE_CHECKING:
    from ..formulas.predicate import Predicate

MAX_PLANS = 256
"""So many plans are made at most; of more, some that lie evenly among them."""
Assumption = tuple[tuple[Any, ...], Any]
"""What is spoken of, e.g. ("in range", "steak", "stove", slice), and what is said."""


TimedObjective = tuple[Feature, OT, Slices]
TimedObjectives = tuple[TimedObjective, ...]
"""Objectives."""


class Plan(NamedTuple):
    """One way to make a statement true."""

    name: str = ""
    objectives: TimedObjectives = ()
    assumptions: frozenset[Assumption] = frozenset()
    """What its rows say in short: plans that say different things of one do not go
    together."""


Plans = Sequence[Plan]


@dataclass(frozen=True, eq=False)
class Schedule:
    """When a statement shall hold."""

    span: SliceInterval
    """Of the path."""
    slices: Slices
    """On all of these, what is true of one moment."""
    state_slices: Slices
    """On all of these, what depends on the past: extended states."""
    action_slices: Slices
    """Consecutive slices, in which that may be brought about."""
    _made: dict[Any, Any] = field(default_factory=dict, repr=False)

    def on(self, slices: Slices) -> "Schedule":
        """On other slices; what depends on the past has all the time until then."""
        within = tuple(range(slices[-1] + 1))
        return replace(self, slices=slices, state_slices=slices, action_slices=within)

    def select_slices(self, times: Sequence[float], what: str) -> Slices:
        """Slices of a statement's own times; none: those it is added on.

        Raises:
            ObjectiveError: when no slice is selected.
            PredicateError: when both it and what it is added to name times.
        """
        if not times:
            return self.slices
        if len(self.slices) < len(self.span.tau):
            raise PredicateError(
                f"{what} has times {list(times)} of its own; add it without times, or"
                " leave them out."
            )
        groups = [times] if len(times) <= 2 else [[t] for t in times]
        per_phase, T = self.span.slices_per_phase, len(self.span.tau)
        found = [select_slices(g, per_phase, T, what) for g in groups]
        return tuple(dict.fromkeys(k for slices in found for k in slices))

    def time(self, k: int) -> float:
        """The time of a slice, in phases."""
        return (k + 1) / self.span.slices_per_phase

    def rows(self, part: "Predicate", C: Config, truth: bool = True) -> Plan:
        """The rows of a predicate of one moment, on all slices."""
        key = part, truth
        if truth:
            return Plan("", self._on_slices(key, lambda: part.objectives(C, self.span)))
        return Plan(
            "", self.constraint_objectives(key, C, lambda: part.relaxed(C, truth))
        )

    def constraint_objectives(
        self, key: Any, C: Config, term: Callable[[], constraint_terms.ConstraintTerm]
    ) -> TimedObjectives:
        """Rows on all slices: features under one key are made once for all plans."""
        return self._on_slices(
            key, lambda: constraint_terms.objectives(term(), C, self.span)
        )

    def _on_slices(
        self, key: Any, rows: Callable[[], ObjectiveSpecs]
    ) -> TimedObjectives:
        if key not in self._made:
            self._made[key] = [(feature, type) for feature, type, _ in rows()]
        return tuple((feature, type, self.slices) for feature, type in self._made[key])


def schedule_over(interval: SliceInterval) -> Schedule:
    """Moments on the slices of a span; states at its end, by what happens in it."""
    return Schedule(interval, interval.slices, interval.last, interval.slices)


def conjoin(plans: Iterable[Plan]) -> Plan | None:
    """All of them at once; None where they exclude each other."""
    parts = list(plans)
    claims: frozenset[Assumption] = frozenset().union(*(p.assumptions for p in parts))
    if len({subject for subject, _ in claims}) < len(claims):
        return None
    name = ", ".join(dict.fromkeys(p.name for p in parts if p.name))
    return Plan(name, tuple(o for p in parts for o in p.objectives), claims)


def plans_for_all(parts: Sequence[Plans]) -> Plans:
    """Plans for all parts at once.

    Raises:
        PredicateError: where all exclude each other.
    """
    found: Plans = [Plan()]
    for part in parts:
        both = (conjoin(pair) for pair in product(found, part))
        found = subsample([plan for plan in both if plan is not None])
        if not found:
            raise PredicateError(
                "These statements exclude each other on a path of so few or such long"
                f" slices: {', '.join(_first_names(parts))}; take more slices."
            )
    return found


def plans_for_any(parts: Sequence[Callable[[], Plans]]) -> Plans:
    """Plans for one of the parts, of those that have any.

    Raises:
        PredicateError: of the first part, where none has.
    """
    found: list[Plan] = []
    failed: list[PredicateError] = []
    for part in parts:
        try:
            found += part()
        except PredicateError as error:
            failed.append(error)
    if failed and not found:
        raise failed[0]
    return subsample(found)


def subsample(plans: Plans) -> Plans:
    """At most `MAX_PLANS`, evenly."""
    if len(plans) <= MAX_PLANS:
        return plans
    return [plans[k] for k in np.linspace(0, len(plans) - 1, MAX_PLANS).astype(int)]


def _first_names(parts: Sequence[Plans]) -> list[str]:
    return [p.name for part in parts for p in islice(part, 1) if p.name]
