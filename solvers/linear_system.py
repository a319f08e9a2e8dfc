"""The linear system of one step: bands over the slices, bordered by shared columns.

Most columns of the tangent space belong to one slice, and couple only slices nearby.
Shared columns are one variable for all slices; they border the banded matrix, which
stays positive definite, and are eliminated by its Schur complement.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from posewise.compilation.compaction import (
    compact,
    dynamic_row,
    start_indices,
    update_slice,
)
from posewise.compilation.precision import full_matmul_precision

from .banded import solve_banded
from .residuals import LagrangianTerms, ResidualBlock, merge_like_blocks, unflatten

MIN_ROWS_TO_COMPACT = 32
"""Of more rows of one column and slice each, those that push are found first."""


class VariablePartition(NamedTuple):
    """The columns of a slice's tangent space that are its own, and the shared ones."""

    local: np.ndarray
    shared: np.ndarray

    def local_columns(self, a: jax.Array) -> jax.Array:
        """Own columns, on the last axis."""
        return a[..., self.local] if len(self.shared) else a


class NewtonSystem(NamedTuple):
    """Jᵀ curvature J, and Jᵀ slope."""

    gradient: Float[jax.Array, "T nv"]
    """In shared columns the sum over all slices, in each of them."""
    bands: tuple[Float[jax.Array, "T own own"], ...]
    """`[d][t]` is the block of slices (t, t - d); before slice d it means nothing."""
    border: Float[jax.Array, "T own shared"]
    corner: Float[jax.Array, "shared shared"]


def partition_variables(nv: int, shared: tuple[int, ...]) -> VariablePartition:
    """Own and shared columns out of nv."""
    return VariablePartition(np.setdiff1d(np.arange(nv), shared), np.array(shared, int))


@full_matmul_precision
def assemble(
    groups: tuple[ResidualBlock, ...],
    weights: LagrangianTerms,
    T: int,
    width: int,
    parts: VariablePartition,
) -> NewtonSystem:
    """The system of all rows; `width`: how many slices back a window reaches.

    Rows with windows of one length are added up by one loop, which is compiled once;
    those of one column each by another.
    """
    n, s, dtype = len(parts.local), len(parts.shared), groups[0].y.dtype
    # windows may reach before the first slice: what falls there is cut off at the end
    sums = _BandedSums(
        jnp.zeros((T + width, n), dtype),
        tuple(jnp.zeros((T + width, n, n), dtype) for _ in range(width + 1)),
        jnp.zeros((T + width, n, s), dtype),
    )
    g_shared, corner = jnp.zeros(s, dtype), jnp.zeros((s, s), dtype)
    in_order = jax.default_backend() == "cpu"
    for each in _merge_rows(groups, weights):
        begin = each.last_slice - (each.J.shape[1] - 1) + width
        if each.column is not None:
            add = (
                _add_single_column_rows_in_loop
                if in_order
                else _scatter_single_column_rows
            )
            sums = add(each, begin, parts, sums)
            continue
        J = parts.local_columns(each.J)
        tied = jnp.sum(each.J[..., parts.shared], 1)
        full = _DenseRows(begin, J, each.slope, each.curvature[:, None, None] * J, tied)
        sums = (_add_dense_rows_in_loop if in_order else _scatter_dense_rows)(
            full, sums
        )
        if s:
            g_shared += each.slope @ tied
            corner += (each.curvature[:, None] * tied).T @ tied
    g, bands, border = jax.tree.map(lambda a: a[width:], sums)
    return NewtonSystem(join_columns(g, g_shared, parts), bands, border, corner)


class _MergedRows(NamedTuple):
    """Rows with windows of one length."""

    J: Float[jax.Array, "n window partition_variables"]
    last_slice: Int[jax.Array, " n"]
    slope: Float[jax.Array, " n"]
    curvature: Float[jax.Array, " n"]
    column: Int[jax.Array, " n"] | None


def _merge_rows(
    groups: tuple[ResidualBlock, ...], weights: LagrangianTerms
) -> Iterator[_MergedRows]:
    groups = merge_like_blocks(groups)
    slopes, curvatures = (
        unflatten(weights.slope, groups),
        unflatten(weights.curvature, groups),
    )
    for rows, slope, curvature in zip(groups, slopes, curvatures, strict=True):
        column = None if rows.column is None else rows.column[:, 0]
        numbers = slope[:, 0], curvature[:, 0]
        yield _MergedRows(rows.J[:, :, 0], rows.last_slice, *numbers, column)


