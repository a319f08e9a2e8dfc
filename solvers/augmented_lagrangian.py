"""Augmented Lagrangian with Levenberg–Marquardt Gauss–Newton steps on a chain.

One loop: each pass solves one banded system and evaluates rows and Jacobians once, at
the trial point; multipliers and the penalty are updated whenever the present
subproblem is solved well enough. Bounds are handled by projection: a variable at its
bound that wants to leave is held. Compiled once for each structure of problem.
"""

import operator
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

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
    """Where a solve ended."""

    x: Float[Array, "*batch T nq"]
    y: Float[Array, "*batch N"]
    """Of all rows, in line."""
    multipliers: Float[Array, "*batch N"]
    """Of the Lagrangian Σ φ_sos² + Σ λ φ at x."""
    violation: Float[Array, "*batch"]
    cost: Float[Array, "*batch"]
    iterations: Int[Array, "*batch"]
    status: Int[Array, "*batch"]


def initial_state(
    problem: ChainProblem, data: Any, x: jax.Array, options: Options
) -> SolverState:
    """The state before the first pass, which evaluates x."""
    like = jax.eval_shape(merge_like_blocks, problem.shapes(data, x))
    empty = jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), like)
    number = lambda v: jnp.asarray(v, x.dtype)
    none = number(0.0)
    still = jnp.zeros((len(x), problem.nv), x.dtype)
    return SolverState(
        x=x,
        trial=TrialStep(x, still, none, none, none, none > 0, still > 0, none == 0),
        linearization=tuple(Linearization(r.y, r.J) for r in empty),
        extrapolated=without_extrapolation(empty).extrapolated,
        kind=jnp.zeros(sum(r.y.size for r in empty), np.int32),
        is_correction=none > 0,
        multipliers=concatenate([r.y for r in empty]),
        mu=number(options.mu),
        row_scale=concatenate([jnp.ones_like(r.y) for r in empty]),
        damping=number(options.damping),
        rejected=jnp.zeros((), bool),
        forced_active=jnp.zeros(sum(r.y.size for r in empty), bool),
        clamped_mask=still > 0,
        last_violation=number(jnp.inf),
        stalls=jnp.zeros((), int),
        feasible_iterations=jnp.zeros((), int),
        reference_cost=number(jnp.inf),
        iterations=jnp.zeros((), int),
        pause_at=number(options.max_iterations + 1),
        status=jnp.asarray(int(Status.ITERATION_LIMIT)),
        done=jnp.zeros((), bool),
    )


def iterate_until_paused(
    problem: ChainProblem, data: Any, state: Any, options: Any
) -> Any:
    """As far as a state says."""

    def going(s: Any) -> jax.Array:
        s = unpack(s)
        return ~s.done & (s.iterations < s.pause_at)

    step = partial(_evaluate_and_step, problem, data, options)
    return jax.lax.while_loop(going, step, state)


def extract_result(options: Options, end: SolverState) -> Result:
    """What a state amounts to; INTERRUPTED where there is but a pause."""
    line = FlatResiduals(concatenate([r.y for r in end.linearization]), end.kind)
    pairs = zip(end.linearization, end.extrapolated, strict=True)
    y = concatenate([r.y if m is None else jnp.where(m, 0.0, r.y) for r, m in pairs])
    worst = max_violation(line)
    over = end.status == int(Status.ITERATION_LIMIT)
    over = over | (end.status == int(Status.INFEASIBLE))
    feasible = worst <= 10 * options.tolerance
    status = jnp.where(over & feasible, int(Status.FEASIBLE), end.status)
    ended = end.done | (end.iterations > options.max_iterations)
    status = jnp.where(ended, status, int(Status.INTERRUPTED))
    return Result(
        end.x,
        y,
        update_multipliers(line, end.multipliers, end.penalty),
        worst,
        total_cost(line),
        end.iterations,
        status,
    )


def _evaluate_and_step(problem: ChainProblem, data: Any, options: Any, s: Any) -> Any:
    rows = problem.evaluate(data, defer(lambda s: s.trial.x, s))
    return subprogram(partial(step, problem), data, options, s, rows)


def solve_from_start(
    problem: ChainProblem,
    data: Any,
    x: Float[Array, "T nq"],
    options: Options | Packed,
) -> Any:
    """Solve from one initial path: a `Result`, or that sealed."""
    data, options = _deferred_unpack(data), _deferred_unpack(options)
    state = subprogram(partial(initial_state, problem), data, x, options)
    return subprogram(
        extract_result, options, iterate_until_paused(problem, data, state, options)
    )


def resume(
    problem: ChainProblem,
    data: Any,
    x: Float[Array, "T nq"],
    state: SolverState | Packed,
    fresh: Any,
    options: Options | Packed,
    passes: Number,
) -> tuple[SolverState | Packed, Any]:
    """At most so many passes more: from x where `fresh`, otherwise from a state.

    Gives the state after them, sealed, and a `Result`, which may be so too.
    """

    def resumed(
        data: Any, x: Any, state: SolverState, fresh: Any, options: Options, passes: Any
    ) -> SolverState:
        begin = initial_state(problem, data, x, options)
        state = jax.tree.map(lambda a, b: jnp.where(fresh, a, b), begin, state)
        last = jnp.minimum(state.iterations + passes, begin.pause_at)
        return state._replace(pause_at=last.astype(x.dtype))

    data, options = _deferred_unpack(data), _deferred_unpack(options)
    state = subprogram(resumed, data, x, state, fresh, options, passes)
    state = iterate_until_paused(problem, data, state, options)
    return pack(state), subprogram(extract_result, options, state)


def _deferred_unpack(given: Any) -> Any:
    """Opened, if there are no parts that will do so."""
    return defer(lambda tree: tree, given)


compiles_in_parts = operator.attrgetter("is_large")
solve = compile_program(
    solve_from_start, is_large=compiles_in_parts, packs=(1, 3), fetches=True
)
resume_compiled = compile_program(resume, is_large=compiles_in_parts, packs=(1, 5))
