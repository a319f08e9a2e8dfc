"""The augmented Lagrangian, minimised by an optax optimiser.

No linear system is formed or solved: memory and time grow with the number of rows
only. For large, loosely coupled problems; where Newton steps are affordable they need
far fewer evaluations. Each subproblem ends when the optimiser gains nothing worth
mentioning over some steps; then multipliers and penalty are updated and it starts
afresh.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Bool, Float, Int

from posewise.compilation.precision import full_matmul_precision

from .augmented_lagrangian import Result
from .chain_problem import ChainProblem
from .interruptible import NO_PROGRESS, ProgressReporter, run_in_rounds
from .linear_system import assemble, partition_variables
from .options import Options
from .residuals import (
    ResidualBlock,
    augmented_lagrangian_terms,
    concatenate,
    flatten,
    max_violation,
    row_scaling,
    total_cost,
    update_multipliers,
)
from .status import Status

PROGRESS_CHECK_INTERVAL = 50
"""Steps over which a subproblem must gain."""


class FirstOrderState(NamedTuple):
    """Everything the loop carries."""

    x: Float[jax.Array, "T nq"]
    moved: Float[jax.Array, "T nv"]
    """Sum of all steps: the optimiser's parameters."""
    optimizer: Any
    rows: tuple[ResidualBlock, ...]
    """At x once the loop ends; without Jacobians."""
    multipliers: Float[jax.Array, " N"]
    """Of all rows, in line."""
    mu: Float[jax.Array, ""]
    row_scale: Float[jax.Array, " N"]
    """Of the penalty, what is each row's."""
    merit: Float[jax.Array, ""]
    """At the last look."""
    last_violation: Float[jax.Array, ""]
    stalls: Int[jax.Array, ""]
    iterations: Int[jax.Array, ""]
    status: Int[jax.Array, ""]
    done: Bool[jax.Array, ""]

    @property
    def penalty(self) -> Float[jax.Array, " N"]:
        """Of each row."""
        return self.mu * self.row_scale


class MeritEvaluation(NamedTuple):
    """The rows at some x, and the augmented Lagrangian there."""

    rows: tuple[ResidualBlock, ...]
    merit: Float[jax.Array, ""]
    g: Float[jax.Array, "T nv"]
    """Its gradient, zero where a bound is in the way."""


def _initial_state(
    problem: ChainProblem, optimizer: Any, data: Any, x: jax.Array, options: Options
) -> FirstOrderState:
    shapes = problem.shapes(data, x)
    empty = _without_jacobians(
        jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), shapes)
    )
    like = lambda v: jnp.asarray(v, x.dtype)
    moved = jnp.zeros((problem.slices, problem.nv), x.dtype)
    return FirstOrderState(
        x=x,
        moved=moved,
        optimizer=optimizer.init(moved),
        rows=empty,
        multipliers=concatenate([r.y for r in empty]),
        mu=like(options.mu),
        row_scale=concatenate([jnp.ones_like(r.y) for r in empty]),
        merit=like(jnp.inf),
        last_violation=like(jnp.inf),
        stalls=jnp.zeros((), int),
        iterations=jnp.zeros((), int),
        status=jnp.asarray(int(Status.ITERATION_LIMIT)),
        done=jnp.zeros((), bool),
    )


def _extract_result(end: FirstOrderState, options: Options) -> Result:
    line = flatten(end.rows)
    worst = max_violation(line)
    capped = end.status == int(Status.ITERATION_LIMIT)
    feasible = worst <= 10 * options.tolerance
    status = jnp.where(capped & feasible, int(Status.FEASIBLE), end.status)
    ended = end.done | (end.iterations >= options.max_iterations)
    status = jnp.where(ended, status, int(Status.INTERRUPTED))
    return Result(
        end.x,
        line.y,
        update_multipliers(line, end.multipliers, end.penalty),
        worst,
        total_cost(line),
        end.iterations,
        status,
    )


