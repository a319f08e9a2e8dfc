"""One iteration of the solver: evaluate the trial point, then choose the next step.

Steps are Levenberg–Marquardt steps for the augmented Lagrangian. If a trial step is
rejected, the next one depends on the cause: the most violated new inequality is made
active, clipped bounds are fixed, or a second-order correction is tried. Only otherwise
is the damping increased. Inequalities that the linear model already predicts to become
violated are made active before the first trial.
"""

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Bool, Float, Int, PyTree

from .chain_problem import ChainProblem
from .inactive_linearization import predict_linear
from .linear_system import (
    assemble,
    diagonal_model_decrease,
    newton_step,
    partition_variables,
)
from .options import Options
from .residuals import (
    FlatResiduals,
    ResidualBlock,
    argmax_mask,
    augmented_lagrangian_terms,
    constraint_excess,
    flatten,
    merge_like_blocks,
    update_multipliers,
    violation,
)
from .state import (
    SolverState,
    TrialStep,
    model_is_flat,
    relative_scale,
    step_is_negligible,
)
from .status import Status
from .step_acceptance import evaluate_trial

EARLY_EXIT_VIOLATION_RATIO = 0.6
"""Largest ratio of violations, of this subproblem to the last one, at which this one
may end before its step is tried. Higher values raise the penalty sooner."""
MAX_PREDICTED_ACTIVATIONS = 2
"""Largest number of inequalities that are made active before a step is tried. More of
them avoid rejected steps, but each costs one linear system."""


def step(
    problem: ChainProblem,
    data: PyTree,
    options: Options,
    s: SolverState,
    blocks: tuple[ResidualBlock, ...],
) -> SolverState:
    """Accept or reject the trial step, and compute the next one.

    Args:
        problem: the structure of the problem.
        data: its numbers.
        options: of the solver.
        s: the state with the trial step.
        blocks: all residuals at the trial point.
    """
    arrays: Any = {k: jnp.asarray(v, s.x.dtype) for k, v in vars(options).items()}
    options = replace(options, **arrays)
    outcome = evaluate_trial(options, s, merge_like_blocks(blocks))
    s, blocks = outcome.state, outcome.blocks
    residuals = flatten(blocks)
    # Second-order correction (Fletcher 1982; Nocedal and Wright 2006, section 18.3): a
    # step from the rejected trial point, with its residuals but the Jacobian of x, as
    # no other is known; it makes up for the curvature of constraints.
    correction_residuals = residuals._replace(
        y=jnp.where(s.is_correction, outcome.trial_residuals, residuals.y)
    )
    compute_trial_step = partial(
        _compute_trial_step,
        problem,
        data,
        options,
        blocks,
        residuals,
        correction_residuals,
    )

    def search(c: _StepSearch) -> _StepSearch:
        now = c.subproblem.update(s)
        now = _update_multipliers_and_penalty(
            options, now, residuals, outcome.violation, c.is_solved
        )
        now = now._replace(trial=compute_trial_step(now))
        # A step that can hardly reduce the violations is not worth an evaluation: the
        # multipliers are updated instead, and the step is computed once more.
        ends_early = ~c.ended_early & _subproblem_can_end_early(
            options, now, residuals, outcome.violation
        )
        # The step would be rejected if inequalities that it runs into add more to the
        # merit, Σ μ max(0, φ + Jδ + λ/2μ)², than the model predicts to gain.
        predicted = predict_linear(blocks, residuals, now.trial.step)
        excess = constraint_excess(residuals, predicted, now.multipliers, now.penalty)
        excess = jnp.where(now.forced_active, 0.0, excess)
        added_merit = jnp.sum(now.penalty * excess**2)
        will_be_rejected = added_merit > now.trial.predicted_decrease
        will_be_rejected = will_be_rejected & ~now.is_correction & ~ends_early
        will_be_rejected = will_be_rejected & (c.attempts < MAX_PREDICTED_ACTIVATIONS)
        newly_active = will_be_rejected & argmax_mask(excess)
        now = now._replace(forced_active=now.forced_active | newly_active)
        return _StepSearch(
            _Subproblem.of(now),
            is_solved=ends_early,
            ended_early=c.ended_early | ends_early,
            attempts=c.attempts + 1,
            repeats=ends_early | jnp.any(newly_active),
        )

    false = jnp.zeros((), bool)
    begin = _StepSearch(
        _Subproblem.of(s),
        is_solved=outcome.subproblem_is_solved,
        ended_early=false,
        attempts=jnp.zeros((), int),
        repeats=~false,
    )
    end = jax.lax.while_loop(lambda c: c.repeats, search, begin)
    s = end.subproblem.update(s)
    # If the next step would gain nothing, its evaluation is saved: x has converged.
    decrease_tolerance = options.cost_tolerance * relative_scale(outcome.merit)
    is_stationary = step_is_negligible(options, s.trial, decrease_tolerance)
    is_stationary = is_stationary & model_is_flat(s.trial, decrease_tolerance)
    is_feasible = outcome.violation <= options.tolerance
    converged = is_stationary & _is_plain_newton_step(s) & is_feasible
    status = jnp.where(converged, int(Status.CONVERGED), s.status)
    return s._replace(status=status, done=s.done | converged)


