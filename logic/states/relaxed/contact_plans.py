"""How paths make tools and blades touch things, or keep them apart."""

from functools import partial

from posewise.objectives.interval import Slices
from posewise.robots.config import Config

from ...errors import PredicateError
from ...exact.contact import CONTACT_TOLERANCE
from ...geometry.frame_groups import FrameGroup, find_object, subtree_group
from ...planning.schedule import Plan, Plans, Schedule, TimedObjectives, plans_for_any
from ...relaxed.constraint_terms import Inequality
from ...relaxed.contact import STRICT_MARGIN, beyond_distance_rows, within_distance_rows
from ...relaxed.object_features import ObjectPair
from ..dirt_rules import is_dirty


def sliced_plans(C: Config, when: Schedule, name: str, value: bool) -> Plans:
    """A blade touches the object on some slice before; or none does on any.

    Raises:
        PredicateError: where there is no blade, or it is sliced already and shall not
            be.
    """
    sliced = bool(C.states[name].sliced)
    if sliced and not value:
        raise PredicateError(
            f"{name!r} is sliced, which cannot be undone; begin with a world where it"
            " is whole."
        )
    blades = tool_parts(C, "slicer", name)
    if sliced or not value:
        return [_no_touch_plan(C, when, blades, name)] if not sliced else [Plan()]
    if not blades:
        raise PredicateError(
            f"Nothing can slice {name!r}: give an object with shapes the ability"
            " slicer."
        )
    slices = [k for k in when.action_slices if k <= when.state_slices[0]][::-1]
    cut = partial(_touch_plans, C, when, name)
    return plans_for_any([partial(cut, blade, k) for k in slices for blade in blades])


def dirty_plans(C: Config, when: Schedule, name: str, kind: str, share: float) -> Plans:
    """No cleaning tool touches an object that is dirty.

    Raises:
        PredicateError: where it is clean: nothing makes it dirty.
    """
    if not is_dirty(getattr(C.states[name], kind).active, share):
        raise PredicateError(
            f"{name!r} has not that much {kind}, and nothing along a path brings some;"
            " set it before, e.g. by logic.Dusty(...).set(C)."
        )
    return [_no_touch_plan(C, when, tool_parts(C, "cleaningTool", name), name)]


def tool_parts(C: Config, ability: str, name: str) -> list[tuple[str, FrameGroup]]:
    """Owners and working parts of tools, those of other objects than one."""
    owners = [o for o in C.objects.values() if ability in o.abilities]
    found = [
        (o.name, subtree_group(C, o.link(ability))) for o in owners if o.name != name
    ]
    return [(owner, part) for owner, part in found if part.collision_frames]


def touch_rows(
    C: Config, when: Schedule, part: FrameGroup, name: str, slices: Slices
) -> TimedObjectives:
    """A part touches an object on slices."""
    error = 0.5 * CONTACT_TOLERANCE
    pair = ObjectPair(C, part, find_object(C, name), False)
    row = lambda: Inequality(
        pair.feature(within_distance_rows(CONTACT_TOLERANCE, error)), 100.0, error
    )
    return when.on_slices(slices).constraint_objectives(
        ("touch", part.name, name), C, row
    )


def _touch_plans(
    C: Config, when: Schedule, name: str, blade: tuple[str, FrameGroup], k: int
) -> Plans:
    owner, part = blade
    title = f"{owner} touches {name} at t = {when.slice_time(k):g}"
    return [Plan(title, touch_rows(C, when, part, name, (k,)))]


def _no_touch_plan(
    C: Config, when: Schedule, parts: list[tuple[str, FrameGroup]], name: str
) -> Plan:
    """No part touches an object on any slice until the last one."""
    until, rows = (
        when.on_slices(tuple(range(when.state_slices[-1] + 1))),
        Plan().objectives,
    )
    for _, part in parts:
        pair = ObjectPair(C, part, find_object(C, name), False)
        row = lambda pair=pair: Inequality(
            pair.feature(beyond_distance_rows(CONTACT_TOLERANCE + STRICT_MARGIN))
        )
        rows += until.constraint_objectives(("apart", part.name, name), C, row)
    return Plan("", rows)
