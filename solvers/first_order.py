"""Steps by an optax optimiser, in the loop of the augmented Lagrangian method.

No linear system is formed or solved, so memory and time grow only with the number of
rows. This suits large, loosely coupled problems; where Newton steps are affordable,
they need far fewer evaluations. A subproblem ends when the optimiser gains next to
nothing over some steps; then multipliers and penalty are updated and the optimiser
starts from its initial state.
"""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Bool, Float, PyTree

from posewise.compilation.precision import full_matmul_precision

from .augmented_lagrangian import (
    Result,
    extract_result,
    initial_state,
    iterate_until_paused,
)
from .chain_problem import ChainProblem
from .interruptible import NO_PROGRESS, ProgressCallback, run_in_rounds
from .linear_system import assemble, partition_variables
from .merit import AugmentedLagrangian, relative_scale
from .optimality import gradient_imbalance, kkt_residual
from .options import Number, Options
from .residuals import ResidualBlock, flatten, max_violation
from .schedule import next_subproblem
from .state import Iterate, SolverState
from .status import Status

if TYPE_CHECKING:
    from optax import GradientTransformation

PROGRESS_CHECK_INTERVAL = 50
"""Number of steps in which the merit has to decrease, or else the subproblem ends. More
steps solve subproblems better, but spend more evaluations on each."""


class OptaxTrial(NamedTuple):
    """A `Trial`: the point after the optimiser's last step."""

    x: Float[jax.Array, "T nq"]
    imbalance: Float[jax.Array, ""]
    """Relative gradient at the iterate; see `optimality.gradient_imbalance`."""


class OptaxSearch(NamedTuple):
    """The optimiser's memory."""

    displacement: Float[jax.Array, "T nv"]
    """Sum of all steps: the optimiser's parameters."""
    optimizer: Any
    """State of the optimiser."""
    merit: Float[jax.Array, ""]
    """Augmented Lagrangian at the last progress check."""


class MeritEvaluation(NamedTuple):
    """The augmented Lagrangian at a point."""

    merit: Float[jax.Array, ""]
    gradient: Float[jax.Array, "T nv"]
    """Gradient of the merit; zero where a bound blocks the descent."""
    is_fixed: Bool[jax.Array, "T nv"]
    """Variables that a bound blocks."""
    imbalance: Float[jax.Array, ""]
    """Relative gradient; see `optimality.gradient_imbalance`."""


class Subproblem(NamedTuple):
    """The state after a progress check, before the optimiser's next step."""

    state: SolverState
    is_new: Bool[jax.Array, ""]
    """Whether the last subproblem has ended, or the solve."""


