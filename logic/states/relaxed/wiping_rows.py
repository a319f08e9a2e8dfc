"""Rows φ <= 0 over a trajectory that wipe an object clean.

φ <= 0 implies the exact truth, because smooth minima and maxima are upper bounds here;
each function states by how much its rows may exceed the exact number.

These are functions of trajectories for problems outside of KOMO. Constraints of KOMO
come from the plans in this folder.
"""

import math

import jax.numpy as jnp
from jaxtyping import Float

from posewise.robots.typing import Array

from ...smooth_extrema import Scalar, kth_smallest, mellowmin, smooth_max


def box_rows(
    point: Float[Array, "*shape 3"],
    lower: Float[Array, "*#shape 3"],
    upper: Float[Array, "*#shape 3"],
) -> Float[Array, "*shape 6"]:
    """Return rows of a point in an axis-aligned box: lower - p and p - upper [m].

    They remove a chosen particle at a chosen step, while the tool touches the object.
    """
    return jnp.concatenate([jnp.asarray(lower) - point, point - jnp.asarray(upper)], -1)


def removals_needed(count: int, threshold: float) -> int:
    """Return the least number of particles to remove for at most a share to remain.

    Args:
        count: number of all particles.
        threshold: the share (0 to 1).
    """
    return count - math.floor(count * threshold)


def wiped_rows(
    particles: Float[Array, "T n 3"],
    lower: Float[Array, "T 3"],
    upper: Float[Array, "T 3"],
    working: Float[Array, "T conditions"],
    removals: int,
    smoothing: Scalar = 1e-3,
) -> Float[Array, "1"]:
    """Return a row of wiping off at least some particles, each at any step [m].

    A particle is removed at a step where it is in the tool's box and the tool works:
    the smallest over steps of the largest of 6 rows and the conditions. The row is the
    k-th smallest of these numbers. It misses by at most
    smoothing · (ln(6 + conditions) + ln(T) + ln(n)).

    Args:
        particles: in the world at each step [m].
        lower: lower corner of the tool's box along the world's axes [m].
        upper: upper corner of that box.
        working: all <= 0 where the tool works: the signed distance to the object [m];
            for stains also a row of the tool being soaked.
        removals: number of particles, as of `removals_needed`.
        smoothing: temperature of the smooth minima and maxima [m].

    Raises:
        ConfigError: if there are fewer particles.
    """
    box = box_rows(particles, jnp.asarray(lower)[:, None], jnp.asarray(upper)[:, None])
    conditions = jnp.asarray(working)[:, None]
    shape = (*box.shape[:2], conditions.shape[-1])
    rows = jnp.concatenate([box, jnp.broadcast_to(conditions, shape)], -1)
    removed = mellowmin(smooth_max(rows, smoothing, axis=-1), smoothing, axis=0)
    return kth_smallest(removed, removals, smoothing)[None]
