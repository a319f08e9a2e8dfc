"""Plans in which an object is below a water source while enough droplets fall.

Droplets fall straight down, as in `rollout(..., droplets="straight down")`. The state
of the source determines when they are released. Counts hold for roll-outs with one step
per slice as well as with the default steps of `resample`.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np
from jaxtyping import Int

from posewise.robots.annotations.objects import WorldObject
from posewise.robots.annotations.regions import Region
from posewise.robots.config import Config

from ...errors import PredicateError
from ...formulas.schedule import (
    Plan,
    Plans,
    Schedule,
    TimedObjectives,
    plans_for_all,
    plans_for_any,
)
from ...geometry.frame_groups import (
    FrameGroup,
    find_object,
    first_hits,
    has_collision_shape,
)
from ...margins import RAY_CLEARANCE
from ...relaxed.constraint_terms import Inequality
from ...relaxed.object_features import ObjectPair, PairRows, with_point
from ...relaxed.pour_into import pour_into_rows
from ...relaxed.rays import DEFAULT_HIT_RANGE, DOWN, ray_hit_rows, ray_miss_rows
from ..button_fingers import button_fingers
from ..container_rules import MIN_OPENING_UP
from ..resampling import slice_duration
from ..thermal_rules import DEFAULT_STEP
from ..toggle_slice_rules import PRESS_STEPS
from ..water_rules import DROPLET_PERIOD, SPOUT_OFFSET, stream_step
from .toggled_plans import toggled_plans

HIT_TOLERANCE = 1e-3
"""Error of the row of a droplet's fall meeting the object [m]; larger is smoother."""


@dataclass(frozen=True, eq=False)
class DropletGoal:
    """An object that is to catch droplets."""

    verb: Literal["soak", "fill"]
    """Effect of the droplets on the object."""
    name: str
    """Name of the object."""
    needed: int
    """Number of further droplets."""
    cavity: Region | None = None
    """The cavity through which they are to fall; None: they only have to hit."""


def droplet_plans(C: Config, schedule: Schedule, goal: DropletGoal) -> Plans:
    """Return plans in which enough droplets are caught by `schedule.state_slices`.

    Args:
        C: the world.
        schedule: slices.
        goal: the object and its droplets.

    Raises:
        PredicateError: if no source can provide them in time.
    """
    if goal.needed <= 0:
        return [Plan()]
    # Only a static source has a known line of fall, and a known clearance to what is
    # below it.
    static = [o for o in usable_taps(C) if _is_static(C, o.link("waterSource"))]
    if not static:
        raise PredicateError(
            f"Nothing can {goal.verb} {goal.name!r}: there is no water source that"
            " stands still and runs, or could be switched on by a finger of an agent."
        )
    return plans_for_any([partial(_tap_plans, C, schedule, goal, t) for t in static])


def usable_taps(C: Config) -> list[WorldObject]:
    """Return the water sources that drip, or could be switched on."""
    taps = [o for o in C.objects.values() if "waterSource" in o.abilities]
    return [o for o in taps if is_dripping(C, o) or button_fingers(C)]


def is_dripping(C: Config, tap: WorldObject) -> bool:
    """Return whether a water source is on, or just was: one more droplet may fall."""
    return _is_on(C, tap) or bool(C.annotations.states[tap.name].stream.running)


def below_tap(name: str, tap: str, k: int) -> tuple[str, str, str, int]:
    """Return the subject of the fact that a container is below a tap in a slice."""
    return "below", name, tap, k


