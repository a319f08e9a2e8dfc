"""Plans in which an object becomes hot or cold, or is kept from it.

An object is in range of one source for as many consecutive slices as it takes, and away
from all opposed sources until then; or it is in range for so few slices that it does
not get there. Counts of slices hold for a roll-out of every step size from one slice
down to none: heating is slowest in the limit of small steps, exp(-r t), and fastest
with one step per slice, (1 - r·tau)^n, by T_n = T_s - (T_s - T_0)(1 - r·dt)^n.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from posewise.objectives.terms.interval import Slices
from posewise.robots.annotations.object_states import AMBIENT_TEMPERATURE
from posewise.robots.config import Config

from ...errors import PredicateError
from ...exact.containment import contains_points
from ...formulas.schedule import (
    Assumption,
    Plan,
    Plans,
    Schedule,
    TimedObjective,
    TimedObjectives,
    plans_for_all,
    plans_for_any,
)
from ...geometry.frame_groups import centre_of_mass, find_object
from ...predicates.containment import InsideOf
from ...predicates.joint_openness import Open
from ...relaxed.constraint_terms import Inequality
from ..resampling import slice_duration
from ..thermal_rules import DEFAULT_DECAY_RATE
from ..thermal_sources import ThermalSource, can_be_active, find_thermal_sources
from .range_features import RANGE_MARGIN, out_of_range, within_range
from .toggled_plans import toggled_plans

STRICT_MARGIN = 1e-4
"""Margin of strict inequalities [°C]; larger is farther from complete."""


@dataclass(frozen=True, eq=False)
class TemperatureGoal:
    """An object, a temperature that it is to reach or to avoid, and when."""

    C: Config
    name: str
    """Name of the object."""
    limit: float
    """The temperature [°C]."""
    schedule: Schedule
    """Slices; the truth is that of its `state_slices`."""
    outcome: Literal["cooked", "burnt", "on fire", "frozen", "heated"] | str
    """The state that the temperature causes."""

    @property
    def is_cold(self) -> bool:
        """Whether the limit is reached from above."""
        return self.outcome == "frozen"

    @property
    def is_transient(self) -> bool:
        """Whether the state lasts only while the temperature is past the limit."""
        return self.outcome in ("frozen", "heated")

    @property
    def is_reached(self) -> bool:
        """Whether a permanent state was reached already."""
        highest = self.C.annotations.states[self.name].max_temperature
        return not self.is_transient and bool(highest >= self.limit)

    @property
    def safe_limit(self) -> float:
        """A temperature that is not past the limit, by a margin [°C]."""
        return self.limit + (STRICT_MARGIN if self.is_cold else -STRICT_MARGIN)

    @property
    def description(self) -> str:
        """The goal in words, for messages."""
        return f"{self.name!r} reaching {self.limit:g} °C"

    @property
    def tau(self) -> float:
        """Time from slice to slice [s]."""
        return slice_duration(self.schedule.interval, self.description)

    @property
    def temperature(self) -> float:
        """Present temperature of the object [°C]."""
        return float(self.C.annotations.states[self.name].temperature)

    @property
    def sources(self) -> list[ThermalSource]:
        """All sources that could act on the object.

        Raises:
            PredicateError: if their rates are too high for slices of that duration.
        """
        sources = [s for s in find_thermal_sources(self.C) if can_be_active(self.C, s)]
        # An object is never inside itself, hence not in the range of that source.
        sources = [
            s for s in sources if not (_requires_inside(s) and s.owner == self.name)
        ]
        share = self.tau * (sum(s.rate for s in sources) + DEFAULT_DECAY_RATE)
        if share >= 1:
            raise PredicateError(
                f"{self.description}: slices of {self.tau:g} s times all heating rates"
                f" are {share:g}, expected less than 1; take more or shorter slices."
            )
        return sources

    def is_past(self, T: float) -> bool:
        """Return whether a temperature is at the limit, or beyond it."""
        return T <= self.limit if self.is_cold else T >= self.limit

    def farthest(self, *temperatures: float) -> float:
        """Return the temperature that is farthest from the limit [°C]."""
        return max(temperatures) if self.is_cold else min(temperatures)

    def nearest(self, *temperatures: float) -> float:
        """Return the temperature that is nearest to the limit, or past it [°C]."""
        return min(temperatures) if self.is_cold else max(temperatures)


def reach_plans(goal: TemperatureGoal) -> Plans:
    """Return plans in which the object is in range of a source until it is reached.

    Args:
        goal: reached before, or lasting on, all slices of `schedule.state_slices`.

    Raises:
        PredicateError: if no source reaches the temperature, or not in that time.
    """
    if goal.is_reached:
        return [Plan()]
    # A source at exactly the limit only approaches it.
    able = [s for s in goal.sources if goal.is_past(s.temperature)]
    able = [s for s in able if s.temperature != goal.limit and s.rate > 0]
    if not able:
        does, which = ("cools", "cold") if goal.is_cold else ("heats", "heat")
        raise PredicateError(
            f"Nothing in this world {does} {goal.name!r} to {goal.limit:g} °C; give an"
            f" object the ability {which}Source, or switch it on."
        )
    return plans_for_any([partial(_dwell_plans, goal, source) for source in able])


def avoid_plans(goal: TemperatureGoal) -> Plans:
    """Return plans in which the object is in range of strong sources only briefly.

    Args:
        goal: not reached until the last slice of `schedule.state_slices`.

    Raises:
        PredicateError: if it is reached already, or without strong sources.
    """
    sources = goal.sources
    strong = [s for s in sources if goal.is_past(s.temperature)]
    mild = [s.temperature for s in sources if not goal.is_past(s.temperature)]
    # Sound: mild sources, the surroundings and the present temperature bound the
    # temperature at which the object may enter the range of a strong source.
    start = goal.nearest(goal.temperature, AMBIENT_TEMPERATURE, *mild)
    if goal.is_reached or goal.is_past(start + goal.limit - goal.safe_limit):
        raise PredicateError(
            f"{goal.name!r} cannot be kept from being {goal.outcome}, at {goal.limit:g}"
            f" °C: it is at {goal.temperature:g} °C, and without stronger sources it"
            f" may come to {start:g} °C, or it was hotter before."
        )
    counts = [_harmless_slices(goal, s, start) for s in strong]
    last = goal.schedule.state_slices[-1]
    if len(strong) == 1 and counts[0] > last:
        return [Plan()]
    windows = [
        (source, tuple(range(s, s + n)))
        for source, n in zip(strong, counts, strict=True)
        for s in range(max(last - n + 2, 1) if n else 0)
    ]
    plans = [_avoid_plan(goal, strong, source, slices) for source, slices in windows]
    return plans or [_avoid_plan(goal, strong, None, ())]


def recover_plans(goal: TemperatureGoal) -> Plans:
    """Return plans in which a transient state ends, away from all sources of it.

    Args:
        goal: transient, and not holding on any of `schedule.state_slices`.

    Raises:
        PredicateError: if that takes longer.
    """
    if not goal.is_past(goal.temperature):
        return avoid_plans(goal)
    first, target = goal.schedule.state_slices[0], goal.safe_limit

    def recovers(T: float) -> bool:
        """Return whether surroundings of a temperature end the state."""
        return T > target if goal.is_cold else T < target

    keeping = [s for s in goal.sources if not recovers(s.temperature)]
    n = first + 2
    if recovers(AMBIENT_TEMPERATURE):
        n = _sufficient_slices(
            goal.temperature, target, AMBIENT_TEMPERATURE, DEFAULT_DECAY_RATE, goal.tau
        )
    if n > first + 1:
        side = "above" if goal.is_cold else "below"
        raise PredicateError(
            f"{goal.name!r} is at {goal.temperature:g} °C, and by itself not {side}"
            f" {goal.limit:g} °C before slice {n - 1}; take more or longer slices."
        )
    return [_avoid_plan(goal, keeping, None, ())]


def _dwell_plans(goal: TemperatureGoal, source: ThermalSource) -> Plans:
    """Return plans for all windows of slices in the range of a source."""
    schedule = goal.schedule
    opposed = [s for s in goal.sources if not goal.is_past(s.temperature)]
    acting = [s.temperature for s in opposed if _is_in_range_now(goal, s)]
    # Sound: the object starts no farther from the limit than the farthest of what may
    # act on it before the window.
    start = goal.farthest(goal.temperature, AMBIENT_TEMPERATURE, *acting)
    n = _sufficient_slices(start, goal.limit, source.temperature, source.rate, goal.tau)
    first, last = schedule.state_slices[0], schedule.state_slices[-1]
    begin = schedule.action_slices[0]
    if begin + n - 1 > first:
        raise PredicateError(
            f"{goal.description} takes {n} slices of {goal.tau:g} s in range of"
            f" {source.owner!r}, and there are {first + 1 - begin}; take more or longer"
            " slices."
        )
    latest = first - n + 1
    # A transient state lasts only while the object stays in range.
    starts = [latest] if goal.is_transient else range(latest, begin - 1, -1)
    ends = [last if goal.is_transient else s + n - 1 for s in starts]
    windows = [tuple(range(s, e + 1)) for s, e in zip(starts, ends, strict=True)]
    return plans_for_any(
        [partial(_dwell_window_plans, goal, source, opposed, w) for w in windows]
    )


def _dwell_window_plans(
    goal: TemperatureGoal,
    source: ThermalSource,
    opposed: Sequence[ThermalSource],
    slices: Slices,
) -> Plans:
    """Return plans in range of a source on slices, with all its requirements met.

    Args:
        goal: the temperature to reach.
        source: the source that reaches it.
        opposed: sources to stay away from until the last of the slices.
        slices: the window.
    """
    span = f"slices {slices[0]} to {slices[-1]}"
    name = f"{goal.name} at {source.owner} on {span}"
    C, required = goal.C, source.parameters
    assumptions = frozenset(_in_range_assumption(goal, source, k, True) for k in slices)
    until = tuple(range(slices[-1] + 1))
    rows = [*_range_rows(goal, source, slices, True)]
    for s in opposed:
        # An object in an opposed range now may leave it until the window begins: its
        # effect is in the start temperature of `_dwell_plans`.
        away = slices if _is_in_range_now(goal, s) else until
        rows += _range_rows(goal, s, away, False)
    if required["requires_closed"]:
        rows += _predicate_rows(goal, Open(source.owner), slices, False)
    parts: list[Plans] = [[Plan(name, tuple(rows), assumptions)]]
    if required["requires_toggled_on"]:
        on_window = goal.schedule.on_slices(slices)
        parts.append(toggled_plans(C, on_window, source.owner, True))
    return plans_for_all(parts)


def _avoid_plan(
    goal: TemperatureGoal,
    sources: Sequence[ThermalSource],
    allowed: ThermalSource | None,
    window: Slices,
) -> Plan:
    """Return the plan out of range of all sources, except one on some slices.

    Args:
        goal: the temperature to avoid.
        sources: to stay away from.
        allowed: the exception, if any.
        window: slices on which the exception may be in range.
    """
    every = range(goal.schedule.state_slices[-1] + 1)
    rows: list[TimedObjective] = []
    assumptions: set[Assumption] = set()
    name = ""
    for source in sources:
        out = tuple(k for k in every if source is not allowed or k not in window)
        rows += _range_rows(goal, source, out, False)
        # A row out of range covers the way from the slice before, so it is about both.
        ends = {*out, *(k - 1 for k in out)}
        assumptions |= {_in_range_assumption(goal, source, k, False) for k in ends}
    if allowed is not None:
        span = f"slices {window[0]} to {window[-1]}"
        name = f"{goal.name} away from {allowed.owner} except on {span}"
    return Plan(name, tuple(rows), frozenset(assumptions))


def _in_range_assumption(
    goal: TemperatureGoal, source: ThermalSource, k: int, truth: bool
) -> Assumption:
    return ("in range", goal.name, source.owner, source.frame, k), truth


def _range_rows(
    goal: TemperatureGoal, source: ThermalSource, slices: Slices, truth: bool
) -> TimedObjectives:
    """Return rows of the object in the range of a source, or out of it, on slices."""
    if not slices:
        return ()
    if _requires_inside(source):
        inside = InsideOf(goal.name, source.owner, semantics="igibson")
        return _predicate_rows(goal, inside, slices, truth)
    make = within_range if truth else out_of_range
    distance = source.parameters["distance_threshold"]

    def term() -> Inequality:
        return Inequality(make(goal.C, goal.name, source.frame, distance))

    key = (make, (goal.name, source.frame, distance))
    return goal.schedule.on_slices(slices).constraint_objectives(key, goal.C, term)


def _predicate_rows(
    goal: TemperatureGoal, predicate: InsideOf | Open, slices: Slices, truth: bool
) -> TimedObjectives:
    """Return the rows of a momentary predicate, or of its negation, on slices."""
    schedule = goal.schedule.on_slices(slices)
    (plan,) = predicate.plans(goal.C, schedule, truth)
    return plan.objectives


def _is_in_range_now(goal: TemperatureGoal, source: ThermalSource) -> bool:
    """Return whether the object is in a source's range now, up to its margin."""
    C = goal.C
    centre = centre_of_mass(find_object(C, goal.name), root_only=True)
    if _requires_inside(source):
        return bool(contains_points(find_object(C, source.owner), centre[None])[0])
    distance = np.linalg.norm(C.pose(source.frame)[:3] - centre)
    return bool(distance <= source.parameters["distance_threshold"] + RANGE_MARGIN)


