"""The piecewise quadratic model of the merit around an iterate.

Rows are linear in the step δ, φ + Jδ; the augmented Lagrangian of linear rows is convex
and quadratic between the kinks at which inequalities become active. It is minimised
within the bounds by a projected semismooth Newton method (Hintermüller, Ito and
Kunisch 2002; Bertsekas 1982): each pass solves the linear system of the rows and bounds
that are active where the pass before has ended. A pass whose end is no better searches
the line towards it.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int, PyTree

from posewise.compilation.backend import is_cpu_backend
from posewise.compilation.compaction import gather

from .bounds import StepBounds
from .chain_problem import ChainProblem
from .line_search import minimize_on_line
from .linear_system import (
    VariablePartition,
    assemble,
    count_shared_once,
    newton_step,
    partition_variables,
)
from .merit import AugmentedLagrangian
from .optimality import gradient_imbalance
from .options import Number
from .residuals import FlatResiduals, ResidualBlock, concatenate, flatten

MAX_PASSES = 8
"""Largest number of linear systems for one step on a CPU. With fewer, more steps run
into inequalities that were not in the model's active set. Accelerators make one: there
all lanes would wait for the slowest one, and a pass is a long sequence of small
kernels, which costs more than the steps that it spares."""
MODEL_TOLERANCE = 0.05
"""Error of a pass's prediction, as a share of the decrease so far, below which no pass
follows: rows and bounds that change their activity do not matter then."""


class TrialStep(NamedTuple):
    """A step that has not been evaluated yet."""

    x: Float[jax.Array, "T nq"]
    """The trial point, within the bounds."""
    step: Float[jax.Array, "T nv"]
    """Tangent step δ from the iterate [rad, m]."""
    predicted_decrease: Float[jax.Array, ""]
    """Decrease of the model along the step."""
    imbalance: Float[jax.Array, ""]
    """Relative gradient at the iterate; see `optimality.gradient_imbalance`."""
    is_solvable: Bool[jax.Array, ""]
    """Whether the linear system was positive definite."""


def no_step(problem: ChainProblem, x: Float[jax.Array, "T nq"]) -> TrialStep:
    """Return the step that stays at x."""
    zero = jnp.zeros((), x.dtype)
    step = jnp.zeros((problem.slices, problem.nv), x.dtype)
    return TrialStep(x, step, zero, zero, jnp.ones((), bool))


class Candidate(NamedTuple):
    """A step with the rows and the value of the model after it."""

    step: Float[jax.Array, "T nv"]
    y: Float[jax.Array, " N"]
    merit: Float[jax.Array, ""]
    value: Float[jax.Array, ""]
    """Merit and damping term."""


class NewtonPass(NamedTuple):
    """A step to the minimum of the quadratic that the model is near a candidate."""

    end: Candidate
    predicted_decrease: Float[jax.Array, ""]
    """Decrease of the quadratic, from the candidate to its minimum."""
    gradient: Float[jax.Array, "T nv"]
    """Gradient of the merit before the pass; zero where a bound holds a variable."""
    blocked: Bool[jax.Array, "T nv"]
    """Variables at bounds that have stopped the step."""
    is_whole: Bool[jax.Array, ""]
    """Whether the step is neither clipped nor shortened."""
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

    @property
    def partition(self) -> VariablePartition:
        """Return which variables belong to one slice each, and which all share."""
        return partition_variables(self.problem.nv, self.problem.shared)

    @property
    def counts(self) -> Float[np.ndarray, "T nv"]:
        """Return weights with which variables that all slices share count once."""
        shape = self.problem.slices, self.problem.nv
        return count_shared_once(shape, self.partition)

    def candidate(
        self, step: Float[jax.Array, "T nv"], y: Float[jax.Array, " N"]
    ) -> Candidate:
        """Return a step, whose rows are known, with its value."""
        merit = self.lagrangian.merit(self.residuals._replace(y=y))
        square = jnp.sum(self.counts * step**2)
        return Candidate(step, y, merit, merit + 0.5 * self.damping * square)

    def is_active(self, candidate: Candidate) -> Bool[jax.Array, " N"]:
        """Return which rows count after a step."""
        return self.lagrangian.is_active(self.residuals._replace(y=candidate.y))

    def newton_pass(
        self, candidate: Candidate, blocked: Bool[jax.Array, "T nv"]
    ) -> NewtonPass:
        """Minimise the quadratic of the rows and bounds that are active after a step.

        A bound is active if the step ends on it and descent would leave it.

        Args:
            candidate: the step.
            blocked: variables at bounds that stopped an earlier pass: they do not move.
        """
        problem = self.problem
        terms = self.lagrangian.terms(self.residuals._replace(y=candidate.y))
        partition = self.partition
        system = assemble(self.blocks, terms, problem.slices, problem.order, partition)
        g = system.gradient + self.damping * candidate.step
        fixed_mask = blocked | self.bounds.blocks_descent(g, candidate.step)
        newton, predicted = newton_step(
            system._replace(gradient=g), fixed_mask, self.damping, partition
        )
        is_solvable = jnp.isfinite(newton).all()
        newton = jnp.where(is_solvable, newton, 0.0)
        # Clipping single variables reaches many bounds in one pass, but bends the step.
        step = jnp.clip(candidate.step + newton, *self.bounds)
        clipped = self.move(candidate, step - candidate.step)
        is_better = clipped.value < candidate.value
        end, blocked = jax.lax.cond(
            is_better,
            lambda: (clipped, jnp.zeros_like(blocked)),
            lambda: self.search_line(candidate, newton),
        )
        return NewtonPass(
            end,
            predicted,
            jnp.where(fixed_mask, 0.0, system.gradient),
            blocked,
            is_better & ~jnp.any((step != candidate.step + newton) & ~fixed_mask),
            is_solvable,
        )

    def move(
        self, candidate: Candidate, direction: Float[jax.Array, "T nv"]
    ) -> Candidate:
        """Return the candidate that lies in a direction from another one."""
        # Rows change linearly, so that each pass goes on from the rows of the last one.
        change = linear_change(self.blocks, direction, self.problem.shared)
        return self.candidate(candidate.step + direction, candidate.y + change)

    def search_line(
        self, candidate: Candidate, newton: Float[jax.Array, "T nv"]
    ) -> tuple[Candidate, Bool[jax.Array, "T nv"]]:
        """Return the minimum along a Newton step, and which variables stop it there.

        The step ends at the first bound: once single variables are clipped, it need not
        be one of descent any more.
        """
        # The first bound is at the least ratio of room to step (Nocedal and Wright
        # 2006, 16.7), and the whole step at 1.
        room = jnp.where(newton > 0, self.bounds.high, self.bounds.low) - candidate.step
        moves = jnp.abs(newton) > 0
        ratios = jnp.where(moves, room / jnp.where(moves, newton, 1.0), jnp.inf)
        longest = jnp.clip(jnp.min(ratios, initial=1.0), 0.0, 1.0)
        # Rows change linearly along the line: points on it cost no product with J.
        change = linear_change(self.blocks, newton, self.problem.shared)

        def along(fraction: jax.Array) -> Candidate:
            return self.candidate(
                candidate.step + fraction * newton, candidate.y + fraction * change
            )

        def increases(fraction: jax.Array) -> Bool[jax.Array, ""]:
            point = along(fraction)
            slope = self.lagrangian.terms(self.residuals._replace(y=point.y)).slope
            damped = self.damping * jnp.sum(self.counts * point.step * newton)
            return jnp.sum(slope * change) + damped > 0

        minimum = minimize_on_line(increases, longest)
        # It lies just behind the kink that stops the decrease, so that the next pass
        # knows the row.
        return along(minimum.fraction), ~minimum.is_inside & (ratios <= longest)


class _Passes(NamedTuple):
    """Carry of the passes."""

    candidate: Candidate
    """The step whose active rows and bounds the next pass takes."""
    best: Candidate
    blocked: Bool[jax.Array, "T nv"]
    """Variables at bounds that have stopped a pass."""
    gradient: Float[jax.Array, "T nv"]
    """Gradient of the first pass, which begins at the iterate."""
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
    max_step: Number,
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
    best = end.best
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
        gradient_imbalance(end.gradient, blocks, lagrangian, model.residuals),
        end.is_solvable,
    )


def _make_passes(model: QuadraticModel, start: Candidate) -> _Passes:
    """Make passes until the active set or the prediction is right."""

    def next_pass(c: _Passes) -> _Passes:
        newton = model.newton_pass(c.candidate, c.blocked)
        gain = c.candidate.value - newton.end.value
        is_better = newton.end.value < c.best.value
        best = jax.tree.map(lambda a, b: jnp.where(is_better, a, b), newton.end, c.best)
        # The quadratic errs by the rows and bounds whose activity changes on the way;
        # where that is little, the pass has found the minimum well enough.
        error = jnp.abs(gain - newton.predicted_decrease)
        is_right = error < MODEL_TOLERANCE * (start.value - best.value)
        is_same = jnp.all(model.is_active(c.candidate) == model.is_active(newton.end))
        is_last = (newton.is_whole & (is_right | is_same)) | ~newton.is_solvable
        return _Passes(
            newton.end,
            best,
            c.blocked | newton.blocked,
            jnp.where(c.passes == 0, newton.gradient, c.gradient),
            c.passes + 1,
            newton.is_solvable,
            ~is_last & (c.passes + 1 < MAX_PASSES),
        )

    true, zero = jnp.ones((), bool), jnp.zeros((), int)
    blocked, gradient = jnp.zeros(start.step.shape, bool), jnp.zeros_like(start.step)
    begin = _Passes(start, start, blocked, gradient, zero, true, true)
    if not is_cpu_backend():
        return next_pass(begin)
    return jax.lax.while_loop(lambda c: c.goes_on, next_pass, begin)


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
    change: jax.Array = total
    return change
