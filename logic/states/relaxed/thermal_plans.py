"""How paths make things hot or cold, or keep them from it: windows of slices.

An object is in range of one source for as many slices in a row as it takes, and away
from all that work against it until then; or it is in range for so few that it does not
get there. Counts hold for every step of the roll-out from a slice down to none: slow
heating is exp(-r t), fast heating (1 - r·tau)^n, both by the closed form of
`dwell_steps`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from posewise.objectives.interval import Slices
from posewise.robots.config import Config
from posewise.robots.world.object_states import AMBIENT_TEMPERATURE

from ...errors import PredicateError
from ...exact.containment import InsideOf, contains_points
from ...exact.joint_openness import Open
from ...geometry.frame_groups import centre_of_mass, find_object
from ...planning.schedule import (
    Assumption,
    Plan,
    Plans,
    Schedule,
    TimedObjective,
    TimedObjectives,
    plans_for_all,
    plans_for_any,
)
from ...relaxed.constraint_terms import Inequality
from ..resampling import slice_duration
from ..thermal_rules import DEFAULT_DECAY
from ..thermal_sources import ThermalSource, can_be_active, find_thermal_sources
from .range_features import RANGE_MARGIN as RANGE_MARGIN
from .range_features import out_of_range, within_range
from .thermal_rows import STRICT_MARGIN
from .toggled_plans import toggled_plans


@dataclass(frozen=True, eq=False)
class TemperatureGoal:
    """An object, a temperature that it shall reach or not, and when."""

    C: Config
    name: str
    """Of the object."""
    limit: float
    """[°C]."""
    when: Schedule
    outcome: str
    """"cooked", "burnt": what it is from then on; "frozen", "heated": while so."""

    @property
    def is_cold(self) -> bool:
        """The limit is reached from above."""
        return self.outcome == "frozen"

    @property
    def is_transient(self) -> bool:
        """It counts only while it is so."""
        return self.outcome in ("frozen", "heated")

    @property
    def is_reached(self) -> bool:
        """It was reached already, for good."""
        highest = self.C.states[self.name].max_temperature
        return not self.is_transient and bool(highest >= self.limit)

    @property
    def safe_limit(self) -> float:
        """A temperature at which it surely is not reached."""
        return self.limit + (STRICT_MARGIN if self.is_cold else -STRICT_MARGIN)

    @property
    def description(self) -> str:
        """For messages."""
        return f"{self.name!r} reaching {self.limit:g} °C"

    @property
    def tau(self) -> float:
        """Time from slice to slice [s]."""
        return slice_duration(self.when.interval, self.description)

    @property
    def temperature(self) -> float:
        """Its temperature [°C]."""
        return float(self.C.states[self.name].temperature)

    @property
    def sources(self) -> list[ThermalSource]:
        """All that could act on it.

        Raises:
            PredicateError: where their rates are too high for such slices.
        """
        found = [s for s in find_thermal_sources(self.C) if can_be_active(self.C, s)]
        found = [s for s in found if not (_requires_inside(s) and s.owner == self.name)]
        share = self.tau * (sum(s.rate for s in found) + DEFAULT_DECAY)
        if share >= 1:
            raise PredicateError(
                f"{self.description}: slices of {self.tau:g} s times all heating rates"
                f" are {share:g}, expected less than 1; take more or shorter slices."
            )
        return found

    def is_past(self, T: float) -> bool:
        """Whether a temperature is that, or past it."""
        return T <= self.limit if self.is_cold else T >= self.limit

    def farthest(self, *temperatures: float) -> float:
        """The one that is farthest from being reached."""
        return max(temperatures) if self.is_cold else min(temperatures)

    def nearest(self, *temperatures: float) -> float:
        """The one that is nearest to being reached, or past it."""
        return min(temperatures) if self.is_cold else max(temperatures)


def reach_plans(task: TemperatureGoal) -> Plans:
    """In range of one source until it is so hot (or cold), away from all opposed.

    Args:
        task: the goal to reach by, or to hold on, all slices of `when.state_slices`.

    Raises:
        PredicateError: where nothing gets it there, or not in that time.
    """
    if task.is_reached:
        return [Plan()]
    able = [s for s in task.sources if task.is_past(s.temperature)]
    able = [s for s in able if s.temperature != task.limit and s.rate > 0]
    if not able:
        does, which = ("cools", "cold") if task.is_cold else ("heats", "heat")
        raise PredicateError(
            f"Nothing in this world {does} {task.name!r} to {task.limit:g} °C; give an"
            f" object the ability {which}Source, or switch it on."
        )
    return plans_for_any([partial(_dwell_plans, task, source) for source in able])


def avoid_plans(task: TemperatureGoal) -> Plans:
    """In range of a source that gets it there only for so long that it does not.

    Args:
        task: until the last slice of `when.state_slices` it shall not be reached.

    Raises:
        PredicateError: where it is reached already, or by itself.
    """
    task_sources = task.sources
    strong = [s for s in task_sources if task.is_past(s.temperature)]
    mild = [s.temperature for s in task_sources if not task.is_past(s.temperature)]
    start = task.nearest(task.temperature, AMBIENT_TEMPERATURE, *mild)
    if task.is_reached or task.is_past(start + task.limit - task.safe_limit):
        raise PredicateError(
            f"{task.name!r} cannot be kept from being {task.outcome}, at {task.limit:g}"
            f" °C: it is at {task.temperature:g} °C, and without stronger sources it"
            f" may come to {start:g} °C, or it was hotter before."
        )
    counts = [_harmless_slices(task, s, start) for s in strong]
    last = task.when.state_slices[-1]
    if len(strong) == 1 and counts[0] > last:
        return [Plan()]
    windows = [
        (source, tuple(range(s, s + n)))
        for source, n in zip(strong, counts, strict=True)
        for s in range(max(last - n + 2, 1) if n else 0)
    ]
    ways = [_avoid_plan(task, strong, source, slices) for source, slices in windows]
    return ways or [_avoid_plan(task, strong, None, ())]


def recover_plans(task: TemperatureGoal) -> Plans:
    """Away from all sources that keep it so, for long enough if it is so now.

    Args:
        task: a transient goal that must not hold on any of `when.state_slices`.

    Raises:
        PredicateError: where that takes longer.
    """
    if not task.is_past(task.temperature):
        return avoid_plans(task)
    first, goal = task.when.state_slices[0], task.safe_limit
    passes = lambda T: T > goal if task.is_cold else T < goal
    keeping = [s for s in task.sources if not passes(s.temperature)]
    n = first + 2
    if passes(AMBIENT_TEMPERATURE):
        n = _sufficient_slices(
            task.temperature, goal, AMBIENT_TEMPERATURE, DEFAULT_DECAY, task.tau
        )
    if n > first + 1:
        side = "above" if task.is_cold else "below"
        raise PredicateError(
            f"{task.name!r} is at {task.temperature:g} °C, and by itself not {side}"
            f" {task.limit:g} °C before slice {n - 1}; take more or longer slices."
        )
    return [_avoid_plan(task, keeping, None, ())]


def _dwell_plans(task: TemperatureGoal, source: ThermalSource) -> Plans:
    """All windows of a source."""
    when = task.when
    against = [s for s in task.sources if not task.is_past(s.temperature)]
    here = [s.temperature for s in against if _is_in_range_now(task, s)]
    start = task.farthest(task.temperature, AMBIENT_TEMPERATURE, *here)
    n = _sufficient_slices(start, task.limit, source.temperature, source.rate, task.tau)
    first, last = when.state_slices[0], when.state_slices[-1]
    begin = when.action_slices[0]
    if begin + n - 1 > first:
        raise PredicateError(
            f"{task.description} takes {n} slices of {task.tau:g} s in range of"
            f" {source.owner!r}, and there are {first + 1 - begin}; take more or longer"
            " slices."
        )
    latest = first - n + 1
    starts = [latest] if task.is_transient else range(latest, begin - 1, -1)
    ends = [last if task.is_transient else s + n - 1 for s in starts]
    windows = [tuple(range(s, e + 1)) for s, e in zip(starts, ends, strict=True)]
    return plans_for_any(
        [partial(_dwell_window_plans, task, source, against, w) for w in windows]
    )


def _dwell_window_plans(
    task: TemperatureGoal,
    source: ThermalSource,
    against: Sequence[ThermalSource],
    slices: Slices,
) -> Plans:
    """In range of a source on slices, all its requirements met."""
    span = f"slices {slices[0]} to {slices[-1]}"
    name = f"{task.name} at {source.owner} on {span}"
    C, when, required = task.C, task.when, source.parameters
    claims = frozenset(_in_range_assumption(task, source, k, True) for k in slices)
    until = tuple(range(slices[-1] + 1))
    rows = [*_range_rows(task, source, slices, True)]
    for s in against:
        # where it is now is no fault: it may leave until the window begins
        rows += _range_rows(
            task, s, slices if _is_in_range_now(task, s) else until, False
        )
    if required["requires_closed"]:
        rows += _predicate_rows(task, Open(source.owner), slices, False)
    parts: list[Plans] = [[Plan(name, tuple(rows), claims)]]
    if required["requires_toggled_on"]:
        parts.append(toggled_plans(C, when.on_slices(slices), source.owner, True))
    return plans_for_all(parts)


def _avoid_plan(
    task: TemperatureGoal,
    sources: Sequence[ThermalSource],
    allowed: ThermalSource | None,
    window: Slices,
) -> Plan:
    """Out of range of all sources, but for one of them on some slices."""
    every = range(task.when.state_slices[-1] + 1)
    rows: list[TimedObjective] = []
    claims: set[Assumption] = set()
    name = ""
    for source in sources:
        out = tuple(k for k in every if source is not allowed or k not in window)
        rows += _range_rows(task, source, out, False)
        ends = {*out, *(k - 1 for k in out)}
        claims |= {_in_range_assumption(task, source, k, False) for k in ends}
    if allowed is not None:
        span = f"slices {window[0]} to {window[-1]}"
        name = f"{task.name} away from {allowed.owner} but for {span}"
    return Plan(name, tuple(rows), frozenset(claims))


def _in_range_assumption(
    task: TemperatureGoal, source: ThermalSource, k: int, truth: bool
) -> Assumption:
    return ("in range", task.name, source.owner, source.frame, k), truth


def _range_rows(
    task: TemperatureGoal, source: ThermalSource, slices: Slices, truth: bool
) -> TimedObjectives:
    """In the range of a source, or out of it, on slices."""
    if not slices:
        return ()
    if _requires_inside(source):
        inside = InsideOf(task.name, source.owner, semantics="igibson")
        return _predicate_rows(task, inside, slices, truth)
    C, make = task.C, within_range if truth else out_of_range
    given = task.name, source.frame, source.parameters["distance_threshold"]
    return task.when.on_slices(slices).constraint_objectives(
        (make, given), C, lambda: Inequality(make(C, *given))
    )


def _predicate_rows(
    task: TemperatureGoal, predicate: InsideOf | Open, slices: Slices, truth: bool
) -> TimedObjectives:
    schedule = task.when.on_slices(slices)
    (plan,) = predicate.plans(task.C, schedule, truth)
    return plan.objectives


def _is_in_range_now(task: TemperatureGoal, source: ThermalSource) -> bool:
    """Whether the object is in a source's range as it is, or almost."""
    C = task.C
    centre = centre_of_mass(find_object(C, task.name), root=True)
    if _requires_inside(source):
        return bool(contains_points(find_object(C, source.owner), centre[None])[0])
    away = np.linalg.norm(C.pose(source.frame)[:3] - centre)
    return bool(away <= source.parameters["distance_threshold"] + RANGE_MARGIN)


def _requires_inside(source: ThermalSource) -> bool:
    return source.parameters["requires_inside"]


def _sufficient_slices(
    start: float, goal: float, source: float, rate: float, tau: float
) -> int:
    """Slices in range that suffice, whatever part of a slice a step is."""
    if (source - goal) * (goal - start) <= 0:
        return 1
    return math.ceil(math.log((source - start) / (source - goal)) / (rate * tau)) + 1


def _harmless_slices(task: TemperatureGoal, source: ThermalSource, start: float) -> int:
    """Slices in range that do not suffice, each with the way into it."""
    goal, total = task.safe_limit, task.when.state_slices[-1] + 1
    if source.rate == 0:
        return total
    ratio = (source.temperature - start) / (source.temperature - goal)
    if ratio <= 0 or not np.isfinite(ratio):
        return total
    slices = math.log(ratio) / -math.log1p(-source.rate * task.tau)
    return max(math.ceil(slices) - 1, 0)
