"""Maxima and minima with derivatives: exact ones, and smooth ones with an error."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float


def mellowmin(x: Float[jax.Array, "n ..."], error: Any) -> Float[jax.Array, "..."]:
    """A smooth minimum over the first axis: at least the least entry, by `error` more.

    -(1/k) log mean exp(-k x), with k so that the bound log(n)/k is the error (Asadi and
    Littman, "An alternative softmax operator for reinforcement learning", 2017).
    """
    n = x.shape[0]
    if n == 1:
        return x[0]
    k = math.log(n) / error
    least = jax.lax.stop_gradient(jnp.min(x, 0))
    finite = jnp.where(jnp.isfinite(least), least, 0.0)
    return finite - jnp.log(jnp.mean(jnp.exp(-k * (x - finite)), 0)) / k


def any_of(x: Float[jax.Array, "n ..."], error: Any) -> Float[jax.Array, "..."]:
    """`mellowmin` near 0 and below; far above, less, and all entries pull.

    1/Σ(1/x) there: what is farther away counts as well, in case that nothing can be
    done about what is nearest.
    """
    away = 1 / jnp.sum(1 / jnp.maximum(x, error), 0)
    return jnp.minimum(mellowmin(x, error), error + away)


def largest(x: Float[jax.Array, "n ..."]) -> Float[jax.Array, "..."]:
    """The largest over the first axis; its derivative is that of the first such entry.

    That of `jnp.max` divides by how many entries equal the maximum: none does, and it
    is NaN, where a compiler computes the entries twice and rounds them differently.
    """
    at = jnp.argmax(jax.lax.stop_gradient(x), 0)
    chosen = at == np.arange(x.shape[0]).reshape(-1, *[1] * (x.ndim - 1))
    return jnp.sum(jnp.where(chosen, x, 0.0), 0)


def smallest(x: Float[jax.Array, "n ..."]) -> Float[jax.Array, "..."]:
    """The smallest over the first axis; see `largest`."""
    return -largest(-x)
