"""Rules for droplets that fall into containers: capacity, fill level, cavity entry.

iGibson 2.0 has no containers: these rules extend its water sources, and keep its
droplets and their free fall.
"""

import numpy as np
from jaxtyping import Float

from posewise.robots.annotations.objects import WorldObject
from posewise.robots.annotations.regions import Region
from posewise.robots.config import Config
from posewise.robots.contact.ray_primitives import Polytopes
from posewise.robots.errors import ConfigError
from posewise.robots.geometry.hulls import volume_and_centroid

DOWN = np.array([[0.0, 0.0, -1.0]])
"""Direction in which droplets fall, as one row (1, 3)."""
DROPLET_VOLUME = 4 / 3 * np.pi * 0.01**3
"""Volume of a droplet, a ball 2 cm wide as in iGibson [m³]; larger fills faster."""
FILLED_PERCENT = 30
"""Share of its capacity that a filled container exceeds [%], as in OmniGibson; below it
a container is not filled."""
MIN_OPENING_UP = np.cos(np.pi / 4)
"""Least z component of an upright cavity's z axis; higher demands a more upright one.

The default is a tilt of 45 degrees.
"""


def droplet_capacity(container: WorldObject) -> int:
    """Return how many droplets a container holds.

    The annotated capacity, or else the volume of the cavities in droplets, at least
    one.

    Raises:
        ConfigError: if the object is not fillable, or has neither an annotated capacity
            nor a cavity.
    """
    annotated = container.ability("fillable")["capacity"]
    if annotated is not None:
        return int(annotated)
    if not container.cavities:
        raise ConfigError(
            f"The capacity of {container.name!r} is not known; give it a capacity,"
            ' abilities={"fillable": {"capacity": 20}}, or a cavity, by'
            f" C.annotations.add_region({container.name!r}, ...)."
        )
    volume = sum(volume_and_centroid(r.corners)[0] for r in container.cavities)
    return max(int(volume / DROPLET_VOLUME), 1)


def min_filled_droplets(capacity: int) -> int:
    """Return the least number of droplets with which a container counts as filled."""
    # Integers, because 0.3 * capacity rounds differently for some capacities.
    return FILLED_PERCENT * capacity // 100 + 1


def falls_into(
    C: Config, region: Region, start: Float[np.ndarray, "3"], drop: float
) -> bool:
    """Return whether a point falling straight down enters an upright cavity.

    Args:
        C: the world.
        region: the cavity.
        start: where the fall begins, in the world [m].
        drop: length of the fall [m].
    """
    poses, frame = C.forward_pass().frames, C.index(region.frame)
    R, p = poses.R[frame], poses.p[frame]
    enter, leave = Polytopes(region.planes[None], np.zeros(1, int)).intersect(
        (start - p)[None] @ R, DOWN @ R
    )
    passes = max(enter.item(), 0.0) <= min(leave.item(), drop)
    return bool(passes and R[2, 2] >= MIN_OPENING_UP)
