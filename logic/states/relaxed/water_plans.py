"""How paths bring things below a water source, while it lets enough droplets go.

Droplets fall straight down, as `rollout(..., droplets="straight down")` has it. When
they are let go follows from the state of the source, for slices and for finer steps.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Int

from posewise.robots.config import Config
from posewise.robots.world.objects import WorldObject
from posewise.robots.world.regions import Region

from ...errors import PredicateError
from ...geometry.frame_groups import (
    FrameGroup,
    find_object,
    first_hits,
    has_collision_shape,
)
from ...planning.schedule import (
    Plan,
    Plans,
    Schedule,
    TimedObjectives,
    plans_for_all,
    plans_for_any,
)
from ...relaxed.constraint_terms import Inequality
from ...relaxed.object_features import ObjectPair, PairRows, with_point
from ...relaxed.pour_into import pour_into_rows
from ...relaxed.rays import (
    DEFAULT_HIT_RANGE,
    DOWN,
    RAY_CLEARANCE,
    ray_hit_rows,
    ray_miss_rows,
)
from ..button_fingers import button_fingers
from ..container_rules import MIN_OPENING_UP
from ..resampling import slice_duration
from ..thermal_rules import DEFAULT_STEP
from ..toggle_slice_rules import PRESS_STEPS
from ..water_rules import SPOUT_OFFSET, stream_step
from .toggled_plans import toggled_plans

HIT_TOLERANCE = 1e-3
"""Of the row of a droplet's way down meeting the object [m]."""


@dataclass(frozen=True, eq=False)
class DropletGoal:
    """What shall catch droplets."""

    verb: str
    """What they do to it: "soak", "fill"."""
    name: str
    """The object."""
    needed: int
    """So many more."""
    cavity: Region | None = None
    """The cavity that they shall go through; None: they only have to meet it."""


def droplet_plans(C: Config, when: Schedule, task: DropletGoal) -> Plans:
    """So many droplets are caught until `when.state_slices`.

    Raises:
        PredicateError: where no source can, in no such time.
    """
    if task.needed <= 0:
        return [Plan()]
    still = [o for o in usable_taps(C) if _is_static(C, o.link("waterSource"))]
    if not still:
        raise PredicateError(
            f"Nothing can {task.verb} {task.name!r}: there is no water source that"
            " stands still and runs, or could be switched on by a finger of an agent."
        )
    return plans_for_any([partial(_tap_plans, C, when, task, tap) for tap in still])


def usable_taps(C: Config) -> list[WorldObject]:
    """Water sources that drip, or could be switched on."""
    taps = [o for o in C.objects.values() if "waterSource" in o.abilities]
    return [o for o in taps if is_dripping(C, o) or button_fingers(C)]


def is_dripping(C: Config, tap: WorldObject) -> bool:
    """Whether a water source is on, or just was: one more droplet may fall then."""
    return _is_on(C, tap) or bool(C.states[tap.name].stream.running)


def _is_on(C: Config, tap: WorldObject) -> bool:
    return "toggleable" not in tap.abilities or bool(C.states[tap.name].toggled_on)


def _tap_plans(C: Config, when: Schedule, task: DropletGoal, tap: WorldObject) -> Plans:
    """All times at which droplets of a tap may be caught."""
    doing, needed = f"{task.verb.capitalize()}ing", task.needed
    tau, begin, first = (
        slice_duration(when.interval, doing),
        when.action_slices[0],
        when.state_slices[0],
    )
    on = _is_on(C, tap)
    clocks = [
        _droplet_counts(C, tap, first + 1, tau, n, on)
        for n in {1, _steps_per_slice(tau)}
    ]
    if on:
        ends = [
            (s, _first_slice_with(clocks, s, needed)) for s in range(begin, first + 1)
        ]
        windows = [(s, e) for s, e in ends if e is not None and e <= first]
        made = [
            partial(_window_plans, C, when, task, tap, s, e) for s, e in windows[::-1]
        ]
    else:
        wait = _first_slice_with(clocks, 0, needed)
        last = begin if wait is None else first - PRESS_STEPS + 1 - wait
        starts = range(last, begin, -1)
        made = [
            partial(_switch_on_plans, C, when, task, tap, wait or 0, s) for s in starts
        ]
    if not made:
        left = C.states[tap.name].stream.left
        more = f"stream=Stream(left={needed})"
        few = f"; {tap.name!r} has {left} left: C.set_state({tap.name!r}, {more})"
        raise PredicateError(
            f"{doing} {task.name!r} below {tap.name!r} takes {needed} droplets, which"
            f" are not all let go within slices {begin} to {first}, of {tau:g} s"
            f"{few if left < needed else '; take more or longer slices'}."
        )
    return plans_for_any(made)


