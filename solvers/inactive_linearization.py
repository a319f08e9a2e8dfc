"""Inequalities that are zero, with no derivative, wherever they hold.

Sums of overlaps are such: a step from where nothing overlaps does not see what it runs
into, and is refused again and again. There the line takes the row's place that it had
where it was violated last, or is at the trial point, as far as that is not above zero:
what is feasible stays so, and violations are what they were.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Bool, Float

from posewise.compilation.compaction import gather

from .residuals import INEQ, FlatResiduals, ResidualBlock, concatenate

Mask = Bool[jax.Array, "n rows"] | None


class ExtrapolatedRows(NamedTuple):
    """Rows in which lines take the place of what is flat."""

    blocks: tuple[ResidualBlock, ...]
    extrapolated: tuple[Mask, ...]
    """Where they do: there the row itself is zero. None of rows that stay as they are.
    """


def without_extrapolation(groups: tuple[ResidualBlock, ...]) -> ExtrapolatedRows:
    """The rows as they are."""
    none = lambda r: jnp.zeros(r.y.shape, bool) if _has_single_slice(r) else None
    return ExtrapolatedRows(groups, tuple(map(none, groups)))


def extrapolate_inactive(
    old: ExtrapolatedRows,
    new: tuple[ResidualBlock, ...],
    step: Float[jax.Array, "T nv"],
) -> tuple[ExtrapolatedRows, ExtrapolatedRows]:
    """The rows before and after a step, each with what the other tells of it.

    Rows that look at several slices stay as they are, and those of one column each,
    which are flat nowhere.
    """
    pairs = [
        _extrapolate_pair(a, b, m, step)
        for a, b, m in zip(old.blocks, new, old.extrapolated, strict=True)
    ]
    before, after = zip(*pairs, strict=True)
    columns = lambda side: ExtrapolatedRows(*map(tuple, zip(*side, strict=True)))
    return columns(before), columns(after)


BlockAndMask = tuple[ResidualBlock, Mask]


def _extrapolate_pair(
    old: ResidualBlock, new: ResidualBlock, mask: Mask, step: jax.Array
) -> tuple[BlockAndMask, BlockAndMask]:
    if mask is None:
        return (old, None), (new, None)
    flat_old, flat_new = _is_flat_inequality(old), _is_flat_inequality(new)
    left = flat_new & ~flat_old
    earlier = new.y - _directional_derivative(new, step)
    met = flat_old & ~flat_new & jnp.isfinite(earlier)
    after = _replace_rows(new, left, old.y + _directional_derivative(old, step), old.J)
    before = _replace_rows(old, met, earlier, new.J)
    return (before, mask | met), (after, left)


def predict_linear(
    groups: tuple[ResidualBlock, ...],
    line: FlatResiduals,
    step: Float[jax.Array, "T nv"],
) -> FlatResiduals:
    """All rows after a step, by their derivatives.

    As they are: those that look at several slices, and those of one column each.
    """
    none = lambda r: jnp.zeros_like(r.y)
    changes = [
        _directional_derivative(r, step) if _has_single_slice(r) else none(r)
        for r in groups
    ]
    return line._replace(y=line.y + concatenate(changes))


def _has_single_slice(rows: ResidualBlock) -> bool:
    """They look at one slice, at all of its columns."""
    return rows.J.shape[1] == 1 and rows.column is None


def _directional_derivative(
    rows: ResidualBlock, step: Float[jax.Array, "T nv"]
) -> Float[jax.Array, "n rows"]:
    """Of plain ones with a step, by their derivatives."""
    return jnp.sum(rows.J[:, 0] * gather(step, rows.last_slice)[:, None], -1)


def _is_flat_inequality(rows: ResidualBlock) -> jax.Array:
    """No derivative, though it is an inequality and just holds."""
    still = jnp.all(rows.J[:, 0] == 0, -1)
    return still & (rows.y == 0) & (rows.kind == INEQ)[:, None]


def _replace_rows(
    rows: ResidualBlock, where: jax.Array, y: jax.Array, J: jax.Array
) -> ResidualBlock:
    return rows._replace(
        y=jnp.where(where, jnp.minimum(y, 0.0), rows.y),
        J=jnp.where(where[:, None, :, None], J, rows.J),
    )
