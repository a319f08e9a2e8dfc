"""State of the solver's loop: iterate, linearization and next trial step."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Bool, Float, Int

from .options import Options


class Linearization(NamedTuple):
    """Values and derivatives of a `ResidualBlock`, which differ from point to point."""

    y: Float[jax.Array, "n rows"]
    J: Float[jax.Array, "n window rows columns"]


class TrialStep(NamedTuple):
    """A step that has not been evaluated yet."""

    x: Float[jax.Array, "T nq"]
    """The trial point, within the bounds."""
    step: Float[jax.Array, "T nv"]
    """Tangent step δ from the iterate [rad, m]."""
    step_norm: Float[jax.Array, ""]
    """Max norm of the Newton step, before it is shortened."""
    predicted_decrease: Float[jax.Array, ""]
    """Decrease of the quadratic model along the Newton step."""
    diagonal_decrease: Float[jax.Array, ""]
    """Decrease that single variables allow without damping; see
    `linear_system.diagonal_model_decrease`."""
    is_clipped: Bool[jax.Array, ""]
    """Whether a bound shortens or bends the step."""
    clamped_mask: Bool[jax.Array, "T nv"]
    """Directions in which the step would leave a bound that x is at."""
    is_solvable: Bool[jax.Array, ""]
    """Whether the linear system was positive definite."""


class SolverState(NamedTuple):
    """Everything the loop carries."""

    x: Float[jax.Array, "T nq"]
    """The iterate."""
    trial: TrialStep
    linearization: tuple[Linearization, ...]
    """Linearization of all blocks at x; see `extrapolate_inactive` for flat rows."""
    extrapolated: tuple[Bool[jax.Array, "n rows"] | None, ...]
    """Masks of extrapolated rows."""
    kind: Int[jax.Array, " N"]
    """SOS, EQ or INEQ, of all rows."""
    is_correction: Bool[jax.Array, ""]
    """Whether the trial step is the second-order correction of a rejected one."""
    multipliers: Float[jax.Array, " N"]
    """Lagrange multipliers λ of all rows."""
    mu: Float[jax.Array, ""]
    """Penalty μ."""
    row_scale: Float[jax.Array, " N"]
    """Factor of μ in each row; see `residuals.row_scaling`."""
    damping: Float[jax.Array, ""]
    """Levenberg–Marquardt damping."""
    rejected: Bool[jax.Array, ""]
    """Whether the last trial step was rejected."""
    forced_active: Bool[jax.Array, " N"]
    """Inequalities that enter as equations: steps rejected from x ran into them, or
    the linear model predicts that the trial step does."""
    clamped_mask: Bool[jax.Array, "T nv"]
    """Directions in which rejected steps from x left bounds that x is at."""
    last_violation: Float[jax.Array, ""]
    """Largest violation at the end of the last subproblem."""
    stalls: Int[jax.Array, ""]
    """Consecutive subproblems that hardly reduced the violation."""
    feasible_iterations: Int[jax.Array, ""]
    """Consecutive iterations at feasible points."""
    reference_cost: Float[jax.Array, ""]
    """Cost at the first of them, updated every `STALL_WINDOW` iterations."""
    iterations: Int[jax.Array, ""]
    """Number of evaluated points."""
    pause_at: Float[jax.Array, ""]
    """Number of iterations at which the loop pauses."""
    status: Int[jax.Array, ""]
    done: Bool[jax.Array, ""]

    @property
    def penalty(self) -> Float[jax.Array, " N"]:
        """Return the penalty of each row."""
        return self.mu * self.row_scale


def step_is_negligible(
    options: Options, trial: TrialStep, decrease_tolerance: jax.Array
) -> Bool[jax.Array, ""]:
    """Whether a step is too short, or gains too little, to go on with a subproblem."""
    gains_little = trial.predicted_decrease < decrease_tolerance
    return (trial.step_norm < options.step_tolerance) | gains_little


def model_is_flat(
    trial: TrialStep, decrease_tolerance: jax.Array
) -> Bool[jax.Array, ""]:
    """Whether even undamped steps along single variables would gain little."""
    return trial.diagonal_decrease < 10 * decrease_tolerance


def relative_scale(merit: jax.Array) -> jax.Array:
    """Return the number that relative decreases of the merit are relative to."""
    return 1e-3 + jnp.abs(merit)
