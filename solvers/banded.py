"""Symmetric positive definite systems over a chain of slices."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.compilation.compaction import dynamic_row, update_slice
from posewise.compilation.materialize import materialize
from posewise.compilation.precision import full_matmul_precision


@full_matmul_precision
def solve_banded(
    bands: Sequence[Float[jax.Array, "T n n"]], rhs: Float[jax.Array, "T n m"]
) -> Float[jax.Array, "T n m"]:
    """x with H x = rhs, where `bands[d][t]` is H's block of slices (t, t - d).

    Elimination (LDLᵀ) of one slice after the other, of which what it leaves to the
    slices that it couples to is carried along the chain. NaN where H is not positive
    definite.
    """
    T, n, m = rhs.shape
    wide = (len(bands) - 1) * n
    # one after the other: a concatenation asks of each number where it comes from
    upper = materialize(partial(jnp.zeros, (T, n, n + wide + m), rhs.dtype))
    for d, part in enumerate([*bands, rhs]):
        ahead = jnp.swapaxes(part[d:], 1, 2) if d < len(bands) else part
        upper = jax.lax.dynamic_update_slice(upper, ahead, (0, 0, d * n))

    def eliminate(k: Any, c: tuple[jax.Array, jax.Array]) -> tuple[Any, Any]:
        """Column k from all other rows; and row k as it was then."""
        rows, pivotal = c
        mine, column = dynamic_row(rows, k), dynamic_row(rows.T, k)
        pivot = dynamic_row(mine, k)
        column = jnp.where(jnp.arange(n) == k, 0.0, column)
        factor = column / jnp.where(pivot > 0, pivot, jnp.nan)
        return rows - factor[:, None] * mine, update_slice(pivotal, mine[None], k)

    def eliminated(rows: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Of [H W b]: H⁻¹ [W b], and Wᵀ of that."""
        if jax.default_backend() != "cpu":  # there are few steps in a library's own
            factor = jax.scipy.linalg.cho_factor(rows[:, :n], lower=True)
            solved = jax.scipy.linalg.cho_solve(factor, rows[:, n:])
            return solved, rows[:, n : n + wide].T @ solved
        solved, rows = jax.lax.fori_loop(0, n, eliminate, (rows, jnp.zeros_like(rows)))
        pivots = jnp.sum(rows[:, :n] * np.eye(n), -1)[:, None]  # without a gather
        product = (rows[:, n : n + wide] / pivots).T @ rows[:, n:]
        return solved[:, n:] / pivots, product

    def forward(left: jax.Array, own: jax.Array) -> tuple[jax.Array, jax.Array]:
        """What is left to later slices; this one's x by those of later slices."""
        none = jnp.zeros((n, n), rhs.dtype)
        mine = [left[:n, :wide], none, left[:n, wide:]]
        rows = own + jnp.concatenate(mine, 1) if wide else own
        solved, product = eliminated(rows)
        later = jnp.zeros_like(left)
        for part, column in ((left[n:, n:wide], 0), (left[n:, wide:], wide)):
            later = jax.lax.dynamic_update_slice(later, part, (0, column))
        return later - product, solved

    def backward(later: jax.Array, solved: jax.Array) -> tuple[jax.Array, jax.Array]:
        """x of a slice, from those of the slices it couples to."""
        x = solved[:, wide:] - solved[:, :wide] @ later
        return jnp.concatenate([x, later])[:wide], x

    start = jnp.zeros((wide, wide + m), rhs.dtype)
    _, solved = jax.lax.scan(forward, start, upper)
    end = jnp.zeros((wide, m), rhs.dtype)
    return jax.lax.scan(backward, end, solved, reverse=True)[1]
