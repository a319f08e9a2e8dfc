"""Solves as differentiable functions of the numbers of a problem."""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_batching import custom_vmap
from jaxtyping import Float, Int, PyTree

from posewise.compilation.backend import is_cpu_backend
from posewise.compilation.private_jax import outside_of_traces
from posewise.compilation.program import compile_program
from posewise.compilation.traced import is_traced
from posewise.compilation.zero_tangents import instantiate_zeros

from .augmented_lagrangian import Result, solve
from .interruptible import zero_multipliers
from .kkt import has_minimum
from .options import Options
from .residuals import flatten, max_violation
from .sensitivity import (
    Optimum,
    SmoothProblem,
    newton_polish,
    replace_leaves,
    solution_tangent,
)
from .status import Status


class Starts(NamedTuple):
    """Initial paths, with the penalty that the solve from each of them begins with."""

    paths: Float[jax.Array, "starts T nq"]
    penalties: Float[jax.Array, " starts"]


def solve_differentiably(
    problem: SmoothProblem,
    data: PyTree,
    varied: PyTree,
    starts: Starts,
    options: Options,
) -> tuple[Float[jax.Array, "T nq"], Int[jax.Array, ""]]:
    """Return the best solution from some starts, and its `Status`.

    It is exact and differentiable once, in forward and reverse mode, where its status
    is CONVERGED; active bounds count as fixed. With any other status it is the solver's
    best point, and its derivative NaN; see `solution_tangent`. The status is not
    differentiated.

    Args:
        problem: the structure of the problem.
        data: its numbers.
        varied: the leaves of `data` that derivatives are by, with their values, as the
            same tree with None for all others.
        starts: feasible results are better than others, then lower costs.
        options: of the solver; its penalty is not used.
    """
    leaves, structure = jax.tree.flatten((data, starts, options))
    changing, structure_of_changing = jax.tree.flatten(varied)
    solution: tuple[jax.Array, jax.Array] = _solution(
        (problem, structure_of_changing, structure), changing, leaves
    )
    return solution


# Arguments are lists of leaves, because no tree but a list holds symbolic zeros.
@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _solution(
    static: Any, changing: list[Any], leaves: list[Any]
) -> tuple[jax.Array, jax.Array]:
    problem, structure_of_changing, structure = static
    varied = jax.tree.unflatten(structure_of_changing, changing)
    data, starts, options = jax.tree.unflatten(structure, leaves)
    optimum, status = _best(problem, replace_leaves(data, varied), starts, options)
    return optimum.x, status


def _solution_jvp(static: Any, primals: Any, tangents: Any) -> Any:
    problem, structure_of_changing, structure = static
    data, starts, options = jax.tree.unflatten(structure, primals[1])
    rates = instantiate_zeros(tangents[0], primals[0])
    varied, rates = (
        jax.tree.unflatten(structure_of_changing, x) for x in (primals[0], rates)
    )
    data = replace_leaves(data, varied)
    optimum, status = _best(problem, data, starts, options)
    moved = solution_tangent(problem, data, optimum, varied, rates)
    return (optimum.x, status), (moved, np.zeros(status.shape, jax.dtypes.float0))


_solution.defjvp(_solution_jvp, symbolic_zeros=True)


def _best(
    problem: SmoothProblem, data: PyTree, starts: Starts, options: Options
) -> tuple[Optimum, jax.Array]:
    """Return the best solution from some starts, and its status."""
    arrays = data, starts, options
    if is_traced(arrays):
        best: tuple[Optimum, jax.Array] = _traced_best(problem)(*arrays)
        return best
    # The solver's own program runs fastest, but cannot be part of another one.
    with outside_of_traces():
        results = _solve_each(problem, *arrays)
        return _polish(problem, data, results, options)


