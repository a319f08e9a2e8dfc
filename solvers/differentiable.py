"""Solves as differentiable functions of the numbers of a problem."""

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Float, Int, PyTree

from posewise.compilation.precision import full_matmul_precision

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
    fixed = jax.lax.stop_gradient(replace_leaves(data, varied))
    is_traced = any(isinstance(a, jax.core.Tracer) for a in jax.tree.leaves(fixed))
    # The solver's own program runs fastest, but cannot be part of another one.
    solve_all = _solve_in_program if is_traced else _solve_each
    results = solve_all(problem, fixed, starts, options)
    optimum, status = _polish_best(problem, fixed, results, options)
    return _attach_derivative(problem, varied, fixed, optimum), status


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
    lanes = None if jax.default_backend() == "cpu" else len(starts.paths)
    results: Result = jax.lax.map(solve_from, starts, batch_size=lanes)
    return results


@partial(jax.jit, static_argnums=0)
@full_matmul_precision
def _polish_best(
    problem: SmoothProblem, data: PyTree, results: Result, options: Options
) -> tuple[Optimum, Int[jax.Array, ""]]:
    """Make the best result exact, and return it with its status.

    If that does not succeed, x stays the solver's, and the optimum's residual is
    infinite.
    """
    tolerance = options.feasibility_tolerance
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


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _attach_derivative(
    problem: SmoothProblem, varied: PyTree, data: PyTree, optimum: Optimum
) -> Float[jax.Array, "T nq"]:
    """Return the solution, as a function of the varied leaves of its data."""
    return optimum.x


@_attach_derivative.defjvp
def _attach_derivative_jvp(problem: SmoothProblem, primals: Any, tangents: Any) -> Any:
    varied, data, optimum = primals
    return optimum.x, solution_tangent(problem, data, optimum, varied, tangents[0])