class _Subproblem(NamedTuple):
    """The part of the state that the search for a step changes.

    The rest of it, above all the linearization, is no part of that loop's carry, so
    that XLA need not copy it.
    """

    trial: TrialStep
    forced_active: Bool[jax.Array, " N"]
    multipliers: Float[jax.Array, " N"]
    mu: Float[jax.Array, ""]
    damping: Float[jax.Array, ""]
    last_violation: Float[jax.Array, ""]
    stalls: Int[jax.Array, ""]
    status: Int[jax.Array, ""]
    done: Bool[jax.Array, ""]

    @classmethod
    def of(cls, s: SolverState) -> "_Subproblem":
        """Take the part from a state."""
        return cls(
            s.trial,
            s.forced_active,
            s.multipliers,
            s.mu,
            s.damping,
            s.last_violation,
            s.stalls,
            s.status,
            s.done,
        )

    def update(self, s: SolverState) -> SolverState:
        """Return a state with this part."""
        return s._replace(
            trial=self.trial,
            forced_active=self.forced_active,
            multipliers=self.multipliers,
            mu=self.mu,
            damping=self.damping,
            last_violation=self.last_violation,
            stalls=self.stalls,
            status=self.status,
            done=self.done,
        )


class _StepSearch(NamedTuple):
    """Carry of the search for a step that is worth a trial."""

    subproblem: _Subproblem
    is_solved: Bool[jax.Array, ""]
    """Whether the subproblem has ended, so that the next one begins."""
    ended_early: Bool[jax.Array, ""]
    """Whether one has ended before its step was tried, which is allowed once."""
    attempts: Int[jax.Array, ""]
    repeats: Bool[jax.Array, ""]
    """Whether the step has to be computed again."""


def _is_plain_newton_step(s: SolverState) -> Bool[jax.Array, ""]:
    """Whether the trial step is a Newton step from an accepted point, without aids."""
    is_plain = ~s.rejected & ~s.is_correction
    for mask in jax.tree.leaves(s.extrapolated):
        is_plain = is_plain & ~jnp.any(mask)
    return s.trial.is_solvable & is_plain & ~s.done


def _subproblem_can_end_early(
    options: Options,
    s: SolverState,
    residuals: FlatResiduals,
    largest_violation: jax.Array,
) -> Bool[jax.Array, ""]:
    """Whether the step can reduce only little of what the penalty counts."""
    # Larger penalties must have reduced the violation: near points at which it is
    # stationary they do not, and the subproblem has to be solved to find that out.
    has_decreased = largest_violation < EARLY_EXIT_VIOLATION_RATIO * s.last_violation
    is_infeasible = largest_violation > options.tolerance
    penalized = jnp.sum(s.penalty * violation(residuals) ** 2)
    negligible = options.early_exit_factor * options.inner_tolerance * penalized
    gains_little = s.trial.predicted_decrease < negligible
    return _is_plain_newton_step(s) & is_infeasible & has_decreased & gains_little