def _switch_on_plans(
    C: Config,
    when: Schedule,
    task: DropletGoal,
    tap: WorldObject,
    wait: int,
    start: int,
) -> Plans:
    """Switched on by a press from a slice on, and below it from the slice before."""
    on = start + PRESS_STEPS - 1
    end = on + wait
    pressed = when.on_slices(tuple(range(on, end + 1)))
    pressed = replace(pressed, action_slices=tuple(range(start, on + 1)))
    toggled = toggled_plans(C, pressed, tap.name, True)
    return plans_for_all([toggled, _window_plans(C, when, task, tap, start - 1, end)])


def _window_plans(
    C: Config, when: Schedule, task: DropletGoal, tap: WorldObject, start: int, end: int
) -> Plans:
    """Below a tap on slices, with nothing in between."""
    name, slices = task.name, tuple(range(start, end + 1))
    point = tap.link("waterSource")
    at = C.index(point)
    source = FrameGroup(C, point, (at,))
    R, p = source.pose(at)
    spout, drop = R.T @ SPOUT_OFFSET, p + SPOUT_OFFSET
    others = _obstacles(C, name)
    fixed = [x for x in others if _is_static(C, x.name)]
    heights = [first_hits(x, drop[None], DOWN).item() for x in fixed]
    reach = min([DEFAULT_HIT_RANGE, *heights]) - RAY_CLEARANCE
    here, made = when.on_slices(slices), Plan().objectives

    def rows(
        what: Any, other: FrameGroup, build: PairRows, error: float = 0.0
    ) -> TimedObjectives:
        pair = ObjectPair(C, source, other, True)
        term = lambda: Inequality(pair.feature(with_point(build, spout)), error=error)
        return here.constraint_objectives((what, point, other.name), C, term)

    own = find_object(C, name)
    made += rows("below", own, ray_hit_rows(DOWN, reach, HIT_TOLERANCE), HIT_TOLERANCE)
    if task.cavity is not None:
        made += rows(task.cavity, own, pour_into_rows(task.cavity, MIN_OPENING_UP))
    for other in (x for x in others if x not in fixed):
        made += rows("beside", other, ray_miss_rows(DOWN, reach))
    return [Plan(f"{name} below {tap.name} on slices {start} to {end}", made)]


def _obstacles(C: Config, name: str) -> list[FrameGroup]:
    """What else droplets could fall onto: objects, and frames of none with shapes."""
    solids = [find_object(C, n) for n in C.objects]
    owned = {i for solid in solids for i in solid.frames}
    loose = [
        FrameGroup(C, frame.name, (i,))
        for i, frame in enumerate(C.frames)
        if i not in owned and has_collision_shape(C, i)
    ]
    return [x for x in (*solids, *loose) if x.name != name and x.collision_frames]


def _is_static(C: Config, name: str) -> bool:
    """No joint moves a frame, or the parts of an object."""
    frames = find_object(C, name).frames
    up: list[int] = list(frames)
    for i in up:
        parent = C.frames[i].parent
        up += [] if parent is None or parent in up else [parent]
    joints = [C.frames[i].joint for i in up]
    return not {j.name for j in joints if j is not None} & set(C.joint_names)


def _steps_per_slice(tau: float) -> int:
    """Steps in a slice, as `resample` has them by default."""
    return max(int(np.ceil(tau / DEFAULT_STEP - 1e-9)), 1)


def _droplet_counts(
    C: Config, tap: WorldObject, T: int, tau: float, n: int, on: bool
) -> Int[np.ndarray, "T 2"]:
    """Droplets let go by a tap: before each slice, and up to it.

    Args:
        C: the world.
        tap: its owner.
        T: slices.
        tau: time from slice to slice [s].
        n: steps in each.
        on: it is on now; else it is switched on in the first slice.
    """
    stream, fallen = C.states[tap.name].stream, []
    stream = stream if on else replace(stream, running=False)
    for _ in range(T * n):
        stream, falls = stream_step(stream, tau / n)
        stream = replace(stream, running=True)
        fallen.append(falls)
    count = np.cumsum(fallen)
    at = np.arange(T) * n + (n - 1 if on else 0)
    return np.stack([count[at] - np.array(fallen)[at], count[at]], -1)


def _first_slice_with(
    clocks: Sequence[Int[np.ndarray, "T 2"]], start: int, needed: int
) -> int | None:
    """The first slice until which enough droplets fall, from a slice on."""
    enough = [c[start:, 1] - c[start, 0] >= needed for c in clocks]
    every = np.all(enough, 0)
    return start + int(every.argmax()) if every.any() else None
