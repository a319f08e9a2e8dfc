"""How a solution moves with the numbers of its problem: implicit differentiation.

At a solution the Lagrangian is stationary along the free directions and the active
rows are zero; differentiated, these equations are one linear system for the motion of
the solution. A solver stops short of an exact solution, so Newton steps on the same
system come first. The Lagrangian's Hessian is exact: Gauss–Newton's is not enough here.
See Fiacco, "Introduction to Sensitivity and Stability Analysis in Nonlinear
Programming" (1983).
"""

from functools import partial
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jaxtyping import Bool, Float

from posewise.compilation.precision import full_matmul_precision

from .augmented_lagrangian import solve
from .chain_problem import ChainProblem
from .kkt import BorderedMatrix, KKTSystem, min_relative_curvature, solve_kkt
from .linear_system import assemble, partition_variables
from .options import Options
from .residuals import (
    EQ,
    INEQ,
    SOS,
    FlatResiduals,
    LagrangianTerms,
    ResidualBlock,
    concatenate,
    flatten,
    unflatten,
    violation,
)

MAX_NEWTON_STEPS = 12
DAMPING_GROWTH = 100.0
"""Growth of the damping while the system is not positive definite."""
DEGENERACY_TOLERANCE = 1e-6
"""Multipliers and slacks both below this leave it open whether a row is active."""


@runtime_checkable
class SmoothProblem(ChainProblem, Protocol):
    """A problem whose motion along the tangent space is known beyond its bounds."""

    def retract_unbounded(self, data: Any, x: Any, step: Any) -> Any:
        """x moved along a tangent step, bounds aside."""
        ...


class Optimum(NamedTuple):
    """A solution with what its derivatives need."""

    x: Float[jax.Array, "T nq"]
    multipliers: tuple[jax.Array, ...]
    system: KKTSystem
    """Of the last Newton step: Hessian of the Lagrangian, active rows, held bounds."""
    gradient: Float[jax.Array, "T nv"]
    """Gradient of the Lagrangian."""
    residual: Float[jax.Array, ""]
    """About how far x is from an exact solution."""
    steps: jax.Array
    is_degenerate: Bool[jax.Array, ""]
    """A row or bound is at the edge of being active."""


def newton_polish(
    problem: SmoothProblem, data: Any, x: Any, multipliers: Float[jax.Array, " N"]
) -> Optimum:
    """Newton steps on the optimality conditions from a solver's x and multipliers.

    The active rows and bounds are chosen anew in each step (primal-dual active set).
    There may be no exact solution near: see `residual`.
    """
    expand = partial(_second_order_expansion, problem, data)
    given = unflatten(multipliers, problem.shapes(data, x))
    shapes = jax.eval_shape(expand, x, given, jnp.zeros((), int))
    empty = jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), shapes)
    tolerance = jnp.finfo(x.dtype).eps ** 0.75
    inf = jnp.asarray(jnp.inf, x.dtype)
    start = empty._replace(x=x, multipliers=given, residual=inf)

    def step(state: tuple[Optimum, Any]) -> tuple[Optimum, Any]:
        s, boost = state
        wrong = tuple(-r.y for r in s.system.rows)
        delta, change = solve_kkt(s.system, -s.gradient, wrong, boost)
        length = jnp.max(jnp.abs(delta), initial=0.0)
        share = jnp.where(length > 0.5, 0.5 / length, 1.0)
        first, solvable = s.steps == 0, jnp.isfinite(length)
        stay = first | ~solvable
        moved = problem.retract(data, s.x, share * delta)
        add = lambda a, d: jnp.where(stay, a, a + share * d)
        multipliers = jax.tree.map(add, s.multipliers, change)
        after = expand(jnp.where(stay, s.x, moved), multipliers, s.steps + 1)
        return after, jnp.where(solvable | first, boost, DAMPING_GROWTH * boost)

    going = lambda s: (s[0].steps <= MAX_NEWTON_STEPS) & (s[0].residual > tolerance)
    return jax.lax.while_loop(going, step, (start, jnp.ones_like(inf)))[0]


