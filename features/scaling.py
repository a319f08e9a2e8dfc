"""Scale and target of features, with the signs of quaternions and whole turns."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.compilation.arrays import Array
from posewise.compilation.precision import full_matmul_precision

from .linearized_feature import LinearizedFeature
from .symbol import Symbol


def apply_scale_and_target(
    symbol: Symbol,
    y: Float[jax.Array, "*batch rows"],
    scale: Float[jax.Array, "*batch_and_scale"],
    target: Float[jax.Array, "*batch rows"],
    period: Float[Array, "*#batch rows"] | None = None,
) -> tuple[Float[jax.Array, "*batch out"], Float[jax.Array, "*batch rows"] | None]:
    """Return `scale · (σ φ - target)`, and the signs σ of quaternion rows, if any.

    A quaternion takes the sign with which it is closer to the target, and a difference
    with a period the value nearest to zero. Both are piecewise constant choices, so
    that derivatives are those of φ everywhere, also at the cut.
    """
    sigma = None
    if symbol.quaternion_rows is not None:
        rows = symbol.quaternion_rows
        product = jnp.sum(y[..., rows] * target[..., rows], -1, keepdims=True)
        is_quaternion = np.zeros(y.shape[-1], bool)
        is_quaternion[rows] = True
        # |q - t|² = |q|² + |t|² - 2 q·t is smaller for the sign with q·t >= 0.
        sigma = jnp.where(is_quaternion & (product < 0), -1.0, 1.0).astype(y.dtype)
        y = sigma * y
    difference = y - target
    if period is not None:
        repeats = period > 0
        turns = jnp.round(difference / jnp.where(repeats, period, 1.0))
        difference = difference - jnp.where(repeats, period * turns, 0.0)
    return apply_scale(scale, difference, 0), sigma


@full_matmul_precision
def apply_scale(scale: jax.Array, rows: jax.Array, after: int) -> jax.Array:
    """Apply a vector scale element-wise, or a matrix scale from the left.

    Args:
        scale: (*batch, rows) or (*batch, out, rows).
        rows: (*batch, rows, …).
        after: number of axes after that of the rows.
    """
    # A vector scale has as many axes as the rows up to their own axis, a matrix scale
    # one more.
    first = rows.ndim - after
    if scale.ndim == first:
        return scale.reshape(*scale.shape, *[1] * after) * rows
    trailing_shape = rows.shape[first:]
    out = scale @ rows.reshape(*rows.shape[:first], math.prod(trailing_shape))
    return out.reshape(*out.shape[:-1], *trailing_shape)


def apply_scale_and_target_to_linearization(
    symbol: Symbol,
    raw: LinearizedFeature,
    scale: jax.Array,
    target: jax.Array,
    period: Array | None = None,
) -> LinearizedFeature:
    """Apply target and scale to a linearization, of one instance or of many."""
    y, sigma = apply_scale_and_target(symbol, raw.y, scale, target, period)

    def scale_derivative(a: jax.Array) -> jax.Array:
        after = a.ndim - raw.y.ndim
        # The sign σ is piecewise constant, so it has no derivative itself.
        if sigma is not None:
            a = sigma.reshape(*sigma.shape, *[1] * after) * a
        return apply_scale(scale, a, after)

    return LinearizedFeature(
        y,
        moment=scale_derivative(raw.moment),
        force=scale_derivative(raw.force),
        dq=scale_derivative(raw.dq),
    )
