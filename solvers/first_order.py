"""Augmented Lagrangian whose subproblems an optax optimiser minimises.

No linear system is formed or solved, so memory and time grow only with the number of
rows. This suits large, loosely coupled problems; where Newton steps are affordable,
they need far fewer evaluations. A subproblem ends when the optimiser gains next to
nothing over some steps; then multipliers and penalty are updated and the optimiser
starts from its initial state.
"""

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Bool, Float, Int, PyTree

from posewise.compilation.precision import full_matmul_precision

from .augmented_lagrangian import Result
from .chain_problem import ChainProblem
from .interruptible import NO_PROGRESS, ProgressCallback, run_in_rounds
from .linear_system import assemble, partition_variables
from .merit import AugmentedLagrangian
from .options import Options
from .residuals import (
    ResidualBlock,
    concatenate,
    flatten,
    max_violation,
    row_scaling,
    total_cost,
)
from .schedule import next_subproblem
from .state import ScheduleState
from .status import Status

if TYPE_CHECKING:
    from optax import GradientTransformation

PROGRESS_CHECK_INTERVAL = 50
"""Number of steps in which the merit has to decrease, or else the subproblem ends. More
steps solve subproblems better, but spend more evaluations on each."""


class FirstOrderState(NamedTuple):
    """Everything the loop carries."""

    x: Float[jax.Array, "T nq"]
    """The iterate."""
    displacement: Float[jax.Array, "T nv"]
    """Sum of all steps: the optimiser's parameters."""
    optimizer: Any
    """State of the optimiser."""
    blocks: tuple[ResidualBlock, ...]
    """Residuals, without Jacobians; those at x once the loop ends."""
    lagrangian: AugmentedLagrangian
    schedule: ScheduleState
    merit: Float[jax.Array, ""]
    """Augmented Lagrangian at the last progress check."""
    iterations: Int[jax.Array, ""]
    status: Int[jax.Array, ""]
    done: Bool[jax.Array, ""]


class MeritEvaluation(NamedTuple):
    """Residuals at a point, and the augmented Lagrangian there."""

    blocks: tuple[ResidualBlock, ...]
    merit: Float[jax.Array, ""]
    gradient: Float[jax.Array, "T nv"]
    """Gradient of the merit; zero where a bound blocks the descent."""


def _initial_state(
    problem: ChainProblem, optimizer: Any, data: Any, x: jax.Array, options: Options
) -> FirstOrderState:
    shapes = problem.shapes(data, x)
    zeros = jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), shapes)
    blocks = _without_jacobians(zeros)

    def scalar(value: Any) -> jax.Array:
        return jnp.asarray(value, x.dtype)

    y = concatenate([b.y for b in blocks])
    displacement = jnp.zeros((problem.slices, problem.nv), x.dtype)
    return FirstOrderState(
        x=x,
        displacement=displacement,
        optimizer=optimizer.init(displacement),
        blocks=blocks,
        lagrangian=AugmentedLagrangian(y, scalar(options.mu), jnp.ones_like(y)),
        schedule=ScheduleState(
            scalar(jnp.inf), jnp.zeros((), int), largest_square=scalar(0.0)
        ),
        merit=scalar(jnp.inf),
        iterations=jnp.zeros((), int),
        status=jnp.asarray(int(Status.ITERATION_LIMIT)),
        done=jnp.zeros((), bool),
    )


def _extract_result(s: FirstOrderState, options: Options) -> Result:
    residuals = flatten(s.blocks)
    violation = max_violation(residuals)
    reached_limit = s.status == int(Status.ITERATION_LIMIT)
    # The solver's tolerance is a tenth of that of solutions; see `KOMO.solve`.
    is_feasible = violation <= 10 * options.tolerance
    status = jnp.where(reached_limit & is_feasible, int(Status.FEASIBLE), s.status)
    has_ended = s.done | (s.iterations >= options.max_iterations)
    status = jnp.where(has_ended, status, int(Status.INTERRUPTED))
    return Result(
        s.x,
        residuals.y,
        s.lagrangian.update_multipliers(residuals),
        violation,
        total_cost(residuals),
        s.iterations,
        status,
    )