class _DenseRows(NamedTuple):
    """Rows of all own columns."""

    begin: Int[jax.Array, " n"]
    J: Float[jax.Array, "n window own"]
    slope: Float[jax.Array, " n"]
    weighted: Float[jax.Array, "n window own"]
    tied: Float[jax.Array, "n shared"]


def _add_dense_rows_in_loop(rows: _DenseRows, sums: "_BandedSums") -> "_BandedSums":
    """With rows added one after the other."""
    m = rows.J.shape[1]

    def add(i: Any, total: _BandedSums) -> _BandedSums:
        t, J, slope, W, tied = (dynamic_row(a, i) for a in rows)
        g = _add_slice(total.gradient, slope * J, t)
        bands = list(total.bands)
        for d in range(m):
            bands[d] = _add_slice(bands[d], W[d:, :, None] * J[: m - d, None], t + d)
        border = total.border
        if tied.size:
            border = _add_slice(border, W[..., None] * tied, t)
        return total._replace(gradient=g, bands=tuple(bands), border=border)

    return jax.lax.fori_loop(0, len(rows.begin), add, sums)


def _scatter_dense_rows(rows: _DenseRows, sums: "_BandedSums") -> "_BandedSums":
    """The same where what counts is the number of steps, not of operations."""
    m, J, W = rows.J.shape[1], rows.J, rows.weighted
    t = rows.begin[:, None] + np.arange(m)
    bands = list(sums.bands)
    for d in range(m):
        blocks = W[:, d:, :, None] * J[:, : m - d, None]
        bands[d] = bands[d].at[t[:, d:]].add(blocks)
    border = sums.border.at[t].add(W[..., None] * rows.tied[:, None, None])
    g = sums.gradient.at[t].add(rows.slope[:, None, None] * J)
    return _BandedSums(g, tuple(bands), border)


def _add_single_column_rows_in_loop(
    each: _MergedRows, begin: jax.Array, parts: VariablePartition, sums: "_BandedSums"
) -> "_BandedSums":
    """With rows of one column each, by one entry of each block."""
    J, m = each.J[..., 0], each.J.shape[1]
    weighted = each.curvature[:, None] * J
    column = _local_columns(each, parts)

    def add(i: Any, total: _BandedSums) -> _BandedSums:
        t, c = dynamic_row(begin, i), dynamic_row(column, i)
        mine, W = dynamic_row(J, i), dynamic_row(weighted, i)
        g = _add_slice(
            total.gradient, (dynamic_row(each.slope, i) * mine)[:, None], t, c
        )
        bands = list(total.bands)
        for d in range(m):
            entries = W[d:] * mine[: m - d]
            bands[d] = _add_slice(bands[d], entries[:, None, None], t + d, c, c)
        return total._replace(gradient=g, bands=tuple(bands))

    if m > 1 or len(begin) <= MIN_ROWS_TO_COMPACT:
        return jax.lax.fori_loop(0, len(begin), add, sums)
    # most of them are limits, of which few push
    at, count = compact((each.slope != 0) | (each.curvature != 0))
    return jax.lax.fori_loop(
        0, count, lambda k, total: add(dynamic_row(at, k), total), sums
    )


def _scatter_single_column_rows(
    each: _MergedRows, begin: jax.Array, parts: VariablePartition, sums: "_BandedSums"
) -> "_BandedSums":
    """The same all at once."""
    J, m = each.J[..., 0], each.J.shape[1]
    weighted = each.curvature[:, None] * J
    t, c = begin[:, None] + np.arange(m), _local_columns(each, parts)[:, None]
    bands = list(sums.bands)
    for d in range(m):
        entries = weighted[:, d:] * J[:, : m - d]
        bands[d] = bands[d].at[t[:, d:], c, c].add(entries)
    g = sums.gradient.at[t, c].add(each.slope[:, None] * J)
    return sums._replace(gradient=g, bands=tuple(bands))


