"""The loop of the augmented Lagrangian method on a chain of slices.

Each iteration evaluates rows and Jacobians once, at the trial point; a `StepMethod`
judges it and chooses the next one. Multipliers and the penalty are updated whenever the
subproblem is solved well enough. One program is compiled for each structure of problem.
"""

import operator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int, PyTree

from posewise.compilation import Array, compile_program
from posewise.compilation.packed_pytree import Packed, pack, unpack
from posewise.compilation.single_kernel import defer, subprogram

from .chain_problem import ChainProblem
from .iteration import NewtonSteps
from .merit import AugmentedLagrangian
from .optimality import kkt_residual
from .options import Number, Options
from .residuals import (
    FlatResiduals,
    ResidualBlock,
    concatenate,
    max_violation,
    merge_like_blocks,
    row_scaling,
    total_cost,
)
from .state import Counter, Iterate, ProgressWindow, ScheduleState, SolverState
from .status import Status
from .step_method import StepMethod

NEWTON = NewtonSteps()


class Result(NamedTuple):
    """The point at which a solve ended."""

    x: Float[Array, "*batch T nq"]
    y: Float[Array, "*batch N"]
    """All rows at x."""
    multipliers: Float[Array, "*batch N"]
    """λ of the Lagrangian Σ φ_sos² + Σ λ φ at x."""
    violation: Float[Array, "*batch"]
    """Largest violation, in scaled units."""
    cost: Float[Array, "*batch"]
    """Σ φ_sos²."""
    kkt_residual: Float[Array, "*batch"]
    """Relative residual of the conditions of optimality; see `optimality`."""
    iterations: Int[Array, "*batch"]
    """Number of evaluated points."""
    status: Int[Array, "*batch"]
    """A `Status`."""
    mu: Float[Array, "*batch"]
    """Penalty μ of the last subproblem."""


def initial_state(
    problem: ChainProblem,
    method: StepMethod,
    data: PyTree,
    x: jax.Array,
    options: Options,
    multipliers: jax.Array | None = None,
) -> SolverState:
    """Return the state before the first iteration, which evaluates x.

    Args:
        problem: the structure of the problem.
        method: of steps.
        data: its numbers.
        x: the initial path.
        options: of the solver.
        multipliers: the first ones; None: zeros.
    """
    # Only shapes matter: the first iteration accepts x and replaces all arrays.
    shapes = jax.eval_shape(merge_like_blocks, problem.shapes(data, x))
    blocks = jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), shapes)
    y = concatenate([b.y for b in blocks])

    def scalar(value: Number) -> jax.Array:
        return jnp.asarray(value, x.dtype)

    # The rows are zeros here, and so are multipliers unless there are better ones.
    first = y if multipliers is None else multipliers
    linearization, trial, search = method.begin(problem, options, x, blocks)
    residuals = FlatResiduals(y, jnp.zeros(len(y), np.int32))
    count = jnp.zeros((), int)
    return SolverState(
        Iterate(x, residuals, linearization),
        trial,
        AugmentedLagrangian(first, scalar(options.mu), jnp.ones_like(y)),
        search,
        ScheduleState(scalar(jnp.inf), count, scalar(0.0)),
        ProgressWindow(count, scalar(jnp.inf)),
        Counter(count, scalar(options.max_iterations)),
        jnp.asarray(int(Status.INTERRUPTED)),
    )


def iterate_until_paused(
    problem: ChainProblem,
    method: StepMethod,
    data: PyTree,
    state: SolverState | Packed,
    options: Options | Packed,
    iterations: int | None = None,
) -> Any:
    """Iterate until the solve is done or the state's `pause_at` is reached.

    Args:
        problem: the structure of the problem.
        method: of steps.
        data: its numbers.
        state: the state to go on from.
        options: of the solver.
        iterations: number of iterations, of which those after the end change nothing;
            None: as many as are needed. Between iterations of a loop of known length no
            host is asked whether to go on.
    """

    def goes_on(state: SolverState | Packed) -> jax.Array:
        s: SolverState = unpack(state)
        is_running = s.status == int(Status.INTERRUPTED)
        return is_running & (s.counter.iterations < s.counter.pause_at)

    # The one call of `evaluate` in the program is inside of this loop: features are
    # most of its code, and each further call would be compiled again.
    body = partial(_evaluate_and_step, problem, method, data, options)
    if iterations is None:
        return jax.lax.while_loop(goes_on, body, state)

    def iterate(_: jax.Array, state: SolverState | Packed) -> Any:
        is_on, after = goes_on(state), body(state)
        return jax.tree.map(lambda a, b: jnp.where(is_on, a, b), after, state)

    return jax.lax.fori_loop(0, iterations, iterate, state)


