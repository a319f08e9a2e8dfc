"""Durations of the steps of a path, which may be variables of the problem.

A variable duration is the constant one times a factor, a coordinate that all slices
share.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from posewise.compilation.compaction import gather
from posewise.robots.typing import Array


class StepDurations(NamedTuple):
    """Durations of the steps into each slice."""

    tau: Float[Array, " T"]
    """Constant durations, or initial ones [s]."""
    order: int
    """Number of fixed slices with which the path begins."""
    coordinates: tuple[int, ...]
    """Coordinate of the factor of each slice's duration; empty: they are constant."""
    q: Float[jax.Array, " nq"]
    """Coordinates of any slice, of which the shared ones count."""

    def of_windows(self, slices: Int[Array, "n window"]) -> Float[jax.Array, "n steps"]:
        """Return the duration of each step of windows [s]."""
        tau = self.tau
        if self.coordinates:
            tau = tau * self.q[np.array(self.coordinates)]
        return gather(tau, self._slices_of_steps(slices))

    def add_derivatives(
        self,
        J: Float[jax.Array, "n window rows columns"],
        slopes: Float[jax.Array, "n rows steps"],
        slices: Int[Array, "n window"],
        columns: Int[np.ndarray, " T"],
    ) -> Float[jax.Array, "n window rows columns"]:
        """Add derivatives by the factors to Jacobians.

        Args:
            J: derivatives by all other variables.
            slopes: derivatives by the durations of steps.
            slices: of the windows.
            columns: column in J of the factor of each slice's duration.
        """
        steps = self._slices_of_steps(slices)
        is_own = gather(jnp.asarray(columns), steps)[..., None] == np.arange(J.shape[3])
        by_column = gather(self.tau, steps)[..., None] * is_own
        # All slices share the variable; the newest of a window is never a fixed one.
        newest = J[:, -1] + jnp.einsum("nrs,nsc->nrc", slopes, by_column)
        return jnp.concatenate([J[:, :-1], newest[:, None]], 1)

    def _slices_of_steps(
        self, slices: Int[Array, "n window"]
    ) -> Int[jax.Array, "n steps"]:
        """Return the slice to which each step of windows leads."""
        # Steps before slice 0 are as long as the first one.
        return jnp.maximum(slices[:, 1:] - self.order, 0)
