"""How paths fill containers at a water source, and how they keep them from it."""

from functools import partial

import numpy as np

from posewise.robots.config import Config
from posewise.robots.world.objects import WorldObject

from ...errors import PredicateError
from ...planning.schedule import Plan, Plans, Schedule, plans_for_all, plans_for_any
from ...relaxed.constraint_terms import Inequality
from .range_features import outside_column
from .toggled_plans import toggled_plans
from .water_plans import DropletGoal, droplet_plans, is_dripping, usable_taps


def filled_plans(
    C: Config, when: Schedule, name: str, level: int, value: bool
) -> Plans:
    """So many droplets are in a container on `when.state_slices`, or fewer.

    Fewer: each water source is off, or none of the container's cavities comes below it,
    on slices or between them.

    Raises:
        PredicateError: where no source can, in no such time, or there is no cavity; and
            where so many are in it already.
    """
    needed = level - int(C.states[name].contents)
    cavities = C.objects[name].cavities
    if value:
        if needed > 0 and not cavities:
            raise PredicateError(
                f"Nothing can fill {name!r}: it has no cavity; add one by"
                f" C.add_region({name!r}, ...)."
            )
        ways = [DropletGoal("fill", name, needed, into) for into in cavities or (None,)]
        return plans_for_any([partial(droplet_plans, C, when, way) for way in ways])
    if needed <= 0:
        raise PredicateError(
            f"{name!r} holds {level - needed} droplets, and nothing takes any out; set"
            f" it before, e.g. by C.set_state({name!r}, contents=0)."
        )
    return plans_for_all([_not_filled_by(C, when, name, tap) for tap in usable_taps(C)])


def _not_filled_by(C: Config, when: Schedule, name: str, tap: WorldObject) -> Plans:
    beside = partial(_clear_of_tap, C, when, name, tap)
    if is_dripping(C, tap):
        return beside()
    return plans_for_any([partial(toggled_plans, C, when, tap.name, False), beside])


def _clear_of_tap(C: Config, when: Schedule, name: str, tap: WorldObject) -> Plans:
    """A ball about each cavity never meets the line down from a tap."""
    until, rows = (
        when.on_slices(tuple(range(when.state_slices[-1] + 1))),
        Plan().objectives,
    )
    point = tap.link("waterSource")
    for region in C.objects[name].cavities:
        middle = (region.corners.min(0) + region.corners.max(0)) / 2
        radius = float(np.linalg.norm(region.corners - middle, axis=1).max())
        made = lambda at=middle, by=radius, on=region.frame: Inequality(
            outside_column(C, on, point, at, by)
        )
        rows += until.constraint_objectives(
            (outside_column, point, name, region.name), C, made
        )
    return [Plan(f"{name} beside {tap.name}", rows)]
