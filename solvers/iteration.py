"""Newton's method in the solver's loop: judge a trial step, then choose the next."""

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Bool, Float, Int, PyTree

from posewise.compilation.backend import is_cpu_backend

from .chain_problem import ChainProblem
from .globalization import SearchState, StepVerdict, judge, model_rows
from .merit import AugmentedLagrangian
from .options import Options
from .quadratic_model import TrialStep, minimize_model, no_step
from .residuals import ResidualBlock, max_violation
from .schedule import next_subproblem, squared_violation
from .state import Linearization, ScheduleState, SolverState
from .status import Status
from .termination import (
    step_is_not_worth_its_trial,
    subproblem_is_solved,
    terminate,
)


@dataclass(frozen=True)
class NewtonSteps:
    """The `StepMethod` whose steps minimise a quadratic model of the merit."""

    def begin(
        self,
        problem: ChainProblem,
        options: Options,
        x: Float[jax.Array, "T nq"],
        blocks: tuple[ResidualBlock, ...],
    ) -> tuple[tuple[Linearization, ...], TrialStep, SearchState]:
        """Return zeros, and the damping of the first step."""
        damping = jnp.asarray(options.damping, x.dtype)
        search = SearchState(damping, jnp.zeros((), int))
        linearization = tuple(Linearization(b.y, b.J) for b in blocks)
        return linearization, no_step(problem, x), search

    def step(
        self,
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
        is_first = s.counter.iterations == 0
        verdict = judge(
            options,
            s.iterate,
            s.trial,
            s.lagrangian,
            s.search,
            s.schedule.largest_square,
            blocks,
            is_first,
        )
        square = squared_violation(s.lagrangian, verdict.iterate.residuals)
        schedule = s.schedule._replace(
            largest_square=jnp.maximum(s.schedule.largest_square, square)
        )
        worst = max_violation(verdict.iterate.residuals)
        model = model_rows(verdict, s.trial.step, blocks, problem.shared)
        is_solved = subproblem_is_solved(
            options, s.trial, verdict, schedule, worst, is_first
        )
        search = _find_step(
            problem, data, options, verdict, model, worst, schedule, is_solved
        )
        # The gradient of corrected rows tells nothing of the iterate, which has stayed.
        imbalance = jnp.where(
            verdict.is_corrected, s.trial.imbalance, search.trial.imbalance
        )
        trial = search.trial._replace(imbalance=imbalance)
        bad_input = is_first & ~verdict.is_finite
        status = jnp.where(search.is_infeasible, int(Status.INFEASIBLE), s.status)
        end = terminate(options, status, s.window, verdict, trial, search.merit, worst)
        return SolverState(
            verdict.iterate,
            trial,
            search.lagrangian,
            verdict.search._replace(damping=search.damping),
            search.schedule,
            end.window,
            s.counter,
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
    verdict: StepVerdict,
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

    step, damping = no_step(problem, iterate.x), verdict.search.damping
    merit, zero = jnp.zeros_like(worst), jnp.zeros((), int)
    begin = _Search(
        step, verdict.lagrangian, schedule, damping, merit, zero > 0, is_solved, zero
    )
    if not is_cpu_backend():
        # A step that is not worth its trial costs an evaluation; a loop costs all lanes
        # of an accelerator a second attempt.
        return attempt(begin)
    return jax.lax.while_loop(lambda c: (c.attempts == 0) | c.is_solved, attempt, begin)
