"""Rows of a problem over a chain of slices, and their augmented Lagrangian."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

SOS, EQ, INEQ = 0, 1, 2
"""Kinds of rows: Σφ² is minimised, φ = 0, φ <= 0."""


class ResidualBlock(NamedTuple):
    """`n` instances of one kind of feature, each on a window of slices."""

    y: Float[jax.Array, "n rows"]
    J: Float[jax.Array, "n window rows columns"]
    """Derivative on each slice of the window, oldest first, by all nv tangent columns;
    or by just one, see `column`."""
    last_slice: Int[jax.Array, " n"]
    """The newest slice of the window; the window may reach before slice 0."""
    kind: Int[jax.Array, " n"]
    """SOS, EQ or INEQ."""
    column: Int[jax.Array, "n rows"] | None = None
    """The only one that each row depends on, where all have but one."""


def expand_columns(
    rows: ResidualBlock, nv: int
) -> Float[jax.Array, "n window rows nv"]:
    """The derivative by all tangent columns."""
    if rows.column is None:
        return rows.J
    return rows.J * (rows.column[:, None, :, None] == jnp.arange(nv))


def merge_like_blocks(groups: tuple[ResidualBlock, ...]) -> tuple[ResidualBlock, ...]:
    """The rows, each an instance of its own, with neighbours that are alike as one.

    Their order stays; what is done with few groups is less code.
    """
    alike = lambda r: (r.J.shape[1], r.J.shape[3], r.column is not None)
    return tuple(_one(list(rows)) for _, rows in groupby(groups, alike))


def _one(groups: list[ResidualBlock]) -> ResidualBlock:
    width = [r.y.shape[1] for r in groups]
    each = lambda a, n: jnp.repeat(a, n) if n > 1 else jnp.asarray(a)
    J = [
        jnp.swapaxes(r.J, 1, 2).reshape(-1, r.J.shape[1], 1, r.J.shape[3])
        for r in groups
    ]
    single = groups[0].column is not None
    return ResidualBlock(
        concatenate([r.y for r in groups])[:, None],
        jnp.concatenate(J),
        jnp.concatenate(
            [each(r.last_slice, n) for r, n in zip(groups, width, strict=True)]
        ),
        jnp.concatenate([each(r.kind, n) for r, n in zip(groups, width, strict=True)]),
        concatenate([jnp.asarray(r.column) for r in groups])[:, None]
        if single
        else None,
    )


class FlatResiduals(NamedTuple):
    """The rows of all groups, one after the other: less code than group by group."""

    y: Float[jax.Array, "*lines N"]
    kind: Int[jax.Array, " N"]


def flatten(groups: tuple[ResidualBlock, ...]) -> FlatResiduals:
    """All rows."""
    kinds = [jnp.repeat(rows.kind, rows.y.shape[1]) for rows in groups]
    return FlatResiduals(
        concatenate([rows.y for rows in groups]), jnp.concatenate(kinds)
    )


def concatenate(values: Sequence[jax.Array]) -> Shaped[jax.Array, " N"]:
    """Numbers of each group's rows, in line."""
    return jnp.concatenate([jnp.reshape(v, -1) for v in values])


def unflatten(
    values: Shaped[jax.Array, " N"], groups: tuple[ResidualBlock, ...]
) -> tuple[jax.Array, ...]:
    """The reverse of `concatenate`: (n, rows) of each group."""
    ends = np.cumsum([rows.y.size for rows in groups])[:-1]
    pieces = jnp.split(values, ends)
    return tuple(v.reshape(r.y.shape) for v, r in zip(pieces, groups, strict=True))


MAX_ROW_GRADIENT = 100.0
"""Rows that change faster than that weigh less in penalties."""


