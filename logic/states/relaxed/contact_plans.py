"""Plans in which tools and blades touch objects, or never touch them."""

from functools import partial

from posewise.objectives.terms.interval import Slices
from posewise.robots.config import Config

from ...errors import PredicateError
from ...exact.contact import CONTACT_TOLERANCE
from ...formulas.schedule import Plan, Plans, Schedule, TimedObjectives, plans_for_any
from ...geometry.frame_groups import FrameGroup, find_object, subtree_group
from ...margins import STRICT_MARGIN
from ...relaxed.constraint_terms import Inequality
from ...relaxed.contact import beyond_distance_rows, within_distance_rows
from ...relaxed.object_features import ObjectPair
from ..dirt_rules import is_dirty


def sliced_plans(C: Config, schedule: Schedule, name: str, value: bool) -> Plans:
    """Return plans in which a blade touches an object on some slice, or on none.

    Args:
        C: the world.
        schedule: slices; the truth is that of its `state_slices`.
        name: of the object.
        value: whether the object is to be sliced.

    Raises:
        PredicateError: if there is no blade, or a sliced object is to be whole.
    """
    sliced = bool(C.annotations.states[name].sliced)
    if sliced and not value:
        raise PredicateError(
            f"{name!r} is sliced, which cannot be undone; begin with a world where it"
            " is whole."
        )
    blades = tool_parts(C, "slicer", name)
    if sliced:
        return [Plan()]
    if not value:
        return [_no_touch_plan(C, schedule, blades, name)]
    if not blades:
        raise PredicateError(
            f"Nothing can slice {name!r}: give an object with shapes the ability"
            " slicer."
        )
    # Late contacts first: they leave the blade the most time to arrive.
    end = schedule.state_slices[0]
    slices = [k for k in schedule.action_slices if k <= end][::-1]
    cut = partial(_touch_plans, C, schedule, name)
    return plans_for_any([partial(cut, blade, k) for k in slices for blade in blades])


def dirty_plans(
    C: Config, schedule: Schedule, name: str, kind: str, share: float
) -> Plans:
    """Return a plan in which no cleaning tool touches a dirty object.

    Args:
        C: the world.
        schedule: slices; the truth is that of its `state_slices`.
        name: of the object.
        kind: their substance.
        share: of the particles, above which the object is dirty.

    Raises:
        PredicateError: if the object is clean, because no path makes it dirty.
    """
    if not is_dirty(C.annotations.states[name].particles(kind).active, share):
        raise PredicateError(
            f"{name!r} has not that much {kind}, and nothing along a path brings some;"
            " set it before, e.g. by logic.Dusty(...).set(C)."
        )
    tools = tool_parts(C, "cleaningTool", name)
    return [_no_touch_plan(C, schedule, tools, name)]


def tool_parts(C: Config, ability: str, name: str) -> list[tuple[str, FrameGroup]]:
    """Return owners and working parts of the tools that are not the object itself.

    Args:
        C: the world.
        ability: of the tools.
        name: of the object.
    """
    owners = [o for o in C.objects.values() if ability in o.abilities]
    tools = [
        (o.name, subtree_group(C, o.link(ability))) for o in owners if o.name != name
    ]
    return [(owner, part) for owner, part in tools if part.collision_frames]


def touch_rows(
    C: Config, schedule: Schedule, part: FrameGroup, name: str, slices: Slices
) -> TimedObjectives:
    """Return rows of a part that touches an object on slices."""
    error = 0.5 * CONTACT_TOLERANCE
    pair = ObjectPair(C, part, find_object(C, name), False)

    def term() -> Inequality:
        # Sound: within_distance_rows is an upper bound of the distance, by at most
        # `error`.
        row = pair.feature(within_distance_rows(CONTACT_TOLERANCE, error))
        return Inequality(row, 100.0, error)

    key = ("touch", part.name, name)
    return schedule.on_slices(slices).constraint_objectives(key, C, term)


def _touch_plans(
    C: Config, schedule: Schedule, name: str, blade: tuple[str, FrameGroup], k: int
) -> Plans:
    """Return the plan in which a blade touches an object on slice k."""
    owner, part = blade
    title = f"{owner} touches {name} at t = {schedule.slice_time(k):g}"
    return [Plan(title, touch_rows(C, schedule, part, name, (k,)))]


def _no_touch_plan(
    C: Config, schedule: Schedule, parts: list[tuple[str, FrameGroup]], name: str
) -> Plan:
    """Return the plan in which no part touches an object until the last slice."""
    until = schedule.on_slices(tuple(range(schedule.state_slices[-1] + 1)))
    rows = Plan().objectives
    for _, part in parts:
        term = partial(
            _separation_row, ObjectPair(C, part, find_object(C, name), False)
        )
        rows += until.constraint_objectives(("apart", part.name, name), C, term)
    return Plan("", rows)


def _separation_row(pair: ObjectPair) -> Inequality:
    """Return the row of a pair that is farther apart than contact."""
    return Inequality(
        pair.feature(beyond_distance_rows(CONTACT_TOLERANCE + STRICT_MARGIN))
    )