@dataclass(frozen=True)
class OptaxSteps:
    """The `StepMethod` of an optax optimiser; every step is accepted."""

    optimizer: "GradientTransformation"

    def begin(
        self,
        problem: ChainProblem,
        options: Options,
        x: Float[jax.Array, "T nq"],
        blocks: tuple[ResidualBlock, ...],
    ) -> tuple[tuple[()], OptaxTrial, OptaxSearch]:
        """Return the optimiser's initial state; no Jacobians are kept."""
        # Optimisers want parameters in a vector space; coordinates with quaternions are
        # none, sums of tangent steps are.
        displacement = jnp.zeros((problem.slices, problem.nv), x.dtype)
        optimizer = self.optimizer.init(displacement)
        infinite, zero = jnp.asarray(jnp.inf, x.dtype), jnp.zeros((), x.dtype)
        search = OptaxSearch(displacement, optimizer, infinite)
        return (), OptaxTrial(x, zero), search

    def step(
        self,
        problem: ChainProblem,
        data: PyTree,
        options: Options,
        s: SolverState,
        blocks: tuple[ResidualBlock, ...],
    ) -> SolverState:
        """Go to the trial point, update a subproblem that is solved, and step on.

        Args:
            problem: the structure of the problem.
            data: its numbers.
            options: of the solver.
            s: the state with the trial point.
            blocks: all residuals at the trial point.
        """
        at_x = _evaluate_merit(problem, data, s.trial.x, blocks, s.lagrangian)
        following = _check_progress(options, s, at_x, blocks)
        return self._move(problem, data, options, s.lagrangian, following, at_x)

    def _move(
        self,
        problem: ChainProblem,
        data: PyTree,
        options: Options,
        lagrangian: AugmentedLagrangian,
        following: Subproblem,
        at_x: MeritEvaluation,
    ) -> SolverState:
        """Return the state with the optimiser's next step, or its initial state."""
        import optax

        optimizer = optax.with_extra_args_support(self.optimizer)
        s = following.state
        x, search = s.iterate.x, s.search

        def merit_at(displacement: jax.Array) -> jax.Array:
            step = displacement - search.displacement
            return _merit(problem, data, x, step, lagrangian)

        # Optimisers with a line search evaluate the merit themselves.
        step, updated = optimizer.update(
            at_x.gradient,
            search.optimizer,
            search.displacement,
            value=at_x.merit,
            grad=at_x.gradient,
            value_fn=merit_at,
        )
        moves = ~following.is_new & jnp.isfinite(step).all()
        length = jnp.max(jnp.abs(step), initial=0.0)
        shrinkage = jnp.minimum(1.0, options.max_step / jnp.maximum(length, 1e-30))
        step = jnp.where(moves & ~at_x.is_fixed, shrinkage * step, 0.0)
        # A new subproblem is another function: momenta of the last one mean nothing.
        initial = optimizer.init(search.displacement)
        updated = jax.tree.map(lambda a, b: jnp.where(moves, a, b), updated, initial)
        displacement = search.displacement + step
        return s._replace(
            trial=s.trial._replace(x=problem.retract(data, x, step)),
            search=OptaxSearch(displacement, updated, search.merit),
        )


def _check_progress(
    options: Options,
    s: SolverState,
    at_x: MeritEvaluation,
    blocks: tuple[ResidualBlock, ...],
) -> Subproblem:
    """Return the state at the trial point, where subproblem or solve may end."""
    residuals = flatten(blocks)
    is_first = s.counter.iterations == 0
    is_finite = jnp.isfinite(at_x.merit) & jnp.isfinite(at_x.gradient).all()
    worst = max_violation(residuals)
    is_feasible = worst <= options.tolerance
    tolerance = jnp.where(is_feasible, options.cost_tolerance, options.inner_tolerance)
    # Momentum makes single steps go uphill: what counts is the gain of an interval.
    gain = s.search.merit - at_x.merit
    is_check = s.counter.iterations % PROGRESS_CHECK_INTERVAL == 0
    has_gained = gain > tolerance * relative_scale(at_x.merit)
    is_solved = is_check & ~is_first & ~has_gained
    residual = kkt_residual(at_x.imbalance, s.lagrangian, residuals)
    is_optimal = residual < options.kkt_tolerance
    # At feasible points the optimiser has had its whole interval for the cost, so that
    # another subproblem, which only constraints call for, would gain nothing.
    is_unmet = is_solved & ~is_feasible
    following = next_subproblem(
        options, s.lagrangian, s.schedule, residuals, worst, is_unmet
    )
    good = jnp.where(is_optimal, int(Status.CONVERGED), int(Status.FEASIBLE))
    status = jnp.where(is_solved & is_feasible, good, s.status)
    status = jnp.where(following.is_infeasible, int(Status.INFEASIBLE), status)
    status = jnp.where(is_first & ~is_finite, int(Status.BAD_INPUT), status)
    merit = jnp.where(is_check, at_x.merit, s.search.merit)
    state = s._replace(
        iterate=Iterate(s.trial.x, residuals, ()),
        trial=s.trial._replace(imbalance=at_x.imbalance),
        lagrangian=following.lagrangian,
        search=s.search._replace(merit=jnp.where(is_unmet, jnp.inf, merit)),
        schedule=following.schedule,
        status=status,
    )
    return Subproblem(state, is_solved | (status != int(Status.INTERRUPTED)))


