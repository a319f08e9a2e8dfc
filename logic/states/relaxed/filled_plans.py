"""Plans in which a container is filled at a water source, or is kept from it."""

from dataclasses import replace
from functools import partial

import numpy as np
from jaxtyping import Float

from posewise.robots.annotations.objects import WorldObject
from posewise.robots.config import Config

from ...errors import PredicateError
from ...formulas.schedule import Plan, Plans, Schedule, plans_for_all, plans_for_any
from ...relaxed.constraint_terms import Inequality
from .range_features import outside_column
from .toggled_plans import toggled_plans
from .water_plans import (
    DropletGoal,
    below_tap,
    droplet_plans,
    exposures,
    is_dripping,
    usable_taps,
)


def filled_plans(
    C: Config, schedule: Schedule, name: str, level: int, value: bool
) -> Plans:
    """Return plans in which a container holds enough droplets, or does not.

    It holds too few while each water source is off, or none of the container's cavities
    comes below it, on slices or between them; of one source, except for a time in which
    too few droplets fall.

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
    needed = level - int(C.annotations.states[name].contents)
    cavities = C.objects[name].cavities
    if value:
        if needed > 0 and not cavities:
            raise PredicateError(
                f"Nothing can fill {name!r}: it has no cavity; add one by"
                f" C.annotations.add_region({name!r}, ...)."
            )
        goals = [
            DropletGoal("fill", name, needed, cavity) for cavity in cavities or (None,)
        ]
        return plans_for_any([partial(droplet_plans, C, schedule, g) for g in goals])
    if needed <= 0:
        raise PredicateError(
            f"{name!r} holds {level - needed} droplets, and nothing takes any out; set"
            f" it before, e.g. by C.annotations.set_state({name!r}, contents=0)."
        )
    taps = usable_taps(C)
    dry_plans = {t.name: _nothing_from(C, schedule, name, t) for t in taps}
    if needed == 1 or not taps:
        return plans_for_all([*dry_plans.values()])
    # Droplets of several sources would add up, so that only one of them may give some.
    few = [
        partial(_few_from, C, schedule, name, t, needed - 1, dry_plans) for t in taps
    ]
    return plans_for_any([partial(plans_for_all, [*dry_plans.values()]), *few])


def _nothing_from(C: Config, schedule: Schedule, name: str, tap: WorldObject) -> Plans:
    """Return plans in which a tap stays off, or away from the container."""
    beside = partial(_clear_of_tap, C, schedule, name, tap, range(0))
    if is_dripping(C, tap):
        return beside()
    return plans_for_any([partial(toggled_plans, C, schedule, tap.name, False), beside])


def _few_from(
    C: Config,
    schedule: Schedule,
    name: str,
    tap: WorldObject,
    limit: int,
    dry_plans: dict[str, Plans],
) -> Plans:
    """Return plans in which the container is below a tap for a while only.

    Args:
        C: the world.
        schedule: slices.
        name: of the container.
        tap: the water source.
        limit: largest number of droplets that may fall in that time.
        dry_plans: for each tap, plans in which it gives nothing.
    """
    some = [
        plan
        for exposed in exposures(C, schedule, tap, limit)
        for plan in _clear_of_tap(C, schedule, name, tap, exposed)
    ]
    if not some:
        raise PredicateError(
            f"More than {limit} droplets may fall from {tap.name!r} within a slice,"
            f" too many for {name!r}; take shorter slices."
        )
    return plans_for_all([some, *(x for n, x in dry_plans.items() if n != tap.name)])


def _clear_of_tap(
    C: Config, schedule: Schedule, name: str, tap: WorldObject, exposed: range
) -> Plans:
    """Return a plan in which no cavity meets the vertical line below a tap.

    Args:
        C: the world.
        schedule: slices.
        name: of the container.
        tap: the water source.
        exposed: slices that they may come below on the way to, also while they stay.
    """
    last = schedule.state_slices[-1]
    free = tuple(k for k in range(last + 1) if k not in exposed)
    # The way from the last of the exposed slices to the next one begins beside the tap.
    beside = {*free, *((exposed.stop - 1,) if exposed and exposed.stop <= last else ())}
    facts = frozenset((below_tap(name, tap.name, k), False) for k in beside)
    rows = Plan().objectives
    link = tap.link("waterSource")
    for region in C.objects[name].cavities if free else ():
        # Sound: the ball about the cavity's corners contains the cavity, in every
        # orientation of the container.
        centre = (region.corners.min(0) + region.corners.max(0)) / 2
        radius = float(np.linalg.norm(region.corners - centre, axis=1).max())
        term = partial(_ball_row, C, region.frame, link, centre, radius)
        key = (outside_column, link, name, region.name)
        ways = replace(schedule, slices=free)
        rows += ways.constraint_objectives(key, C, term)
    when = f", except to slices {exposed[0]} to {exposed[-1]}" if exposed else ""
    return [Plan(f"{name} beside {tap.name}{when}", rows, facts)]


def _ball_row(
    C: Config,
    frame: str,
    link: str,
    centre: Float[np.ndarray, "3"],
    radius: float,
) -> Inequality:
    """Return the row of a ball in a frame that never meets the line below a link."""
    return Inequality(outside_column(C, frame, link, centre, radius))
