"""Derivatives of minima and maxima, the same however a compiler rounds."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Float


def subgradient_weights(
    x: Float[jax.Array, "..."], axis: int = -1
) -> Float[jax.Array, "..."]:
    """Return the weight of each entry in a subgradient of the minimum along an axis.

    Entries that are minimal have equal weights, all others 0.
    """
    # The generalised gradient of a minimum is the convex hull of the gradients of its
    # minimal entries (Clarke 1983, section 2.3). Equal weights pick a point of that
    # hull that no order of the entries favours. Weights are piecewise constant, so that
    # they have no derivative themselves.
    x = jax.lax.stop_gradient(x)
    index = jax.lax.broadcasted_iota(int, x.shape, axis % x.ndim)
    # `argmin` finds an entry even if rounding lets none equal the minimum.
    is_first = index == jnp.argmin(x, axis, keepdims=True)
    is_minimal = is_first | (x <= jnp.min(x, axis, keepdims=True))
    return is_minimal / jnp.sum(is_minimal, axis, keepdims=True).astype(x.dtype)


@partial(jax.custom_jvp, nondiff_argnums=(1,))
def greatest(x: Float[jax.Array, "..."], axis: int) -> Float[jax.Array, "..."]:
    """Return the maximum along an axis; maxima that are equal share the derivative.

    The derivative of `jnp.max` is wrong, or NaN, where a compiler rounds entries
    differently in two places, so that none equals the maximum.
    """
    return jnp.max(x, axis)


@greatest.defjvp
def _greatest_jvp(axis: int, primals: Any, tangents: Any) -> tuple[Any, Any]:
    (x,), (change,) = primals, tangents
    weights = subgradient_weights(-x, axis)
    return greatest(x, axis), jnp.sum(weights * change, axis)
