"""Symmetric positive definite systems over a chain of slices.

Bands are grouped into blocks of as many slices as the band is wide, which makes the
system block tridiagonal; a scan factorises it and another one solves it.
"""

import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jaxtyping import Float

PAIRED = 24
"""Up to this many variables in a slice, blocks are pairs of slices at least."""


def solve_banded(
    bands: Float[jax.Array, "bands T n n"], rhs: Float[jax.Array, "T n m"]
) -> Float[jax.Array, "T n m"]:
    """x with H x = rhs, where `bands[d, t]` is H's block of slices (t, t - d).

    NaN where H is not positive definite.
    """
    T, n, columns = rhs.shape
    width = bands.shape[0] - 1
    if width == 0 or T == 1:
        L = jnp.linalg.cholesky(bands[0])
        y = solve_triangular(L, rhs, lower=True)
        return solve_triangular(L, y, lower=True, trans=1)
    if n <= PAIRED:
        width = max(width, 2)
    blocks = -(-T // width)
    pad = blocks * width - T
    bands = jnp.pad(bands, ((0, 0), (0, pad), (0, 0), (0, 0)))
    bands = bands.at[0, T:].set(jnp.eye(n, dtype=rhs.dtype))
    diagonal, below = _tridiagonal(bands, width)
    b = jnp.pad(rhs, ((0, pad), (0, 0), (0, 0))).reshape(blocks, width * n, columns)

    def forward(carry, block):
        L_up, y_up = carry
        D, E, b = block
        # E L_up⁻ᵀ: what is left of the coupling once the block before is eliminated
        F = solve_triangular(L_up, E.T, lower=True).T
        L = jnp.linalg.cholesky(D - F @ F.T)
        y = solve_triangular(L, b - F @ y_up, lower=True)
        return (L, y), (L, F, y)

    def backward(x_down, block):
        L, F_down, y = block
        x = solve_triangular(L, y - F_down.T @ x_down, lower=True, trans=1)
        return x, x

    m = width * n
    start = jnp.eye(m, dtype=b.dtype), jnp.zeros((m, columns), b.dtype)
    _, (L, F, y) = jax.lax.scan(forward, start, (diagonal, below, b))
    F_down = jnp.concatenate([F[1:], jnp.zeros_like(F[:1])])
    _, x = jax.lax.scan(backward, start[1], (L, F_down, y), reverse=True)
    return x.reshape(blocks * width, n, columns)[:T]


def _tridiagonal(bands: jax.Array, width: int) -> tuple[jax.Array, jax.Array]:
    """Diagonal and sub-diagonal blocks, each of `width` slices."""
    n = bands.shape[-1]
    B = bands.reshape(bands.shape[0], -1, width, n, n)
    zero = jnp.zeros_like(B[0, :, 0])

    def block(row: int, distance: int) -> jax.Array:
        return B[distance, :, row] if distance < bands.shape[0] else zero

    diagonal, below = [], []
    for r in range(width):
        same = [
            block(r, r - c) if c <= r else jnp.swapaxes(block(c, c - r), -1, -2)
            for c in range(width)
        ]
        diagonal.append(jnp.concatenate(same, -1))
        down = [block(r, width + r - c) for c in range(width)]
        below.append(jnp.concatenate(down, -1))
    return jnp.concatenate(diagonal, -2), jnp.concatenate(below, -2)
