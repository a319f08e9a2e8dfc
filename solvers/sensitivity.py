"""Sensitivity of a solution to the numbers of its problem: implicit differentiation.

At a solution the Lagrangian is stationary along the free directions and the active rows
are zero. Differentiated, these equations F(z(θ), θ) = 0 are one linear system for the
derivative of the solution, ∂z = -(∂F/∂z)⁻¹ ∂F/∂θ (Fiacco 1983, "Introduction to
Sensitivity and Stability Analysis in Nonlinear Programming"; Blondel et al. 2022). A
solver stops short of an exact solution, so Newton steps on the same system come first.
The Hessian of the Lagrangian is exact here, because the derivative of a Gauss–Newton
model is not the derivative of the solution.
"""

from functools import partial
from typing import NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jaxtyping import Bool, Float, PyTree

from posewise.compilation.precision import full_matmul_precision

from .bordered_matrix import BorderedMatrix
from .chain_problem import ChainProblem
from .kkt import KKTSystem, min_relative_curvature, solve_kkt
from .linear_system import multiply_transposed, partition_variables
from .residuals import (
    EQ,
    INEQ,
    SOS,
    ResidualBlock,
    concatenate,
    flatten,
    unflatten,
    violation,
)

MAX_NEWTON_STEPS = 12
"""Largest number of Newton steps on the optimality conditions. With fewer, more
solutions stay inexact, and have no derivative."""
DAMPING_GROWTH = 100.0
"""Factor of the regularisation, each time the system is not positive definite. Larger
ones find one that suffices in fewer steps, but shorten the steps after it."""
DEGENERACY_TOLERANCE = 1e-6
"""Multiplier and slack [scaled units] below which it is open whether a row is active. A
larger one takes more solutions for degenerate."""


@runtime_checkable
class SmoothProblem(ChainProblem, Protocol):
    """A problem whose points can also be moved beyond its bounds."""

    def retract_unbounded(
        self, data: PyTree, x: Float[jax.Array, "T nq"], step: Float[jax.Array, "T nv"]
    ) -> Float[jax.Array, "T nq"]:
        """Return x moved along a tangent step, without regard to bounds."""
        ...


class Optimum(NamedTuple):
    """A solution with everything that its derivatives need."""

    x: Float[jax.Array, "T nq"]
    multipliers: tuple[jax.Array, ...]
    """λ (n, rows) of each block; zero in inactive rows."""
    system: KKTSystem
    """Hessian of the Lagrangian, active rows and active bounds at x."""
    gradient: Float[jax.Array, "T nv"]
    """Gradient of the Lagrangian."""
    residual: Float[jax.Array, ""]
    """Relative violation of the optimality conditions: about the distance from an exact
    solution."""
    steps: jax.Array
    """Number of expansions so far; the first one is of the solver's own point."""
    is_degenerate: Bool[jax.Array, ""]
    """Whether a row or bound is about to become active or inactive, so that the
    solution has a kink."""


def newton_polish(
    problem: SmoothProblem,
    data: PyTree,
    x: Float[jax.Array, "T nq"],
    multipliers: Float[jax.Array, " N"],
) -> Optimum:
    """Take Newton steps on the optimality conditions from a solver's result.

    Each step selects active rows and bounds again (a primal–dual active-set method).
    There may be no exact solution nearby; `Optimum.residual` tells.
    """
    expand = partial(_second_order_expansion, problem, data)
    multipliers_of_blocks = unflatten(multipliers, problem.shapes(data, x))
    shapes = jax.eval_shape(expand, x, multipliers_of_blocks, jnp.zeros((), int))
    empty: Optimum = jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), shapes)
    # Newton's method converges quadratically: at this residual another step would be
    # exact up to rounding.
    tolerance = jnp.finfo(x.dtype).eps ** 0.75
    infinity = jnp.asarray(jnp.inf, x.dtype)
    begin: Optimum = empty._replace(
        x=x, multipliers=multipliers_of_blocks, residual=infinity
    )

    def step(state: tuple[Optimum, jax.Array]) -> tuple[Optimum, jax.Array]:
        optimum, regularisation = state
        values = tuple(-b.y for b in optimum.system.blocks)
        delta, change = solve_kkt(
            optimum.system, -optimum.gradient, values, regularisation
        )
        step_norm = jnp.max(jnp.abs(delta), initial=0.0)
        shrinkage = jnp.where(step_norm > 0.5, 0.5 / step_norm, 1.0)
        # The first pass only expands the given point: the empty state has no system.
        is_first, is_solvable = optimum.steps == 0, jnp.isfinite(step_norm)
        stays = is_first | ~is_solvable

        def add(multiplier: jax.Array, change: jax.Array) -> jax.Array:
            return jnp.where(stays, multiplier, multiplier + shrinkage * change)

        moved = problem.retract(data, optimum.x, shrinkage * delta)
        x = jnp.where(stays, optimum.x, moved)
        multipliers = jax.tree.map(add, optimum.multipliers, change)
        after = expand(x, multipliers, optimum.steps + 1)
        raised = DAMPING_GROWTH * regularisation
        return after, jnp.where(is_solvable | is_first, regularisation, raised)

    def goes_on(state: tuple[Optimum, jax.Array]) -> jax.Array:
        optimum, _ = state
        return (optimum.steps <= MAX_NEWTON_STEPS) & (optimum.residual > tolerance)

    return jax.lax.while_loop(goes_on, step, (begin, jnp.ones_like(infinity)))[0]


