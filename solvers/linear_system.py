"""Linear system of one step: the Gauss–Newton matrix and gradient of all rows."""

from collections.abc import Iterator
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from posewise.compilation.backend import is_cpu_backend
from posewise.compilation.compaction import (
    compact,
    dynamic_row,
    start_indices,
    update_slice,
)
from posewise.compilation.precision import full_matmul_precision

from .bordered_matrix import BorderedMatrix, TangentVector
from .merit import LagrangianTerms
from .residuals import (
    ResidualBlock,
    expand_columns,
    merge_like_blocks,
    unflatten,
)

MIN_ROWS_TO_COMPACT = 32
"""Number of single-column rows above which the active ones are selected first. Lower
values pay for the selection even if there is little to skip."""


class VariablePartition(NamedTuple):
    """Tangent columns that belong to one slice, and those that all slices share."""

    local: np.ndarray
    """Indices of columns that are a variable of their slice."""
    shared: np.ndarray
    """Indices of columns that are one variable for all slices."""

    def local_columns(self, a: jax.Array) -> jax.Array:
        """Select the local columns on the last axis."""
        return a[..., self.local] if len(self.shared) else a

    def split(self, v: Float[jax.Array, "T nv"]) -> TangentVector:
        """Return a vector that is equal in all slices of shared columns, as parts."""
        return TangentVector(self.local_columns(v), v[0, self.shared])

    def join(self, v: TangentVector) -> Float[jax.Array, "T nv"]:
        """Return a vector from its parts, shared ones repeated in all slices."""
        if not len(self.shared):
            return v.local
        # The inverse permutation brings columns back into their order.
        repeated = jnp.broadcast_to(v.shared, (len(v.local), len(v.shared)))
        order = np.argsort(np.concatenate([self.local, self.shared]))
        return jnp.concatenate([v.local, repeated], -1)[:, order]


class NewtonSystem(NamedTuple):
    """Gauss–Newton matrix H = Jᵀ W J and gradient g = Jᵀ w of the merit.

    W and w are the curvature and slope of each row.
    """

    gradient: Float[jax.Array, "T nv"]
    """In shared columns every slice has the sum over all slices."""
    hessian: BorderedMatrix


def partition_variables(nv: int, shared: tuple[int, ...]) -> VariablePartition:
    """Return the partition of nv tangent columns."""
    return VariablePartition(np.setdiff1d(np.arange(nv), shared), np.array(shared, int))


@full_matmul_precision
def assemble(
    blocks: tuple[ResidualBlock, ...],
    terms: LagrangianTerms,
    T: int,
    order: int,
    partition: VariablePartition,
) -> NewtonSystem:
    """Sum up the system of all rows.

    Rows with windows of one length share one loop, which is compiled once; rows of one
    column each have another loop.

    Args:
        blocks: residuals with their Jacobians.
        terms: slope and curvature of all rows.
        T: number of slices.
        order: number of older slices in the longest window.
        partition: of the tangent columns.
    """
    n, s = len(partition.local), len(partition.shared)
    dtype = blocks[0].y.dtype
    # Windows may begin before slice 0, so sums have `order` more slices; what falls on
    # these belongs to fixed slices and is cut off at the end.
    sums = _BandedSums(
        jnp.zeros((T + order, n), dtype),
        tuple(jnp.zeros((T + order, n, n), dtype) for _ in range(order + 1)),
        jnp.zeros((T + order, n, s), dtype),
    )
    g_shared, corner = jnp.zeros(s, dtype), jnp.zeros((s, s), dtype)
    # A CPU adds rows in a loop, without large temporaries; accelerators scatter all
    # rows at once, because each step of a loop costs them a kernel launch.
    is_cpu = is_cpu_backend()
    add_dense = _add_dense_rows_in_loop if is_cpu else _scatter_dense_rows
    add_single = (
        _add_single_column_rows_in_loop if is_cpu else _scatter_single_column_rows
    )
    for rows in _merge_rows(blocks, terms):
        begin = rows.last_slice - (rows.J.shape[1] - 1) + order
        if rows.column is not None:
            sums = add_single(rows, begin, partition, sums)
            continue
        J = partition.local_columns(rows.J)
        J_shared = jnp.sum(rows.J[..., partition.shared], 1)
        WJ = rows.curvature[:, None, None] * J
        sums = add_dense(_DenseRows(begin, J, rows.slope, WJ, J_shared), sums)
        if s:
            g_shared += rows.slope @ J_shared
            corner += (rows.curvature[:, None] * J_shared).T @ J_shared
    g, bands, border = jax.tree.map(lambda a: a[order:], sums)
    gradient = partition.join(TangentVector(g, g_shared))
    return NewtonSystem(gradient, BorderedMatrix(bands, border, corner))


