"""Augmented Lagrangian with Levenberg–Marquardt Gauss–Newton steps on a chain.

One loop: each pass solves one banded system and evaluates rows and Jacobians once, at
the trial point; multipliers and the penalty are updated whenever the present
subproblem is solved well enough. Bounds are handled by projection: a variable at its
bound that wants to leave is held. Compiled once for each structure of problem.
"""

import operator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from .foretold import Foretold, foretold, nothing
from .kernel import Compiled, later, part
from .rows import (
    Line,
    Rows,
    augmented,
    flat,
    in_line,
    met,
    total_cost,
    updated_multiplier,
    worst_violation,
)
from .sealed import Closed, Sealed, opened, seal
from .status import Status
from .system import assemble, columns, newton_step, potential


@runtime_checkable
class ChainProblem(Protocol):
    """A problem over T slices; hashable by its structure, its numbers are in `data`."""

    def __hash__(self) -> int: ...

    @property
    def slices(self) -> int:
        """T."""
        ...

    @property
    def nv(self) -> int:
        """Dimension of the tangent space of a slice."""
        ...

    @property
    def order(self) -> int:
        """How many slices back a window reaches."""
        ...

    @property
    def shared(self) -> tuple[int, ...]:
        """Tangent columns that are one variable for all slices; x agrees there."""
        ...

    @property
    def large(self) -> bool:
        """Whether evaluation is so much code that it is better compiled in parts."""
        ...

    def evaluate(self, data: Any, x: Any) -> Any:
        """All `Rows` with their Jacobians at x; in parts as `kernel.later` has it."""
        ...

    def shapes(self, data: Any, x: Any) -> tuple[Rows, ...]:
        """Shapes and dtypes of the rows; `evaluate` need not be traced for them."""
        ...

    def retract(self, data: Any, x: Any, step: Any) -> Any:
        """x moved along a tangent step, within the bounds."""
        ...

    def share(self, data: Any, x: Any, step: Any) -> Any:
        """How much of a step, at most all, is within the bounds that x is not at."""
        ...

    def blocked(self, data: Any, x: Any, gradient: Any) -> Any:
        """Which tangent directions are held by a bound against the descent."""
        ...


PATIENCE = 8
"""So many feasible passes are given to lower the cost by `progress_tolerance`."""
BENT = 100.0
"""Steps are corrected for the bend of rows that are violated by less than so many
tolerances."""
Number = Any
"""A Python number, or a traced one."""
Array = jax.Array | np.ndarray


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Options:
    """Numbers of the solver; all may be varied without compiling anew."""

    tolerance: Number = 1e-4
    """Largest violation at convergence, in scaled units."""
    step_tolerance: Number = 1e-7
    """A step (max norm) below this ends a subproblem."""
    cost_tolerance: Number = 1e-7
    """A predicted relative decrease below this ends the solve once feasible."""
    inner_tolerance: Number = 1e-2
    """A predicted relative decrease below this ends an infeasible subproblem."""
    progress_tolerance: Number = 2e-3
    """A relative decrease of the cost below this, in eight feasible passes, ends the
    solve."""
    max_step: Number = 0.5
    """Largest change of a coordinate in one step [rad, m]."""
    mu: Number = 0.01
    """Initial penalty."""
    mu_spread: Number = 100.0
    """Every second start begins with so many times that: where one comes from low
    costs, the next one comes from small violations."""
    mu_factor: Number = 32.0
    violation_left: Number = 0.1
    """The penalty rises where a subproblem leaves more than this of the violation."""
    mu_max: Number = 1e8
    damping: Number = 1e-2
    """Initial Levenberg-Marquardt damping, and the least one of a new subproblem."""
    damping_min: Number = 1e-8
    max_iterations: Number = 500


class Proposal(NamedTuple):
    """A step, not yet judged."""

    x: Float[jax.Array, "T nq"]
    step: Float[jax.Array, "T nv"]
    length: Float[jax.Array, ""]
    predicted: Float[jax.Array, ""]
    potential: Float[jax.Array, ""]
    """See `system.potential`."""
    cut: Bool[jax.Array, ""]
    """A bound bends the step."""
    pinned: Bool[jax.Array, "T nv"]
    """Directions in which x is at that bound."""
    solvable: Bool[jax.Array, ""]


