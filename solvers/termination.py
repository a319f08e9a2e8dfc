"""Tests that end a subproblem or the whole solve."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Bool, Float

from .globalization import StepVerdict
from .merit import AugmentedLagrangian, relative_scale
from .optimality import kkt_residual
from .options import Options
from .quadratic_model import TrialStep
from .residuals import total_cost, violation
from .schedule import may_be_infeasible
from .state import ProgressWindow, ScheduleState
from .status import Status

NEAR_OPTIMUM_RESIDUAL = 0.1
"""KKT residual [1] below which slow progress does not end a solve, which converges
soon. Higher values spend more iterations on solves that do not."""
MAX_VIOLATION_RATIO = 0.6
"""Largest ratio of violations, of this subproblem to the last one, at which this one
may end before its step is tried. Higher values raise the penalty sooner."""
STALL_WINDOW = 8
"""Number of feasible iterations in which the cost has to fall by `progress_tolerance`.
A longer window ends fewer slow solves."""


def is_stuck(
    options: Options, trial: TrialStep, verdict: StepVerdict
) -> Bool[jax.Array, ""]:
    """Return whether even a negligible step was rejected: none decreases the merit.

    Damping alone does not tell, because it competes with the curvature of a penalty.
    """
    # After the first rejection the step is a correction, which may be short.
    length = jnp.max(jnp.abs(trial.step), initial=0.0)
    return (verdict.search.rejections > 1) & (length < options.step_tolerance)


def subproblem_is_solved(
    options: Options,
    trial: TrialStep,
    verdict: StepVerdict,
    schedule: ScheduleState,
    worst: Float[jax.Array, ""],
    is_first: Bool[jax.Array, ""],
) -> Bool[jax.Array, ""]:
    """Return whether the step that was just judged ends an infeasible subproblem.

    Args:
        options: of the solver.
        trial: the step.
        verdict: about it.
        schedule: of multipliers and penalty.
        worst: the largest violation at the iterate.
        is_first: whether the point is the initial one, to which no step led.
    """
    is_accepted = (verdict.search.rejections == 0) & ~verdict.is_trade & ~is_first
    # Subproblems are solved roughly, except the one that may prove infeasibility: there
    # the violation has to be stationary, or far slower to decrease.
    is_proof = may_be_infeasible(options, verdict.lagrangian, schedule)
    is_stationary = trial.imbalance < options.kkt_tolerance
    exponent = jnp.where(is_proof & ~is_stationary, 2, 1)
    decrease = options.inner_tolerance**exponent * relative_scale(verdict.last_merit)
    is_small = is_accepted & (trial.predicted_decrease < decrease)
    return (is_small & (worst > options.tolerance)) | is_stuck(options, trial, verdict)


def step_is_not_worth_its_trial(
    options: Options,
    trial: TrialStep,
    verdict: StepVerdict,
    lagrangian: AugmentedLagrangian,
    schedule: ScheduleState,
    worst: Float[jax.Array, ""],
) -> Bool[jax.Array, ""]:
    """Return whether multipliers should be updated instead of evaluating a step.

    What the step gains is compared with the penalty of all violations, which updated
    multipliers are to reduce.

    Args:
        options: of the solver.
        trial: the step.
        verdict: about the last one.
        lagrangian: multipliers and penalty.
        schedule: their state.
        worst: the largest violation at the iterate.
    """
    violations = violation(verdict.iterate.residuals)
    penalized = jnp.sum(lagrangian.penalty * violations**2)
    decrease = options.early_exit_factor * options.inner_tolerance * penalized
    # Larger penalties must have reduced the violation: near points at which it is
    # stationary they do not, and the subproblem has to be solved to find that out.
    has_decreased = worst < MAX_VIOLATION_RATIO * schedule.last_violation
    is_regular = trial.is_solvable & (verdict.search.rejections == 0)
    is_open = (worst > options.tolerance) & has_decreased & is_regular
    return is_open & (trial.predicted_decrease < decrease)


class Termination(NamedTuple):
    """Status of a solve after an iteration."""

    status: jax.Array
    window: ProgressWindow


def terminate(
    options: Options,
    status: jax.Array,
    window: ProgressWindow,
    verdict: StepVerdict,
    trial: TrialStep,
    merit: Float[jax.Array, ""],
    worst: Float[jax.Array, ""],
) -> Termination:
    """Return the status after an iteration, and the window over the cost.

    Args:
        options: of the solver.
        status: before.
        window: before.
        verdict: about the last step.
        trial: the next step: a negligible one means that the iterate is stationary.
        merit: at the iterate.
        worst: the largest violation at the iterate.
    """
    # The iterate is judged by the step that leaves it, so that a point that has
    # converged costs no further evaluation.
    residuals = verdict.iterate.residuals
    is_feasible = worst <= options.tolerance
    decrease = options.cost_tolerance * relative_scale(merit)
    is_short = jnp.max(jnp.abs(trial.step), initial=0.0) < options.step_tolerance
    is_stationary = (trial.predicted_decrease < decrease) | is_short
    # After a rejection a short step proves nothing: the model has been wrong.
    is_regular = trial.is_solvable & (verdict.search.rejections == 0)
    is_regular = is_regular & ~verdict.is_trade
    # Damped steps, and those across a large penalty, are short and decrease little even
    # where gradients do not balance yet.
    residual = kkt_residual(trial.imbalance, verdict.lagrangian, residuals)
    is_optimal = residual < options.kkt_tolerance
    converged = is_feasible & is_stationary & is_regular & is_optimal

    cost = total_cost(residuals)
    has_reference = is_feasible & (window.feasible_iterations > 0)
    count = jnp.where(is_feasible, window.feasible_iterations + 1, 0)
    # The cost is compared over windows, since single steps may gain little before
    # others gain much.
    window_ends = has_reference & ((count - 1) % STALL_WINDOW == 0)
    gained = window.reference_cost - cost
    allowed = options.progress_tolerance * relative_scale(cost)
    has_stalled = window_ends & (gained < allowed) & (residual > NEAR_OPTIMUM_RESIDUAL)
    ends_feasible = is_feasible & (has_stalled | is_stuck(options, trial, verdict))
    reference = jnp.where(window_ends | ~has_reference, cost, window.reference_cost)
    status = jnp.where(ends_feasible, int(Status.FEASIBLE), status)
    status = jnp.where(converged, int(Status.CONVERGED), status)
    return Termination(status, ProgressWindow(count, reference))
