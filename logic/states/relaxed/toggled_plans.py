"""How paths switch things on or off: a window of slices in which a finger presses."""

from functools import partial

from posewise.objectives.interval import Slices
from posewise.robots.config import Config

from ...errors import PredicateError
from ...planning.schedule import Plan, Plans, Schedule, TimedObjectives, plans_for_any
from ...relaxed.constraint_terms import Inequality
from ..button_fingers import button_fingers
from ..resampling import slice_duration
from ..toggle_slice_rules import PRESS_DISTANCE, PRESS_STEPS
from .range_features import origin_out_of_range, origin_within_range


def toggled_plans(C: Config, when: Schedule, name: str, value: bool) -> Plans:
    """The switch has that value on all slices of `when.state_slices`.

    As it is now: no finger comes near, on slices or between them. Else one finger is
    near on `PRESS_STEPS` slices in a row before, and none on any other: a press of so
    many steps or more switches once, however long it is.

    Raises:
        PredicateError: where there is nothing to press it, or no time.
    """
    slice_duration(when.interval, f"Switching {name!r}")
    state, fingers = C.states[name], button_fingers(C)
    button = C.object(name).link("toggleable")
    first, last = when.state_slices[0], when.state_slices[-1]
    if bool(state.toggled_on) == value:
        claim = frozenset({(("pressed", name), False)})
        every = tuple(range(last + 1))
        return [Plan("", _clear_rows(C, when, fingers, button, every), claim)]
    word = "on" if value else "off"
    if not fingers:
        raise PredicateError(
            f"Nothing can switch {name!r} {word}: there is no finger; give an agent"
            " hands with fingers that have shapes, by C.add_agent(..., hands=...)."
        )
    begin = max(when.action_slices[0], int(state.near_steps > 0))
    starts = range(first - PRESS_STEPS + 1, begin - 1, -1)
    if not starts:
        raise PredicateError(
            f"Switching {name!r} {word} takes {PRESS_STEPS} slices with a finger near"
            f" its button, and there are {max(first + 1 - begin, 0)}; take more slices."
        )
    press = partial(_press_plans, C, when, name, fingers, button)
    return plans_for_any([partial(press, f, s) for s in starts for f in fingers])


def _press_plans(
    C: Config,
    when: Schedule,
    name: str,
    fingers: tuple[str, ...],
    button: str,
    finger: str,
    start: int,
) -> Plans:
    end = start + PRESS_STEPS
    near = tuple(range(start, end))
    # on the ways into the press and out of it the finger crosses the range once
    apart = tuple(k for k in range(when.state_slices[-1] + 1) if not start <= k <= end)
    given = finger, button, PRESS_DISTANCE
    rows = when.on_slices(near).constraint_objectives(
        (origin_within_range, given),
        C,
        lambda: Inequality(origin_within_range(C, *given)),
    )
    rows += _clear_rows(C, when, fingers, button, apart)
    title = f"{finger} presses {button} on slices {near[0]} to {near[-1]}"
    return [Plan(title, rows, frozenset({(("pressed", name), start)}))]


def _clear_rows(
    C: Config, when: Schedule, fingers: tuple[str, ...], button: str, slices: Slices
) -> TimedObjectives:
    """No finger near a button on the ways into slices."""
    found: TimedObjectives = ()
    for finger in fingers if slices else ():
        given = finger, button, PRESS_DISTANCE
        make = lambda given=given: Inequality(origin_out_of_range(C, *given))
        found += when.on_slices(slices).constraint_objectives(
            (origin_out_of_range, given), C, make
        )
    return found
