"""Extrapolation of inequalities that are flat where they hold.

Collision sums are an example: they have zero gradient when nothing overlaps, so a
Gauss–Newton step ignores them and is rejected repeatedly. While such an inequality is
satisfied we use its last linearization, capped at zero so that feasibility and
violations are unchanged.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Bool, Float

from posewise.compilation.compaction import gather

from .residuals import INEQ, FlatResiduals, ResidualBlock, concatenate

Mask = Bool[jax.Array, "n rows"] | None


class ExtrapolatedRows(NamedTuple):
    """Residuals in which linearizations replace rows that are flat."""

    blocks: tuple[ResidualBlock, ...]
    extrapolated: tuple[Mask, ...]
    """Masks of replaced rows, whose features are zero. None for blocks whose
    rows are never replaced."""


def without_extrapolation(blocks: tuple[ResidualBlock, ...]) -> ExtrapolatedRows:
    """Return residuals in which no row is replaced."""
    masks = tuple(
        jnp.zeros(b.y.shape, bool) if _has_single_slice(b) else None for b in blocks
    )
    return ExtrapolatedRows(blocks, masks)


def extrapolate_inactive(
    old: ExtrapolatedRows,
    new: tuple[ResidualBlock, ...],
    step: Float[jax.Array, "T nv"],
) -> tuple[ExtrapolatedRows, ExtrapolatedRows]:
    """Return the residuals before and after a step, each extrapolated from the other.

    Rows on windows of several slices are never replaced, nor are rows of one column,
    which are flat nowhere.
    """
    before, before_masks, after, after_masks = [], [], [], []
    for a, b, mask in zip(old.blocks, new, old.extrapolated, strict=True):
        (a, a_mask), (b, b_mask) = _extrapolate_pair(a, b, mask, step)
        before.append(a)
        before_masks.append(a_mask)
        after.append(b)
        after_masks.append(b_mask)
    return (
        ExtrapolatedRows(tuple(before), tuple(before_masks)),
        ExtrapolatedRows(tuple(after), tuple(after_masks)),
    )


BlockAndMask = tuple[ResidualBlock, Mask]


def _extrapolate_pair(
    old: ResidualBlock, new: ResidualBlock, mask: Mask, step: jax.Array
) -> tuple[BlockAndMask, BlockAndMask]:
    if mask is None:
        return (old, None), (new, None)
    was_flat, is_flat = _is_flat_inequality(old), _is_flat_inequality(new)
    # Left behind: φ(x + δ) is continued by φ(x) + J(x) δ.
    is_left = is_flat & ~was_flat
    after = _replace_rows(
        new, is_left, old.y + _directional_derivative(old, step), old.J
    )
    # Run into: φ(x) is continued backwards by φ(x + δ) - J(x + δ) δ.
    backward = new.y - _directional_derivative(new, step)
    is_met = was_flat & ~is_flat & jnp.isfinite(backward)
    before = _replace_rows(old, is_met, backward, new.J)
    return (before, mask | is_met), (after, is_left)


def predict_linear(
    blocks: tuple[ResidualBlock, ...],
    residuals: FlatResiduals,
    step: Float[jax.Array, "T nv"],
) -> FlatResiduals:
    """Return the first-order prediction φ + Jδ of all rows.

    Rows on windows of several slices and rows of one column are returned unchanged.
    """
    changes = [
        _directional_derivative(b, step)
        if _has_single_slice(b)
        else jnp.zeros_like(b.y)
        for b in blocks
    ]
    return residuals._replace(y=residuals.y + concatenate(changes))


def _has_single_slice(block: ResidualBlock) -> bool:
    """Whether rows depend on one slice, and on all of its columns."""
    return block.J.shape[1] == 1 and block.column is None


def _directional_derivative(
    block: ResidualBlock, step: Float[jax.Array, "T nv"]
) -> Float[jax.Array, "n rows"]:
    """Return Jδ of rows that depend on one slice."""
    return jnp.sum(block.J[:, 0] * gather(step, block.last_slice)[:, None], -1)


def _is_flat_inequality(block: ResidualBlock) -> Bool[jax.Array, "n rows"]:
    """Return which rows are inequalities that are zero and have a zero gradient."""
    # Exact comparisons: a sum over overlaps is exactly zero where nothing overlaps.
    has_no_gradient = jnp.all(block.J[:, 0] == 0, -1)
    return has_no_gradient & (block.y == 0) & (block.kind == INEQ)[:, None]


def _replace_rows(
    block: ResidualBlock, mask: jax.Array, y: jax.Array, J: jax.Array
) -> ResidualBlock:
    """Replace rows by linearizations, capped at 0 because the feature itself is 0."""
    return block._replace(
        y=jnp.where(mask, jnp.minimum(y, 0.0), block.y),
        J=jnp.where(mask[:, None, :, None], J, block.J),
    )