@partial(jax.jit, static_argnums=0)
@full_matmul_precision
def solution_tangent(
    problem: SmoothProblem,
    data: PyTree,
    optimum: Optimum,
    varied: PyTree,
    rates: PyTree,
) -> Float[jax.Array, "T nq"]:
    """Return the derivative of x along a change of some leaves of `data`.

    Unless `optimum` is an exact solution and a minimum, it is NaN, forward and in
    reverse; but a tangent or a cotangent of zero gives zero.

    Args:
        problem: the structure of the problem.
        data: its numbers.
        optimum: the solution.
        varied: the leaves that change, as the same tree with None for all others. Only
            operations that depend on them are differentiated, and compiled.
        rates: tangents of these leaves.
    """

    def conditions(varied: PyTree) -> tuple[jax.Array, tuple[jax.Array, ...]]:
        blocks = problem.evaluate(replace_leaves(data, varied), optimum.x)
        gradient = _lagrangian_gradient(problem, blocks, optimum.multipliers)
        return gradient, tuple(b.y for b in blocks)

    _, changes = jax.jvp(conditions, (varied,), (rates,))
    # Away from a solution the equations are not zero, and their derivative means
    # nothing.
    is_exact = optimum.residual <= jnp.finfo(optimum.x.dtype).eps ** 0.5
    system = optimum.system.undefined_unless(is_exact)
    delta, _ = solve_kkt(system, *jax.tree.map(jnp.negative, changes))

    def move(step: jax.Array) -> jax.Array:
        return problem.retract_unbounded(data, optimum.x, step)

    tangent: jax.Array = jax.jvp(move, (jnp.zeros_like(delta),), (delta,))[1]
    return tangent


def replace_leaves(data: PyTree, varied: PyTree) -> PyTree:
    """Return data with some leaves replaced; see `solution_tangent`."""
    return jax.tree.map(
        lambda new, old: old if new is None else new,
        varied,
        data,
        is_leaf=lambda leaf: leaf is None,
    )


@partial(jax.jit, static_argnums=0)
@full_matmul_precision
def polish_with_curvature(
    problem: SmoothProblem,
    data: PyTree,
    x: Float[jax.Array, "T nq"],
    multipliers: Float[jax.Array, " N"],
) -> tuple[Optimum, jax.Array]:
    """Return `newton_polish` and `min_relative_curvature` of its system."""
    optimum = newton_polish(problem, data, x, multipliers)
    return optimum, min_relative_curvature(optimum.system)


def _second_order_expansion(
    problem: SmoothProblem,
    data: PyTree,
    x: jax.Array,
    multipliers: tuple[jax.Array, ...],
    steps: jax.Array,
) -> Optimum:
    """Expand the Lagrangian to second order around x, with its active rows."""
    g, hessian, blocks = _lagrangian_derivatives(problem, data, x, multipliers)
    residuals, flat_multipliers = flatten(blocks), concatenate(multipliers)
    active = _is_active(residuals.kind, residuals.y, flat_multipliers)
    fixed_mask = problem.step_bounds(data, x).blocks_descent(g)
    system = KKTSystem(
        hessian, blocks, unflatten(active, blocks), fixed_mask, problem.shared
    )
    active_multipliers = jnp.where(active, flat_multipliers, 0.0)
    # Relative to H and to the length of rows, both parts are about a distance in x.
    h, lengths = system.scales()
    stationarity = jnp.max(jnp.where(fixed_mask, 0.0, jnp.abs(g)), initial=0.0) / h
    infeasibility = jnp.max(violation(residuals) / concatenate(lengths), initial=0.0)
    residual = jnp.maximum(stationarity, infeasibility)
    # Strict complementarity fails where neither multiplier nor slack is positive.
    slack = -residuals.y
    is_weak = jnp.maximum(active_multipliers, slack) < DEGENERACY_TOLERANCE
    is_weak = (residuals.kind == INEQ) & is_weak
    has_gradient = concatenate([jnp.any(b.J != 0, (1, 3)) for b in blocks])
    is_degenerate = _has_degenerate_bound(problem, data, x, g, h)
    is_degenerate = is_degenerate | jnp.any(is_weak & has_gradient)
    return Optimum(
        x,
        unflatten(active_multipliers, blocks),
        system,
        g,
        jnp.where(jnp.isfinite(residual), residual, jnp.inf),
        steps,
        is_degenerate,
    )


