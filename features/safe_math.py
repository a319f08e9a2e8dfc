"""Functions whose derivatives stay finite where the plain functions have none.

Both branches of `jnp.where` are differentiated, and 0 · ∞ is not a number. So the
argument of the branch not taken is replaced too (the "double where").
"""

import jax
import jax.numpy as jnp
from jaxtyping import Float

from posewise.collision.subgradients import subgradient_weights


def norm(v: Float[jax.Array, "*batch n"]) -> Float[jax.Array, "*batch"]:
    """Return the Euclidean length; its derivative at zero is zero."""
    square = jnp.sum(v * v, -1)
    zero = square == 0
    # d√s/ds = 1 / (2 √s) is infinite at s = 0, and times the derivative 2 v = 0 of s it
    # would be NaN; the root of the constant 1 has derivative 0 instead.
    return jnp.where(zero, 0.0, jnp.sqrt(jnp.where(zero, 1.0, square)))


def sqrt(x: Float[jax.Array, "*batch"]) -> Float[jax.Array, "*batch"]:
    """Return the square root of max(x, 0); its derivative at and below 0 is zero."""
    positive = x > 0
    return jnp.where(positive, jnp.sqrt(jnp.where(positive, x, 1.0)), 0.0)


def arctan2(
    y: Float[jax.Array, "*batch"], x: Float[jax.Array, "*batch"]
) -> Float[jax.Array, "*batch"]:
    """Return the angle of a point; at the origin it and its derivative are zero."""
    origin = (x == 0) & (y == 0)
    return jnp.where(origin, 0.0, jnp.arctan2(y, jnp.where(origin, 1.0, x)))


def amin(x: Float[jax.Array, "..."], axis: int = -1) -> Float[jax.Array, "..."]:
    """Return the minimum along an axis; minima that are equal share the derivative.

    The derivative of `jnp.min` is the same, except that it is NaN where a compiler
    rounds entries differently in two places, so that none equals the minimum.
    """
    weights = subgradient_weights(x, axis)
    # A select, because entries may be infinite, and 0 · ∞ is NaN.
    return jnp.sum(jnp.where(weights > 0, weights * x, 0.0), axis)


def amax(x: Float[jax.Array, "..."], axis: int = -1) -> Float[jax.Array, "..."]:
    """Return the maximum along an axis; its derivative is like that of `amin`."""
    return -amin(-x, axis)
