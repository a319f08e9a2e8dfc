"""Functions whose derivatives stay finite where the plain functions have none.

Both branches of `jnp.where` are differentiated, and 0 · ∞ is not a number. So the
argument of the branch not taken is replaced too (the "double where").
"""

import jax
import jax.numpy as jnp
from jaxtyping import Float


def norm(v: Float[jax.Array, "*batch n"]) -> Float[jax.Array, "*batch"]:
    """Return the Euclidean length; its derivative at zero is zero."""
    square = jnp.sum(v * v, -1)
    zero = square == 0
    return jnp.where(zero, 0.0, jnp.sqrt(jnp.where(zero, 1.0, square)))


def sqrt(x: Float[jax.Array, "*batch"]) -> Float[jax.Array, "*batch"]:
    """Return the square root of max(x, 0); its derivative at and below 0 is zero."""
    positive = x > 0
    return jnp.where(positive, jnp.sqrt(jnp.where(positive, x, 1.0)), 0.0)


def amin(x: Float[jax.Array, "..."], axis: int = -1) -> Float[jax.Array, "..."]:
    """Return the minimum along an axis; minima that are equal share the derivative.

    The derivative of `jnp.min` is the same, except that it is NaN where a compiler
    rounds entries differently in two places, so that none equals the minimum.
    """
    weights = subgradient_weights(x, axis)
    return jnp.sum(jnp.where(weights > 0, weights * x, 0.0), axis)


def amax(x: Float[jax.Array, "..."], axis: int = -1) -> Float[jax.Array, "..."]:
    """Return the maximum along an axis; its derivative is like that of `amin`."""
    return -amin(-x, axis)


def subgradient_weights(
    x: Float[jax.Array, "..."], axis: int = -1
) -> Float[jax.Array, "..."]:
    """Return the weight of each entry in a subgradient of the minimum along an axis.

    Entries that are minimal have equal weights, all others 0.
    """
    x = jax.lax.stop_gradient(x)
    index = jax.lax.broadcasted_iota(int, x.shape, axis % x.ndim)
    # `argmin` finds an entry even if rounding lets none equal the minimum.
    is_first = index == jnp.argmin(x, axis, keepdims=True)
    is_minimal = is_first | (x <= jnp.min(x, axis, keepdims=True))
    return is_minimal / jnp.sum(is_minimal, axis, keepdims=True).astype(x.dtype)