def _step(
    problem: ChainProblem, method: Any, data: Any, options: Options, s: FirstOrderState
) -> FirstOrderState:
    rows = problem.evaluate(data, s.x)
    s = s._replace(
        row_scale=jnp.where(s.iterations == 0, row_scaling(rows), s.row_scale)
    )
    at = _evaluate_merit(problem, data, s.x, rows, s.multipliers, s.penalty)
    finite = jnp.isfinite(at.merit) & jnp.isfinite(at.g).all()
    broken = (s.iterations == 0) & ~finite

    line = flatten(at.rows)
    worst = max_violation(line)
    enough = jnp.where(
        worst <= options.tolerance, options.cost_tolerance, options.inner_tolerance
    )
    look = s.iterations % PROGRESS_CHECK_INTERVAL == 0
    gained = s.merit - at.merit > enough * (1e-3 + jnp.abs(at.merit))
    solved = look & (s.iterations > 0) & ~gained
    converged = solved & (worst <= options.tolerance)
    update = solved & ~converged
    slow = worst > 0.25 * s.last_violation
    stuck = worst > 0.9 * s.last_violation
    stalls = jnp.where(update, (s.stalls + 1) * stuck, s.stalls)
    infeasible = update & (stalls >= 2) & (s.mu >= options.mu_max)
    updated = update_multipliers(line, s.multipliers, s.penalty)
    multipliers = jnp.where(update, updated, s.multipliers)
    raised = jnp.minimum(s.mu * options.mu_factor, options.mu_max)
    mu = jnp.where(update & slow, raised, s.mu)
    done = converged | infeasible | broken

    def value(moved: Any) -> Any:
        return _merit(problem, data, s.x, moved - s.moved, s.multipliers, s.penalty)

    steps, after = method.update(
        at.g, s.optimizer, s.moved, value=at.merit, grad=at.g, value_fn=value
    )
    last = s.iterations >= options.max_iterations - 1
    good = ~done & ~solved & ~last & jnp.isfinite(steps).all()
    length = jnp.max(jnp.abs(steps), initial=0.0)
    share = jnp.minimum(1.0, options.max_step / jnp.maximum(length, 1e-30))
    steps = jnp.where(
        good & ~problem.active_bounds(data, s.x, at.g), share * steps, 0.0
    )
    fresh = method.init(s.moved)
    status = jnp.where(converged, int(Status.CONVERGED), s.status)
    status = jnp.where(infeasible, int(Status.INFEASIBLE), status)
    status = jnp.where(broken, int(Status.BAD_INPUT), status)
    return FirstOrderState(
        x=jnp.where(good, problem.retract(data, s.x, steps), s.x),
        moved=s.moved + steps,
        optimizer=jax.tree.map(lambda a, b: jnp.where(good, a, b), after, fresh),
        rows=_without_jacobians(at.rows),
        multipliers=multipliers,
        mu=mu,
        row_scale=s.row_scale,
        merit=jnp.where(update, jnp.inf, jnp.where(look, at.merit, s.merit)),
        last_violation=jnp.where(update, worst, s.last_violation),
        stalls=stalls,
        iterations=s.iterations + 1,
        status=status,
        done=done,
    )


def _evaluate_merit(
    problem: ChainProblem,
    data: Any,
    x: Any,
    rows: tuple[ResidualBlock, ...],
    multipliers: Any,
    penalty: Any,
) -> MeritEvaluation:
    weights = augmented_lagrangian_terms(flatten(rows), multipliers, penalty)
    T, parts = problem.slices, partition_variables(problem.nv, problem.shared)
    g = assemble(rows, weights, T, problem.order, parts).gradient
    g = g.at[:, parts.shared].divide(T)  # each slice bears its part of the sum
    merit = jnp.sum(weights.merit)
    return MeritEvaluation(
        rows, merit, jnp.where(problem.active_bounds(data, x, g), 0.0, g)
    )


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _merit(
    problem: ChainProblem, data: Any, x: Any, step: Any, multipliers: Any, penalty: Any
) -> jax.Array:
    """The augmented Lagrangian after a step; for the optimisers that search a line."""
    return _merit_forward(problem, data, x, step, multipliers, penalty)[0]


def _merit_forward(
    problem: ChainProblem, data: Any, x: Any, step: Any, multipliers: Any, penalty: Any
) -> Any:
    x = problem.retract(data, x, step)
    rows = problem.evaluate(data, x)
    at = _evaluate_merit(problem, data, x, rows, multipliers, penalty)
    return at.merit, at.g


def _merit_backward(problem: ChainProblem, g: Any, d: Any) -> Any:
    return None, None, d * g, None, None


_merit.defvjp(_merit_forward, _merit_backward)


def _without_jacobians(rows: tuple[ResidualBlock, ...]) -> tuple[ResidualBlock, ...]:
    """Rows without their Jacobians: windows of no slice."""
    return tuple(r._replace(J=r.J[:, :0]) for r in rows)


def solve_first_order(
    problem: ChainProblem,
    optimizer: Any,
    data: Any,
    x: Float[jax.Array, "starts T nq"],
    options: Options,
    watch: ProgressReporter = NO_PROGRESS,
) -> Result:
    """Solve from several initial paths at once by an `optax.GradientTransformation`.

    Compiled once for each optimiser object: make it once and use it again. Of the
    options, the tolerances of steps and the damping have no meaning here.
    """
    begin = _initial_states(problem, optimizer, data, x, options)

    def run(
        state: FirstOrderState, fresh: bool, passes: int
    ) -> tuple[FirstOrderState, Result]:
        return _resume(problem, optimizer, data, state, options, passes)

    return run_in_rounds(run, begin, PROGRESS_CHECK_INTERVAL, watch)


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
    state: FirstOrderState,
    options: Options,
    passes: Any,
) -> tuple[FirstOrderState, Result]:
    """At most so many steps more."""
    import optax

    method = optax.with_extra_args_support(optimizer)

    def one(state: FirstOrderState) -> tuple[FirstOrderState, Result]:
        step = partial(_step, problem, method, data, options)
        last = jnp.minimum(state.iterations + passes, options.max_iterations)
        going = lambda s: ~s.done & (s.iterations < last)
        end = jax.lax.while_loop(going, step, state)
        return end, _extract_result(end, options)

    return jax.vmap(one)(state)
