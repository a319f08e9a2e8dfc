"""What the solver's loop carries: a point, the rows there, and the next trial."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Bool, Float, Int

from .options import Options


class Linearization(NamedTuple):
    """Of rows, what is not the same at all points; see `Rows`."""

    y: Float[jax.Array, "n rows"]
    J: Float[jax.Array, "n window rows columns"]


class TrialStep(NamedTuple):
    """A step, not yet judged."""

    x: Float[jax.Array, "T nq"]
    step: Float[jax.Array, "T nv"]
    step_norm: Float[jax.Array, ""]
    predicted_decrease: Float[jax.Array, ""]
    diagonal_decrease: Float[jax.Array, ""]
    """See `linear_system.diagonal_model_decrease`."""
    is_clipped: Bool[jax.Array, ""]
    """A bound bends the step."""
    clamped_mask: Bool[jax.Array, "T nv"]
    """Directions in which x is at that bound."""
    is_solvable: Bool[jax.Array, ""]


class SolverState(NamedTuple):
    """Everything the loop carries."""

    x: Float[jax.Array, "T nq"]
    trial: TrialStep
    linearization: tuple[Linearization, ...]
    """Lines in place of those that are flat; see `foretold`."""
    extrapolated: tuple[Bool[jax.Array, "n rows"] | None, ...]
    """Of those."""
    kind: Int[jax.Array, " N"]
    """Of all rows, in line."""
    is_correction: Bool[jax.Array, ""]
    """Whether the proposal is the step there, which was refused, corrected by them."""
    multipliers: Float[jax.Array, " N"]
    """Of all rows, in line."""
    mu: Float[jax.Array, ""]
    row_scale: Float[jax.Array, " N"]
    """Of mu, in each row; see `residuals.row_scaling`."""
    damping: Float[jax.Array, ""]
    rejected: Bool[jax.Array, ""]
    """Whether the last step was."""
    forced_active: Bool[jax.Array, " N"]
    """Inequalities that steps refused from here ran into, or the proposal foresees."""
    clamped_mask: Bool[jax.Array, "T nv"]
    """Directions in which they left bounds that x is at."""
    last_violation: Float[jax.Array, ""]
    stalls: Int[jax.Array, ""]
    feasible_iterations: Int[jax.Array, ""]
    """Feasible passes in a row."""
    reference_cost: Float[jax.Array, ""]
    """Noted at the first of them, then every `PATIENCE`."""
    iterations: Int[jax.Array, ""]
    pause_at: Float[jax.Array, ""]
    """Of iterations, before there is a pause."""
    status: Int[jax.Array, ""]
    done: Bool[jax.Array, ""]

    @property
    def penalty(self) -> Float[jax.Array, " N"]:
        """Of each row."""
        return self.mu * self.row_scale


def step_is_negligible(options: Options, p: TrialStep, enough: jax.Array) -> jax.Array:
    """Whether a step gains next to nothing."""
    return (p.step_norm < options.step_tolerance) | (p.predicted_decrease < enough)


def model_is_flat(p: TrialStep, enough: jax.Array) -> jax.Array:
    """Whether an undamped one would gain little more than that."""
    return p.diagonal_decrease < 10 * enough


def relative_scale(merit: jax.Array) -> jax.Array:
    """What relative decreases of the value are relative to."""
    return 1e-3 + jnp.abs(merit)
