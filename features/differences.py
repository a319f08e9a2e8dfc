"""Backward differences over time, whose steps may have different lengths."""

import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Float

from posewise.robots.typing import Array


def difference_coefficients(
    order: int, tau: Float[jax.Array, "n steps"]
) -> Float[jax.Array, "n slices"]:
    """Return the coefficient of each slice in a backward difference over time."""

    return jax.vmap(partial(_stacked_coefficients, order))(tau)


def differentiate_coefficients(
    order: int, tau: Float[jax.Array, "n steps"]
) -> Float[jax.Array, "n slices steps"]:
    """Return the derivatives of `difference_coefficients` by durations of steps."""
    differentiate = jax.vmap(jax.jacfwd(partial(_stacked_coefficients, order)))
    derivatives: jax.Array = differentiate(tau)
    return derivatives


def _stacked_coefficients(order: int, tau: jax.Array) -> jax.Array:
    return jnp.stack(backward_difference(True, order, tau))


def backward_difference(rate: bool, d: int, tau: Array) -> list[Any]:
    """Return the coefficients of the d-th backward difference, oldest slice first.

    The time of a difference is that between the middles of the intervals whose rates
    are subtracted, so that steps may have different lengths.
    """
    # (1 - B)^d with the shift B to the older slice, by the binomial theorem.
    if d == 0 or not rate:
        return [float((-1) ** (d - s) * math.comb(d, s)) for s in range(d + 1)]
    # A symbol of window 1 has two steps here, and its values are in their middles.
    mean = tau.mean()
    if d == 1:
        return [-1 / mean, 1 / mean]
    # ((φ₂ - φ₁) / τ₁ - (φ₁ - φ₀) / τ₀) / mean
    first, last = 1 / (tau[0] * mean), 1 / (tau[1] * mean)
    return [first, -(first + last), last]
