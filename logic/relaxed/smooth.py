"""One-sided smooth maxima and minima, with a stated error."""

import math
from typing import Any

import jax
import jax.numpy as jnp
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
