"""The augmented Lagrangian of Powell, Hestenes and Rockafellar, as a merit function."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Bool, Float

from .residuals import EQ, INEQ, SOS, FlatResiduals

MERIT_SCALE_FLOOR = 1e-9
"""Merit below which decreases count as absolute."""


class LagrangianTerms(NamedTuple):
    """Value and first and second derivative of the merit with respect to each row."""

    merit: Float[jax.Array, "*points N"]
    slope: Float[jax.Array, "*points N"]
    curvature: Float[jax.Array, "*points N"]


class AugmentedLagrangian(NamedTuple):
    """Multipliers and penalties of all rows, which make constraints a merit function.

    Costs enter as φ², equations as μ (φ + λ/2μ)² - λ²/4μ, and inequalities as
    μ max(0, φ + λ/2μ)² - λ²/4μ (Nocedal and Wright 2006, chapter 17, where the penalty
    is 2μ).
    """

    multipliers: Float[jax.Array, " N"]
    """Lagrange multipliers λ."""
    mu: Float[jax.Array, ""]
    """Penalty μ, without the scale of a row."""
    row_scale: Float[jax.Array, " N"]
    """Factor of μ in each row; see `residuals.row_scaling`."""

    @property
    def penalty(self) -> Float[jax.Array, " N"]:
        """Return the penalty of each row."""
        return self.mu * self.row_scale

    def is_active(self, residuals: FlatResiduals) -> Bool[jax.Array, "*points N"]:
        """Return which rows the merit depends on: all but satisfied inequalities."""
        shifted = residuals.y + self.multipliers / (2 * self.penalty)
        return (residuals.kind != INEQ) | (shifted > 0)

    def terms(self, residuals: FlatResiduals) -> LagrangianTerms:
        """Return the merit of each row and its derivatives."""
        y, kind = residuals
        mu = self.penalty
        shifted = y + self.multipliers / (2 * mu)
        active_part = jnp.where((kind == INEQ) & (shifted <= 0), 0.0, shifted)
        # μ (φ + λ/2μ)² - λ²/4μ = λ φ + μ φ²: the Lagrangian's term and the penalty.
        constraint = mu * active_part**2 - self.multipliers**2 / (4 * mu)
        # An equation keeps its curvature where it just holds, an inequality does not.
        is_curved = (active_part != 0) | (kind == EQ)
        is_cost = kind == SOS
        return LagrangianTerms(
            jnp.where(is_cost, y**2, constraint),
            2 * jnp.where(is_cost, y, mu * active_part),
            2 * jnp.where(is_cost, 1.0, jnp.where(is_curved, mu, 0.0)),
        )

    def merit(self, residuals: FlatResiduals) -> Float[jax.Array, "*points"]:
        """Return the value of the augmented Lagrangian."""
        return jnp.sum(self.terms(residuals).merit, -1)

    def update_multipliers(self, residuals: FlatResiduals) -> Float[jax.Array, " N"]:
        """Return the first-order update λ + 2μφ, at least 0 for inequalities.

        At a minimum of the augmented Lagrangian, these are the multipliers with which
        the Lagrangian is stationary.
        """
        # The derivative of the merit by φ is λ + 2μφ: with these multipliers the
        # gradient of the Lagrangian is that of the merit.
        y, kind = residuals
        updated = self.multipliers + 2 * self.penalty * y
        positive = jnp.maximum(updated, 0.0)
        return jnp.where(kind == EQ, updated, jnp.where(kind == INEQ, positive, 0.0))


def relative_scale(merit: Float[jax.Array, ""]) -> Float[jax.Array, ""]:
    """Return the number that relative decreases of a merit are relative to."""
    return MERIT_SCALE_FLOOR + jnp.abs(merit)
