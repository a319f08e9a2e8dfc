"""Acceptance of trial steps, damping, and what a rejected step teaches the model.

A step is accepted if the merit decreases by a fraction of what the model predicts, and
the damping follows the ratio of both (Levenberg–Marquardt as a trust-region method;
Nocedal and Wright 2006, chapter 4 and section 10.3). After the first rejection at an
iterate the step is corrected instead: equations and costs get the error of the model at
the rejected point (second-order correction, section 18.3), and inequalities that the
step ran into are linearised there (a cutting plane, as in bundle methods). Further
rejections raise the damping.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Bool, Float, Int

from .merit import AugmentedLagrangian
from .options import Options
from .quadratic_model import TrialStep, block_change
from .residuals import INEQ, FlatResiduals, ResidualBlock, flatten, unflatten
from .schedule import steer_penalty
from .state import Iterate, Linearization

SUFFICIENT_DECREASE = 1e-4
"""Share of the predicted decrease from which a step is accepted."""
GOOD_DECREASE = 0.25
"""Share of the predicted decrease from which the damping falls."""
MAX_DAMPING = 1e24
"""Largest damping [cost per rad² or m²], so that it stays finite after many
rejections."""


class SearchState(NamedTuple):
    """State of the search for an acceptable step."""

    damping: Float[jax.Array, ""]
    """Levenberg–Marquardt damping."""
    rejections: Int[jax.Array, ""]
    """Number of rejected steps from the iterate."""


class StepVerdict(NamedTuple):
    """Decision about a trial step, with the iterate and merit function that follow."""

    iterate: Iterate
    lagrangian: AugmentedLagrangian
    search: SearchState
    last_merit: Float[jax.Array, ""]
    """Merit at the iterate that the step left."""
    is_corrected: Bool[jax.Array, ""]
    """Whether the next step is a correction of the trial step, which is rejected."""
    is_trade: Bool[jax.Array, ""]
    """Whether the step is rejected because it trades violations for cost."""
    is_finite: Bool[jax.Array, ""]
    """Whether the rows and derivatives at the trial point are finite."""


def judge(
    options: Options,
    iterate: Iterate,
    trial: TrialStep,
    lagrangian: AugmentedLagrangian,
    search: SearchState,
    largest_square: Float[jax.Array, ""],
    blocks: tuple[ResidualBlock, ...],
    is_first: Bool[jax.Array, ""],
) -> StepVerdict:
    """Accept or reject a trial step.

    Args:
        options: of the solver.
        iterate: the point that the step leaves.
        trial: the step.
        lagrangian: the merit function.
        search: damping and rejections so far.
        largest_square: see `ScheduleState`.
        blocks: rows at the trial point.
        is_first: whether the trial point is the initial one, which is always accepted.
    """
    residuals = flatten(blocks)
    residual_pair = residuals._replace(y=jnp.stack([iterate.residuals.y, residuals.y]))
    before, after = lagrangian.merit(residual_pair)
    is_finite = jnp.isfinite(after)
    for block in blocks:
        is_finite = is_finite & jnp.isfinite(block.J).all()
    decrease = jnp.where(is_finite, before - after, 0.0)
    is_usable = is_finite & trial.is_solvable
    accepted = is_first | (is_usable & _is_sufficient(trial, decrease, before))
    steered = steer_penalty(options, lagrangian, largest_square, residual_pair)
    is_trade = accepted & ~is_first & (steered.mu > lagrangian.mu)
    accepted = accepted & ~is_trade
    # A correction is tried at the same damping, because the length of the step is not
    # what was wrong.
    is_corrected = ~accepted & ~is_trade & (search.rejections == 0) & is_usable
    damping = jnp.where(
        is_first | is_trade | is_corrected,
        search.damping,
        _next_damping(trial, decrease, search.damping, accepted),
    )
    damping = jnp.clip(damping, options.damping_min, MAX_DAMPING)
    rejections = jnp.where(accepted | is_trade, 0, search.rejections + 1)

    return StepVerdict(
        _select(accepted, trial.x, residuals, blocks, iterate),
        jax.tree.map(lambda a, b: jnp.where(is_trade, a, b), steered, lagrangian),
        SearchState(damping, rejections),
        last_merit=before,
        is_corrected=is_corrected,
        is_trade=is_trade,
        is_finite=is_finite,
    )


def _select(
    accepted: Bool[jax.Array, ""],
    x: Float[jax.Array, "T nq"],
    residuals: FlatResiduals,
    blocks: tuple[ResidualBlock, ...],
    iterate: Iterate,
) -> Iterate:
    """Return the trial point if it is accepted, else the iterate."""
    linearization = tuple(Linearization(b.y, b.J) for b in blocks)
    trial_iterate = Iterate(x, residuals, linearization)
    selected: Iterate = jax.tree.map(
        lambda a, b: jnp.where(accepted, a, b), trial_iterate, iterate
    )
    return selected


def _is_sufficient(
    trial: TrialStep, decrease: jax.Array, merit: jax.Array
) -> Bool[jax.Array, ""]:
    """Return whether a step keeps enough of its promise, if it has made one."""
    # Near a minimum the decrease drowns in rounding errors of the merit.
    rounding = 10 * jnp.finfo(merit.dtype).eps * jnp.abs(merit)
    promised = trial.predicted_decrease
    return (decrease >= SUFFICIENT_DECREASE * promised - rounding) & (promised > 0)


def _next_damping(
    trial: TrialStep, decrease: jax.Array, damping: jax.Array, accepted: jax.Array
) -> Float[jax.Array, ""]:
    """Return the damping by the ratio of the decrease and its prediction."""
    predicted = trial.predicted_decrease
    # A damping that follows the quality of the model needs no trust-region subproblem.
    is_good = decrease > GOOD_DECREASE * predicted
    lowered = jnp.where(is_good, 0.2 * damping, 2 * damping)
    # If the merit is as curved all along the step as its value at the end tells, the
    # Hessian lacks 2 (actual - predicted change) / ‖δ‖² of curvature.
    square = jnp.maximum(jnp.sum(trial.step**2), 1e-30)
    missing = 2 * (predicted - decrease) / square
    return jnp.where(accepted, lowered, jnp.clip(missing, 10 * damping, 100 * damping))


def model_rows(
    verdict: StepVerdict,
    step: Float[jax.Array, "T nv"],
    blocks: tuple[ResidualBlock, ...],
    shared: tuple[int, ...],
) -> tuple[ResidualBlock, ...]:
    """Return the rows of the model for the next step: φ(x) + J(x) δ, or corrected ones.

    Args:
        verdict: about the last trial step.
        step: that step.
        blocks: rows at the trial point.
        shared: columns that are one variable for all slices.
    """
    known = tuple(
        block._replace(y=row.y, J=row.J)
        for block, row in zip(blocks, verdict.iterate.linearization, strict=True)
    )
    rows: tuple[ResidualBlock, ...] = jax.lax.cond(
        verdict.is_corrected,
        lambda: _corrected_rows(known, blocks, step, verdict.lagrangian, shared),
        lambda: known,
    )
    return rows


def _corrected_rows(
    known: tuple[ResidualBlock, ...],
    blocks: tuple[ResidualBlock, ...],
    step: Float[jax.Array, "T nv"],
    lagrangian: AugmentedLagrangian,
    shared: tuple[int, ...],
) -> tuple[ResidualBlock, ...]:
    """Return the rows at an iterate, corrected by those after a rejected step."""
    residuals = flatten(blocks)
    is_met = lagrangian.is_active(residuals) & (residuals.kind == INEQ)
    rows = []
    for old, new, cut in zip(known, blocks, unflatten(is_met, blocks), strict=True):
        # An inequality that was flat at x tells nothing of what the step ran into; its
        # tangent at the rejected point does.
        # φ(x + δ) - J(x) δ: the error of the model at that point, added to φ(x)
        shifted = new.y - block_change(old, step, shared)
        corrected = jnp.where((new.kind == INEQ)[:, None], old.y, shifted)
        rows.append(
            old._replace(
                y=jnp.where(cut, new.y - block_change(new, step, shared), corrected),
                J=jnp.where(cut[:, None, :, None], new.J, old.J),
            )
        )
    return tuple(rows)
