"""Smooth stand-ins for "at least", "some" and "all", each on a known side.

Violations: z <= 0 means that a statement holds. The temperature tau > 0 is in the unit
of z and may be traced; everything is exact as tau -> 0.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax.nn import logsumexp
from jaxtyping import Float

from posewise.robots.typing import Array

CERTAIN = 40.0
"""Odds beyond exp(40) are none: cumulative sums of logarithms stay accurate."""


def log_not(margin: Float[Array, "*n"], tau: Float[Array, ""]) -> Float[Array, "*n"]:
    """Logarithm of 1 - sigmoid(margin / tau)."""
    return -jax.nn.softplus(jnp.clip(margin / tau, -CERTAIN, CERTAIN))


def chance(margin: Float[Array, "*n"], tau: Float[Array, ""]) -> Float[Array, "*n"]:
    """sigmoid(margin / tau)."""
    return jax.nn.sigmoid(margin / tau)


def some(
    z: Float[Array, "..."],
    tau: Float[Array, ""],
    axis: int | tuple[int, ...] | None = None,
) -> Float[Array, "..."]:
    """Violation of "one of them holds": from min to min + tau log n.

    The mellow minimum -tau log mean exp(-z / tau) (Asadi and Littman 2017).
    """
    axes = range(z.ndim) if axis is None else np.atleast_1d(axis)
    count = math.prod(z.shape[i] for i in axes)
    return -tau * (logsumexp(-z / tau, axis) - math.log(count))


def every(
    z: Float[Array, "..."],
    tau: Float[Array, ""],
    axis: int | tuple[int, ...] | None = None,
) -> Float[Array, "..."]:
    """Violation of "all of them hold": from max to max + tau log n."""
    return tau * logsumexp(z / tau, axis)


def some_so_far(z: Float[Array, "N n"], tau: Float[Array, ""]) -> Float[Array, " N"]:
    """`some` over the first rows up to each, itself included."""
    rows = logsumexp(-z / tau, -1)
    counts = z.shape[1] * jnp.arange(1, len(z) + 1)
    return -tau * (jax.lax.cumlogsumexp(rows) - jnp.log(counts))


def at_least_two(p: Float[Array, "*n b"]) -> Float[Array, "*n"]:
    """Probability that two or more of b independent things are so."""
    none, one, more = jnp.ones(p.shape[:-1]), *jnp.zeros((2, *p.shape[:-1]))
    for b in range(p.shape[-1]):
        x = p[..., b]
        none, one, more = none * (1 - x), one * (1 - x) + none * x, more + one * x
    return more
