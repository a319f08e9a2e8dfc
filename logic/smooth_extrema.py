"""Differentiable minima and maxima: exact ones, and smooth ones with a known error.

With φ <= 0 as "true", a conjunction needs an upper bound of the largest φ and a
disjunction an upper bound of the smallest one, so that relaxed truth implies exact
truth. `smooth_max` and `mellowmin` are these bounds; both converge to the exact value
as the temperature, in the unit of φ, approaches 0.

    smooth_max(x) = t log Σ exp(x / t)                  in [max x, max x + t log n]
    mellowmin(x)  = -t log((1/n) Σ exp(-x / t))         in [min x, min x + t log n]

Mellowmax: Asadi and Littman, "An alternative softmax operator for reinforcement
learning", ICML 2017.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax.nn import logsumexp
from jaxtyping import Float

from posewise.robots.typing import Array

Scalar = float | Float[Array, ""]
"""A number that may be traced, so that its value is data of a compiled program."""
Axes = int | tuple[int, ...] | None
"""Axes of an array; None: all of them."""


def temperature_for(error: Scalar, n: int) -> Scalar:
    """Return the temperature at which a smooth extremum of n numbers errs by `error`.

    Args:
        error: the bound t log n, in the unit of the numbers.
        n: how many numbers; for one number every temperature is exact.
    """
    return error / math.log(max(n, 2))


def smooth_max(
    x: Float[Array, "..."], temperature: Scalar, axis: Axes = None
) -> Float[Array, "..."]:
    """Return an upper bound of the largest entry, above it by at most t log n."""
    return temperature * logsumexp(x / temperature, axis)


def mellowmin(
    x: Float[Array, "..."], temperature: Scalar, axis: Axes = None
) -> Float[Array, "..."]:
    """Return an upper bound of the smallest entry, above it by at most t log n."""
    mean = temperature * math.log(_count(x, axis))
    return mean - smooth_max(-x, temperature, axis)


def mellowmin_within(
    x: Float[jax.Array, "n ..."], error: Scalar
) -> Float[jax.Array, "..."]:
    """Return `mellowmin` over the first axis, above the minimum by at most `error`."""
    if x.shape[0] == 1:
        return x[0]
    return mellowmin(x, temperature_for(error, x.shape[0]), axis=0)


def cumulative_mellowmin(
    z: Float[Array, "N n"], temperature: Scalar
) -> Float[Array, " N"]:
    """Return for each row `mellowmin` over all entries up to it, itself included."""
    rows = logsumexp(-z / temperature, -1)
    counts = z.shape[1] * jnp.arange(1, len(z) + 1)
    return -temperature * (jax.lax.cumlogsumexp(rows) - jnp.log(counts))


def harmonic_mellowmin(
    x: Float[jax.Array, "n ..."], error: Scalar
) -> Float[jax.Array, "..."]:
    """Return `mellowmin_within` near 0 and below; far above, a harmonic sum.

    The result is at most 0 only where the mellowmin is, since the sum is positive.
    """
    # 1/Σ(1/x) has a slope in every entry, so that a solver is also drawn to farther
    # alternatives when nothing can be done about the nearest one.
    away = 1 / jnp.sum(1 / jnp.maximum(x, error), 0)
    return jnp.minimum(mellowmin_within(x, error), error + away)


def largest(x: Float[jax.Array, "n ..."]) -> Float[jax.Array, "..."]:
    """Return the largest entry over the first axis, with the derivative of the first.

    `jnp.max` divides its derivative by the number of entries that equal the maximum.
    That number is 0, and the derivative NaN, where a compiler computes the entries
    twice and rounds them differently.
    """
    first_index = jnp.argmax(jax.lax.stop_gradient(x), 0)
    chosen = first_index == np.arange(x.shape[0]).reshape(-1, *[1] * (x.ndim - 1))
    return jnp.sum(jnp.where(chosen, x, 0.0), 0)


def smallest(x: Float[jax.Array, "n ..."]) -> Float[jax.Array, "..."]:
    """Return the smallest entry over the first axis; see `largest`."""
    return -largest(-x)


def smoothstep(x: Float[Array, "*n"]) -> Float[Array, "*n"]:
    """Return 0 below 0, 1 above 1, and 3x² - 2x³ between: a C¹ step."""
    x = jnp.clip(x, 0.0, 1.0)
    return x * x * (3.0 - 2.0 * x)


def _count(x: Float[Array, "..."], axis: Axes) -> int:
    """Return the number of entries that are reduced to one."""
    axes = range(x.ndim) if axis is None else np.atleast_1d(axis)
    return math.prod(x.shape[i] for i in axes)
