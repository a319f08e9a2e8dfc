"""Rows φ <= 0 over a trajectory that soak and fill objects.

φ <= 0 implies the exact truth. Smooth ones are above the exact number by the bound that
each states; the others are exact.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.compilation.precision import full_matmul_precision
from posewise.features.safe_math import norm
from posewise.robots.errors import ConfigError
from posewise.robots.world.regions import Region

from ..container_rules import MIN_OPENING_UP
from ..water_rules import SPOUT_OFFSET
from .aggregates import Scalar, kth_smallest, smooth_max


def column_gap(
    source: Float[Any, "*T 3"],
    center: Float[Any, "*T 3"],
    radius: float,
    sharpness: Scalar = 1000.0,
) -> Float[jax.Array, "*T"]:
    """How far a ball within an object is from catching a droplet that falls [m].

    <= 0: the vertical line down from where droplets begin enters the ball. Nothing else
    must be in between, and the source not within the object: that is for other rows.

    Args:
        source: point of the water source at each step [m].
        center: of the ball [m].
        radius: of the ball [m].
        sharpness: of the maximum of the two conditions; above it by ln(2) / sharpness
            [1/m].
    """
    away = jnp.asarray(center) - source - SPOUT_OFFSET
    beside, above = norm(away[..., :2]) - radius, away[..., 2] + radius
    return smooth_max(jnp.stack([beside, above], -1), sharpness)


@full_matmul_precision
def cavity_gap(
    source: Float[Any, "*T 3"],
    R: Float[Any, "*T 3 3"],
    p: Float[Any, "*T 3"],
    region: Region,
    sharpness: Scalar = 1000.0,
) -> Float[jax.Array, "*T"]:
    """How far a container is from a droplet falling into its cavity [m].

    <= 0: straight below where droplets begin, as high as the middle of the cavity, is a
    place in it, and its opening is up. That nothing is above it, and the container's
    bottom below, is for other rows.

    Args:
        source: point of the water source at each step [m].
        R: orientation of the cavity's frame.
        p: its origin [m].
        region: the cavity.
        sharpness: of the maximum of the conditions, one for each plane and two more;
            above it by ln(planes + 2) / sharpness [1/m].
    """
    R, middle = jnp.asarray(R), region.corners.mean(0)
    start = jnp.asarray(source) + SPOUT_OFFSET
    height = R[..., 2, :] @ middle + p[..., 2]
    place = jnp.stack([start[..., 0], start[..., 1], height], -1)
    local = jnp.einsum("...ij,...i->...j", R, place - p)
    inside = local @ region.planes[:, :3].T - region.planes[:, 3]
    rest = jnp.stack([height - start[..., 2], MIN_OPENING_UP - R[..., 2, 2]], -1)
    return smooth_max(jnp.concatenate([inside, rest], -1), sharpness)


def soaked_rows(
    gap: Float[jax.Array, " T"],
    drops: Any,
    level: int = 1,
    sharpness: Scalar = 1000.0,
) -> Float[jax.Array, "1"]:
    """At least `level` of the droplets are caught; misses by ln(n) / sharpness.

    Args:
        gap: <= 0 where a droplet let go in that step is caught, e.g. `column_gap`, or
            of what shall be filled `cavity_gap` [m].
        drops: steps in which droplets are let go: `np.flatnonzero(emission(...))`.
        level: of soaked, or filled.
        sharpness: [1/m].

    Raises:
        ConfigError: when there are fewer droplets than it takes, or some are not in
            the trajectory.
    """
    steps = np.asarray(drops, int)
    if not ((0 <= steps) & (steps < len(gap))).all():
        raise ConfigError(
            f"soaked_rows: drops are {steps.tolist()}, expected steps within 0 to"
            f" {len(gap) - 1}."
        )
    if len(steps) < level:
        raise ConfigError(
            f"soaked_rows: {len(steps)} droplets are let go, and it takes {level}; run"
            " the water for longer."
        )
    return kth_smallest(gap[steps], level, sharpness)[None]
