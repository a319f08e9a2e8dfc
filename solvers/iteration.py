"""One iteration of the solver: judge the trial step, then choose the next one."""

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Bool, Float, Int, PyTree

from .chain_problem import ChainProblem
from .globalization import Verdict, judge, model_rows
from .merit import AugmentedLagrangian
from .options import Options
from .quadratic_model import TrialStep, minimize_model
from .residuals import (
    ResidualBlock,
    max_violation,
    merge_like_blocks,
    row_scaling,
)
from .schedule import next_subproblem, squared_violation
from .state import ScheduleState, SolverState
from .status import Status
from .termination import (
    step_is_not_worth_its_trial,
    subproblem_is_solved,
    terminate,
)


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
    dtype = s.trial.x.dtype
    arrays: Any = {k: jnp.asarray(v, dtype) for k, v in vars(options).items()}
    options = replace(options, **arrays)
    blocks = merge_like_blocks(blocks)
    is_first = s.counter.iterations == 0
    # Scaled by the Jacobian at the start, so that the merit stays one function.
    scale = jax.lax.cond(
        is_first, lambda: row_scaling(blocks), lambda: s.lagrangian.row_scale
    )
    lagrangian = s.lagrangian._replace(row_scale=scale)
    verdict = judge(
        options,
        s.iterate,
        s.trial,
        lagrangian,
        s.search,
        s.schedule.largest_square,
        blocks,
        is_first,
    )
    square = squared_violation(lagrangian, verdict.iterate.residuals)
    schedule = s.schedule._replace(
        largest_square=jnp.maximum(s.schedule.largest_square, square)
    )
    worst = max_violation(verdict.iterate.residuals)
    model = model_rows(verdict, s.trial.step, blocks, problem.shared)
    is_solved = subproblem_is_solved(options, s.trial, verdict, worst, is_first)
    found = _find_step(
        problem, data, options, verdict, model, worst, schedule, is_solved
    )
    bad_input = is_first & ~verdict.is_finite
    status = jnp.where(found.is_infeasible, int(Status.INFEASIBLE), s.status)
    end = terminate(options, status, s.window, verdict, found.trial, found.merit, worst)
    return SolverState(
        verdict.iterate,
        found.trial,
        found.lagrangian,
        verdict.search._replace(damping=found.damping),
        found.schedule,
        end.window,
        s.counter._replace(iterations=s.counter.iterations + 1),
        jnp.where(bad_input, int(Status.BAD_INPUT), end.status),
    )


class _Search(NamedTuple):
    """Carry of the search for a step that is worth an evaluation."""

    trial: TrialStep
    lagrangian: AugmentedLagrangian
    schedule: ScheduleState
    damping: Float[jax.Array, ""]
    merit: Float[jax.Array, ""]
    """Merit at the iterate."""
    is_infeasible: Bool[jax.Array, ""]
    is_solved: Bool[jax.Array, ""]
    """Whether the subproblem is solved, so that the next one begins."""
    attempts: Int[jax.Array, ""]


def _find_step(
    problem: ChainProblem,
    data: PyTree,
    options: Options,
    verdict: Verdict,
    model: tuple[ResidualBlock, ...],
    worst: Float[jax.Array, ""],
    schedule: ScheduleState,
    is_solved: Bool[jax.Array, ""],
) -> _Search:
    """Compute a step, and once more if its subproblem is solved well enough before it.

    Args:
        problem: the structure of the problem.
        data: its numbers.
        options: of the solver.
        verdict: about the last step.
        model: rows of the model at the iterate.
        worst: the largest violation at the iterate.
        schedule: of multipliers and penalty.
        is_solved: whether the subproblem is solved.
    """
    iterate = verdict.iterate
    minimize = partial(minimize_model, problem, data, iterate.x, model)

    def attempt(c: _Search) -> _Search:
        following = next_subproblem(
            options, c.lagrangian, c.schedule, iterate.residuals, worst, c.is_solved
        )
        lagrangian = following.lagrangian
        # A subproblem begins with some damping, because its merit is another function.
        first_damping = jnp.maximum(c.damping, options.damping)
        damping = jnp.where(c.is_solved, first_damping, c.damping)
        merit = lagrangian.merit(iterate.residuals)
        # The one call of the linear algebra: each further one would be compiled again.
        trial = minimize(lagrangian, merit, damping, options.max_step)
        ends = step_is_not_worth_its_trial(
            options, trial, verdict, lagrangian, following.schedule, worst
        )
        return _Search(
            trial,
            lagrangian,
            following.schedule,
            damping,
            merit,
            c.is_infeasible | following.is_infeasible,
            ends & (c.attempts == 0),
            c.attempts + 1,
        )

    zero = jnp.zeros_like(worst)
    no_step = jnp.zeros((problem.slices, problem.nv), worst.dtype)
    begin = _Search(
        TrialStep(iterate.x, no_step, zero, zero, jnp.ones((), bool)),
        verdict.lagrangian,
        schedule,
        verdict.search.damping,
        zero,
        jnp.zeros((), bool),
        is_solved,
        jnp.zeros((), int),
    )
    return jax.lax.while_loop(lambda c: (c.attempts == 0) | c.is_solved, attempt, begin)