def _update_multipliers_and_penalty(
    options: Options,
    s: SolverState,
    residuals: FlatResiduals,
    largest_violation: jax.Array,
    is_solved: jax.Array,
) -> SolverState:
    """Begin the next subproblem where the present one is solved, else change nothing.

    First-order multiplier update, and a larger penalty where violations decrease too
    slowly (Nocedal and Wright 2006, framework 17.3).
    """
    is_unmet = is_solved & (largest_violation > options.tolerance)
    allowed = options.sufficient_violation_decrease * s.last_violation
    decreases_slowly = largest_violation > allowed
    has_stalled = largest_violation > 0.9 * s.last_violation
    stalls = jnp.where(has_stalled, s.stalls + 1, 0)
    infeasible = is_unmet & (stalls >= 2) & (s.mu >= options.mu_max)
    # A penalty at its largest value that no longer reduces the violation has found a
    # stationary point of the violation.
    multipliers = update_multipliers(residuals, s.multipliers, s.penalty)
    mu = jnp.minimum(s.mu * options.mu_factor, options.mu_max)
    damping = jnp.maximum(s.damping, options.damping)
    return s._replace(
        multipliers=jnp.where(is_unmet, multipliers, s.multipliers),
        mu=jnp.where(is_unmet & decreases_slowly, mu, s.mu),
        damping=jnp.where(is_solved, damping, s.damping),
        last_violation=jnp.where(is_solved, largest_violation, s.last_violation),
        stalls=jnp.where(is_solved, stalls, s.stalls),
        status=jnp.where(infeasible, int(Status.INFEASIBLE), s.status),
        done=s.done | infeasible,
    )


def _compute_trial_step(
    problem: ChainProblem,
    data: Any,
    options: Options,
    blocks: tuple[ResidualBlock, ...],
    residuals: FlatResiduals,
    correction_residuals: FlatResiduals,
    s: SolverState,
) -> TrialStep:
    """Solve (Jᵀ W J + damping I) δ = -g on the variables that are not fixed.

    Args:
        problem: the structure of the problem.
        data: its numbers.
        options: of the solver.
        blocks: residuals and their Jacobians at the iterate.
        residuals: residuals at the iterate.
        correction_residuals: those that the step is to reduce.
        s: the state, with the last trial step.
    """
    terms = augmented_lagrangian_terms(
        correction_residuals, s.multipliers, s.penalty, s.forced_active
    )
    # An inequality that is forced to be active has slack, φ + λ/2μ < 0. As an equation
    # it adds μ (φ + λ/2μ)² to the model at δ = 0 but not to the merit, so this constant
    # is no decrease.
    slack = jnp.minimum(residuals.y + s.multipliers / (2 * s.penalty), 0.0)
    constant_term = jnp.sum(jnp.where(s.forced_active, s.penalty * slack**2, 0.0))
    partition = partition_variables(problem.nv, problem.shared)
    system = assemble(blocks, terms, problem.slices, problem.order, partition)
    # A correction δ' continues a step δ, and the damping acts on both,
    # ½ damping ‖δ + δ'‖², of which the gradient at δ' = 0 is damping δ.
    damping_gradient = jnp.where(s.is_correction, s.damping, 0.0) * s.trial.step
    system = system._replace(gradient=system.gradient + damping_gradient)
    fixed_mask = problem.active_bounds(data, s.x, system.gradient) | s.clamped_mask
    delta, predicted = newton_step(system, fixed_mask, s.damping, partition)
    predicted = jnp.where(
        s.is_correction, s.trial.predicted_decrease, predicted - constant_term
    )
    delta = delta + jnp.where(s.is_correction, s.trial.step, 0.0)
    step_norm = jnp.max(jnp.abs(delta), initial=0.0)
    shrinkage = jnp.minimum(1.0, options.max_step / jnp.maximum(step_norm, 1e-30))
    is_solvable = jnp.isfinite(step_norm)
    delta = jnp.where(is_solvable, delta * shrinkage, 0.0)
    step_fraction = problem.max_step_fraction(data, s.x, delta)
    clamped_mask = problem.active_bounds(data, s.x, -delta) & ~fixed_mask
    is_clipped = ((step_fraction < 1) & ~s.rejected) | jnp.any(clamped_mask)
    # Projection on the bounds bends a step, which then need not be a descent direction
    # (Bertsekas 1982). So after a rejection steps end at the first bound they meet.
    delta = jnp.where(s.rejected, step_fraction, 1.0) * delta

    model_decrease = diagonal_model_decrease(system, fixed_mask, partition)
    model_decrease = jnp.where(
        s.is_correction, s.trial.diagonal_decrease, model_decrease
    )
    return TrialStep(
        problem.retract(data, s.x, delta),
        delta,
        step_norm,
        predicted,
        model_decrease,
        is_clipped,
        clamped_mask,
        is_solvable,
    )
