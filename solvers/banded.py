"""Symmetric positive definite systems over a chain of slices."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float


def solve_banded(
    bands: Float[jax.Array, "bands T n n"], rhs: Float[jax.Array, "T n m"]
) -> Float[jax.Array, "T n m"]:
    """x with H x = rhs, where `bands[d, t]` is H's block of slices (t, t - d).

    Elimination (LDLᵀ) of one slice after the other, in a window of as many slices as
    one couples to, which moves along the chain. NaN where H is not positive definite.
    """
    T, n, m = rhs.shape
    width = bands.shape[0] - 1
    size = (width + 1) * n
    ahead = jnp.pad(bands, ((0, 0), (0, width + 1), (0, 0), (0, 0)))
    right = jnp.pad(rhs, ((0, width + 1), (0, 0), (0, 0)))

    def appended(rest: jax.Array, t: Any) -> jax.Array:
        """The window: what is left of the slices before, and slice t + width."""
        last, at = size - n, t + width
        parts = [(rest[:, :last], 0, 0), (rest[:, last:], 0, size)]
        for d in range(width, -1, -1):
            block, k = ahead[d, at], size - (d + 1) * n
            parts += [(block, last, k)] + [(block.T, k, last)] * (d > 0)
        window = jnp.zeros((size, size + m), rhs.dtype)
        # one after the other: a concatenation asks of each number where it comes from
        for part, *corner in [*parts, (right[at], last, size)]:
            window = jax.lax.dynamic_update_slice(window, part, corner)
        return window

    def eliminate(k: jax.Array, first: jax.Array) -> jax.Array:
        pivot = first[k, k]
        column = jnp.where(jnp.arange(n) > k, first[:, k], 0.0)
        factor = column / jnp.where(pivot > 0, pivot, jnp.nan)
        return first - factor[:, None] * first[k]

    def forward(rest: jax.Array, t: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Without the first slice of the window, of which the rows remain."""
        window = appended(rest, t)
        first = jax.lax.fori_loop(0, n, eliminate, window[:n])
        pivots = jnp.sum(first[:, :n] * np.eye(n), -1)  # without a gather
        factors = first[:, n:size] / pivots[:, None]
        return window[n:, n:] - factors.T @ first[:, n:], first

    def backward(later: jax.Array, upper: jax.Array) -> tuple[jax.Array, jax.Array]:
        """x of a slice, from those of the slices it couples to."""

        def solve(j: jax.Array, x: jax.Array) -> jax.Array:
            k = n - 1 - j
            rest = upper[k, size:] - upper[k, :size] @ x
            return jax.lax.dynamic_update_slice(
                x, (rest / upper[k, k])[None], (k, jnp.zeros_like(k))
            )

        none = jnp.zeros((n, m), rhs.dtype)
        x = jax.lax.fori_loop(0, n, solve, jnp.concatenate([none, later]))
        return x[: size - n], x[:n]

    start = jnp.zeros((size - n, size - n + m), rhs.dtype)
    for t in range(-width, 0):
        start = appended(start, t)[n:, n:]
    _, upper = jax.lax.scan(forward, start, jnp.arange(T))
    end = jnp.zeros((size - n, m), rhs.dtype)
    return jax.lax.scan(backward, end, upper, reverse=True)[1]
