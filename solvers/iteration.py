"""One pass of the solver: a trial point is judged, and the next one is chosen.

A Levenberg-Marquardt step for the augmented Lagrangian. Where one is refused, the next
tells why: an inequality that it ran into, a bound that bent it, the bend of the rows;
only else is it damped.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Bool, Float, Int

from .chain_problem import ChainProblem
from .foretold import Foretold, foreseen, foretold
from .options import Options
from .rows import (
    Line,
    Rows,
    augmented,
    flat,
    in_line,
    joined,
    met,
    pushes,
    total_cost,
    updated_multiplier,
    violation,
    worst_violation,
)
from .status import Status
from .system import assemble, columns, newton_step, potential

PATIENCE = 8
"""So many feasible passes are given to lower the cost by `progress_tolerance`."""
LAST_PATIENCE = 96
"""After so many in a row that counts even where convergence seems near."""
HELPED = 0.6
"""Subproblems end untried where violations are less than so much of what the last left.
"""
FORESEEN = 2
"""So many inequalities that a step is to run into are minded before it is tried."""
BENT = 100.0
"""Steps are corrected for the bend of rows that are violated by less than so many
tolerances."""


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
    """Feasible passes in a row."""
    cost: Float[jax.Array, ""]
    """Noted at the first of them, then every `PATIENCE`."""
    iterations: Int[jax.Array, ""]
    last: Float[jax.Array, ""]
    """Of iterations, before there is a pause."""
    status: Int[jax.Array, ""]
    done: Bool[jax.Array, ""]


def turn(
    problem: ChainProblem,
    data: Any,
    options: Options,
    s: State,
    rows: tuple[Rows, ...],
) -> State:
    """The state after the proposal has been judged, with the next one."""
    numbers: Any = {k: jnp.asarray(v, s.x.dtype) for k, v in vars(options).items()}
    options = replace(options, **numbers)
    s, merit, worst, solved = _judge(options, s, joined(rows))
    line = in_line(s.rows)

    def propose(c: _Proposing) -> _Proposing:
        s = _ended(options, c.state, line, worst, c.solved)
        s = s._replace(proposal=_propose(problem, data, options, s, line))
        # once more where the step is not worth a trial
        settled = _settled(options, s, line, worst) & ~c.settled
        # and where it is to be refused for inequalities that it runs into
        after = foreseen(s.rows, line, s.proposal.step)
        push = jnp.where(s.met, 0.0, pushes(line, after, s.multipliers, s.mu))
        refused = s.mu * jnp.sum(push**2) > s.proposal.predicted
        refused = refused & ~s.correct & ~settled & (c.count < FORESEEN)
        ahead = refused & (push > 0) & (push == jnp.max(push, initial=0.0))
        again = settled | jnp.any(ahead)
        s = s._replace(met=s.met | ahead)
        return _Proposing(s, settled, c.settled | settled, c.count + 1, again)

    none = jnp.zeros((), bool)
    begin = _Proposing(s, solved, none, jnp.zeros((), int), ~none)
    s = jax.lax.while_loop(lambda c: c.again, propose, begin).state
    enough = options.cost_tolerance * _size(merit)
    rests = _tiny(options, s.proposal, enough) & _level(s.proposal, enough)
    rests = rests & _plain(s) & (worst <= options.tolerance)
    status = jnp.where(rests, int(Status.CONVERGED), s.status)
    return s._replace(status=status, done=s.done | rests)


class _Proposing(NamedTuple):
    """What the search for a step carries."""

    state: State
    solved: Bool[jax.Array, ""]
    """Whether the subproblem is."""
    settled: Bool[jax.Array, ""]
    """Whether one has ended untried."""
    count: Int[jax.Array, ""]
    again: Bool[jax.Array, ""]


def _tiny(options: Options, p: Proposal, enough: jax.Array) -> jax.Array:
    """Whether a step gains next to nothing."""
    return (p.length < options.step_tolerance) | (p.predicted < enough)


def _level(p: Proposal, enough: jax.Array) -> jax.Array:
    """Whether an undamped one would gain little more than that."""
    return p.potential < 10 * enough


def _size(merit: jax.Array) -> jax.Array:
    return 1e-3 + jnp.abs(merit)


def _plain(s: State) -> jax.Array:
    """Whether the proposal is a step of the rows as they are, from a point taken."""
    known = ~s.refused & ~s.correct & ~jnp.any(flat(s.mask))
    return s.proposal.solvable & known & ~s.done


def _settled(options: Options, s: State, line: Line, worst: jax.Array) -> jax.Array:
    """Whether a step can do little about what the penalty is for."""
    p, beyond = s.proposal, violation(line)
    # larger penalties have to help: near infeasible points they do not
    helped = worst < HELPED * s.last_violation
    violated = (worst > options.tolerance) & helped
    least = options.untried * options.inner_tolerance * s.mu * jnp.sum(beyond**2)
    return _plain(s) & violated & (p.predicted < least)


def _ended(
    options: Options, s: State, line: Line, worst: jax.Array, solved: jax.Array
) -> State:
    """The next subproblem, where one is solved."""
    unmet = solved & (worst > options.tolerance)
    slow = worst > options.violation_left * s.last_violation
    stalls = jnp.where(worst > 0.9 * s.last_violation, s.stalls + 1, 0)
    infeasible = unmet & (stalls >= 2) & (s.mu >= options.mu_max)
    updated = updated_multiplier(line, s.multipliers, s.mu)
    raised = jnp.minimum(s.mu * options.mu_factor, options.mu_max)
    return s._replace(
        multipliers=jnp.where(unmet, updated, s.multipliers),
        mu=jnp.where(unmet & slow, raised, s.mu),
        damping=jnp.where(solved, jnp.maximum(s.damping, options.damping), s.damping),
        last_violation=jnp.where(solved, worst, s.last_violation),
        stalls=jnp.where(solved, stalls, s.stalls),
        status=jnp.where(infeasible, int(Status.INFEASIBLE), s.status),
        done=s.done | infeasible,
    )


def _propose(
    problem: ChainProblem, data: Any, options: Options, s: State, line: Line
) -> Proposal:
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


def _judge(
    options: Options, s: State, rows: tuple[Rows, ...]
) -> tuple[State, jax.Array, jax.Array, jax.Array]:
    """With the proposal accepted or not.

    And what is minimised there, the largest violation, and whether the subproblem is
    solved.
    """
    proposal = s.proposal
    predicted, solvable = proposal.predicted, proposal.solvable
    first = s.iterations == 0
    old, new = foretold(Foretold(s.rows, s.mask), rows, proposal.step)
    before, line = in_line(old.rows), in_line(new.rows)
    both = Line(jnp.stack([before.y, line.y]), line.kind)
    merit, after = jnp.sum(augmented(both, s.multipliers, s.mu).merit, -1)
    worst_before, worst_after = worst_violation(both)
    cost_before, cost_after = total_cost(both)
    finite = jnp.isfinite(after) & _finite(rows, line)
    accepted = first | (solvable & finite & (after <= merit))
    broken = first & ~finite

    x = jnp.where(accepted & ~broken, proposal.x, s.x)
    either = lambda a, b: jnp.where(accepted, a, b)
    kept = tuple(map(partial(_either, either), new.rows, old.rows))
    ahead = met(before, line, s.multipliers, s.mu) & ~s.met
    ahead = ahead & solvable & finite
    # what it was to stop at, but did not reach, is let go
    more = jnp.any(ahead)
    reached = s.met & (more | (line.y > -s.multipliers / (2 * s.mu)))
    seen = more | (proposal.cut & finite)
    tried = line.y
    correct = ~accepted & solvable & finite & ~seen & ~s.correct & ~jnp.any(s.met)
    correct = correct & (worst_before <= BENT * options.tolerance)
    good = accepted & ~first & (merit - after > 0.25 * predicted)
    steepness = predicted / jnp.maximum(jnp.sum(proposal.step**2), 1e-30)
    damping = jnp.where(
        accepted,
        jnp.where(good, s.damping * 0.2, s.damping * 2.0),
        jnp.where(seen | correct, s.damping, jnp.maximum(10 * s.damping, steepness)),
    )
    damping = jnp.where(first, s.damping, damping)

    worst = jnp.where(accepted, worst_after, worst_before)
    holds = worst <= options.tolerance
    enough = jnp.where(holds, options.cost_tolerance, options.inner_tolerance)
    enough = enough * _size(merit)
    tiny = _tiny(options, proposal, enough)
    stuck = ~accepted & (s.damping > 1e10)
    # where constraints hold, a step may not be short for the damping's sake
    level = _level(proposal, enough)
    still = ~holds | level
    # nor where they are far from it, for the damping that follows a refusal
    hampered = s.refused & (worst > 10 * options.tolerance)
    hampered = hampered | jnp.any(s.met) | jnp.any(s.pinned)
    gained = merit - after > 1e-3 * enough
    still = still & ~(hampered & gained)
    solved = ~first & ((accepted & tiny & still) | stuck)
    converged = solved & holds & ~stuck
    cost = jnp.where(accepted, cost_after, cost_before)
    noted = holds & (s.patience > 0)
    patience = jnp.where(holds, s.patience + 1, 0)
    over = noted & ((patience - 1) % PATIENCE == 0)
    idle = over & (s.cost - cost < options.progress_tolerance * (1e-3 + cost))
    idle = idle & (~level | (patience > LAST_PATIENCE))
    idle = holds & ((idle & ~converged) | stuck)
    status = jnp.where(converged, int(Status.CONVERGED), s.status)
    status = jnp.where(idle, int(Status.FEASIBLE), status)
    status = jnp.where(broken, int(Status.BAD_INPUT), status)
    judged = s._replace(
        x=x,
        rows=kept,
        mask=jax.tree.map(either, new.mask, old.mask),
        tried=tried,
        correct=correct,
        damping=jnp.clip(damping, options.damping_min, 1e12),
        refused=~accepted,
        met=jnp.where(accepted, False, reached | ahead),
        pinned=jnp.where(accepted, False, s.pinned | proposal.pinned),
        patience=patience,
        cost=jnp.where(over | ~noted, cost, s.cost),
        iterations=s.iterations + 1,
        status=status,
        done=converged | idle | broken,
    )
    return judged, jnp.where(accepted, after, merit), worst, solved


def _either(either: Callable[[Any, Any], Any], new: Rows, old: Rows) -> Rows:
    return new._replace(y=either(new.y, old.y), J=either(new.J, old.J))


def _finite(rows: tuple[Rows, ...], line: Line) -> jax.Array:
    ok = jnp.isfinite(line.y).all()
    for r in rows:
        ok = ok & jnp.isfinite(r.J).all()
    return ok
