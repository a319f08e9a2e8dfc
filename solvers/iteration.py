"""One pass of the solver: a trial point is judged, and the next one is chosen.

A Levenberg-Marquardt step for the augmented Lagrangian. Where one is refused, the next
tells why: an inequality that it ran into, a bound that bent it, the bend of the rows;
only else is it damped. Inequalities for which it would be refused are minded before.
"""

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Bool, Int

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
"""Subproblems end untried where violations are less than so much of what the last left.
"""
MAX_PREDICTED_ACTIVATIONS = 2
"""So many inequalities that a step is to run into are minded before it is tried."""


def step(
    problem: ChainProblem,
    data: Any,
    options: Options,
    s: SolverState,
    rows: tuple[ResidualBlock, ...],
) -> SolverState:
    """The state after the proposal has been judged, with the next one."""
    numbers: Any = {k: jnp.asarray(v, s.x.dtype) for k, v in vars(options).items()}
    options = replace(options, **numbers)
    s, rows, tried, merit, worst, solved = evaluate_trial(
        options, s, merge_like_blocks(rows)
    )
    line = flatten(rows)
    # second-order correction (Fletcher 1982): a step from the trial point, by what is
    # known here of derivatives
    there = line._replace(y=jnp.where(s.is_correction, tried, line.y))
    step = partial(_compute_trial_step, problem, data, options, rows, line, there)

    def propose(c: _StepSearch) -> _StepSearch:
        now = s._replace(**c.changed)
        changed = c.changed | _update_multipliers_and_penalty(
            options, now, line, worst, c.solved
        )
        now = now._replace(**changed)
        now = now._replace(trial=step(now))
        # once more where the step is not worth a trial
        settled = _subproblem_can_end_early(options, now, line, worst) & ~c.settled
        # and where it is to be refused for inequalities that it runs into
        after = predict_linear(rows, line, now.trial.step)
        push = constraint_excess(line, after, now.multipliers, now.penalty)
        push = jnp.where(now.forced_active, 0.0, push)
        refused = jnp.sum(now.penalty * push**2) > now.trial.predicted_decrease
        refused = (
            refused
            & ~now.is_correction
            & ~settled
            & (c.tries < MAX_PREDICTED_ACTIVATIONS)
        )
        ahead = refused & argmax_mask(push)
        again = settled | jnp.any(ahead)
        changed |= {"trial": now.trial, "forced_active": now.forced_active | ahead}
        return _StepSearch(changed, settled, c.settled | settled, c.tries + 1, again)

    none = jnp.zeros((), bool)
    changed = {name: getattr(s, name) for name in CHANGED}
    begin = _StepSearch(changed, solved, none, jnp.zeros((), int), ~none)
    end = jax.lax.while_loop(lambda c: c.again, propose, begin)
    s = s._replace(**end.changed)
    enough = options.cost_tolerance * relative_scale(merit)
    rests = step_is_negligible(options, s.trial, enough) & model_is_flat(
        s.trial, enough
    )
    rests = rests & _is_plain_newton_step(s) & (worst <= options.tolerance)
    status = jnp.where(rests, int(Status.CONVERGED), s.status)
    return s._replace(status=status, done=s.done | rests)


CHANGED = (
    "trial forced_active multipliers mu damping last_violation stalls status"
    " done".split()
)
"""Of the state, what the search for a step changes."""


class _StepSearch(NamedTuple):
    """What the search for a step carries."""

    changed: dict[str, Any]
    """See `CHANGED`."""
    solved: Bool[jax.Array, ""]
    """Whether the subproblem is."""
    settled: Bool[jax.Array, ""]
    """Whether one has ended untried."""
    tries: Int[jax.Array, ""]
    again: Bool[jax.Array, ""]


def _is_plain_newton_step(s: SolverState) -> jax.Array:
    """Whether the proposal is a step of the rows as they are, from a point taken."""
    known = ~s.rejected & ~s.is_correction
    for mask in jax.tree.leaves(s.extrapolated):
        known = known & ~jnp.any(mask)
    return s.trial.is_solvable & known & ~s.done


