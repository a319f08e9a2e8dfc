"""Functions whose derivatives stay finite where the plain ones have none."""

import jax
import jax.numpy as jnp
from jaxtyping import Float


def norm(v: Float[jax.Array, "*batch n"]) -> Float[jax.Array, "*batch"]:
    """Euclidean length; its derivative at zero is zero."""
    square = jnp.sum(v * v, -1)
    zero = square == 0
    return jnp.where(zero, 0.0, jnp.sqrt(jnp.where(zero, 1.0, square)))


def sqrt(x: Float[jax.Array, "*batch"]) -> Float[jax.Array, "*batch"]:
    """Square root of max(x, 0); its derivative at and below zero is zero."""
    positive = x > 0
    return jnp.where(positive, jnp.sqrt(jnp.where(positive, x, 1.0)), 0.0)


def amin(x: Float[jax.Array, "..."], axis: int = -1) -> Float[jax.Array, "..."]:
    """The least entry along an axis; its derivative: the mean of those that are least.

    As that of `jnp.min`, but for its not being a number where a compiler rounds entries
    differently in two places, so that none is equal to the least.
    """
    share = subgradient_weights(x, axis)
    return jnp.sum(jnp.where(share > 0, share * x, 0.0), axis)


def amax(x: Float[jax.Array, "..."], axis: int = -1) -> Float[jax.Array, "..."]:
    """The greatest entry along an axis; see `amin`."""
    return -amin(-x, axis)


def subgradient_weights(
    x: Float[jax.Array, "..."], axis: int = -1
) -> Float[jax.Array, "..."]:
    """For each entry along an axis its share among those that are least."""
    still = jax.lax.stop_gradient(x)
    places = jax.lax.broadcasted_iota(int, still.shape, axis % still.ndim)
    first = places == jnp.argmin(still, axis, keepdims=True)
    among = first | (still <= jnp.min(still, axis, keepdims=True))
    return among / jnp.sum(among, axis, keepdims=True).astype(still.dtype)