def exposures(
    C: Config, schedule: Schedule, tap: WorldObject, limit: int
) -> list[range]:
    """Return the longest ranges of slices in which at most `limit` droplets fall.

    The ways to these slices count, from the slice before the first of them on.

    Args:
        C: the world.
        schedule: slices.
        tap: the water source.
        limit: largest number of droplets.
    """
    count = schedule.state_slices[-1] + 1
    tau = slice_duration(schedule.interval, "Filling")
    every = sorted({1, _steps_per_slice(tau)})
    if "toggleable" in tap.abilities:
        # Whenever a tap is switched, droplets are this many steps apart at least.
        droplets_left = int(C.annotations.states[tap.name].stream.left)
        apart = [int(np.ceil(DROPLET_PERIOD * n / tau)) + 1 for n in every]
        totals = [
            np.minimum(-(-np.arange(count + 1) * n // d), droplets_left)
            for n, d in zip(every, apart, strict=True)
        ]
        most = np.max(totals, 0)
        largest = int(np.searchsorted(most, limit, "right")) - 1
        ends = [min(s + largest, count) for s in range(count)]
    else:
        counts = [
            _droplet_counts(C, tap, num_slices=count, tau=tau, steps=n, on=True)[:, 1]
            for n in every
        ]
        ends = []
        for s in range(count):
            fallen = np.max([c[s:] - (c[s - 1] if s else 0) for c in counts], 0)
            ends.append(s + int(np.searchsorted(fallen, limit, "right")))
    # A range within another one is left out.
    return [
        range(s, end)
        for s, end in enumerate(ends)
        if end > s and (s == 0 or end > ends[s - 1])
    ]


def _is_on(C: Config, tap: WorldObject) -> bool:
    return "toggleable" not in tap.abilities or bool(
        C.annotations.states[tap.name].toggled_on
    )


def _tap_plans(
    C: Config, schedule: Schedule, goal: DropletGoal, tap: WorldObject
) -> Plans:
    """Return plans for all times at which droplets of a tap may be caught."""
    doing, needed = f"{goal.verb.capitalize()}ing", goal.needed
    tau = slice_duration(schedule.interval, doing)
    begin, first = schedule.action_slices[0], schedule.state_slices[0]
    on = _is_on(C, tap)
    # One step per slice, and the steps that `resample` makes by default.
    counts = [
        _droplet_counts(C, tap, num_slices=first + 1, tau=tau, steps=n, on=on)
        for n in {1, _steps_per_slice(tau)}
    ]
    if on:
        ends = [
            (s, _first_slice_with(counts, s, needed)) for s in range(begin, first + 1)
        ]
        windows = [(s, e) for s, e in ends if e is not None and e <= first]
        parts = [
            partial(_window_plans, C, schedule, goal, tap, s, e)
            for s, e in windows[::-1]
        ]
    else:
        wait = _first_slice_with(counts, 0, needed)
        last = begin if wait is None else first - PRESS_STEPS + 1 - wait
        parts = [
            partial(_switch_on_plans, C, schedule, goal, tap, wait or 0, s)
            for s in range(last, begin, -1)
        ]
    if not parts:
        droplets_left = C.annotations.states[tap.name].stream.left
        more = f"stream=Stream(left={needed})"
        change = f"C.annotations.set_state({tap.name!r}, {more})"
        few = f"; {tap.name!r} has {droplets_left} left: {change}"
        raise PredicateError(
            f"{doing} {goal.name!r} below {tap.name!r} takes {needed} droplets, which"
            f" are not all let go within slices {begin} to {first}, of {tau:g} s"
            f"{few if droplets_left < needed else '; take more or longer slices'}."
        )
    return plans_for_any(parts)


def _switch_on_plans(
    C: Config,
    schedule: Schedule,
    goal: DropletGoal,
    tap: WorldObject,
    wait: int,
    start: int,
) -> Plans:
    """Return plans that switch a tap on, with the object below it from before.

    Args:
        C: the world.
        schedule: slices.
        goal: the object and its droplets.
        tap: the water source.
        wait: number of slices from switching on to the last droplet.
        start: slice from which a finger presses; the object is below the tap from the
            slice before.
    """
    on = start + PRESS_STEPS - 1
    end = on + wait
    pressed = schedule.on_slices(tuple(range(on, end + 1)))
    pressed = replace(pressed, action_slices=tuple(range(start, on + 1)))
    toggled = toggled_plans(C, pressed, tap.name, True)
    below = _window_plans(C, schedule, goal, tap, start - 1, end)
    return plans_for_all([toggled, below])


def _window_plans(
    C: Config,
    schedule: Schedule,
    goal: DropletGoal,
    tap: WorldObject,
    start: int,
    end: int,
) -> Plans:
    """Return the plan with the object below a tap on slices, and nothing in between.

    Args:
        C: the world.
        schedule: slices.
        goal: the object and its droplets.
        tap: the water source.
        start: first slice.
        end: last slice.
    """
    link = tap.link("waterSource")
    frame = C.index(link)
    source = FrameGroup(C, link, (frame,))
    R, p = source.pose(frame)
    spout, release = R.T @ SPOUT_OFFSET, p + SPOUT_OFFSET
    obstacles = _obstacles(C, goal.name)
    static = [x for x in obstacles if _is_static(C, x.name)]
    # Sound: a fall shorter than to the first static obstacle is not blocked by any of
    # them, so that only moving obstacles need rows.
    depths = [first_hits(x, release[None], DOWN).item() for x in static]
    reach = min([DEFAULT_HIT_RANGE, *depths]) - RAY_CLEARANCE
    window = schedule.on_slices(tuple(range(start, end + 1)))

    def rows(
        relation: Hashable, other: FrameGroup, build: PairRows, error: float = 0.0
    ) -> TimedObjectives:
        """Return rows of the source and another group, from the spout."""
        pair = ObjectPair(C, source, other, True)

        def term() -> Inequality:
            return Inequality(pair.feature(with_point(build, spout)), error=error)

        return window.constraint_objectives((relation, link, other.name), C, term)

    target = find_object(C, goal.name)
    hit = ray_hit_rows(DOWN, reach, HIT_TOLERANCE)
    objectives = Plan().objectives + rows("below", target, hit, HIT_TOLERANCE)
    if goal.cavity is not None:
        pour = pour_into_rows(goal.cavity, MIN_OPENING_UP)
        objectives += rows(goal.cavity, target, pour)
    for other in (x for x in obstacles if x not in static):
        objectives += rows("beside", other, ray_miss_rows(DOWN, reach))
    below = [below_tap(goal.name, tap.name, k) for k in window.slices]
    facts = frozenset((fact, True) for fact in below if goal.verb == "fill")
    title = f"{goal.name} below {tap.name} on slices {start} to {end}"
    return [Plan(title, objectives, facts)]


def _obstacles(C: Config, name: str) -> list[FrameGroup]:
    """Return all groups with shapes onto which droplets could fall, except an object.

    Objects, and frames of no object.
    """
    groups = [find_object(C, n) for n in C.objects]
    owned = {i for group in groups for i in group.frames}
    unowned = [
        FrameGroup(C, frame.name, (i,))
        for i, frame in enumerate(C.frames)
        if i not in owned and has_collision_shape(C, i)
    ]
    return [x for x in (*groups, *unowned) if x.name != name and x.collision_frames]


def _is_static(C: Config, name: str) -> bool:
    """Return whether no joint moves a frame, or the parts of an object."""
    chain: list[int] = list(find_object(C, name).frames)
    for i in chain:
        parent = C.frames[i].parent
        if parent is not None and parent not in chain:
            chain.append(parent)
    joints = [C.frames[i].joint for i in chain]
    return not {j.name for j in joints if j is not None} & set(C.joint_names)


def _steps_per_slice(tau: float) -> int:
    """Return the number of steps in a slice that `resample` makes by default."""
    return max(int(np.ceil(tau / DEFAULT_STEP - 1e-9)), 1)


def _droplet_counts(
    C: Config, tap: WorldObject, *, num_slices: int, tau: float, steps: int, on: bool
) -> Int[np.ndarray, "slices 2"]:
    """Return the droplets that a tap releases, before each slice and up to it.

    Args:
        C: the world.
        tap: the water source.
        num_slices: number of slices.
        tau: time from slice to slice [s].
        steps: number of steps in each slice.
        on: whether the tap is on now; otherwise it is switched on in the first slice.
    """
    stream = C.annotations.states[tap.name].stream
    stream = stream if on else replace(stream, running=False)
    released = []
    for _ in range(num_slices * steps):
        stream, releases = stream_step(stream, tau / steps)
        stream = replace(stream, running=True)
        released.append(releases)
    count = np.cumsum(released)
    # The slice is its last step, or, for a switch that flips in it, its first step.
    at_slice = np.arange(num_slices) * steps + (steps - 1 if on else 0)
    before = count[at_slice] - np.array(released)[at_slice]
    return np.stack([before, count[at_slice]], -1)


def _first_slice_with(
    counts: Sequence[Int[np.ndarray, "slices 2"]], start: int, needed: int
) -> int | None:
    """Return the first slice by which enough droplets fell, from a slice on.

    Args:
        counts: droplets before and up to each slice, for several step sizes, all of
            which have to suffice.
        start: the slice from which droplets are caught.
        needed: number of droplets.
    """
    enough = [c[start:, 1] - c[start, 0] >= needed for c in counts]
    every = np.all(enough, 0)
    return start + int(every.argmax()) if every.any() else None
