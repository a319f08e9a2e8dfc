"""Smooth bounds of the largest, smallest and k-th smallest of numbers.

Each is on one known side of what it stands for: with φ <= 0 as "true", "all" takes an
upper bound of the largest and "any" an upper bound of the smallest, so that relaxed
truth implies exact truth. Mellowmax: Asadi & Littman 2017.
"""

import math

import jax
import jax.numpy as jnp
from jax.scipy.special import logsumexp
from jaxtyping import Float

from posewise.robots.errors import ConfigError

Scalar = float | Float[jax.Array, ""]
"""A number that may be traced: it is data of a program."""


def smooth_max(
    x: Float[jax.Array, "*n"], sharpness: Scalar, axis: int = -1
) -> Float[jax.Array, "*m"]:
    """Upper bound of the largest, above it by ln(n) / sharpness at most."""
    return logsumexp(sharpness * x, axis=axis) / sharpness


def mellowmax(
    x: Float[jax.Array, "*n"], sharpness: Scalar, axis: int = -1
) -> Float[jax.Array, "*m"]:
    """Lower bound of the largest, below it by ln(n) / sharpness at most."""
    return smooth_max(x, sharpness, axis) - math.log(x.shape[axis]) / sharpness


def mellowmin(
    x: Float[jax.Array, "*n"], sharpness: Scalar, axis: int = -1
) -> Float[jax.Array, "*m"]:
    """Upper bound of the smallest, above it by ln(n) / sharpness at most."""
    return -mellowmax(-x, sharpness, axis)


def kth_smallest(
    x: Float[jax.Array, "*n"], k: int, sharpness: Scalar
) -> Float[jax.Array, "*m"]:
    """Upper bound of the k-th smallest along the last axis (k from 1).

    The mellowmin of the n-k+1 largest: above it by ln(n-k+1) / sharpness at most.

    Raises:
        ConfigError: unless 1 <= k <= n.
    """
    n = x.shape[-1]
    if not 1 <= k <= n:
        raise ConfigError(f"k is {k!r}, expected an integer from 1 to {n}.")
    return mellowmin(jnp.sort(x, axis=-1)[..., k - 1 :], sharpness)


def smoothstep(x: Float[jax.Array, "*n"]) -> Float[jax.Array, "*n"]:
    """0 below 0, 1 above 1, 3x² - 2x³ between: with a continuous derivative."""
    x = jnp.clip(x, 0.0, 1.0)
    return x * x * (3.0 - 2.0 * x)