@partial(jax.jit, static_argnums=0)
@full_matmul_precision
def solution_tangent(
    problem: SmoothProblem, data: Any, at: Optimum, change: list[Any]
) -> Float[jax.Array, "T nq"]:
    """How x moves when the floating leaves of `data` move along `change`.

    NaN unless `at` is an exact solution and a strict minimum.
    """
    leaves, structure = jax.tree.flatten(data)
    places = [i for i, leaf in enumerate(leaves) if is_floating(leaf)]

    def residual(moving: list[Any]) -> Any:
        full = list(leaves)
        for i, leaf in zip(places, moving, strict=True):
            full[i] = leaf
        rows = problem.evaluate(jax.tree.unflatten(structure, full), at.x)
        return _lagrangian_gradient(problem, rows, at.multipliers), tuple(
            r.y for r in rows
        )

    _, rate = jax.jvp(residual, ([leaves[i] for i in places],), (change,))
    delta, _ = solve_kkt(at.system, *jax.tree.map(jnp.negative, rate))
    exact = at.residual <= jnp.finfo(at.x.dtype).eps ** 0.5
    delta = jnp.where(exact, delta, jnp.nan)
    still = jnp.zeros_like(delta)
    return jax.jvp(
        lambda v: problem.retract_unbounded(data, at.x, v), (still,), (delta,)
    )[1]


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def solve_differentiably(
    problem: SmoothProblem, data: Any, x: Float[jax.Array, "T nq"], options: Options
) -> Float[jax.Array, "T nq"]:
    """The solution of a problem as a function of the floating leaves of its data.

    Differentiable once, forward and in reverse, by `data`; bounds count as fixed.
    Derivatives are NaN where there are none: see `solution_tangent`.
    """
    return _solve_and_polish(problem, data, x, options).x


@solve_differentiably.defjvp
@full_matmul_precision
def _(problem: SmoothProblem, primals: Any, tangents: Any) -> Any:
    data, x, options = primals
    at = _solve_and_polish(problem, data, x, options)
    leaves = zip(*map(jax.tree.leaves, (data, tangents[0])), strict=True)
    change = [d for leaf, d in leaves if is_floating(leaf)]
    return at.x, solution_tangent(problem, data, at, change)


@partial(jax.jit, static_argnums=0)
@full_matmul_precision
def polish_with_curvature(
    problem: SmoothProblem, data: Any, x: Any, multipliers: Float[jax.Array, " N"]
) -> tuple[Optimum, jax.Array]:
    """Return `newton_polish` and `min_relative_curvature` of its system."""
    at = newton_polish(problem, data, x, multipliers)
    return at, min_relative_curvature(at.system)


def is_floating(leaf: Any) -> bool:
    """Whether a leaf of a problem's data may change smoothly."""
    return bool(jnp.issubdtype(jnp.result_type(leaf), jnp.floating))


def _solve_and_polish(
    problem: SmoothProblem, data: Any, x: Any, options: Any
) -> Optimum:
    """Solve, then polish; the solver's own x where that does not succeed."""
    result = solve(problem, data, x, options)
    at = newton_polish(problem, data, result.x, result.multipliers)
    good = at.residual <= jnp.finfo(x.dtype).eps ** 0.5
    return at._replace(x=jnp.where(good, at.x, result.x))