def extract_result(options: Options, s: SolverState) -> Result:
    """Return the result of a state, INTERRUPTED if the loop is only paused."""
    residuals = s.iterate.residuals
    violation = max_violation(residuals)
    is_feasible = violation <= options.feasibility_tolerance
    reached_limit = s.counter.iterations >= options.max_iterations
    is_unsolved = (s.status == int(Status.INTERRUPTED)) & reached_limit
    status = jnp.where(is_unsolved, int(Status.ITERATION_LIMIT), s.status)
    is_unsolved = is_unsolved | (s.status == int(Status.INFEASIBLE))
    status = jnp.where(is_unsolved & is_feasible, int(Status.FEASIBLE), status)
    return Result(
        s.iterate.x,
        residuals.y,
        s.lagrangian.update_multipliers(residuals),
        violation,
        total_cost(residuals),
        kkt_residual(s.trial.imbalance, s.lagrangian, residuals),
        s.counter.iterations,
        status,
        s.lagrangian.mu,
    )


def _evaluate_and_step(
    problem: ChainProblem, method: StepMethod, data: Any, options: Any, s: Any
) -> Any:
    blocks = problem.evaluate(data, defer(lambda s: s.trial.x, s))
    return subprogram(partial(_step, problem, method), data, options, s, blocks)


def _step(
    problem: ChainProblem,
    method: StepMethod,
    data: PyTree,
    options: Options,
    s: SolverState,
    blocks: tuple[ResidualBlock, ...],
) -> SolverState:
    """Return the state after an iteration, with the blocks at the trial point."""
    dtype = s.iterate.x.dtype
    arrays: Any = {k: jnp.asarray(v, dtype) for k, v in vars(options).items()}
    options = replace(options, **arrays)
    blocks = merge_like_blocks(blocks)
    # Scaled by the Jacobian at the start, so that the merit stays one function.
    scale = jax.lax.cond(
        s.counter.iterations == 0,
        lambda: row_scaling(blocks),
        lambda: s.lagrangian.row_scale,
    )
    lagrangian = s.lagrangian._replace(row_scale=scale)
    s = method.step(problem, data, options, s._replace(lagrangian=lagrangian), blocks)
    counter = s.counter._replace(iterations=s.counter.iterations + 1)
    return s._replace(counter=counter)


def solve_from_start(
    problem: ChainProblem,
    data: PyTree,
    x: Float[Array, "T nq"],
    options: Options | Packed,
    multipliers: Float[Array, " N"] | None = None,
) -> Any:
    """Solve from one initial path, and return a `Result`, which may be packed.

    Args:
        problem: the structure of the problem.
        data: its numbers.
        x: the initial path.
        options: of the solver.
        multipliers: those of a similar problem's solution; None: zeros, in another
            program.
    """
    data, options = _deferred_unpack(data), _deferred_unpack(options)
    begin = partial(initial_state, problem, NEWTON)
    state = subprogram(begin, data, x, options, multipliers)
    state = iterate_until_paused(problem, NEWTON, data, state, options)
    return subprogram(extract_result, options, state)


def resume(
    problem: ChainProblem,
    data: PyTree,
    x: Float[Array, "T nq"],
    state: SolverState | Packed,
    is_fresh: bool | Bool[Array, ""],
    options: Options | Packed,
    max_iterations: Number,
    multipliers: Float[Array, " N"] | None = None,
    known_length: int | None = None,
) -> tuple[SolverState | Packed, Any]:
    """Iterate at most `max_iterations` more times, then pause.

    Args:
        problem: the structure of the problem.
        data: its numbers.
        x: the initial path.
        state: the state to go on from, unless `is_fresh`.
        is_fresh: whether to begin from x instead.
        options: of the solver.
        max_iterations: number of iterations until the pause.
        multipliers: see `solve_from_start`.
        known_length: `iterations` of `iterate_until_paused`.

    Returns:
        The packed state, and a `Result`, which may be packed.
    """

    def begin(
        data: PyTree,
        x: jax.Array,
        state: SolverState,
        is_fresh: jax.Array,
        options: Options,
        max_iterations: jax.Array,
        multipliers: jax.Array | None,
    ) -> SolverState:
        initial = initial_state(problem, NEWTON, data, x, options, multipliers)
        state = jax.tree.map(lambda a, b: jnp.where(is_fresh, a, b), initial, state)
        # Selecting between both states keeps one program for fresh and resumed lanes.
        iterations = state.counter.iterations
        pause_at = jnp.minimum(iterations + max_iterations, initial.counter.pause_at)
        counter = Counter(iterations, pause_at.astype(x.dtype))
        return state._replace(counter=counter)

    data, options = _deferred_unpack(data), _deferred_unpack(options)
    state = subprogram(
        begin, data, x, state, is_fresh, options, max_iterations, multipliers
    )
    state = iterate_until_paused(problem, NEWTON, data, state, options, known_length)
    return pack(state), subprogram(extract_result, options, state)


def _deferred_unpack(tree: Any) -> Any:
    """Unpack now, or leave that to the subprograms of a program made of parts."""
    return defer(lambda tree: tree, tree)


compiles_in_parts = operator.attrgetter("is_large")
solve = compile_program(
    solve_from_start, is_large=compiles_in_parts, packs=(1, 3), fetches=True
)
resume_compiled = compile_program(resume, is_large=compiles_in_parts, packs=(1, 5))
