"""Symmetric positive definite systems over a chain of slices."""

from collections.abc import Sequence
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.compilation.backend import is_cpu_backend
from posewise.compilation.compaction import dynamic_row, update_slice
from posewise.compilation.materialize import materialize
from posewise.compilation.precision import full_matmul_precision

SLICES_PER_STEP = 2
"""Number of slices in each step of a loop of accelerators (count): each step starts
kernels that copy the carry and count; with more of them, programs take longer to
compile."""
MAX_UNROLLED = 16
"""Largest number of variables of a slice whose elimination is written out for
accelerators [1]; with more, programs take long to compile."""


@full_matmul_precision
def solve_banded(
    bands: Sequence[Float[jax.Array, "T n n"]], rhs: Float[jax.Array, "T n m"]
) -> Float[jax.Array, "T n m"]:
    """Solve H x = rhs, where `bands[d][t]` is the block of slices (t, t - d) of H.

    Block elimination of one slice after the other, which needs no pivoting (Golub and
    Van Loan 2013, sections 4.3 and 4.5). The Schur complement that a slice leaves to
    later slices is carried along the chain, so that time is linear in T. The result is
    NaN if H is not positive definite.
    """
    T, n, m = rhs.shape
    width = (len(bands) - 1) * n
    # Row t of [H_tt, H_t,t+1, …, b_t]. Blocks are written one after the other, because
    # XLA would fuse a concatenation with its readers and select the source of each
    # number where it is read.
    upper = materialize(partial(jnp.zeros, (T, n, n + width + m), rhs.dtype))
    for d, blocks in enumerate([*bands, rhs]):
        part = jnp.swapaxes(blocks[d:], 1, 2) if d < len(bands) else blocks
        upper = jax.lax.dynamic_update_slice(upper, part, (0, 0, d * n))

    def forward(carried: jax.Array, row: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Eliminate a slice, and return its Schur complement for later slices.

        The carry (width, width + m) is what earlier slices add to the rows of the next
        ones.
        """
        no_coupling = jnp.zeros((n, n), rhs.dtype)
        added = [carried[:n, :width], no_coupling, carried[:n, width:]]
        rows = row + jnp.concatenate(added, 1) if width else row
        solved, product = _eliminate_slice(rows, width)
        # The carry moves on by one slice.
        shifted = jnp.zeros_like(carried)
        for part, column in ((carried[n:, n:width], 0), (carried[n:, width:], width)):
            shifted = jax.lax.dynamic_update_slice(shifted, part, (0, column))
        return shifted - product, solved

    def backward(later: jax.Array, solved: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Substitute the x of later slices into those of a slice."""
        x = solved[:, width:] - solved[:, :width] @ later
        return jnp.concatenate([x, later])[:width], x

    nothing_carried = jnp.zeros((width, width + m), rhs.dtype)
    scan = partial(jax.lax.scan, unroll=1 if is_cpu_backend() else SLICES_PER_STEP)
    _, solved = scan(forward, nothing_carried, upper)
    beyond_end = jnp.zeros((width, m), rhs.dtype)
    solution: jax.Array = scan(backward, beyond_end, solved, reverse=True)[1]
    return solution


def _eliminate_slice(
    rows: Float[jax.Array, "n columns"], width: int
) -> tuple[Float[jax.Array, "n rest"], Float[jax.Array, "width rest"]]:
    """Return H⁻¹ [W b] and Wᵀ H⁻¹ [W b] of the rows [H W b] of a slice.

    Args:
        rows: H (n, n), W (n, width) and b.
        width: number of columns of W.
    """
    n = len(rows)
    if not is_cpu_backend() and n <= MAX_UNROLLED:
        return _eliminate_unrolled(rows, width)

    def eliminate(
        k: jax.Array, carry: tuple[jax.Array, jax.Array]
    ) -> tuple[jax.Array, jax.Array]:
        """Subtract row k from all other rows, and store row k as it is a pivot."""
        rows, pivot_rows = carry
        pivot_row, column = dynamic_row(rows, k), dynamic_row(rows.T, k)
        pivot = dynamic_row(pivot_row, k)
        column = jnp.where(jnp.arange(n) == k, 0.0, column)
        # NaN marks all that follows a pivot that is not positive.
        factor = column / jnp.where(pivot > 0, pivot, jnp.nan)
        rows = rows - factor[:, None] * pivot_row
        return rows, update_slice(pivot_rows, pivot_row[None], k)

    begin = (rows, jnp.zeros_like(rows))
    solved, pivot_rows = jax.lax.fori_loop(0, n, eliminate, begin)
    # A masked sum takes the diagonal without a gather.
    pivots = jnp.sum(pivot_rows[:, :n] * np.eye(n), -1)[:, None]
    product = (pivot_rows[:, n : n + width] / pivots).T @ pivot_rows[:, n:]
    return solved[:, n:] / pivots, product


def _eliminate_unrolled(
    rows: Float[jax.Array, "n columns"], width: int
) -> tuple[Float[jax.Array, "n rest"], Float[jax.Array, "width rest"]]:
    """Return the result of `_eliminate_slice`, entry by entry.

    XLA puts all operations into few kernels then; LDLᵀ and the back substitution of a
    library would be several kernels for each matrix, and calls that no graph holds.
    """
    n, columns = rows.shape
    # Only entries right of the diagonal are kept up to date, as H is symmetric.
    R = [[rows[i, j] for j in range(columns)] for i in range(n)]
    for k in range(n):
        inverse = 1.0 / jnp.where(R[k][k] > 0, R[k][k], jnp.nan)
        scaled = [R[k][j] * inverse for j in range(columns)]
        for i in range(k + 1, n):
            for j in range(i, columns):
                R[i][j] = R[i][j] - scaled[i] * R[k][j]
        R[k] = scaled
    for k in reversed(range(n)):
        for i in range(k + 1, n):
            for j in range(n, columns):
                R[k][j] = R[k][j] - R[k][i] * R[i][j]
    solved = jnp.stack([jnp.stack(row[n:]) for row in R])
    coupling = rows[:, n : n + width, None]
    return solved, jnp.sum(coupling * solved[:, None, :], 0)