def row_scaling(groups: tuple[ResidualBlock, ...]) -> Float[jax.Array, " N"]:
    """Of the penalty, what is each row's: what it would be were no row steeper.

    Accelerations over short times are thousands of times as stiff as other rows are;
    with one penalty for all, what is minimised is a narrow and bent valley from the
    beginning. So rows are scaled in IPOPT (Wächter and Biegler 2006, section 3.8).
    """
    square = concatenate([jnp.sum(r.J**2, (1, 3)) for r in groups])
    return 1 / jnp.clip(square / MAX_ROW_GRADIENT**2, 1.0, 1e30)


class LagrangianTerms(NamedTuple):
    """Value, slope and curvature of the augmented Lagrangian in each row."""

    merit: Float[jax.Array, "*lines N"]
    slope: Float[jax.Array, "*lines N"]
    curvature: Float[jax.Array, "*lines N"]


def augmented_lagrangian_terms(
    line: FlatResiduals, multiplier: jax.Array, mu: jax.Array, pushing: Any = False
) -> LagrangianTerms:
    """The augmented Lagrangian of Powell, Hestenes and Rockafellar, row by row.

    Inequalities enter as μ max(0, φ + λ/2μ)² - λ²/4μ, costs as φ².

    Args:
        line: the rows.
        multiplier: of each.
        mu: the penalty, of all or of each.
        pushing: inequalities that are to enter as equations do.
    """
    y, kind = line
    shifted = y + multiplier / (2 * mu)
    idle = (kind == INEQ) & (shifted <= 0) & ~jnp.asarray(pushing)
    pushed = jnp.where(idle, 0.0, shifted)
    constraint = mu * pushed**2 - multiplier**2 / (4 * mu)
    active = jnp.where(pushed == 0, jnp.where(kind == EQ, 1.0, 0.0), 1.0)
    sos = kind == SOS
    return LagrangianTerms(
        jnp.where(sos, y**2, constraint),
        2 * jnp.where(sos, y, mu * pushed),
        2 * jnp.where(sos, 1.0, mu * active),
    )


def constraint_excess(
    before: FlatResiduals, after: FlatResiduals, multiplier: jax.Array, mu: jax.Array
) -> Float[jax.Array, " N"]:
    """By how much inequalities are beyond where they push, that were not before."""
    idle = (before.kind == INEQ) & (before.y + multiplier / (2 * mu) <= 0)
    return jnp.where(idle, jnp.maximum(after.y + multiplier / (2 * mu), 0.0), 0.0)


def newly_active(
    before: FlatResiduals, after: FlatResiduals, multiplier: jax.Array, mu: jax.Array
) -> Bool[jax.Array, " N"]:
    """The inequality that pushes most after a step, of those that did not before it."""
    return argmax_mask(constraint_excess(before, after, multiplier, mu))


def argmax_mask(push: Float[jax.Array, " N"]) -> Bool[jax.Array, " N"]:
    """The one that pushes most, if any does."""
    return (push > 0) & (push == jnp.max(push, initial=0.0))


def violation(line: FlatResiduals) -> Float[jax.Array, "*lines N"]:
    """How far each row is from holding; costs are never violated."""
    y, kind = line
    return jnp.where(
        kind == EQ, jnp.abs(y), jnp.where(kind == INEQ, jnp.maximum(y, 0.0), 0.0)
    )


def update_multipliers(
    line: FlatResiduals, multiplier: jax.Array, mu: jax.Array
) -> Float[jax.Array, " N"]:
    """First-order multiplier update."""
    y, kind = line
    new = multiplier + 2 * mu * y
    return jnp.where(
        kind == EQ, new, jnp.where(kind == INEQ, jnp.maximum(new, 0.0), 0.0)
    )


def max_violation(line: FlatResiduals) -> Float[jax.Array, "*lines"]:
    """The largest violation of all rows."""
    return jnp.max(violation(line), -1, initial=0.0)


def total_cost(line: FlatResiduals) -> Float[jax.Array, "*lines"]:
    """Sum of squares of all cost rows."""
    return jnp.sum(jnp.where(line.kind == SOS, line.y**2, 0.0), -1)
