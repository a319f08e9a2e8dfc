"""Whether a trial point is taken, how the next step is bent, and what has ended."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from .inactive_linearization import ExtrapolatedRows, extrapolate_inactive
from .options import Options
from .residuals import (
    FlatResiduals,
    ResidualBlock,
    augmented_lagrangian_terms,
    flatten,
    max_violation,
    newly_active,
    row_scaling,
    total_cost,
)
from .state import (
    Linearization,
    SolverState,
    model_is_flat,
    relative_scale,
    step_is_negligible,
)
from .status import Status

MAX_DAMPING_GROWTH = 100.0
"""Damping grows by at most so much for what one step missed."""
STALL_WINDOW = 8
"""So many feasible passes are given to lower the cost by `progress_tolerance`."""
MAX_FEASIBLE_ITERATIONS = 96
"""After so many in a row that counts even where convergence seems near."""
SOC_MAX_VIOLATION = 100.0
"""Steps are corrected for the bend of rows that are violated by less than so many
tolerances."""


class TrialOutcome(NamedTuple):
    """A state, with its proposal accepted or not."""

    state: SolverState
    rows: tuple[ResidualBlock, ...]
    """Where it is now."""
    tried: Float[jax.Array, " N"]
    """Values at the trial point."""
    merit: Float[jax.Array, ""]
    """What is minimised, where it is now."""
    violation: Float[jax.Array, ""]
    """The largest violation there."""
    solved: Bool[jax.Array, ""]
    """Whether the subproblem is."""


def evaluate_trial(
    options: Options, s: SolverState, rows: tuple[ResidualBlock, ...]
) -> TrialOutcome:
    """What becomes of a proposal.

    Args:
        options: with traced numbers.
        s: the state that made it.
        rows: those at the trial point.
    """
    proposal = s.trial
    predicted, solvable = proposal.predicted_decrease, proposal.is_solvable
    first = s.iterations == 0
    pairs = zip(rows, s.linearization, strict=True)
    earlier = tuple(r._replace(y=known.y, J=known.J) for r, known in pairs)
    old, new = extrapolate_inactive(
        ExtrapolatedRows(earlier, s.extrapolated), rows, proposal.step
    )
    s = s._replace(row_scale=jnp.where(first, row_scaling(rows), s.row_scale))
    before, line = flatten(old.blocks), flatten(new.blocks)
    both = FlatResiduals(jnp.stack([before.y, line.y]), line.kind)
    merit, after = jnp.sum(
        augmented_lagrangian_terms(both, s.multipliers, s.penalty).merit, -1
    )
    worst_before, worst_after = max_violation(both)
    cost_before, cost_after = total_cost(both)
    finite = jnp.isfinite(after) & _all_finite(rows, line)
    accepted = first | (solvable & finite & (after <= merit))
    broken = first & ~finite

    x = jnp.where(accepted & ~broken, proposal.x, s.x)
    either = lambda a, b: jnp.where(accepted, a, b)
    kept = tuple(map(partial(_select_block, either), new.blocks, old.blocks))
    ahead = newly_active(before, line, s.multipliers, s.penalty) & ~s.forced_active
    ahead = ahead & solvable & finite
    # what it was to stop at, but did not reach, is let go
    more = jnp.any(ahead)
    reached = s.forced_active & (more | (line.y > -s.multipliers / (2 * s.penalty)))
    seen = more | (proposal.is_clipped & finite)
    correct = (
        ~accepted
        & solvable
        & finite
        & ~seen
        & ~s.is_correction
        & ~jnp.any(s.forced_active)
    )
    correct = correct & (worst_before <= SOC_MAX_VIOLATION * options.tolerance)
    good = accepted & ~first & (merit - after > 0.25 * predicted)
    # what stiffness the system lacks, if the value is as bent all along the step
    square = jnp.maximum(jnp.sum(proposal.step**2), 1e-30)
    missed = 2 * (jnp.where(finite, after - merit, 0.0) + predicted) / square
    stiffer = jnp.clip(missed, 10 * s.damping, MAX_DAMPING_GROWTH * s.damping)
    stiffer = jnp.maximum(stiffer, predicted / square)
    damping = jnp.where(
        accepted,
        jnp.where(good, s.damping * 0.2, s.damping * 2.0),
        jnp.where(seen | correct, s.damping, stiffer),
    )
    damping = jnp.where(first, s.damping, damping)

    worst = jnp.where(accepted, worst_after, worst_before)
    holds = worst <= options.tolerance
    enough = jnp.where(holds, options.cost_tolerance, options.inner_tolerance)
    enough = enough * relative_scale(merit)
    small = step_is_negligible(options, proposal, enough)
    stuck = ~accepted & (s.damping > 1e10)
    # where constraints hold, a step may not be short for the damping's sake
    flat = model_is_flat(proposal, enough)
    still = ~holds | flat
    # nor where they are far from it, for the damping that follows a refusal
    hampered = s.rejected & (worst > 10 * options.tolerance)
    hampered = hampered | jnp.any(s.forced_active) | jnp.any(s.clamped_mask)
    gained = merit - after > 1e-3 * enough
    still = still & ~(hampered & gained)
    solved = ~first & ((accepted & small & still) | stuck)
    converged = solved & holds & ~stuck
    cost = jnp.where(accepted, cost_after, cost_before)
    noted = holds & (s.feasible_iterations > 0)
    patience = jnp.where(holds, s.feasible_iterations + 1, 0)
    over = noted & ((patience - 1) % STALL_WINDOW == 0)
    idle = over & (s.reference_cost - cost < options.progress_tolerance * (1e-3 + cost))
    idle = idle & (~flat | (patience > MAX_FEASIBLE_ITERATIONS))
    idle = holds & ((idle & ~converged) | stuck)
    status = jnp.where(converged, int(Status.CONVERGED), s.status)
    status = jnp.where(idle, int(Status.FEASIBLE), status)
    status = jnp.where(broken, int(Status.BAD_INPUT), status)
    judged = s._replace(
        x=x,
        linearization=tuple(Linearization(r.y, r.J) for r in kept),
        kind=line.kind.astype(np.int32),
        extrapolated=jax.tree.map(either, new.extrapolated, old.extrapolated),
        is_correction=correct,
        damping=jnp.clip(damping, options.damping_min, 1e12),
        rejected=~accepted,
        forced_active=jnp.where(accepted, False, reached | ahead),
        clamped_mask=jnp.where(accepted, False, s.clamped_mask | proposal.clamped_mask),
        feasible_iterations=patience,
        reference_cost=jnp.where(over | ~noted, cost, s.reference_cost),
        iterations=s.iterations + 1,
        status=status,
        done=converged | idle | broken,
    )
    merit = jnp.where(accepted, after, merit)
    return TrialOutcome(judged, kept, line.y, merit, worst, solved)


def _select_block(
    either: Callable[[Any, Any], Any], new: ResidualBlock, old: ResidualBlock
) -> ResidualBlock:
    return new._replace(y=either(new.y, old.y), J=either(new.J, old.J))


def _all_finite(rows: tuple[ResidualBlock, ...], line: FlatResiduals) -> jax.Array:
    ok = jnp.isfinite(line.y).all()
    for r in rows:
        ok = ok & jnp.isfinite(r.J).all()
    return ok
