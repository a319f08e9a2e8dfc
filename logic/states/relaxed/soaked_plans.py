"""How paths soak things: by standing below a water source."""

from posewise.robots.config import Config

from ...errors import PredicateError
from ...planning.schedule import Plan, Plans, Schedule
from .water_plans import DropletGoal, droplet_plans, usable_taps


def soaked_plans(
    C: Config, when: Schedule, name: str, level: int, value: bool
) -> Plans:
    """So many droplets are absorbed on `when.state_slices`, or fewer.

    Raises:
        PredicateError: where no source can, in no such time; and where it shall stay
            dry while there is water.
    """
    needed = level - int(C.states[name].wetness)
    if value:
        return droplet_plans(C, when, DropletGoal("soak", name, needed))
    if needed > 0 and not usable_taps(C):
        return [Plan()]
    why = "there is water" if needed > 0 else "it is soaked, and nothing dries it"
    raise PredicateError(
        f"That {name!r} is not soaked has no rows for a solver ({why}): it can only be"
        " checked."
    )