class State(NamedTuple):
    """Everything the loop carries."""

    x: Float[jax.Array, "T nq"]
    proposal: Proposal
    rows: tuple[Rows, ...]
    """Lines in place of those that are flat; see `foretold`."""
    mask: tuple[Bool[jax.Array, "n rows"], ...]
    """Of those."""
    tried: Float[jax.Array, " N"]
    """Values at the last trial point."""
    correct: Bool[jax.Array, ""]
    """Whether the proposal is the step there, which was refused, corrected by them."""
    multipliers: Float[jax.Array, " N"]
    """Of all rows, in line."""
    mu: Float[jax.Array, ""]
    damping: Float[jax.Array, ""]
    refused: Bool[jax.Array, ""]
    """Whether the last step was."""
    met: Bool[jax.Array, " N"]
    """Inequalities that steps refused from here ran into."""
    pinned: Bool[jax.Array, "T nv"]
    """Directions in which they left bounds that x is at."""
    last_violation: Float[jax.Array, ""]
    stalls: Int[jax.Array, ""]
    patience: Int[jax.Array, ""]
    """Feasible passes since `cost` was noted."""
    cost: Float[jax.Array, ""]
    iterations: Int[jax.Array, ""]
    last: Float[jax.Array, ""]
    """Of iterations, before there is a pause."""
    status: Int[jax.Array, ""]
    done: Bool[jax.Array, ""]


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
    like = problem.shapes(data, x)
    empty = jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), like)
    number = lambda v: jnp.asarray(v, x.dtype)
    none = number(0.0)
    still = jnp.zeros((len(x), like[0].J.shape[-1]), x.dtype)
    return State(
        x=x,
        proposal=Proposal(x, still, none, none, none, none > 0, still > 0, none == 0),
        rows=empty,
        mask=nothing(empty).mask,
        tried=flat([r.y for r in empty]),
        correct=none > 0,
        multipliers=flat([r.y for r in empty]),
        mu=number(options.mu),
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
    line = in_line(end.rows)
    y = jnp.where(flat(end.mask), 0.0, line.y)
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
        updated_multiplier(line, end.multipliers, end.mu),
        worst,
        total_cost(line),
        end.iterations,
        status,
    )


def _step(problem: ChainProblem, data: Any, options: Any, s: Any) -> Any:
    rows = problem.evaluate(data, later(lambda s: s.proposal.x, s))
    return part(partial(_turn, problem), data, options, s, rows)


def _turn(
    problem: ChainProblem,
    data: Any,
    options: Options,
    s: State,
    rows: tuple[Rows, ...],
) -> State:
    """The state after the proposal has been judged, with the next one."""
    numbers: Any = {k: jnp.asarray(v, s.x.dtype) for k, v in vars(options).items()}
    options = replace(options, **numbers)
    s = _judge(options, s, rows)
    return s._replace(proposal=_propose(problem, data, options, s))


def _propose(problem: ChainProblem, data: Any, options: Options, s: State) -> Proposal:
    line = in_line(s.rows)
    # second-order correction (Fletcher 1982): a step from the trial point, by what is
    # known here of derivatives
    there = line._replace(y=jnp.where(s.correct, s.tried, line.y))
    # a step that was refused stops short of what it ran into, instead of being damped
    weights = augmented(there, s.multipliers, s.mu, s.met)
    short = jnp.minimum(line.y + s.multipliers / (2 * s.mu), 0.0)
    lead = s.mu * jnp.sum(jnp.where(s.met, short**2, 0.0))
    parts = columns(problem.nv, problem.shared)
    system = assemble(s.rows, weights, problem.slices, problem.order, parts)
    pull = jnp.where(s.correct, s.damping, 0.0) * s.proposal.step
    system = system._replace(gradient=system.gradient + pull)
    held = problem.blocked(data, s.x, system.gradient) | s.pinned
    delta, predicted = newton_step(system, held, s.damping, parts)
    predicted = jnp.where(s.correct, s.proposal.predicted, predicted - lead)
    delta = delta + jnp.where(s.correct, s.proposal.step, 0.0)
    length = jnp.max(jnp.abs(delta), initial=0.0)
    shrink = jnp.minimum(1.0, options.max_step / jnp.maximum(length, 1e-30))
    solvable = jnp.isfinite(length)
    delta = jnp.where(solvable, delta * shrink, 0.0)
    share = problem.share(data, s.x, delta)
    pinned = problem.blocked(data, s.x, -delta) & ~held
    cut = ((share < 1) & ~s.refused) | jnp.any(pinned)
    # a bent step is no descent for sure: after a refusal one ends at the first bound
    delta = jnp.where(s.refused, share, 1.0) * delta

    able = potential(system, held, parts)
    able = jnp.where(s.correct, s.proposal.potential, able)
    x = problem.retract(data, s.x, delta)
    return Proposal(x, delta, length, predicted, able, cut, pinned, solvable)


