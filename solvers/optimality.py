"""Residual of the first-order optimality conditions (Karush, Kuhn and Tucker).

At a minimum the gradients of costs and constraints, times their multipliers, balance,
apart from what a bound holds; and only inequalities with φ = 0 have multipliers
(Nocedal and Wright 2006, section 12.3). The gradient of the augmented Lagrangian is
that of the Lagrangian with the updated multipliers λ + 2μφ, which are what is reported.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Float

from .merit import AugmentedLagrangian, relative_scale
from .residuals import INEQ, FlatResiduals, ResidualBlock, concatenate, total_cost

GRADIENT_FLOOR = 1e-9
"""Gradient below which an imbalance counts as absolute [cost per rad or m]."""
ROUNDING_FACTOR = 4.0
"""Rounding error of a row, as a multiple of the last place of its terms. A larger one
counts more of a gradient as rounding."""


def gradient_imbalance(
    gradient: Float[jax.Array, "T nv"],
    blocks: tuple[ResidualBlock, ...],
    lagrangian: AugmentedLagrangian,
    residuals: FlatResiduals,
) -> Float[jax.Array, ""]:
    """Return the gradient of the Lagrangian, relative to its largest term.

    Both are measured by their largest entry, as in IPOPT (Wächter and Biegler 2006,
    equation 5). What rounding errors of the rows make of it does not count.

    Args:
        gradient: of the augmented Lagrangian; zero where a bound holds a variable.
        blocks: all rows.
        lagrangian: multipliers and penalties.
        residuals: the same rows.
    """
    terms = lagrangian.terms(residuals)
    # The term of a row is its slope times its gradient.
    steepness = concatenate([jnp.max(jnp.abs(b.J), (1, 3)) for b in blocks])
    largest = jnp.max(jnp.abs(terms.slope) * steepness, initial=0.0)
    # A large penalty multiplies the last places of a row into the gradient.
    unit = (
        ROUNDING_FACTOR * jnp.finfo(residuals.y.dtype).eps * (1 + jnp.abs(residuals.y))
    )
    rounding = jnp.max(terms.curvature * steepness * unit, initial=0.0)
    imbalance = jnp.max(jnp.abs(gradient), initial=0.0)
    return jnp.maximum(imbalance - rounding, 0.0) / (GRADIENT_FLOOR + largest)


def kkt_residual(
    imbalance: Float[jax.Array, ""],
    lagrangian: AugmentedLagrangian,
    residuals: FlatResiduals,
) -> Float[jax.Array, ""]:
    """Return the larger one of the imbalance and the relative complementarity gap.

    The gap is Σ λ |φ| over inequalities that hold with room, relative to the cost: an
    augmented Lagrangian keeps them away from φ = 0 where their multipliers are too
    large.

    Args:
        imbalance: see `gradient_imbalance`.
        lagrangian: multipliers and penalties.
        residuals: all rows.
    """
    room = jnp.where(residuals.kind == INEQ, jnp.maximum(-residuals.y, 0.0), 0.0)
    gap = jnp.sum(lagrangian.update_multipliers(residuals) * room)
    return jnp.maximum(imbalance, gap / relative_scale(total_cost(residuals)))
