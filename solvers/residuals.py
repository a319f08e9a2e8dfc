"""Residuals of a problem over a chain of slices, and their augmented Lagrangian."""

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int, Shaped

SOS, EQ, INEQ = 0, 1, 2
"""Kinds of rows: Σφ² is minimised, φ = 0 holds, φ <= 0 holds."""

MAX_ROW_GRADIENT = 100.0
"""Length of a row's gradient above which its penalty is scaled down [per rad or m].
Higher values let stiff rows dominate the augmented Lagrangian."""
MIN_EQUATION_GRADIENT = 0.3
"""Length of an equation's gradient below which its penalty is scaled up [per rad or m].
Lower values raise penalties for long before gentle equations hold."""
FLAT_GRADIENT = 1e-4
"""Length of an equation's gradient below which it says nothing of the row's size [per
rad or m]."""


class ResidualBlock(NamedTuple):
    """Rows of `n` instances of one kind of feature, each on a window of slices."""

    y: Float[jax.Array, "n rows"]
    J: Float[jax.Array, "n window rows columns"]
    """Jacobian on each slice of the window, oldest first, with all nv tangent columns,
    or with just one; see `column`."""
    last_slice: Int[jax.Array, " n"]
    """Newest slice of each window; windows may begin before slice 0."""
    kind: Int[jax.Array, " n"]
    """SOS, EQ or INEQ."""
    column: Int[jax.Array, "n rows"] | None = None
    """Tangent column of each row if every row of the block depends on just one."""


def expand_columns(
    block: ResidualBlock, nv: int
) -> Float[jax.Array, "n window rows nv"]:
    """Return the Jacobian with all tangent columns."""
    if block.column is None:
        return block.J
    return block.J * (block.column[:, None, :, None] == jnp.arange(nv))


def merge_like_blocks(blocks: tuple[ResidualBlock, ...]) -> tuple[ResidualBlock, ...]:
    """Merge neighbouring blocks with Jacobians of one shape; each row is an instance.

    The order of rows stays. Fewer blocks make programs smaller, so that they compile
    sooner.
    """

    def jacobian_shape(block: ResidualBlock) -> tuple[int, int, bool]:
        return block.J.shape[1], block.J.shape[3], block.column is not None

    return tuple(_merge(list(group)) for _, group in groupby(blocks, jacobian_shape))


def _merge(blocks: list[ResidualBlock]) -> ResidualBlock:
    J = [
        jnp.swapaxes(b.J, 1, 2).reshape(-1, b.J.shape[1], 1, b.J.shape[3])
        for b in blocks
    ]
    column = None
    if blocks[0].column is not None:
        column = concatenate([jnp.asarray(b.column) for b in blocks])[:, None]
    return ResidualBlock(
        concatenate([b.y for b in blocks])[:, None],
        jnp.concatenate(J),
        _repeat_for_rows([b.last_slice for b in blocks], blocks),
        _repeat_for_rows([b.kind for b in blocks], blocks),
        column,
    )


def _repeat_for_rows(
    values: Sequence[jax.Array], blocks: Sequence[ResidualBlock]
) -> Shaped[jax.Array, " N"]:
    """Repeat a number of each instance for each of its rows."""
    counts = [block.y.shape[1] for block in blocks]
    pairs = zip(values, counts, strict=True)
    return jnp.concatenate(
        [jnp.repeat(v, n) if n != 1 else jnp.asarray(v) for v, n in pairs]
    )


class FlatResiduals(NamedTuple):
    """Rows of all blocks in one array, on which operations are less code."""

    y: Float[jax.Array, "*points N"]
    kind: Int[jax.Array, " N"]


def flatten(blocks: tuple[ResidualBlock, ...]) -> FlatResiduals:
    """Return the rows of all blocks, one block after the other."""
    kinds = [jnp.repeat(block.kind, block.y.shape[1]) for block in blocks]
    return FlatResiduals(
        concatenate([block.y for block in blocks]),
        jnp.concatenate(kinds).astype(np.int32),
    )


def concatenate(values: Sequence[jax.Array]) -> Shaped[jax.Array, " N"]:
    """Concatenate arrays of any shapes, flattened."""
    return jnp.concatenate([jnp.reshape(v, -1) for v in values])


def unflatten(
    values: Shaped[jax.Array, " N"], blocks: tuple[ResidualBlock, ...]
) -> tuple[jax.Array, ...]:
    """Split values of all rows into those of each block (n, rows)."""
    # Sizes are static, so that a split costs nothing at run time.
    ends = np.cumsum([block.y.size for block in blocks])[:-1]
    pieces = jnp.split(values, ends)
    return tuple(v.reshape(b.y.shape) for v, b in zip(pieces, blocks, strict=True))


def row_scaling(blocks: tuple[ResidualBlock, ...]) -> Float[jax.Array, " N"]:
    """Return the factor of the penalty in each row.

    Accelerations over short times are thousands of times as stiff as other rows. With
    one penalty for all rows, the merit would be a narrow and bent valley from the
    beginning, so each constraint is scaled as if its gradient were at most
    `MAX_ROW_GRADIENT`, as in IPOPT (Wächter and Biegler 2006, section 3.8). Gentle
    equations are scaled up likewise.
    """
    # The penalty acts on φ², so a row scaled by 100/‖∇φ‖ has μ scaled by its square.
    square = concatenate([jnp.sum(b.J**2, (1, 3)) for b in blocks])
    # Inequalities, and rows at a singular point, may be flat without being small.
    is_small = (flatten(blocks).kind == EQ) & (square > FLAT_GRADIENT**2)
    least = jnp.where(is_small, MIN_EQUATION_GRADIENT**2, 0.0)
    bounded = jnp.clip(square, least, MAX_ROW_GRADIENT**2)
    return jnp.where(square > 0, bounded / jnp.maximum(square, 1e-30), 1.0)


def violation(residuals: FlatResiduals) -> Float[jax.Array, "*points N"]:
    """Return by how much each row is violated: |φ|, or max(0, φ); costs never are."""
    y, kind = residuals
    return jnp.where(
        kind == EQ, jnp.abs(y), jnp.where(kind == INEQ, jnp.maximum(y, 0.0), 0.0)
    )


def max_violation(residuals: FlatResiduals) -> Float[jax.Array, "*points"]:
    """Return the largest violation of all rows."""
    return jnp.max(violation(residuals), -1, initial=0.0)


def total_cost(residuals: FlatResiduals) -> Float[jax.Array, "*points"]:
    """Return the sum of squares of all cost rows."""
    return jnp.sum(jnp.where(residuals.kind == SOS, residuals.y**2, 0.0), -1)