def _subproblem_can_end_early(
    options: Options, s: SolverState, line: FlatResiduals, worst: jax.Array
) -> jax.Array:
    """Whether a step can do little about what the penalty is for."""
    p, beyond = s.trial, violation(line)
    # larger penalties have to help: near infeasible points they do not
    helped = worst < EARLY_EXIT_VIOLATION_RATIO * s.last_violation
    violated = (worst > options.tolerance) & helped
    least = (
        options.early_exit_factor
        * options.inner_tolerance
        * jnp.sum(s.penalty * beyond**2)
    )
    return _is_plain_newton_step(s) & violated & (p.predicted_decrease < least)


def _update_multipliers_and_penalty(
    options: Options,
    s: SolverState,
    line: FlatResiduals,
    worst: jax.Array,
    solved: jax.Array,
) -> dict[str, jax.Array]:
    """What of the state is the next subproblem's, where one is solved."""
    unmet = solved & (worst > options.tolerance)
    slow = worst > options.sufficient_violation_decrease * s.last_violation
    stalls = jnp.where(worst > 0.9 * s.last_violation, s.stalls + 1, 0)
    infeasible = unmet & (stalls >= 2) & (s.mu >= options.mu_max)
    updated = update_multipliers(line, s.multipliers, s.penalty)
    raised = jnp.minimum(s.mu * options.mu_factor, options.mu_max)
    return dict(
        multipliers=jnp.where(unmet, updated, s.multipliers),
        mu=jnp.where(unmet & slow, raised, s.mu),
        damping=jnp.where(solved, jnp.maximum(s.damping, options.damping), s.damping),
        last_violation=jnp.where(solved, worst, s.last_violation),
        stalls=jnp.where(solved, stalls, s.stalls),
        status=jnp.where(infeasible, int(Status.INFEASIBLE), s.status),
        done=s.done | infeasible,
    )


def _compute_trial_step(
    problem: ChainProblem,
    data: Any,
    options: Options,
    rows: tuple[ResidualBlock, ...],
    line: FlatResiduals,
    there: FlatResiduals,
    s: SolverState,
) -> TrialStep:
    # a step that was refused stops short of what it ran into, instead of being damped
    weights = augmented_lagrangian_terms(
        there, s.multipliers, s.penalty, s.forced_active
    )
    short = jnp.minimum(line.y + s.multipliers / (2 * s.penalty), 0.0)
    lead = jnp.sum(jnp.where(s.forced_active, s.penalty * short**2, 0.0))
    parts = partition_variables(problem.nv, problem.shared)
    system = assemble(rows, weights, problem.slices, problem.order, parts)
    pull = jnp.where(s.is_correction, s.damping, 0.0) * s.trial.step
    system = system._replace(gradient=system.gradient + pull)
    held = problem.active_bounds(data, s.x, system.gradient) | s.clamped_mask
    delta, predicted = newton_step(system, held, s.damping, parts)
    predicted = jnp.where(s.is_correction, s.trial.predicted_decrease, predicted - lead)
    delta = delta + jnp.where(s.is_correction, s.trial.step, 0.0)
    length = jnp.max(jnp.abs(delta), initial=0.0)
    shrink = jnp.minimum(1.0, options.max_step / jnp.maximum(length, 1e-30))
    solvable = jnp.isfinite(length)
    delta = jnp.where(solvable, delta * shrink, 0.0)
    share = problem.max_step_fraction(data, s.x, delta)
    pinned = problem.active_bounds(data, s.x, -delta) & ~held
    cut = ((share < 1) & ~s.rejected) | jnp.any(pinned)
    # a bent step is no descent for sure: after a refusal one ends at the first bound
    delta = jnp.where(s.rejected, share, 1.0) * delta

    able = diagonal_model_decrease(system, held, parts)
    able = jnp.where(s.is_correction, s.trial.diagonal_decrease, able)
    x = problem.retract(data, s.x, delta)
    return TrialStep(x, delta, length, predicted, able, cut, pinned, solvable)
