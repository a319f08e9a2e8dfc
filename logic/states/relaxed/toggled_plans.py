"""Plans that switch an object on or off: windows of slices with a finger press."""

from functools import partial

from posewise.objectives.terms.interval import Slices
from posewise.robots.config import Config

from ...errors import PredicateError
from ...formulas.schedule import Plan, Plans, Schedule, TimedObjectives, plans_for_any
from ...relaxed.constraint_terms import Inequality
from ..button_fingers import button_fingers
from ..resampling import slice_duration
from ..toggle_slice_rules import PRESS_DISTANCE, PRESS_STEPS
from .range_features import origin_out_of_range, origin_within_range


def toggled_plans(C: Config, schedule: Schedule, name: str, value: bool) -> Plans:
    """Return plans in which a switch has a value on all `schedule.state_slices`.

    If the switch has the value now, no finger comes near, on slices or between them.
    Otherwise one finger is near on `PRESS_STEPS` consecutive slices before, and no
    finger on any other slice: a press of that many steps or more flips the switch once.

    Args:
        C: the world.
        schedule: slices.
        name: of the object with the switch.
        value: of the switch.

    Raises:
        PredicateError: if there is no finger to press the button, or no time.
    """
    slice_duration(schedule.interval, f"Switching {name!r}")
    state, fingers = C.annotations.states[name], button_fingers(C)
    button = C.object(name).link("toggleable")
    first, last = schedule.state_slices[0], schedule.state_slices[-1]
    if bool(state.toggled_on) == value:
        assumption = frozenset({(("pressed", name), False)})
        every = tuple(range(last + 1))
        rows = _clear_rows(C, schedule, fingers, button, every)
        return [Plan("", rows, assumption)]
    word = "on" if value else "off"
    if not fingers:
        raise PredicateError(
            f"Nothing can switch {name!r} {word}: there is no finger; give an agent"
            " hands with fingers that have shapes, by C.annotations.add_agent(...,"
            " hands=...)."
        )
    # A finger that is near now must leave on slice 0, before a new press counts.
    begin = max(schedule.action_slices[0], int(state.near_steps > 0))
    starts = range(first - PRESS_STEPS + 1, begin - 1, -1)
    if not starts:
        raise PredicateError(
            f"Switching {name!r} {word} takes {PRESS_STEPS} slices with a finger near"
            f" its button, and there are {max(first + 1 - begin, 0)}; take more slices."
        )
    press = partial(_press_plans, C, schedule, name, fingers, button)
    return plans_for_any([partial(press, f, s) for s in starts for f in fingers])


def _press_plans(
    C: Config,
    schedule: Schedule,
    name: str,
    fingers: tuple[str, ...],
    button: str,
    finger: str,
    start: int,
) -> Plans:
    """Return the plan in which a finger presses a button from a slice on."""
    end = start + PRESS_STEPS
    near = tuple(range(start, end))
    # On the ways into the press and out of it the finger crosses the range once, so
    # these steps have no rows.
    clear = tuple(
        k for k in range(schedule.state_slices[-1] + 1) if not start <= k <= end
    )
    rows = schedule.on_slices(near).constraint_objectives(
        (origin_within_range, (finger, button, PRESS_DISTANCE)),
        C,
        partial(_near_row, C, finger, button),
    )
    rows += _clear_rows(C, schedule, fingers, button, clear)
    title = f"{finger} presses {button} on slices {near[0]} to {near[-1]}"
    return [Plan(title, rows, frozenset({(("pressed", name), start)}))]


def _clear_rows(
    C: Config, schedule: Schedule, fingers: tuple[str, ...], button: str, slices: Slices
) -> TimedObjectives:
    """Return rows of no finger near a button, on the ways into slices."""
    rows: TimedObjectives = ()
    for finger in fingers if slices else ():
        rows += schedule.on_slices(slices).constraint_objectives(
            (origin_out_of_range, (finger, button, PRESS_DISTANCE)),
            C,
            partial(_clear_row, C, finger, button),
        )
    return rows


def _near_row(C: Config, finger: str, button: str) -> Inequality:
    return Inequality(origin_within_range(C, finger, button, PRESS_DISTANCE))


def _clear_row(C: Config, finger: str, button: str) -> Inequality:
    return Inequality(origin_out_of_range(C, finger, button, PRESS_DISTANCE))
