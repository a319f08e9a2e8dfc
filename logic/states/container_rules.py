"""Droplets that fall into containers and stay there: how many, and when it is enough.

iGibson has no containers; sources, droplets and how these fall are its own.
"""

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.contact.ray_primitives import Polytopes
from posewise.robots.errors import ConfigError
from posewise.robots.geometry.hulls import volume_and_centroid
from posewise.robots.world.objects import WorldObject
from posewise.robots.world.regions import Region

DOWN = np.array([[0.0, 0.0, -1.0]])
DROPLET_VOLUME = 4 / 3 * np.pi * 0.01**3
"""Volume of a droplet, a ball 2 cm wide as in iGibson [m³]."""
FILLED_PERCENT = 30
"""What is filled holds more than so much of its capacity [%]."""
MIN_OPENING_UP = np.cos(np.pi / 4)
"""An opening is up where the z axis of the cavity's frame has at least this z."""


def droplet_capacity(thing: WorldObject) -> int:
    """How many droplets a container holds.

    As annotated; else those of the volume of its cavities, at least one.

    Raises:
        ConfigError: for what is not fillable, and where neither is known.
    """
    annotated = thing.ability("fillable")["capacity"]
    if annotated is not None:
        return int(annotated)
    if not thing.cavities:
        raise ConfigError(
            f"How much {thing.name!r} holds is not known; give it a capacity,"
            ' abilities={"fillable": {"capacity": 20}}, or a cavity, by'
            f" C.add_region({thing.name!r}, ...)."
        )
    volume = sum(volume_and_centroid(region.corners)[0] for region in thing.cavities)
    return max(int(volume / DROPLET_VOLUME), 1)


def min_filled_droplets(capacity: int) -> int:
    """The least droplets in a container of a capacity that is filled."""
    return FILLED_PERCENT * capacity // 100 + 1


def falls_into(
    C: Config, region: Region, start: Float[np.ndarray, "3"], drop: float
) -> bool:
    """Whether what falls straight down goes through a cavity whose opening is up.

    Args:
        C: the world.
        region: the cavity.
        start: where it begins [m].
        drop: how far it falls [m].
    """
    poses, at = C.forward_pass().frames, C.index(region.frame)
    R, p = poses.R[at], poses.p[at]
    enter, leave = Polytopes(region.planes[None], np.zeros(1, int)).intersect(
        (start - p)[None] @ R, DOWN @ R
    )
    through = max(enter.item(), 0.0) <= min(leave.item(), drop)
    return bool(through and R[2, 2] >= MIN_OPENING_UP)
