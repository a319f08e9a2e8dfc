"""Rows φ <= 0 over a trajectory that wipe objects clean.

φ <= 0 implies the exact truth. Smooth ones are above the exact number by the bound that
each states; the others are exact.
"""

import math
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Float

from .aggregates import Scalar, kth_smallest, mellowmin, smooth_max


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