def _second_order_expansion(
    problem: SmoothProblem, data: Any, x: Any, multipliers: Any, steps: Any
) -> Optimum:
    """Second order around x: what the next Newton step needs."""
    T, nv = problem.slices, problem.nv
    parts = partition_variables(nv, problem.shared)
    colours = min(2 * problem.order + 1, T)
    still, eye = jnp.zeros((T, nv), x.dtype), jnp.eye(nv, dtype=x.dtype)
    slices = (jnp.arange(colours)[:, None] == jnp.arange(T) % colours).astype(x.dtype)
    seeds = slices[:, None, :, None] * eye[parts.local][None, :, None, :]
    count = len(parts.shared)
    everywhere = jnp.broadcast_to(eye[parts.shared][:, None], (count, T, nv))

    def slope(v: Any) -> Any:
        rows = problem.evaluate(data, problem.retract_unbounded(data, x, v))
        return _lagrangian_gradient(problem, rows, multipliers), rows

    def along(seed: Any) -> Any:
        g, dg, rows = jax.jvp(slope, (still,), (seed,), has_aux=True)
        return (g, rows), dg

    each = jax.vmap(along, out_axes=((None, None), 0))
    (g, rows), found = each(jnp.concatenate([seeds.reshape(-1, T, nv), everywhere]))
    own, tied = jnp.split(found, [colours * len(parts.local)])
    own = own[..., parts.local].reshape(colours, len(parts.local), T, -1)
    hessian = BorderedMatrix(
        _decompress_bands(own, problem.order),
        jnp.moveaxis(tied[..., parts.local], 0, -1),
        tied[:, 0, parts.shared],
    )
    line, given = flatten(rows), concatenate(multipliers)
    active = _active_rows(line, given)
    held = problem.active_bounds(data, x, g)
    system = KKTSystem(hessian, rows, unflatten(active, rows), held, problem.shared)
    kept = jnp.where(active, given, 0.0)
    h, lengths = system.scales()
    residual = jnp.max(jnp.where(held, 0.0, jnp.abs(g)), initial=0.0) / h
    worst = jnp.max(violation(line) / concatenate(lengths), initial=0.0)
    residual = jnp.maximum(residual, worst)
    edge = (line.kind == INEQ) & (jnp.maximum(kept, -line.y) < DEGENERACY_TOLERANCE)
    moving = concatenate([jnp.any(r.J != 0, (1, 3)) for r in rows])
    kink = _has_degenerate_bound(problem, data, x, g, h) | jnp.any(edge & moving)
    residual = jnp.where(jnp.isfinite(residual), residual, jnp.inf)
    return Optimum(x, unflatten(kept, rows), system, g, residual, steps, kink)


def _lagrangian_gradient(
    problem: ChainProblem, rows: tuple[ResidualBlock, ...], multipliers: Any
) -> Float[jax.Array, "T nv"]:
    """Of the Lagrangian; inactive rows have no part in it."""
    line, given = flatten(rows), concatenate(multipliers)
    kept = jnp.where(_active_rows(line, given), given, 0.0)
    slope = jnp.where(line.kind == SOS, 2 * line.y, kept)
    weights = LagrangianTerms(line.y, slope, line.y)
    parts = partition_variables(problem.nv, problem.shared)
    T, width = problem.slices, problem.order
    return assemble(rows, weights, T, width, parts).gradient


def _active_rows(line: FlatResiduals, multiplier: jax.Array) -> Bool[jax.Array, " N"]:
    pushing = (line.kind == INEQ) & (multiplier + line.y > 0)
    return (line.kind == EQ) | pushing


def _has_degenerate_bound(
    problem: ChainProblem, data: Any, x: Any, g: Any, h: Any
) -> Any:
    """A coordinate is at its bound, but nothing pushes it there."""
    one = jnp.ones_like(g)
    at_bound = problem.active_bounds(data, x, one) | problem.active_bounds(
        data, x, -one
    )
    return jnp.any(at_bound & (jnp.abs(g) < DEGENERACY_TOLERANCE * h))


def _decompress_bands(
    columns: Float[jax.Array, "colours nv T nv"], order: int
) -> tuple[Float[jax.Array, "T nv nv"], ...]:
    """Blocks (t, t - d) of the symmetric Hessian from its compressed columns."""
    colours, _, T, _ = columns.shape
    t = jnp.arange(T)
    bands = []
    for d in range(order + 1):
        below = jnp.swapaxes(columns[(t - d) % colours, :, t], -1, -2)
        above = columns[t % colours, :, t - d]
        block = (below + above) / 2
        bands.append(jnp.where((t >= d)[:, None, None], block, 0.0))
    return tuple(bands)
