"""Plans in which an object is soaked below a water source."""

from posewise.robots.config import Config

from ...errors import PredicateError
from ...formulas.schedule import Plan, Plans, Schedule
from .water_plans import DropletGoal, droplet_plans, usable_taps


def soaked_plans(
    C: Config, schedule: Schedule, name: str, level: int, value: bool
) -> Plans:
    """Return plans in which an object has absorbed enough droplets, or has not.

    Args:
        C: the world.
        schedule: slices; the truth is that of its `state_slices`.
        name: of the object.
        level: number of droplets that are enough.
        value: whether the object is to be soaked.

    Raises:
        PredicateError: if no source can soak the object in time, or it is to stay dry
            while there is water.
    """
    needed = level - int(C.annotations.states[name].wetness)
    if value:
        return droplet_plans(C, schedule, DropletGoal("soak", name, needed))
    if needed > 0 and not usable_taps(C):
        return [Plan()]
    why = "there is water" if needed > 0 else "it is soaked, and nothing dries it"
    raise PredicateError(
        f"That {name!r} is not soaked has no rows for a solver ({why}): it can only be"
        " checked."
    )
