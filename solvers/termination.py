"""Tests that end a subproblem or the whole solve."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Bool, Float

from .globalization import Verdict
from .merit import AugmentedLagrangian
from .options import Options
from .quadratic_model import TrialStep
from .residuals import total_cost, violation
from .state import ProgressWindow, ScheduleState
from .status import Status

FLATNESS = 10.0
"""Largest decrease that single variables promise without damping, as a multiple of the
negligible one, at a stationary point: a step may be short because of its damping."""
STUCK_DAMPING = 1e10
"""Damping above which a rejected step means that no step decreases the merit."""
MAX_VIOLATION_RATIO = 0.6
"""Largest ratio of violations, of this subproblem to the last one, at which this one
may end before its step is tried. Higher values raise the penalty sooner."""
STALL_WINDOW = 8
"""Number of feasible iterations in which the cost has to fall by `progress_tolerance`.
A longer window ends fewer slow solves."""
MAX_FEASIBLE_ITERATIONS = 96
"""Number of consecutive feasible iterations after which too little progress ends a
solve even if convergence seems near."""
MERIT_FLOOR = 1e-3
"""Merit below which decreases count as absolute."""


def relative_scale(merit: Float[jax.Array, ""]) -> Float[jax.Array, ""]:
    """Return the number that relative decreases of a merit are relative to."""
    return MERIT_FLOOR + jnp.abs(merit)


def is_stuck(verdict: Verdict) -> Bool[jax.Array, ""]:
    """Return whether no step decreases the merit."""
    search = verdict.search
    return (search.rejections > 0) & (search.damping > STUCK_DAMPING)


def subproblem_is_solved(
    options: Options,
    trial: TrialStep,
    verdict: Verdict,
    worst: Float[jax.Array, ""],
    is_first: Bool[jax.Array, ""],
) -> Bool[jax.Array, ""]:
    """Return whether the step that was just judged ends an infeasible subproblem.

    Args:
        options: of the solver.
        trial: the step.
        verdict: about it.
        worst: the largest violation at the iterate.
        is_first: whether the point is the initial one, to which no step led.
    """
    decrease = options.inner_tolerance * relative_scale(verdict.last_merit)
    is_accepted = (verdict.search.rejections == 0) & ~verdict.is_trade & ~is_first
    is_small = is_accepted & (trial.predicted_decrease < decrease)
    return (is_small & (worst > options.tolerance)) | is_stuck(verdict)


def step_is_not_worth_its_trial(
    options: Options,
    trial: TrialStep,
    verdict: Verdict,
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
    verdict: Verdict,
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
    is_feasible = worst <= options.tolerance
    decrease = options.cost_tolerance * relative_scale(merit)
    is_flat = trial.diagonal_decrease < FLATNESS * decrease
    is_short = jnp.max(jnp.abs(trial.step), initial=0.0) < options.step_tolerance
    is_stationary = ((trial.predicted_decrease < decrease) | is_short) & is_flat
    # After a rejection a short step proves nothing: the model has been wrong.
    is_regular = trial.is_solvable & (verdict.search.rejections == 0)
    is_regular = is_regular & ~verdict.is_trade
    converged = is_feasible & is_stationary & is_regular

    cost = total_cost(verdict.iterate.residuals)
    has_reference = is_feasible & (window.feasible_iterations > 0)
    count = jnp.where(is_feasible, window.feasible_iterations + 1, 0)
    # The cost is compared over windows, since single steps may gain little before
    # others gain much.
    window_ends = has_reference & ((count - 1) % STALL_WINDOW == 0)
    gained = window.reference_cost - cost
    allowed = options.progress_tolerance * relative_scale(cost)
    has_stalled = window_ends & (gained < allowed)
    has_stalled = has_stalled & (~is_flat | (count > MAX_FEASIBLE_ITERATIONS))
    ends_feasible = is_feasible & (has_stalled | is_stuck(verdict))
    reference = jnp.where(window_ends | ~has_reference, cost, window.reference_cost)
    status = jnp.where(ends_feasible, int(Status.FEASIBLE), status)
    status = jnp.where(converged, int(Status.CONVERGED), status)
    return Termination(status, ProgressWindow(count, reference))
