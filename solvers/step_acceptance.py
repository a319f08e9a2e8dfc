"""Accept or reject a trial step, update the damping, and test for termination."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from .inactive_linearization import ExtrapolatedRows, extrapolate_inactive
from .options import Options
from .residuals import (
    FlatResiduals,
    ResidualBlock,
    augmented_lagrangian_terms,
    flatten,
    max_violation,
    newly_active,
    row_scaling,
    total_cost,
)
from .state import (
    Linearization,
    SolverState,
    model_is_flat,
    relative_scale,
    step_is_negligible,
)
from .status import Status

MAX_DAMPING_GROWTH = 100.0
"""Largest factor by which one rejected step raises the damping."""
STALL_WINDOW = 8
"""Number of feasible iterations in which the cost has to fall by `progress_tolerance`.
A longer window ends fewer slow solves."""
MAX_FEASIBLE_ITERATIONS = 96
"""Number of consecutive feasible iterations after which too little progress ends a
solve even if convergence seems near."""
CORRECTION_MAX_VIOLATION = 100.0
"""Largest violation, in tolerances, at which second-order corrections are tried. They
help near feasible points only, where constraints are the cause of a rejection."""


class TrialOutcome(NamedTuple):
    """The state after a trial step was accepted or rejected."""

    state: SolverState
    blocks: tuple[ResidualBlock, ...]
    """Residuals at the iterate."""
    trial_residuals: Float[jax.Array, " N"]
    """Residuals at the trial point."""
    merit: Float[jax.Array, ""]
    """Augmented Lagrangian at the iterate."""
    violation: Float[jax.Array, ""]
    """Largest violation at the iterate."""
    subproblem_is_solved: Bool[jax.Array, ""]


def evaluate_trial(
    options: Options, s: SolverState, blocks: tuple[ResidualBlock, ...]
) -> TrialOutcome:
    """Accept or reject a trial step.

    A step is accepted if it does not increase the augmented Lagrangian. Damping follows
    the ratio of actual and predicted decrease (Marquardt 1963; Nocedal and Wright 2006,
    chapter 4).

    Args:
        options: of the solver, as traced numbers.
        s: the state with the trial step.
        blocks: residuals at the trial point.
    """
    trial = s.trial
    predicted_decrease, is_solvable = trial.predicted_decrease, trial.is_solvable
    is_first = s.iterations == 0
    pairs = zip(blocks, s.linearization, strict=True)
    known = tuple(b._replace(y=at_x.y, J=at_x.J) for b, at_x in pairs)
    old, new = extrapolate_inactive(
        ExtrapolatedRows(known, s.extrapolated), blocks, trial.step
    )
    # Scaled by the Jacobian at the start, so that the merit stays one function.
    s = s._replace(row_scale=jnp.where(is_first, row_scaling(blocks), s.row_scale))
    before, after = flatten(old.blocks), flatten(new.blocks)
    both = FlatResiduals(jnp.stack([before.y, after.y]), after.kind)
    merit_before, merit_after = jnp.sum(
        augmented_lagrangian_terms(both, s.multipliers, s.penalty).merit, -1
    )
    violation_before, violation_after = max_violation(both)
    cost_before, cost_after = total_cost(both)
    is_finite = jnp.isfinite(merit_after) & _all_finite(blocks, after)
    decreases = merit_after <= merit_before
    # The first point has no other to compare with.
    accepted = is_first | (is_solvable & is_finite & decreases)
    is_bad_input = is_first & ~is_finite

    def select(a: jax.Array, b: jax.Array) -> jax.Array:
        return jnp.where(accepted, a, b)

    x = jnp.where(accepted & ~is_bad_input, trial.x, s.x)
    iterate = tuple(map(partial(_select_block, accepted), new.blocks, old.blocks))

    # -- cause of a rejection ---------------------------------------------------------
    # A step that ran into an inequality is not an error of the model of the other rows:
    # the next step takes that inequality as active, at the same damping.
    activated = newly_active(before, after, s.multipliers, s.penalty) & ~s.forced_active
    activated = activated & is_solvable & is_finite
    has_activated = jnp.any(activated)
    # Of the inequalities that were forced to be active, those stay that the trial point
    # reached, φ > -λ/2μ: the others blocked no step.
    is_reached = after.y > -s.multipliers / (2 * s.penalty)
    still_active = s.forced_active & (has_activated | is_reached)
    is_explained = has_activated | (trial.is_clipped & is_finite)
    is_correction = ~accepted & is_solvable & is_finite & ~is_explained
    is_correction = is_correction & ~s.is_correction & ~jnp.any(s.forced_active)
    is_nearly_feasible = (
        violation_before <= CORRECTION_MAX_VIOLATION * options.tolerance
    )
    is_correction = is_correction & is_nearly_feasible

    # -- damping ----------------------------------------------------------------------
    decrease = merit_before - merit_after
    is_good = accepted & ~is_first & (decrease > 0.25 * predicted_decrease)
    # If the merit is as curved all along the step as its value at the end tells, the
    # Hessian lacks 2 (actual - predicted change) / ‖δ‖² of curvature.
    square = jnp.maximum(jnp.sum(trial.step**2), 1e-30)
    increase = jnp.where(is_finite, merit_after - merit_before, 0.0)
    missing_curvature = 2 * (increase + predicted_decrease) / square
    raised_damping = jnp.clip(
        missing_curvature, 10 * s.damping, MAX_DAMPING_GROWTH * s.damping
    )
    raised_damping = jnp.maximum(raised_damping, predicted_decrease / square)
    damping = jnp.where(
        accepted,
        jnp.where(is_good, s.damping * 0.2, s.damping * 2.0),
        jnp.where(is_explained | is_correction, s.damping, raised_damping),
    )
    damping = jnp.where(is_first, s.damping, damping)

    # -- end of the subproblem --------------------------------------------------------
    violation = jnp.where(accepted, violation_after, violation_before)
    is_feasible = violation <= options.tolerance
    relative = jnp.where(is_feasible, options.cost_tolerance, options.inner_tolerance)
    decrease_tolerance = relative * relative_scale(merit_before)
    # A step that gains next to nothing ends a subproblem, as does a damping so large
    # that no step decreases the merit.
    is_negligible = step_is_negligible(options, trial, decrease_tolerance)
    is_stuck = ~accepted & (s.damping > 1e10)
    # At feasible points, a step that is short because of its damping proves nothing.
    is_flat = model_is_flat(trial, decrease_tolerance)
    is_stationary = ~is_feasible | is_flat
    # Far from them, neither does one that is short because of an earlier rejection.
    is_hampered = s.rejected & (violation > 10 * options.tolerance)
    is_hampered = is_hampered | jnp.any(s.forced_active) | jnp.any(s.clamped_mask)
    has_gained = decrease > 1e-3 * decrease_tolerance
    is_stationary = is_stationary & ~(is_hampered & has_gained)
    is_solved = ~is_first & ((accepted & is_negligible & is_stationary) | is_stuck)
    converged = is_solved & is_feasible & ~is_stuck

    # -- stalls -----------------------------------------------------------------------
    cost = jnp.where(accepted, cost_after, cost_before)
    has_reference = is_feasible & (s.feasible_iterations > 0)
    feasible_iterations = jnp.where(is_feasible, s.feasible_iterations + 1, 0)
    # The cost is compared over windows, since single steps may gain little before
    # others gain much.
    window_ends = has_reference & ((feasible_iterations - 1) % STALL_WINDOW == 0)
    cost_tolerance = options.progress_tolerance * (1e-3 + cost)
    has_stalled = window_ends & (s.reference_cost - cost < cost_tolerance)
    is_overdue = feasible_iterations > MAX_FEASIBLE_ITERATIONS
    has_stalled = has_stalled & (~is_flat | is_overdue)
    ends_feasible = is_feasible & ((has_stalled & ~converged) | is_stuck)

    status = jnp.where(converged, int(Status.CONVERGED), s.status)
    status = jnp.where(ends_feasible, int(Status.FEASIBLE), status)
    status = jnp.where(is_bad_input, int(Status.BAD_INPUT), status)
    state = s._replace(
        x=x,
        linearization=tuple(Linearization(b.y, b.J) for b in iterate),
        kind=after.kind.astype(np.int32),
        extrapolated=jax.tree.map(select, new.extrapolated, old.extrapolated),
        is_correction=is_correction,
        damping=jnp.clip(damping, options.damping_min, 1e12),
        rejected=~accepted,
        forced_active=jnp.where(accepted, False, still_active | activated),
        clamped_mask=jnp.where(accepted, False, s.clamped_mask | trial.clamped_mask),
        feasible_iterations=feasible_iterations,
        reference_cost=jnp.where(window_ends | ~has_reference, cost, s.reference_cost),
        iterations=s.iterations + 1,
        status=status,
        done=converged | ends_feasible | is_bad_input,
    )
    merit = jnp.where(accepted, merit_after, merit_before)
    return TrialOutcome(state, iterate, after.y, merit, violation, is_solved)


def _select_block(
    accepted: jax.Array, new: ResidualBlock, old: ResidualBlock
) -> ResidualBlock:
    y, J = jnp.where(accepted, new.y, old.y), jnp.where(accepted, new.J, old.J)
    return new._replace(y=y, J=J)


def _all_finite(
    blocks: tuple[ResidualBlock, ...], residuals: FlatResiduals
) -> Bool[jax.Array, ""]:
    is_finite = jnp.isfinite(residuals.y).all()
    for block in blocks:
        is_finite = is_finite & jnp.isfinite(block.J).all()
    return is_finite