def _evaluate_merit(
    problem: ChainProblem,
    data: PyTree,
    x: jax.Array,
    blocks: tuple[ResidualBlock, ...],
    lagrangian: AugmentedLagrangian,
) -> MeritEvaluation:
    residuals = flatten(blocks)
    terms = lagrangian.terms(residuals)
    T = problem.slices
    partition = partition_variables(problem.nv, problem.shared)
    g = assemble(blocks, terms, T, problem.order, partition).gradient
    is_fixed = problem.step_bounds(data, x).blocks_descent(g)
    g = jnp.where(is_fixed, 0.0, g)
    imbalance = gradient_imbalance(g, blocks, lagrangian, residuals)
    # The gradient of a shared variable is the sum over slices, repeated in each of
    # them; divided by T it is counted once.
    g = g.at[:, partition.shared].divide(T)
    return MeritEvaluation(jnp.sum(terms.merit), g, is_fixed, imbalance)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _merit(
    problem: ChainProblem,
    data: PyTree,
    x: jax.Array,
    step: jax.Array,
    lagrangian: AugmentedLagrangian,
) -> jax.Array:
    """Return the augmented Lagrangian after a step, for optimisers with line search."""
    return _merit_forward(problem, data, x, step, lagrangian)[0]


def _merit_forward(
    problem: ChainProblem,
    data: PyTree,
    x: jax.Array,
    step: jax.Array,
    lagrangian: AugmentedLagrangian,
) -> tuple[jax.Array, jax.Array]:
    x = problem.retract(data, x, step)
    blocks = problem.evaluate(data, x)
    at_x = _evaluate_merit(problem, data, x, blocks, lagrangian)
    return at_x.merit, at_x.gradient


def _merit_backward(
    problem: ChainProblem, gradient: jax.Array, cotangent: jax.Array
) -> tuple[None, None, jax.Array, None]:
    return None, None, cotangent * gradient, None


_merit.defvjp(_merit_forward, _merit_backward)


def solve_first_order(
    problem: ChainProblem,
    optimizer: "GradientTransformation",
    data: PyTree,
    x: Float[jax.Array, "starts T nq"],
    options: Options,
    on_progress: ProgressCallback = NO_PROGRESS,
) -> Result:
    """Solve from several initial paths at once by an `optax.GradientTransformation`.

    One program is compiled for each optimiser object, so make an optimiser once and
    reuse it. Options of steps and damping have no effect here.

    Args:
        problem: the structure of the problem.
        optimizer: an optimiser of optax.
        data: the problem's numbers.
        x: initial paths.
        options: of the solver.
        on_progress: called after each round.
    """
    method = OptaxSteps(optimizer)
    begin = _initial_states(problem, method, data, x, options)

    def run_round(
        state: SolverState, is_fresh: bool, iterations: int
    ) -> tuple[SolverState, Result]:
        following: tuple[SolverState, Result] = _resume(
            problem, method, data, state, options, iterations
        )
        return following

    return run_in_rounds(run_round, begin, PROGRESS_CHECK_INTERVAL, on_progress)


@partial(jax.jit, static_argnums=(0, 1))
@full_matmul_precision
def _initial_states(
    problem: ChainProblem,
    method: OptaxSteps,
    data: PyTree,
    x: Float[jax.Array, "starts T nq"],
    options: Options,
) -> SolverState:
    def begin(x: jax.Array) -> SolverState:
        return initial_state(problem, method, data, x, options)

    return jax.vmap(begin)(x)


@partial(jax.jit, static_argnums=(0, 1))
@full_matmul_precision
def _resume(
    problem: ChainProblem,
    method: OptaxSteps,
    data: PyTree,
    states: SolverState,
    options: Options,
    max_iterations: Number,
) -> tuple[SolverState, Result]:
    """Take at most `max_iterations` more steps from each state."""

    def resume_one(s: SolverState) -> tuple[SolverState, Result]:
        pause_at = s.counter.iterations + max_iterations
        pause_at = jnp.minimum(pause_at, options.max_iterations)
        counter = s.counter._replace(pause_at=pause_at.astype(s.iterate.x.dtype))
        s = s._replace(counter=counter)
        end = iterate_until_paused(problem, method, data, s, options)
        return end, extract_result(options, end)

    return jax.vmap(resume_one)(states)
