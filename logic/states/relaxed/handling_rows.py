"""Rows φ <= 0 over a trajectory that soak, fill, wipe and toggle objects.

φ <= 0 implies the exact truth. Smooth ones are above the exact number by the bound that
each states; the others are exact.
"""

import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.compilation.precision import full_matmul_precision
from posewise.features.safe_math import norm
from posewise.robots.errors import ConfigError
from posewise.robots.world.regions import Region

from ..filling import UPRIGHT
from ..switches import PRESS_DISTANCE, PRESS_STEPS
from ..water import SPOUT
from .aggregates import Scalar, kth_smallest, mellowmin, smooth_max

MARGIN = 1e-4
"""Of strict inequalities [m]."""


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
    away = jnp.asarray(center) - source - SPOUT
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
    start = jnp.asarray(source) + SPOUT
    height = R[..., 2, :] @ middle + p[..., 2]
    place = jnp.stack([start[..., 0], start[..., 1], height], -1)
    local = jnp.einsum("...ij,...i->...j", R, place - p)
    inside = local @ region.planes[:, :3].T - region.planes[:, 3]
    rest = jnp.stack([height - start[..., 2], UPRIGHT - R[..., 2, 2]], -1)
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


def box_rows(
    point: Float[Any, "*shape 3"],
    lower: Float[Any, "*#shape 3"],
    upper: Float[Any, "*#shape 3"],
) -> Float[jax.Array, "*shape 6"]:
    """A point is in a box along the world's axes: lower - p and p - upper [m].

    Rows that take a chosen particle away at a chosen step, while the tool touches.
    """
    return jnp.concatenate([jnp.asarray(lower) - point, point - jnp.asarray(upper)], -1)


def removals_needed(count: int, threshold: float) -> int:
    """How many of the particles have to go until not more than a share is left."""
    return count - math.floor(count * threshold)


def wiped_rows(
    particles: Float[Any, "T n 3"],
    lower: Float[Any, "T 3"],
    upper: Float[Any, "T 3"],
    working: Float[Any, "T conditions"],
    removals: int,
    sharpness: Scalar = 1000.0,
) -> Float[jax.Array, "1"]:
    """At least so many particles are wiped off, each at whatever step.

    A particle goes at a step where it is in the tool's box and the tool works: the
    smallest over steps of the largest of 6 rows and the conditions. The row is the k-th
    smallest of those. It misses by (ln(6 + conditions) + ln(T) + ln(n)) / sharpness.

    Args:
        particles: in the world at each step [m].
        lower: corner of the tool's box along the world's axes [m].
        upper: its other corner.
        working: all <= 0 where the tool works: the signed distance to the object [m];
            for stains also one of the tool being soaked.
        removals: see `removals_needed`.
        sharpness: [1/m].

    Raises:
        ConfigError: when there are fewer particles.
    """
    box = box_rows(particles, jnp.asarray(lower)[:, None], jnp.asarray(upper)[:, None])
    conditions = jnp.asarray(working)[:, None]
    shape = (*box.shape[:2], conditions.shape[-1])
    rows = jnp.concatenate([box, jnp.broadcast_to(conditions, shape)], -1)
    gone = mellowmin(smooth_max(rows, sharpness), sharpness, axis=0)
    return kth_smallest(gone, removals, sharpness)[None]


def toggled_rows(
    distance: Float[jax.Array, "T fingers"],
    presses: Sequence[tuple[int, int]],
    threshold: float = PRESS_DISTANCE,
    steps: int = PRESS_STEPS,
    sharpness: Scalar = 1000.0,
) -> Float[jax.Array, " rows"]:
    """A button is pressed in given windows of steps, and left alone in all others [m].

    Each window flips the switch once, in its fifth step. Rows: in windows the nearest
    finger is near (one per step; misses by ln(fingers) / sharpness), elsewhere none is
    (one per step and finger).

    Args:
        distance: of each finger to the button at each step [m].
        presses: windows (first, end) of steps, end excluded, in order.
        threshold: [m].
        steps: least length of a window.
        sharpness: of the mellowmin over fingers [1/m].

    Raises:
        ConfigError: for windows that are too short, out of the trajectory, or not
            apart by at least one step.
    """
    near = np.zeros(len(distance), bool)
    before = -1
    for first, end in presses:
        if first <= before or end - first < steps or end > len(distance) or first < 0:
            raise ConfigError(
                f"toggled_rows: window ({first}, {end}) does not fit: expected {steps}"
                f" steps or more within 0 to {len(distance)}, one or more after the"
                " window before."
            )
        near[first:end] = True
        before = end
    pressed = mellowmin(distance[near], sharpness) - threshold + MARGIN
    apart = threshold - distance[~near] + MARGIN
    return jnp.concatenate([pressed, apart.reshape(-1)])
