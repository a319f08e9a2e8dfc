"""Plans in which a container is filled at a water source, or is kept from it."""

from functools import partial

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.world.objects import WorldObject

from ...errors import PredicateError
from ...planning.schedule import Plan, Plans, Schedule, plans_for_all, plans_for_any
from ...relaxed.constraint_terms import Inequality
from .range_features import outside_column
from .toggled_plans import toggled_plans
from .water_plans import DropletGoal, droplet_plans, is_dripping, usable_taps


def filled_plans(
    C: Config, schedule: Schedule, name: str, level: int, value: bool
) -> Plans:
    """Return plans in which a container holds enough droplets, or does not.

    It stays empty while each water source is off, or none of the container's cavities
    comes below it, on slices or between them.

    Args:
        C: the world.
        schedule: slices; the truth is that of its `state_slices`.
        name: of the container.
        level: number of droplets that are enough.
        value: whether the container is to hold them.

    Raises:
        PredicateError: if no source can fill the container in time, it has no cavity,
            or it is to hold fewer droplets than it does.
    """
    needed = level - int(C.states[name].contents)
    cavities = C.objects[name].cavities
    if value:
        if needed > 0 and not cavities:
            raise PredicateError(
                f"Nothing can fill {name!r}: it has no cavity; add one by"
                f" C.add_region({name!r}, ...)."
            )
        goals = [
            DropletGoal("fill", name, needed, cavity) for cavity in cavities or (None,)
        ]
        return plans_for_any([partial(droplet_plans, C, schedule, g) for g in goals])
    if needed <= 0:
        raise PredicateError(
            f"{name!r} holds {level - needed} droplets, and nothing takes any out; set"
            f" it before, e.g. by C.set_state({name!r}, contents=0)."
        )
    return plans_for_all([_not_filled_by(C, schedule, name, t) for t in usable_taps(C)])


def _not_filled_by(C: Config, schedule: Schedule, name: str, tap: WorldObject) -> Plans:
    """Return plans in which a tap stays off, or away from the container."""
    beside = partial(_clear_of_tap, C, schedule, name, tap)
    if is_dripping(C, tap):
        return beside()
    return plans_for_any([partial(toggled_plans, C, schedule, tap.name, False), beside])


def _clear_of_tap(C: Config, schedule: Schedule, name: str, tap: WorldObject) -> Plans:
    """Return a plan in which no cavity meets the vertical line below a tap."""
    until = schedule.on_slices(tuple(range(schedule.state_slices[-1] + 1)))
    rows = Plan().objectives
    link = tap.link("waterSource")
    for region in C.objects[name].cavities:
        # Sound: the ball about the cavity's corners contains the cavity, in every
        # orientation of the container.
        centre = (region.corners.min(0) + region.corners.max(0)) / 2
        radius = float(np.linalg.norm(region.corners - centre, axis=1).max())
        term = partial(_ball_row, C, region.frame, link, centre, radius)
        key = (outside_column, link, name, region.name)
        rows += until.constraint_objectives(key, C, term)
    return [Plan(f"{name} beside {tap.name}", rows)]


def _ball_row(
    C: Config,
    frame: str,
    link: str,
    centre: Float[np.ndarray, "3"],
    radius: float,
) -> Inequality:
    """Return the row of a ball in a frame that never meets the line below a link."""
    return Inequality(outside_column(C, frame, link, centre, radius))