@full_matmul_precision
def multiply_transposed(
    blocks: tuple[ResidualBlock, ...],
    weights: tuple[jax.Array, ...],
    T: int,
    partition: VariablePartition,
) -> Float[jax.Array, "T nv"]:
    """Return Jᵀ w of all rows: in shared columns every slice has the sum.

    It has no loop, and keeps blocks apart, so that programs of its derivatives are
    small: where only some blocks change, no other one is computed.

    Args:
        blocks: residuals with their Jacobians.
        weights: w of the rows of each block (n, rows).
        T: number of slices.
        partition: of the tangent columns.
    """
    nv = len(partition.local) + len(partition.shared)
    total = jnp.zeros((T, nv), weights[0].dtype)
    shared = jnp.zeros(len(partition.shared), weights[0].dtype)
    for block, w in zip(blocks, weights, strict=True):
        window = block.J.shape[1]
        force = jnp.einsum("nwrv,nr->nwv", expand_columns(block, nv), w)
        # Windows may begin before slice 0, where slices are fixed.
        slices = block.last_slice[:, None] - np.arange(window - 1, -1, -1)
        is_slice = (slices[..., None] == np.arange(T)).astype(force.dtype)
        total = total + jnp.einsum("nwt,nwv->tv", is_slice, force)
        shared = shared + jnp.sum(force[..., partition.shared], (0, 1))
    if not len(partition.shared):
        return total
    return partition.join(TangentVector(partition.local_columns(total), shared))


class _MergedRows(NamedTuple):
    """Rows with windows of one length, each an instance."""

    J: Float[jax.Array, "n window columns"]
    last_slice: Int[jax.Array, " n"]
    slope: Float[jax.Array, " n"]
    curvature: Float[jax.Array, " n"]
    column: Int[jax.Array, " n"] | None


def _merge_rows(
    blocks: tuple[ResidualBlock, ...], terms: LagrangianTerms
) -> Iterator[_MergedRows]:
    blocks = merge_like_blocks(blocks)
    slopes = unflatten(terms.slope, blocks)
    curvatures = unflatten(terms.curvature, blocks)
    for block, slope, curvature in zip(blocks, slopes, curvatures, strict=True):
        # Features may have no rows, such as limits of joints without any.
        if not block.y.size:
            continue
        yield _MergedRows(
            block.J[:, :, 0],
            block.last_slice,
            slope[:, 0],
            curvature[:, 0],
            None if block.column is None else block.column[:, 0],
        )


class _DenseRows(NamedTuple):
    """Rows that may depend on all columns."""

    begin: Int[jax.Array, " n"]
    """First slice of each window, in the sums."""
    J: Float[jax.Array, "n window local"]
    slope: Float[jax.Array, " n"]
    WJ: Float[jax.Array, "n window local"]
    """Curvature times J."""
    J_shared: Float[jax.Array, "n shared"]
    """Derivative with respect to shared variables, summed over the window."""


class _BandedSums(NamedTuple):
    """Sums over rows, with the fixed slices before slice 0."""

    gradient: jax.Array
    bands: tuple[jax.Array, ...]
    border: jax.Array


def _add_dense_rows_in_loop(rows: _DenseRows, sums: _BandedSums) -> _BandedSums:
    """Add rows one after the other."""
    window = rows.J.shape[1]

    def add_row(i: jax.Array, total: _BandedSums) -> _BandedSums:
        t, J, slope, WJ, J_shared = (dynamic_row(a, i) for a in rows)
        g = _add_slice(total.gradient, slope * J, t)
        bands = list(total.bands)
        # Slices s and s - d of a window add W J_s J_{s-d}ᵀ to band d.
        for d in range(window):
            block = WJ[d:, :, None] * J[: window - d, None]
            bands[d] = _add_slice(bands[d], block, t + d)
        border = total.border
        if J_shared.size:
            border = _add_slice(border, WJ[..., None] * J_shared, t)
        return total._replace(gradient=g, bands=tuple(bands), border=border)

    end: _BandedSums = jax.lax.fori_loop(0, len(rows.begin), add_row, sums)
    return end


def _scatter_dense_rows(rows: _DenseRows, sums: _BandedSums) -> _BandedSums:
    """Add all rows at once."""
    window, J, WJ = rows.J.shape[1], rows.J, rows.WJ
    t = rows.begin[:, None] + np.arange(window)
    bands = list(sums.bands)
    for d in range(window):
        blocks = WJ[:, d:, :, None] * J[:, : window - d, None]
        bands[d] = bands[d].at[t[:, d:]].add(blocks)
    border = sums.border.at[t].add(WJ[..., None] * rows.J_shared[:, None, None])
    g = sums.gradient.at[t].add(rows.slope[:, None, None] * J)
    return _BandedSums(g, tuple(bands), border)