def _judge(options: Options, s: State, rows: tuple[Rows, ...]) -> State:
    proposal = s.proposal
    length, predicted, solvable = proposal.length, proposal.predicted, proposal.solvable
    first = s.iterations == 0
    old, new = foretold(Foretold(s.rows, s.mask), rows, proposal.step)
    before, line = in_line(old.rows), in_line(new.rows)
    merit = jnp.sum(augmented(before, s.multipliers, s.mu).merit)
    after = jnp.sum(augmented(line, s.multipliers, s.mu).merit)
    finite = jnp.isfinite(after) & _finite(rows)
    accepted = first | (solvable & finite & (after <= merit))
    broken = first & ~finite

    x = jnp.where(accepted & ~broken, proposal.x, s.x)
    kept = jax.tree.map(lambda a, b: jnp.where(accepted, a, b), new, old)
    ahead = met(before, line, s.multipliers, s.mu) & ~s.met
    ahead = ahead & solvable & finite
    # what it was to stop at, but did not reach, is let go
    more = jnp.any(ahead)
    reached = s.met & (more | (line.y > -s.multipliers / (2 * s.mu)))
    seen = more | (proposal.cut & finite)
    tried = line.y
    correct = ~accepted & solvable & finite & ~seen & ~s.correct & ~jnp.any(s.met)
    correct = correct & (worst_violation(before) <= BENT * options.tolerance)
    line = Line(jnp.where(accepted, line.y, before.y), line.kind)
    good = accepted & ~first & (merit - after > 0.25 * predicted)
    steepness = predicted / jnp.maximum(jnp.sum(proposal.step**2), 1e-30)
    damping = jnp.where(
        accepted,
        jnp.where(good, s.damping * 0.2, s.damping * 2.0),
        jnp.where(seen | correct, s.damping, jnp.maximum(10 * s.damping, steepness)),
    )
    damping = jnp.where(first, s.damping, damping)

    worst = worst_violation(line)
    holds = worst <= options.tolerance
    enough = jnp.where(holds, options.cost_tolerance, options.inner_tolerance)
    tiny = (length < options.step_tolerance) | (
        predicted < enough * (1e-3 + jnp.abs(merit))
    )
    stuck = ~accepted & (s.damping > 1e10)
    # where constraints hold, a step may not be short for the damping's sake
    level = proposal.potential < 10 * enough * (1e-3 + jnp.abs(merit))
    still = ~holds | level
    # nor where they are far from it, for the damping that follows a refusal
    hampered = s.refused & (worst > 10 * options.tolerance)
    hampered = hampered | jnp.any(s.met) | jnp.any(s.pinned)
    gained = merit - after > 1e-3 * enough * (1e-3 + jnp.abs(merit))
    still = still & ~(hampered & gained)
    solved = ~first & ((accepted & tiny & still) | stuck)
    slow = worst > options.violation_left * s.last_violation
    converged = solved & holds & ~stuck
    stalls = jnp.where(
        solved & (worst > 0.9 * s.last_violation), s.stalls + 1, s.stalls * ~solved
    )
    at_limit = s.mu >= options.mu_max
    infeasible = solved & ~holds & (stalls >= 2) & at_limit
    updated = updated_multiplier(line, s.multipliers, s.mu)
    multipliers = jnp.where(solved & ~holds, updated, s.multipliers)
    mu = jnp.where(
        solved & slow, jnp.minimum(s.mu * options.mu_factor, options.mu_max), s.mu
    )
    cost, noted = total_cost(line), holds & (s.patience > 0)
    patience = jnp.where(holds, s.patience + 1, 0)
    over = noted & (patience > PATIENCE)
    idle = over & (s.cost - cost < options.progress_tolerance * (1e-3 + cost))
    idle = idle & ~level
    idle = holds & ((idle & ~converged) | stuck)
    status = jnp.where(converged, int(Status.CONVERGED), s.status)
    status = jnp.where(idle, int(Status.FEASIBLE), status)
    status = jnp.where(infeasible, int(Status.INFEASIBLE), status)
    status = jnp.where(broken, int(Status.BAD_INPUT), status)
    return s._replace(
        x=x,
        rows=kept.rows,
        mask=kept.mask,
        tried=tried,
        correct=correct,
        multipliers=multipliers,
        mu=mu,
        damping=jnp.clip(
            damping, jnp.where(solved, options.damping, options.damping_min), 1e12
        ),
        refused=~accepted,
        met=jnp.where(accepted, False, reached | ahead),
        pinned=jnp.where(accepted, False, s.pinned | proposal.pinned),
        last_violation=jnp.where(solved, worst, s.last_violation),
        stalls=stalls,
        patience=jnp.where(over, 1, patience),
        cost=jnp.where(over | ~noted, cost, s.cost),
        iterations=s.iterations + 1,
        status=status,
        done=converged | idle | infeasible | broken,
    )


def _finite(rows: tuple[Rows, ...]) -> jax.Array:
    ok = jnp.ones((), bool)
    for r in rows:
        ok = ok & jnp.isfinite(r.y).all() & jnp.isfinite(r.J).all()
    return ok


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
