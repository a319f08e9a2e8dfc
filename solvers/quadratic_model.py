"""The piecewise quadratic model of the merit around an iterate.

Rows are linear in the step δ, φ + Jδ; the augmented Lagrangian of linear rows is convex
and quadratic between the kinks at which inequalities become active. It is minimised
within the bounds by a projected semismooth Newton method (Hintermüller, Ito and
Kunisch 2002; Bertsekas 1982): each pass solves the linear system of the rows and bounds
that are active at the pass before.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int, PyTree

from posewise.compilation.compaction import gather

from .bounds import StepBounds
from .chain_problem import ChainProblem
from .linear_system import (
    assemble,
    diagonal_model_decrease,
    newton_step,
    partition_variables,
)
from .merit import AugmentedLagrangian
from .residuals import FlatResiduals, ResidualBlock, concatenate, flatten

MAX_PASSES = 8
"""Largest number of linear systems for one step. With fewer, more steps run into
inequalities that were not in the model's active set."""
MODEL_TOLERANCE = 0.05
"""Error of a pass's prediction, as a share of the decrease so far, below which no pass
follows: rows and bounds that change their activity do not matter then."""
STEP_FRACTIONS = np.array([0.5, 0.25, 0.1, 0.01, 0.001])
"""Fractions of a pass's step among which the model's value chooses."""


class TrialStep(NamedTuple):
    """A step that has not been evaluated yet."""

    x: Float[jax.Array, "T nq"]
    """The trial point, within the bounds."""
    step: Float[jax.Array, "T nv"]
    """Tangent step δ from the iterate [rad, m]."""
    predicted_decrease: Float[jax.Array, ""]
    """Decrease of the model along the step."""
    diagonal_decrease: Float[jax.Array, ""]
    """Decrease that single variables allow without damping; see
    `linear_system.diagonal_model_decrease`."""
    is_solvable: Bool[jax.Array, ""]
    """Whether the linear system was positive definite."""


class Candidate(NamedTuple):
    """A step with the rows and the value of the model after it."""

    step: Float[jax.Array, "T nv"]
    y: Float[jax.Array, " N"]
    merit: Float[jax.Array, ""]
    value: Float[jax.Array, ""]
    """Merit and damping term."""


class NewtonPass(NamedTuple):
    """The minimum of the quadratic that the model is near a candidate."""

    end: Candidate
    """At the minimum, clipped to the bounds."""
    predicted_decrease: Float[jax.Array, ""]
    """Decrease of the quadratic, from the candidate and without clipping."""
    diagonal_decrease: Float[jax.Array, ""]
    is_clipped: Bool[jax.Array, ""]
    is_solvable: Bool[jax.Array, ""]


@dataclass(frozen=True)
class QuadraticModel:
    """The model of one iterate, for one merit function and damping."""

    problem: ChainProblem
    blocks: tuple[ResidualBlock, ...]
    """Rows at the iterate, or what stands for them, with their Jacobians."""
    bounds: StepBounds
    lagrangian: AugmentedLagrangian
    damping: Float[jax.Array, ""]
    """Weight d of the term ½ d ‖δ‖²."""

    @cached_property
    def residuals(self) -> FlatResiduals:
        """Return the rows without a step."""
        return flatten(self.blocks)

    def candidate(
        self, step: Float[jax.Array, "T nv"], y: Float[jax.Array, " N"]
    ) -> Candidate:
        """Return a step, whose rows are known, with its value."""
        merit = self.lagrangian.merit(self.residuals._replace(y=y))
        # Variables that all slices share count once.
        counts = np.ones(step.shape)
        counts[1:, list(self.problem.shared)] = 0.0
        square = jnp.sum(counts * step**2)
        return Candidate(step, y, merit, merit + 0.5 * self.damping * square)

    def is_active(self, at: Candidate) -> Bool[jax.Array, " N"]:
        """Return which rows count after a step."""
        return self.lagrangian.is_active(self.residuals._replace(y=at.y))

    def newton_pass(self, at: Candidate) -> NewtonPass:
        """Minimise the quadratic of the rows and bounds that are active after a step.

        A bound is active if the step ends on it and descent would leave it.
        """
        problem = self.problem
        terms = self.lagrangian.terms(self.residuals._replace(y=at.y))
        partition = partition_variables(problem.nv, problem.shared)
        system = assemble(self.blocks, terms, problem.slices, problem.order, partition)
        g = system.gradient + self.damping * at.step
        fixed_mask = self.bounds.blocks_descent(g, at.step)
        newton, predicted = newton_step(
            system._replace(gradient=g), fixed_mask, self.damping, partition
        )
        is_solvable = jnp.isfinite(newton).all()
        unbounded = at.step + jnp.where(is_solvable, newton, 0.0)
        step = jnp.clip(unbounded, *self.bounds)
        # Rows change linearly, so that each pass goes on from the rows of the last one.
        change = linear_change(self.blocks, step - at.step, problem.shared)
        return NewtonPass(
            self.candidate(step, at.y + change),
            predicted,
            diagonal_model_decrease(system, fixed_mask, partition),
            jnp.any((step != unbounded) & ~fixed_mask),
            is_solvable,
        )


class _Passes(NamedTuple):
    """Carry of the passes."""

    at: Candidate
    """The step whose active rows and bounds the next pass takes."""
    best: Candidate
    first: Candidate
    """The step of the first pass."""
    diagonal_decrease: Float[jax.Array, ""]
    passes: Int[jax.Array, ""]
    is_solvable: Bool[jax.Array, ""]
    goes_on: Bool[jax.Array, ""]


