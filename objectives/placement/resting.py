"""Placements in which the contents of containers are at rest.

What lies among others in a box is carried by several of them and by walls, in places
that no rule of geometry tells well. A simulation does.
"""

from collections.abc import Collection

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.simulation.motion import SimulationError
from posewise.robots.simulation.twin import Twin
from posewise.robots.typing import FrameName

from ..terms.loose import loose_roots
from .settling import SETTLING_CHOICES


def resting_state(
    world: Config, q: Float[np.ndarray, " nq"], names: Collection[FrameName]
) -> Float[np.ndarray, " nq"]:
    """Return the state to which some objects come in a simulation from rest.

    Args:
        world: in which the objects are on free joints; not changed.
        q: state in which they begin.
        names: the objects; all others are held.

    Returns:
        The state; `q` itself where a simulation throws overlapping objects away.

    Raises:
        ConfigError: for worlds that MuJoCo cannot represent.
        ImportError: without MuJoCo.
    """
    start = world.copy()
    start.q = q
    for name in set(loose_roots(world)) - set(names):
        start.joints.set_type(name, None)
    try:
        after = Twin(start).simulate(SETTLING_CHOICES.rest_seconds).world_at()
    except SimulationError:
        return q
    state = np.array(q)
    for name in names:
        end = after.q[after.joints.coordinates([name])]
        state[world.joints.coordinates([name])] = end
    return state
