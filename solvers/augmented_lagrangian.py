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

from posewise.compilation.packed_pytree import Closed, Sealed, opened, seal
from posewise.compilation.single_kernel import Compiled, later, part

from .chain_problem import ChainProblem
from .inactive_linearization import nothing
from .iteration import turn
from .options import Number, Options
from .residuals import (
    Line,
    flat,
    joined,
    total_cost,
    updated_multiplier,
    worst_violation,
)
from .state import Known, Proposal, State
from .status import Status

Array = jax.Array | np.ndarray


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


def start(problem: ChainProblem, data: Any, x: jax.Array, options: Options) -> State:
    """The state before the first pass, which evaluates x."""
    like = jax.eval_shape(joined, problem.shapes(data, x))
    empty = jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), like)
    number = lambda v: jnp.asarray(v, x.dtype)
    none = number(0.0)
    still = jnp.zeros((len(x), problem.nv), x.dtype)
    return State(
        x=x,
        proposal=Proposal(x, still, none, none, none, none > 0, still > 0, none == 0),
        rows=tuple(Known(r.y, r.J) for r in empty),
        mask=nothing(empty).mask,
        kind=jnp.zeros(sum(r.y.size for r in empty), np.int32),
        correct=none > 0,
        multipliers=flat([r.y for r in empty]),
        mu=number(options.mu),
        share=flat([jnp.ones_like(r.y) for r in empty]),
        damping=number(options.damping),
        refused=jnp.zeros((), bool),
        met=jnp.zeros(sum(r.y.size for r in empty), bool),
        pinned=still > 0,
        last_violation=number(jnp.inf),
        stalls=jnp.zeros((), int),
        patience=jnp.zeros((), int),
        cost=number(jnp.inf),
        iterations=jnp.zeros((), int),
        last=number(options.max_iterations + 1),
        status=jnp.asarray(int(Status.ITERATION_LIMIT)),
        done=jnp.zeros((), bool),
    )


def advance(problem: ChainProblem, data: Any, state: Any, options: Any) -> Any:
    """As far as a state says."""

    def going(s: Any) -> jax.Array:
        s = opened(s)
        return ~s.done & (s.iterations < s.last)

    step = partial(_step, problem, data, options)
    return jax.lax.while_loop(going, step, state)


def result(options: Options, end: State) -> Result:
    """What a state amounts to; INTERRUPTED where there is but a pause."""
    line = Line(flat([r.y for r in end.rows]), end.kind)
    pairs = zip(end.rows, end.mask, strict=True)
    y = flat([r.y if m is None else jnp.where(m, 0.0, r.y) for r, m in pairs])
    worst = worst_violation(line)
    over = end.status == int(Status.ITERATION_LIMIT)
    over = over | (end.status == int(Status.INFEASIBLE))
    feasible = worst <= 10 * options.tolerance
    status = jnp.where(over & feasible, int(Status.FEASIBLE), end.status)
    ended = end.done | (end.iterations > options.max_iterations)
    status = jnp.where(ended, status, int(Status.INTERRUPTED))
    return Result(
        end.x,
        y,
        updated_multiplier(line, end.multipliers, end.penalty),
        worst,
        total_cost(line),
        end.iterations,
        status,
    )


def _step(problem: ChainProblem, data: Any, options: Any, s: Any) -> Any:
    rows = problem.evaluate(data, later(lambda s: s.proposal.x, s))
    return part(partial(turn, problem), data, options, s, rows)


def from_start(
    problem: ChainProblem,
    data: Any,
    x: Float[Array, "T nq"],
    options: Options | Closed,
) -> Any:
    """Solve from one initial path: a `Result`, or that sealed."""
    data, options = _at_hand(data), _at_hand(options)
    state = part(partial(start, problem), data, x, options)
    return part(result, options, advance(problem, data, state, options))


def onwards(
    problem: ChainProblem,
    data: Any,
    x: Float[Array, "T nq"],
    state: State | Closed,
    fresh: Any,
    options: Options | Closed,
    passes: Number,
) -> tuple[Sealed, Any]:
    """At most so many passes more: from x where `fresh`, otherwise from a state.

    Gives the state after them, sealed, and a `Result`, which may be so too.
    """

    def resumed(
        data: Any, x: Any, state: State, fresh: Any, options: Options, passes: Any
    ) -> State:
        begin = start(problem, data, x, options)
        state = jax.tree.map(lambda a, b: jnp.where(fresh, a, b), begin, state)
        last = jnp.minimum(state.iterations + passes, begin.last)
        return state._replace(last=last.astype(x.dtype))

    data, options = _at_hand(data), _at_hand(options)
    state = part(resumed, data, x, state, fresh, options, passes)
    state = advance(problem, data, state, options)
    return seal(state), part(result, options, state)


def _at_hand(given: Any) -> Any:
    """Opened, if there are no parts that will do so."""
    return later(lambda tree: tree, given)


large = operator.attrgetter("large")
solve = Compiled(from_start, large=large, seals=(1, 3), fetches=True)
some = Compiled(onwards, large=large, seals=(1, 5))