def _step(
    problem: ChainProblem,
    optimizer: Any,
    data: Any,
    options: Options,
    s: FirstOrderState,
) -> FirstOrderState:
    """Evaluate the iterate, update the subproblem if it is solved, and move on."""
    blocks = problem.evaluate(data, s.x)
    is_first = s.iterations == 0
    scale = jnp.where(is_first, row_scaling(blocks), s.lagrangian.row_scale)
    lagrangian = s.lagrangian._replace(row_scale=scale)
    at_x = _evaluate_merit(problem, data, s.x, blocks, lagrangian)
    is_finite = jnp.isfinite(at_x.merit) & jnp.isfinite(at_x.gradient).all()
    is_bad_input = is_first & ~is_finite

    # -- end of the subproblem --------------------------------------------------------
    residuals = flatten(at_x.blocks)
    violation = max_violation(residuals)
    is_feasible = violation <= options.tolerance
    relative = jnp.where(is_feasible, options.cost_tolerance, options.inner_tolerance)
    is_check = s.iterations % PROGRESS_CHECK_INTERVAL == 0
    decrease_tolerance = relative * (1e-3 + jnp.abs(at_x.merit))
    has_gained = s.merit - at_x.merit > decrease_tolerance
    is_solved = is_check & (s.iterations > 0) & ~has_gained
    converged = is_solved & is_feasible
    is_updated = is_solved & ~converged
    following = next_subproblem(
        options, lagrangian, s.schedule, residuals, violation, is_updated
    )
    infeasible = following.is_infeasible
    done = converged | infeasible | is_bad_input

    # -- step of the optimiser --------------------------------------------------------
    def merit_at(displacement: Any) -> Any:
        step = displacement - s.displacement
        return _merit(problem, data, s.x, step, lagrangian)

    # Optimisers with a line search evaluate the merit themselves.
    step, optimizer_state = optimizer.update(
        at_x.gradient,
        s.optimizer,
        s.displacement,
        value=at_x.merit,
        grad=at_x.gradient,
        value_fn=merit_at,
    )
    is_last = s.iterations >= options.max_iterations - 1
    moves = ~done & ~is_solved & ~is_last & jnp.isfinite(step).all()
    step_norm = jnp.max(jnp.abs(step), initial=0.0)
    shrinkage = jnp.minimum(1.0, options.max_step / jnp.maximum(step_norm, 1e-30))
    is_blocked = problem.step_bounds(data, s.x).blocks_descent(at_x.gradient)
    step = jnp.where(moves & ~is_blocked, shrinkage * step, 0.0)
    # A new subproblem is another function: momenta of the last one mean nothing.
    initial = optimizer.init(s.displacement)
    optimizer_state = jax.tree.map(
        lambda a, b: jnp.where(moves, a, b), optimizer_state, initial
    )
    status = jnp.where(converged, int(Status.CONVERGED), s.status)
    status = jnp.where(infeasible, int(Status.INFEASIBLE), status)
    status = jnp.where(is_bad_input, int(Status.BAD_INPUT), status)
    merit = jnp.where(is_check, at_x.merit, s.merit)
    return FirstOrderState(
        x=jnp.where(moves, problem.retract(data, s.x, step), s.x),
        displacement=s.displacement + step,
        optimizer=optimizer_state,
        blocks=_without_jacobians(at_x.blocks),
        lagrangian=following.lagrangian,
        schedule=following.schedule,
        merit=jnp.where(is_updated, jnp.inf, merit),
        iterations=s.iterations + 1,
        status=status,
        done=done,
    )


def _evaluate_merit(
    problem: ChainProblem,
    data: Any,
    x: Any,
    blocks: tuple[ResidualBlock, ...],
    lagrangian: AugmentedLagrangian,
) -> MeritEvaluation:
    terms = lagrangian.terms(flatten(blocks))
    T = problem.slices
    partition = partition_variables(problem.nv, problem.shared)
    g = assemble(blocks, terms, T, problem.order, partition).gradient
    # The gradient of a shared variable is the sum over slices, repeated in each of
    # them; divided by T it is counted once.
    g = g.at[:, partition.shared].divide(T)
    g = jnp.where(problem.step_bounds(data, x).blocks_descent(g), 0.0, g)
    return MeritEvaluation(blocks, jnp.sum(terms.merit), g)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _merit(
    problem: ChainProblem,
    data: Any,
    x: Any,
    step: Any,
    lagrangian: AugmentedLagrangian,
) -> jax.Array:
    """Return the augmented Lagrangian after a step, for optimisers with line search."""
    return _merit_forward(problem, data, x, step, lagrangian)[0]


def _merit_forward(
    problem: ChainProblem,
    data: Any,
    x: Any,
    step: Any,
    lagrangian: AugmentedLagrangian,
) -> Any:
    x = problem.retract(data, x, step)
    blocks = problem.evaluate(data, x)
    at_x = _evaluate_merit(problem, data, x, blocks, lagrangian)
    return at_x.merit, at_x.gradient


def _merit_backward(problem: ChainProblem, gradient: Any, cotangent: Any) -> Any:
    return None, None, cotangent * gradient, None


_merit.defvjp(_merit_forward, _merit_backward)


def _without_jacobians(blocks: tuple[ResidualBlock, ...]) -> tuple[ResidualBlock, ...]:
    """Return blocks whose Jacobians have windows of no slice."""
    return tuple(b._replace(J=b.J[:, :0]) for b in blocks)


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
    begin = _initial_states(problem, optimizer, data, x, options)

    def run_round(
        state: FirstOrderState, is_fresh: bool, iterations: int
    ) -> tuple[FirstOrderState, Result]:
        return _resume(problem, optimizer, data, state, options, iterations)

    return run_in_rounds(run_round, begin, PROGRESS_CHECK_INTERVAL, on_progress)


@partial(jax.jit, static_argnums=(0, 1))
@full_matmul_precision
def _initial_states(
    problem: ChainProblem, optimizer: Any, data: Any, x: jax.Array, options: Options
) -> FirstOrderState:
    return jax.vmap(lambda x: _initial_state(problem, optimizer, data, x, options))(x)


@partial(jax.jit, static_argnums=(0, 1))
@full_matmul_precision
def _resume(
    problem: ChainProblem,
    optimizer: Any,
    data: Any,
    states: FirstOrderState,
    options: Options,
    max_iterations: Any,
) -> tuple[FirstOrderState, Result]:
    """Take at most `max_iterations` more steps from each state."""
    import optax

    optimizer = optax.with_extra_args_support(optimizer)

    def resume_one(state: FirstOrderState) -> tuple[FirstOrderState, Result]:
        step = partial(_step, problem, optimizer, data, options)
        pause_at = jnp.minimum(
            state.iterations + max_iterations, options.max_iterations
        )

        def goes_on(s: FirstOrderState) -> jax.Array:
            return ~s.done & (s.iterations < pause_at)

        end = jax.lax.while_loop(goes_on, step, state)
        return end, _extract_result(end, options)

    return jax.vmap(resume_one)(states)