@lru_cache(maxsize=64)
def _traced_best(problem: SmoothProblem) -> Any:
    """Return `_best` as a function of traced arrays."""

    @custom_vmap
    def best(data: PyTree, starts: Starts, options: Options) -> Any:
        results = _solve_in_program(problem, data, starts, options)
        return _polish(problem, data, results, options)

    @best.def_vmap
    def of_batch(size: int, is_batched: Any, *arrays: Any) -> Any:
        leaves, tree = jax.tree.flatten(arrays)
        has_axis = jax.tree.leaves(is_batched)

        def lane(mapped: Sequence[Any]) -> Any:
            values = iter(mapped)
            pairs = zip(leaves, has_axis, strict=True)
            every = [next(values) if batched else x for x, batched in pairs]
            return _best(problem, *jax.tree.unflatten(tree, every))

        mapped = [x for x, batched in zip(leaves, has_axis, strict=True) if batched]
        if is_traced(leaves):
            # A CPU gains nothing from lanes that wait for the last one of them.
            lanes = None if is_cpu_backend() else size
            out = jax.lax.map(lane, mapped, batch_size=lanes)
        else:
            results = [lane([x[k] for x in mapped]) for k in range(size)]
            out = jax.tree.map(lambda *x: np.stack(x), *results)
        return out, jax.tree.map(lambda _: True, out)

    return best


def _solve_each(
    problem: SmoothProblem, data: PyTree, starts: Starts, options: Options
) -> Result:
    """Solve from each start, with the program of `solve`."""
    zeros = zero_multipliers(problem, data, starts.paths[0])
    results = [
        solve(problem, data, path, replace(options, mu=mu), zeros)
        for path, mu in zip(*starts, strict=True)
    ]
    return Result(*map(jnp.stack, zip(*results, strict=True)))


@partial(jax.jit, static_argnums=0)
def _solve_in_program(
    problem: SmoothProblem, data: PyTree, starts: Starts, options: Options
) -> Result:
    """Solve from each start, as part of a program that holds the solver once."""

    def solve_from(start: Starts) -> Result:
        starting = replace(options, mu=start.penalties)
        result: Result = solve(problem, data, start.paths, starting)
        return result

    # A CPU gains nothing from lanes that wait for the last one of them.
    lanes = None if is_cpu_backend() else len(starts.paths)
    results: Result = jax.lax.map(solve_from, starts, batch_size=lanes)
    return results


def _polish_best(
    problem: SmoothProblem,
    data: PyTree,
    results: Result,
    tolerance: Float[jax.Array, ""],
) -> tuple[Optimum, Int[jax.Array, ""]]:
    """Make the best result exact, and return it with its status.

    If that does not succeed, x stays the solver's, and the optimum's residual is
    infinite.
    """
    worst = jnp.where(results.violation <= tolerance, 0.0, results.violation)
    worst = jnp.where(jnp.isfinite(worst), worst, jnp.inf)
    cost = jnp.where(worst == jnp.min(worst), results.cost, jnp.inf)
    best: Any = jax.tree.map(lambda a: a[jnp.argmin(cost)], results)
    optimum = newton_polish(problem, data, best.x, best.multipliers)
    is_exact = optimum.residual <= jnp.finfo(best.x.dtype).eps ** 0.5
    is_solution = is_exact & has_minimum(optimum.system)
    is_solution &= max_violation(flatten(optimum.system.blocks)) <= tolerance
    # The solver's CONVERGED means that progress has become small, not that the point is
    # near an exact solution.
    is_converged = best.status == int(Status.CONVERGED)
    status = jnp.where(is_converged, int(Status.FEASIBLE), best.status)
    status = jnp.where(is_solution, int(Status.CONVERGED), status)
    x = jnp.where(is_solution, optimum.x, best.x)
    residual = jnp.where(is_solution, optimum.residual, jnp.inf)
    return optimum._replace(x=x, residual=residual), status


EXACT_SOLUTION = compile_program(_polish_best, fetches=True, has_kernels=False)
"""The program that makes the best result exact."""


def _polish(
    problem: SmoothProblem, data: PyTree, results: Result, options: Options
) -> tuple[Optimum, jax.Array]:
    """Return the best of some results, made exact, and its status."""
    tolerance = jnp.asarray(options.feasibility_tolerance, results.x.dtype)
    polished = EXACT_SOLUTION(problem, data, results, tolerance)
    best: tuple[Optimum, jax.Array] = jax.tree.map(jnp.asarray, polished)
    return best
