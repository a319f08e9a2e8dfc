"""Bounds of steps in the tangent space."""

from typing import NamedTuple

import jax
from jaxtyping import Bool, Float

BOUND_TOLERANCE = 1e-10
"""Distance from a bound within which a variable is at the bound [rad, m]."""


class StepBounds(NamedTuple):
    """The least and the largest tangent step from a point within the bounds."""

    low: Float[jax.Array, "T nv"]
    high: Float[jax.Array, "T nv"]

    def blocks_descent(
        self,
        gradient: Float[jax.Array, "T nv"],
        step: Float[jax.Array, "T nv"] | float = 0.0,
    ) -> Bool[jax.Array, "T nv"]:
        """Return which variables are, after a step, at a bound that descent violates.

        Args:
            gradient: of the function that descends.
            step: from the point.
        """
        # Comparisons allow for rounding: a clipped step ends next to its bound.
        is_low = step <= self.low + BOUND_TOLERANCE
        is_high = step >= self.high - BOUND_TOLERANCE
        return (is_low & (gradient > 0)) | (is_high & (gradient < 0))