def _local_columns(each: _MergedRows, parts: VariablePartition) -> jax.Array:
    """Of each row its column's place in own ones."""
    column = jnp.asarray(each.column)
    return column - jnp.sum(column[:, None] > parts.shared, -1)


class _BandedSums(NamedTuple):
    """Sums over rows, with slices before the first."""

    gradient: jax.Array
    bands: tuple[jax.Array, ...]
    border: jax.Array


def _add_slice(total: jax.Array, part: jax.Array, *at: jax.Array) -> jax.Array:
    """The sum, where `part` begins at these first indices."""
    cut, begin = jax.lax.dynamic_slice, start_indices(total, *at)
    old = cut(total, begin, part.shape, allow_negative_indices=False)
    return update_slice(total, old + part, *at)


@full_matmul_precision
def newton_step(
    system: NewtonSystem,
    held: Bool[jax.Array, "T nv"],
    damping: Float[jax.Array, ""],
    parts: VariablePartition,
) -> tuple[Float[jax.Array, "T nv"], Float[jax.Array, ""]]:
    """-(H + damping I)⁻¹ g on the variables not held, and the decrease it predicts."""
    free = 1.0 - held.astype(system.gradient.dtype)
    g = system.gradient * free
    free_own, g_own = parts.local_columns(free), parts.local_columns(g)
    eye = jnp.eye(len(parts.local), dtype=g.dtype)
    bands = [
        band * (free_own[:, :, None] * jnp.roll(free_own, d, 0)[:, None, :])
        for d, band in enumerate(system.bands)
    ]
    diagonal = jnp.where(free_own > 0, damping, 1.0)
    bands[0] = bands[0] + diagonal[:, :, None] * eye
    if not len(parts.shared):
        delta = -solve_banded(bands, g_own[..., None])[..., 0]
        shared = jnp.zeros(0, g.dtype)
    else:
        free_s, g_s = free[0, parts.shared], g[0, parts.shared]
        border = system.border * free_own[:, :, None] * free_s
        corner = system.corner * free_s[:, None] * free_s
        corner += jnp.diag(jnp.where(free_s > 0, damping, 1.0))
        solved = solve_banded(bands, jnp.concatenate([g_own[..., None], border], -1))
        flat = lambda a: a.reshape(-1, a.shape[-1])
        reduced = flat(border).T @ flat(solved)
        schur = corner - reduced[:, 1:]
        shared = -_solve_dense(schur, g_s - reduced[:, 0])
        delta = -solved[..., 0] - solved[..., 1:] @ shared
    step = join_columns(delta, shared, parts)
    once = np.ones(g.shape)
    once[1:, parts.shared] = 0.0
    # g·δ + ½ δᵀHδ = ½ g·δ - ½ damping δ² for the damped step
    predicted = -0.5 * jnp.sum(once * step * (g - damping * step))
    return step, predicted


def diagonal_model_decrease(
    system: NewtonSystem, held: Bool[jax.Array, "T nv"], parts: VariablePartition
) -> Float[jax.Array, ""]:
    """About how much the value can fall: Σ g²/2H over single variables not held."""
    of = lambda H: H.reshape(*H.shape[:-2], -1)[..., :: H.shape[-1] + 1]
    own = of(system.bands[0])
    curvature = join_columns(own, of(system.corner), parts)
    once = np.ones(held.shape)
    once[1:, parts.shared] = 0.0
    least = 1e-12 * jnp.max(curvature, initial=0.0) + jnp.finfo(own.dtype).tiny
    g = jnp.where(held, 0.0, system.gradient)
    return 0.5 * jnp.sum(once * g**2 / (curvature + least))


def _solve_dense(H: jax.Array, b: jax.Array) -> jax.Array:
    return solve_banded([H[None]], b[None, :, None])[0, :, 0]


def join_columns(
    own: jax.Array, shared: jax.Array, parts: VariablePartition
) -> jax.Array:
    """(T, nv) from own columns and shared ones, which are repeated."""
    if not len(parts.shared):
        return own
    wide = jnp.broadcast_to(shared, (len(own), len(shared)))
    back = np.argsort(np.concatenate([parts.local, parts.shared]))
    return jnp.concatenate([own, wide], -1)[:, back]
