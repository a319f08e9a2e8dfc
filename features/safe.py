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
