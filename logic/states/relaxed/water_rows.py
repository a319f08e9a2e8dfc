"""Rows φ <= 0 over a trajectory that soak and fill objects.

φ <= 0 implies the exact truth, because smooth maxima are upper bounds; each function
states by how much its rows may exceed the exact number.

These are functions of trajectories for problems outside of KOMO. Constraints of KOMO
come from the plans in this folder.
"""

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.compilation.precision import full_matmul_precision
from posewise.features.safe_math import norm
from posewise.robots.annotations.regions import Region
from posewise.robots.errors import ConfigError
from posewise.robots.typing import Array

from ...smooth_extrema import Scalar, kth_smallest, smooth_max
from ..container_rules import MIN_OPENING_UP
from ..water_rules import SPOUT_OFFSET


def column_gap(
    source: Float[Array, "*T 3"],
    center: Float[Array, "*T 3"],
    radius: float,
    smoothing: Scalar = 1e-3,
) -> Float[Array, "*T"]:
    """Return how far a ball within an object is from catching a falling droplet [m].

    <= 0: the vertical line down from where droplets begin enters the ball. Other rows
    have to state that nothing else is in between, and that the source is not within the
    object. It exceeds the exact maximum of the two conditions by at most
    smoothing · ln(2).

    Args:
        source: origin of the water source's frame at each step [m].
        center: of the ball [m].
        radius: of the ball [m].
        smoothing: temperature of the smooth maximum [m].
    """
    offset = jnp.asarray(center) - source - SPOUT_OFFSET
    beside, above = norm(offset[..., :2]) - radius, offset[..., 2] + radius
    return smooth_max(jnp.stack([beside, above], -1), smoothing, axis=-1)


@full_matmul_precision
def cavity_gap(
    source: Float[Array, "*T 3"],
    R: Float[Array, "*T 3 3"],
    p: Float[Array, "*T 3"],
    region: Region,
    smoothing: Scalar = 1e-3,
) -> Float[Array, "*T"]:
    """Return how far a container is from a droplet falling into its cavity [m].

    <= 0: the point straight below where droplets begin, at the height of the cavity's
    centre, is in the cavity, and its opening is up. Other rows have to state that
    nothing is above it, and that the container's bottom is below. It exceeds the exact
    maximum by at most smoothing · ln(planes + 2): one condition for each plane and two
    more.

    Args:
        source: origin of the water source's frame at each step [m].
        R: orientation of the cavity's frame.
        p: its origin [m].
        region: the cavity.
        smoothing: temperature of the smooth maximum [m].
    """
    R, centre = jnp.asarray(R), region.corners.mean(0)
    start = jnp.asarray(source) + SPOUT_OFFSET
    height = R[..., 2, :] @ centre + p[..., 2]
    point = jnp.stack([start[..., 0], start[..., 1], height], -1)
    local = jnp.einsum("...ij,...i->...j", R, point - p)
    inside = local @ region.planes[:, :3].T - region.planes[:, 3]
    rest = jnp.stack([height - start[..., 2], MIN_OPENING_UP - R[..., 2, 2]], -1)
    return smooth_max(jnp.concatenate([inside, rest], -1), smoothing, axis=-1)


def soaked_rows(
    gap: Float[Array, " T"],
    drops: Sequence[int] | np.ndarray,
    level: int = 1,
    smoothing: Scalar = 1e-3,
) -> Float[Array, "1"]:
    """Return a row of catching at least `level` droplets [m].

    It misses by at most smoothing · ln(n) for n droplets.

    Args:
        gap: <= 0 where a droplet released in that step is caught, e.g. `column_gap`, or
            `cavity_gap` for a container [m].
        drops: steps in which droplets are released: `np.flatnonzero(emission(...))`.
        level: number of droplets that soak, or fill, the object.
        smoothing: temperature of the smooth minimum [m].

    Raises:
        ConfigError: if there are fewer droplets than that, or a step is not in the
            trajectory.
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
    # The k-th smallest gap is <= 0 exactly where at least k droplets are caught.
    return kth_smallest(gap[steps], level, smoothing)[None]
