"""Augmented Lagrangian with Levenberg–Marquardt Gauss–Newton steps on a chain.

One loop: each iteration solves one banded system and evaluates rows and Jacobians once,
at the trial point; multipliers and the penalty are updated whenever the subproblem is
solved well enough. Bounds are handled by projection: a variable at its bound that
descent would push outwards is fixed. One program is compiled for each structure of
problem.
"""

import operator
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
from .inactive_linearization import without_extrapolation
from .iteration import step
from .options import Number, Options
from .residuals import (
    FlatResiduals,
    concatenate,
    max_violation,
    merge_like_blocks,
    total_cost,
    update_multipliers,
)
from .state import Linearization, SolverState, TrialStep
from .status import Status


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
    iterations: Int[Array, "*batch"]
    """Number of evaluated points."""
    status: Int[Array, "*batch"]
    """A `Status`."""


def initial_state(
    problem: ChainProblem, data: PyTree, x: jax.Array, options: Options
) -> SolverState:
    """Return the state before the first iteration, which evaluates x."""
    # Only shapes matter: the first iteration accepts x and replaces all arrays.
    shapes = jax.eval_shape(merge_like_blocks, problem.shapes(data, x))
    blocks = jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), shapes)
    rows = sum(b.y.size for b in blocks)

    def scalar(value: Any) -> jax.Array:
        return jnp.asarray(value, x.dtype)

    zero, false, zero_count = scalar(0.0), jnp.zeros((), bool), jnp.zeros((), int)
    no_step = jnp.zeros((len(x), problem.nv), x.dtype)
    trial = TrialStep(
        x,
        no_step,
        step_norm=zero,
        predicted_decrease=zero,
        diagonal_decrease=zero,
        is_clipped=false,
        clamped_mask=no_step > 0,
        is_solvable=~false,
    )
    return SolverState(
        x=x,
        trial=trial,
        linearization=tuple(Linearization(b.y, b.J) for b in blocks),
        extrapolated=without_extrapolation(blocks).extrapolated,
        kind=jnp.zeros(rows, np.int32),
        is_correction=false,
        multipliers=concatenate([b.y for b in blocks]),
        mu=scalar(options.mu),
        row_scale=concatenate([jnp.ones_like(b.y) for b in blocks]),
        damping=scalar(options.damping),
        rejected=false,
        forced_active=jnp.zeros(rows, bool),
        clamped_mask=no_step > 0,
        last_violation=scalar(jnp.inf),
        stalls=zero_count,
        feasible_iterations=zero_count,
        reference_cost=scalar(jnp.inf),
        iterations=zero_count,
        pause_at=scalar(options.max_iterations + 1),
        status=jnp.asarray(int(Status.ITERATION_LIMIT)),
        done=false,
    )


def iterate_until_paused(
    problem: ChainProblem,
    data: PyTree,
    state: SolverState | Packed,
    options: Options | Packed,
) -> Any:
    """Iterate until the solve is done or the state's `pause_at` is reached."""

    def goes_on(state: Any) -> jax.Array:
        s = unpack(state)
        return ~s.done & (s.iterations < s.pause_at)

    # The one call of `evaluate` in the program is inside of this loop: features are
    # most of its code, and each further call would be compiled again.
    body = partial(_evaluate_and_step, problem, data, options)
    return jax.lax.while_loop(goes_on, body, state)


def extract_result(options: Options, s: SolverState) -> Result:
    """Return the result of a state, INTERRUPTED if the loop is only paused."""
    residuals = FlatResiduals(concatenate([b.y for b in s.linearization]), s.kind)
    # Extrapolated rows are negative for the solver; the features themselves are zero.
    pairs = zip(s.linearization, s.extrapolated, strict=True)
    y = concatenate([b.y if m is None else jnp.where(m, 0.0, b.y) for b, m in pairs])
    violation = max_violation(residuals)
    is_unsolved = s.status == int(Status.ITERATION_LIMIT)
    is_unsolved = is_unsolved | (s.status == int(Status.INFEASIBLE))
    # The solver's tolerance is a tenth of that of solutions; see `KOMO.solve`.
    is_feasible = violation <= 10 * options.tolerance
    status = jnp.where(is_unsolved & is_feasible, int(Status.FEASIBLE), s.status)
    has_ended = s.done | (s.iterations > options.max_iterations)
    status = jnp.where(has_ended, status, int(Status.INTERRUPTED))
    return Result(
        s.x,
        y,
        update_multipliers(residuals, s.multipliers, s.penalty),
        violation,
        total_cost(residuals),
        s.iterations,
        status,
    )


def _evaluate_and_step(problem: ChainProblem, data: Any, options: Any, s: Any) -> Any:
    blocks = problem.evaluate(data, defer(lambda s: s.trial.x, s))
    return subprogram(partial(step, problem), data, options, s, blocks)


def solve_from_start(
    problem: ChainProblem,
    data: PyTree,
    x: Float[Array, "T nq"],
    options: Options | Packed,
) -> Any:
    """Solve from one initial path, and return a `Result`, which may be packed."""
    data, options = _deferred_unpack(data), _deferred_unpack(options)
    state = subprogram(partial(initial_state, problem), data, x, options)
    state = iterate_until_paused(problem, data, state, options)
    return subprogram(extract_result, options, state)


def resume(
    problem: ChainProblem,
    data: PyTree,
    x: Float[Array, "T nq"],
    state: SolverState | Packed,
    is_fresh: bool | Bool[Array, ""],
    options: Options | Packed,
    max_iterations: Number,
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

    Returns:
        The packed state, and a `Result`, which may be packed.
    """

    def begin(
        data: Any,
        x: Any,
        state: SolverState,
        is_fresh: Any,
        options: Options,
        max_iterations: Any,
    ) -> SolverState:
        initial = initial_state(problem, data, x, options)
        state = jax.tree.map(lambda a, b: jnp.where(is_fresh, a, b), initial, state)
        # Selecting between both states keeps one program for fresh and resumed lanes.
        pause_at = jnp.minimum(state.iterations + max_iterations, initial.pause_at)
        return state._replace(pause_at=pause_at.astype(x.dtype))

    data, options = _deferred_unpack(data), _deferred_unpack(options)
    state = subprogram(begin, data, x, state, is_fresh, options, max_iterations)
    state = iterate_until_paused(problem, data, state, options)
    return pack(state), subprogram(extract_result, options, state)


def _deferred_unpack(tree: Any) -> Any:
    """Unpack now, or leave that to the subprograms of a program made of parts."""
    return defer(lambda tree: tree, tree)


compiles_in_parts = operator.attrgetter("is_large")
solve = compile_program(
    solve_from_start, is_large=compiles_in_parts, packs=(1, 3), fetches=True
)
resume_compiled = compile_program(resume, is_large=compiles_in_parts, packs=(1, 5))