def _add_single_column_rows_in_loop(
    rows: _MergedRows,
    begin: jax.Array,
    partition: VariablePartition,
    sums: _BandedSums,
) -> _BandedSums:
    """Add rows of one column each, which touch one entry of each block."""
    J, window = rows.J[..., 0], rows.J.shape[1]
    WJ = rows.curvature[:, None] * J
    columns = _local_column_indices(rows, partition)

    def add_row(i: jax.Array, total: _BandedSums) -> _BandedSums:
        t, c = dynamic_row(begin, i), dynamic_row(columns, i)
        J_i, WJ_i = dynamic_row(J, i), dynamic_row(WJ, i)
        gradient = (dynamic_row(rows.slope, i) * J_i)[:, None]
        g = _add_slice(total.gradient, gradient, t, c)
        bands = list(total.bands)
        for d in range(window):
            entries = WJ_i[d:] * J_i[: window - d]
            bands[d] = _add_slice(bands[d], entries[:, None, None], t + d, c, c)
        return total._replace(gradient=g, bands=tuple(bands))

    if window > 1 or len(begin) <= MIN_ROWS_TO_COMPACT:
        end: _BandedSums = jax.lax.fori_loop(0, len(begin), add_row, sums)
        return end
    # Most rows on single slices are joint limits, of which few are active.
    active, count = compact((rows.slope != 0) | (rows.curvature != 0))

    def add_active_row(k: jax.Array, total: _BandedSums) -> _BandedSums:
        return add_row(dynamic_row(active, k), total)

    end = jax.lax.fori_loop(0, count, add_active_row, sums)
    return end


def _scatter_single_column_rows(
    rows: _MergedRows,
    begin: jax.Array,
    partition: VariablePartition,
    sums: _BandedSums,
) -> _BandedSums:
    """Add all rows of one column each at once."""
    J, window = rows.J[..., 0], rows.J.shape[1]
    WJ = rows.curvature[:, None] * J
    t = begin[:, None] + np.arange(window)
    c = _local_column_indices(rows, partition)[:, None]
    bands = list(sums.bands)
    for d in range(window):
        entries = WJ[:, d:] * J[:, : window - d]
        bands[d] = bands[d].at[t[:, d:], c, c].add(entries)
    g = sums.gradient.at[t, c].add(rows.slope[:, None] * J)
    return sums._replace(gradient=g, bands=tuple(bands))


def _local_column_indices(
    rows: _MergedRows, partition: VariablePartition
) -> Int[jax.Array, " n"]:
    """Return the index of each row's column among the local columns."""
    column = jnp.asarray(rows.column)
    return column - jnp.sum(column[:, None] > partition.shared, -1)


def _add_slice(total: jax.Array, part: jax.Array, *start: jax.Array) -> jax.Array:
    """Add `part` to the slice of `total` that begins at these first indices."""
    old = jax.lax.dynamic_slice(
        total, start_indices(total, *start), part.shape, allow_negative_indices=False
    )
    return update_slice(total, old + part, *start)


@full_matmul_precision
def newton_step(
    system: NewtonSystem,
    fixed_mask: Bool[jax.Array, "T nv"],
    damping: Float[jax.Array, ""],
    partition: VariablePartition,
) -> tuple[Float[jax.Array, "T nv"], Float[jax.Array, ""]]:
    """Solve (H + damping I) δ = -g on the variables that are not fixed.

    Returns:
        δ, and the decrease of g·δ + ½ δᵀHδ that it predicts.
    """
    free = 1.0 - fixed_mask.astype(system.gradient.dtype)
    g = system.gradient * free
    parts = partition.split(free)
    # Rows and columns of fixed variables become those of the identity.
    diagonal = jax.tree.map(lambda f: jnp.where(f > 0, damping, 1.0), parts)
    matrix = system.hessian.restrict(parts, diagonal)
    step = -partition.join(matrix.solve(partition.split(g)))
    # As (H + damping I) δ = -g, -(g·δ + ½ δᵀHδ) = -½ (g·δ - damping δ·δ).
    counts = count_shared_once(g.shape, partition)
    predicted = -0.5 * jnp.sum(counts * step * (g - damping * step))
    return step, predicted


def count_shared_once(
    shape: tuple[int, ...], partition: VariablePartition
) -> Float[np.ndarray, "T nv"]:
    """Return weights with which a sum over (T, nv) counts shared variables once."""
    # Shared variables stand in all slices with the same value; the first one counts.
    counts = np.ones(shape)
    counts[1:, partition.shared] = 0.0
    return counts