def _requires_inside(source: ThermalSource) -> bool:
    return bool(source.parameters["requires_inside"])


def _sufficient_slices(
    start: float, target: float, source: float, rate: float, tau: float
) -> int:
    """Return a number of slices in range that suffices, for every step size.

    Args:
        start: temperature before [°C].
        target: temperature to reach [°C].
        source: temperature of the source [°C].
        rate: of the source [1/s].
        tau: duration of a slice [s].
    """
    if (source - target) * (target - start) <= 0:
        return 1
    # Sound: exp(-r t) decays slowest of all step sizes. One slice more, because the way
    # into the first one does not count.
    decay = math.log((source - start) / (source - target))
    return math.ceil(decay / (rate * tau)) + 1


def _harmless_slices(goal: TemperatureGoal, source: ThermalSource, start: float) -> int:
    """Return a number of slices in range that does not suffice, for every step size.

    Args:
        goal: the temperature to avoid.
        source: the source in whose range the object is.
        start: temperature before [°C].
    """
    target, total = goal.safe_limit, goal.schedule.state_slices[-1] + 1
    if source.rate == 0:
        return total
    ratio = (source.temperature - start) / (source.temperature - target)
    if ratio <= 0 or not np.isfinite(ratio):
        return total
    # Sound: (1 - r·tau)^n decays fastest of all step sizes, and the count is the
    # largest integer strictly below the one that would reach the target. The rows out
    # of range on the slices before and after include the ways from and to the window.
    slices = math.log(ratio) / -math.log1p(-source.rate * goal.tau)
    return max(math.ceil(slices) - 1, 0)