def _lagrangian_derivatives(
    problem: SmoothProblem,
    data: PyTree,
    x: jax.Array,
    multipliers: tuple[jax.Array, ...],
) -> tuple[jax.Array, BorderedMatrix, tuple[ResidualBlock, ...]]:
    """Return gradient and Hessian of the Lagrangian, and all rows.

    By Curtis–Powell–Reid compression (Griewank and Walther 2008, chapter 8): slices
    that are more than 2k apart do not meet in any row of the Hessian, so that one
    tangent serves all slices of a colour.
    """
    T, nv = problem.slices, problem.nv
    partition = partition_variables(nv, problem.shared)
    colours = min(2 * problem.order + 1, T)
    no_step, eye = jnp.zeros((T, nv), x.dtype), jnp.eye(nv, dtype=x.dtype)
    slices = (jnp.arange(colours)[:, None] == jnp.arange(T) % colours).astype(x.dtype)
    local_seeds = slices[:, None, :, None] * eye[partition.local][None, :, None, :]
    count = len(partition.shared)
    shared_seeds = jnp.broadcast_to(eye[partition.shared][:, None], (count, T, nv))

    def gradient_at(
        step: jax.Array,
    ) -> tuple[jax.Array, tuple[ResidualBlock, ...]]:
        blocks = problem.evaluate(data, problem.retract_unbounded(data, x, step))
        return _lagrangian_gradient(problem, blocks, multipliers), blocks

    def hessian_product(
        seed: jax.Array,
    ) -> tuple[tuple[jax.Array, tuple[ResidualBlock, ...]], jax.Array]:
        g, Hv, blocks = jax.jvp(gradient_at, (no_step,), (seed,), has_aux=True)
        return (g, blocks), Hv

    seeds = jnp.concatenate([local_seeds.reshape(-1, T, nv), shared_seeds])
    (g, blocks), products = jax.vmap(hessian_product, out_axes=((None, None), 0))(seeds)
    of_local, of_shared = jnp.split(products, [colours * len(partition.local)])
    compressed = of_local[..., partition.local]
    compressed = compressed.reshape(colours, len(partition.local), T, -1)
    hessian = BorderedMatrix(
        _decompress_bands(compressed, problem.order),
        jnp.moveaxis(of_shared[..., partition.local], 0, -1),
        of_shared[:, 0, partition.shared],
    )
    return g, hessian, blocks


def _lagrangian_gradient(
    problem: ChainProblem,
    blocks: tuple[ResidualBlock, ...],
    multipliers: tuple[jax.Array, ...],
) -> Float[jax.Array, "T nv"]:
    """Return the gradient of the Lagrangian, to which inactive rows add nothing."""
    slopes = []
    for block, multiplier in zip(blocks, multipliers, strict=True):
        kind = block.kind[:, None]
        active = jnp.where(_is_active(kind, block.y, multiplier), multiplier, 0.0)
        slopes.append(jnp.where(kind == SOS, 2 * block.y, active))
    partition = partition_variables(problem.nv, problem.shared)
    return multiply_transposed(blocks, tuple(slopes), problem.slices, partition)


def _is_active(
    kind: jax.Array, y: jax.Array, multiplier: jax.Array
) -> Bool[jax.Array, "*rows"]:
    """Return equations, and inequalities with λ + φ > 0 (primal–dual active set)."""
    return (kind == EQ) | ((kind == INEQ) & (multiplier + y > 0))


def _has_degenerate_bound(
    problem: ChainProblem, data: PyTree, x: jax.Array, g: jax.Array, h: jax.Array
) -> Bool[jax.Array, ""]:
    """Whether a coordinate is at its bound without being pressed against it."""
    up = jnp.ones_like(g)
    bounds = problem.step_bounds(data, x)
    is_at_bound = bounds.blocks_descent(up) | bounds.blocks_descent(-up)
    return jnp.any(is_at_bound & (jnp.abs(g) < DEGENERACY_TOLERANCE * h))


def _decompress_bands(
    columns: Float[jax.Array, "colours nv T nv"], order: int
) -> tuple[Float[jax.Array, "T nv nv"], ...]:
    """Return the blocks (t, t - d) of the symmetric Hessian from compressed columns."""
    colours, _, T, _ = columns.shape
    t = jnp.arange(T)
    bands = []
    for d in range(order + 1):
        below = jnp.swapaxes(columns[(t - d) % colours, :, t], -1, -2)
        above = columns[t % colours, :, t - d]
        # Each block is there twice; their mean is symmetric to the last digit.
        block = (below + above) / 2
        bands.append(jnp.where((t >= d)[:, None, None], block, 0.0))
    return tuple(bands)
