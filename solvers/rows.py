"""Rows of a problem over a chain of slices, and their augmented Lagrangian."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Float, Int

SOS, EQ, INEQ = 0, 1, 2
"""Kinds of rows: Σφ² is minimised, φ = 0, φ <= 0."""


class Rows(NamedTuple):
    """`n` instances of one kind of feature, each on a window of slices."""

    y: Float[jax.Array, "n rows"]
    J: Float[jax.Array, "n window rows nv"]
    """Derivative on each slice of the window, oldest first."""
    last: Int[jax.Array, " n"]
    """The newest slice of the window; the window may reach before slice 0."""
    kind: Int[jax.Array, " n"]
    """SOS, EQ or INEQ."""


class Weights(NamedTuple):
    """Value, slope and curvature of the augmented Lagrangian in each row."""

    merit: Float[jax.Array, "n rows"]
    slope: Float[jax.Array, "n rows"]
    curvature: Float[jax.Array, "n rows"]


def augmented(rows: Rows, multiplier: jax.Array, mu: jax.Array) -> Weights:
    """The augmented Lagrangian of Powell, Hestenes and Rockafellar, row by row.

    Inequalities enter as μ max(0, φ + λ/2μ)² - λ²/4μ, costs as φ².
    """
    y, kind = rows.y, rows.kind[:, None]
    shifted = y + multiplier / (2 * mu)
    pushed = jnp.where((kind == INEQ) & (shifted <= 0), 0.0, shifted)
    constraint = mu * pushed**2 - multiplier**2 / (4 * mu)
    active = jnp.where(pushed == 0, jnp.where(kind == EQ, 1.0, 0.0), 1.0)
    sos = kind == SOS
    return Weights(
        jnp.where(sos, y**2, constraint),
        2 * jnp.where(sos, y, mu * pushed),
        2 * jnp.where(sos, 1.0, mu * active),
    )


def violation(rows: Rows) -> Float[jax.Array, "n rows"]:
    """How far each row is from holding; costs are never violated."""
    y, kind = rows.y, rows.kind[:, None]
    return jnp.where(
        kind == EQ, jnp.abs(y), jnp.where(kind == INEQ, jnp.maximum(y, 0.0), 0.0)
    )


def updated_multiplier(rows: Rows, multiplier: jax.Array, mu: jax.Array) -> jax.Array:
    """First-order multiplier update."""
    kind = rows.kind[:, None]
    new = multiplier + 2 * mu * rows.y
    return jnp.where(
        kind == EQ, new, jnp.where(kind == INEQ, jnp.maximum(new, 0.0), 0.0)
    )


def worst_violation(groups: tuple[Rows, ...]) -> Float[jax.Array, ""]:
    """The largest violation of all rows."""
    worst = jnp.zeros((), groups[0].y.dtype)
    for rows in groups:
        worst = jnp.maximum(worst, jnp.max(violation(rows), initial=0.0))
    return worst


def total_cost(groups: tuple[Rows, ...]) -> Float[jax.Array, ""]:
    """Sum of squares of all cost rows."""
    cost = jnp.zeros((), groups[0].y.dtype)
    for rows in groups:
        cost += jnp.sum(jnp.where(rows.kind[:, None] == SOS, rows.y**2, 0.0))
    return cost