def minimize_model(
    problem: ChainProblem,
    data: PyTree,
    x: Float[jax.Array, "T nq"],
    blocks: tuple[ResidualBlock, ...],
    lagrangian: AugmentedLagrangian,
    merit_at_iterate: Float[jax.Array, ""],
    damping: Float[jax.Array, ""],
    max_step: Float[jax.Array, ""],
) -> TrialStep:
    """Return the step that minimises the damped model within the bounds.

    Args:
        problem: the structure of the problem.
        data: its numbers.
        x: the iterate.
        blocks: see `QuadraticModel`.
        lagrangian: multipliers and penalties.
        merit_at_iterate: value from which the decrease is predicted.
        damping: see `QuadraticModel`.
        max_step: largest change of a coordinate [rad, m].
    """
    bounds = problem.step_bounds(data, x)
    model = QuadraticModel(problem, blocks, bounds, lagrangian, damping)
    # For a corrected model, the value at no step is not the merit at the iterate: it
    # tells which steps are better, but predictions are relative to the merit.
    start = model.candidate(jnp.zeros_like(bounds.low), model.residuals.y)
    end = _make_passes(model, start)
    best = jax.lax.cond(
        end.best.value < start.value,
        lambda: end.best,
        lambda: _shorten(model, start, end.first),
    )
    # The step is shortened as a whole, not by its entries, to keep its direction.
    length = jnp.max(jnp.abs(best.step), initial=0.0)
    shrinkage = jnp.minimum(1.0, max_step / jnp.maximum(length, 1e-30))
    step = shrinkage * best.step
    merit = jax.lax.cond(
        shrinkage < 1,
        lambda: model.candidate(step, start.y + shrinkage * (best.y - start.y)).merit,
        lambda: best.merit,
    )
    return TrialStep(
        problem.retract(data, x, step),
        step,
        merit_at_iterate - merit,
        end.diagonal_decrease,
        end.is_solvable,
    )


def _make_passes(model: QuadraticModel, start: Candidate) -> _Passes:
    """Make passes until the active set or the prediction is right."""

    def next_pass(c: _Passes) -> _Passes:
        # A pass may increase the model: only its active set counts for the next one.
        found = model.newton_pass(c.at)
        best = _better(c.best, found.end)
        is_first = c.passes == 0
        error = c.at.value - found.end.value - found.predicted_decrease
        # The quadratic errs by the rows and bounds whose activity changes on the way;
        # where that is little, the pass has found the minimum well enough.
        is_right = jnp.abs(error) < MODEL_TOLERANCE * (start.value - best.value)
        is_same = jnp.all(model.is_active(c.at) == model.is_active(found.end))
        is_last = (is_same & ~found.is_clipped) | is_right | ~found.is_solvable
        diagonal = jnp.where(is_first, found.diagonal_decrease, c.diagonal_decrease)
        return _Passes(
            found.end,
            best,
            jax.tree.map(lambda a, b: jnp.where(is_first, a, b), found.end, c.first),
            diagonal,
            c.passes + 1,
            found.is_solvable,
            ~is_last & (c.passes + 1 < MAX_PASSES),
        )

    true, zero = jnp.ones((), bool), jnp.zeros((), int)
    no_decrease = jnp.zeros_like(start.value)
    begin = _Passes(start, start, start, no_decrease, zero, true, true)
    return jax.lax.while_loop(lambda c: c.goes_on, next_pass, begin)


def _shorten(model: QuadraticModel, start: Candidate, end: Candidate) -> Candidate:
    """Return the best fraction of a step that is too long; the model is convex."""
    fractions = jnp.asarray(STEP_FRACTIONS, end.step.dtype)

    def try_fraction(k: Any, best: Candidate) -> Candidate:
        step = fractions[k] * end.step
        y = start.y + fractions[k] * (end.y - start.y)
        return _better(best, model.candidate(step, y))

    return jax.lax.fori_loop(0, len(STEP_FRACTIONS), try_fraction, start)


def _better(a: Candidate, b: Candidate) -> Candidate:
    """Return the candidate with the lower value."""
    is_better = b.value < a.value
    return jax.tree.map(lambda a, b: jnp.where(is_better, b, a), a, b)


def linear_change(
    blocks: tuple[ResidualBlock, ...],
    step: Float[jax.Array, "T nv"],
    shared: tuple[int, ...] = (),
) -> Float[jax.Array, " N"]:
    """Return the first-order change Jδ of all rows; see `block_change`."""
    return concatenate([block_change(b, step, shared) for b in blocks])


def block_change(
    block: ResidualBlock,
    step: Float[jax.Array, "T nv"],
    shared: tuple[int, ...] = (),
) -> Float[jax.Array, "n rows"]:
    """Return the first-order change Jδ of a block's rows.

    Args:
        block: the rows.
        step: δ.
        shared: columns that are one variable for all slices. In slices before the
            first, which are fixed, only these move.
    """
    window = block.J.shape[1]
    is_shared = np.isin(np.arange(step.shape[1]), shared)
    total: Any = 0.0
    for k in range(window):
        t = block.last_slice - (window - 1 - k)
        moves = (t >= 0)[:, None] | is_shared
        moved = jnp.where(moves, gather(step, jnp.maximum(t, 0)), 0.0)
        J = block.J[:, k]
        if block.column is None:
            total = total + jnp.sum(J * moved[:, None], -1)
        else:
            total = total + J[..., 0] * jnp.take_along_axis(moved, block.column, 1)
    return total
