"""Projection of configurations onto what one slice demands, by Gauss-Newton steps."""

import jax
import jax.numpy as jnp
from jaxtyping import Float

from posewise.compilation.arrays import Array
from posewise.compilation.program import compile_program
from posewise.solvers import EQ, INEQ
from posewise.solvers.banded import solve_banded
from posewise.solvers.residuals import expand_columns, flatten

from ..chain.groups import ChainData
from ..chain.problem import Chain

MAX_PROJECTION_STEPS = 10
"""Number of steps after which a configuration is given up (count). Steps converge
quadratically from near by; more are spent on what has no solution near by."""
DAMPING_SHARE = 1e-6
"""Damping of the normal equations, as a share of their largest diagonal entry [1]. With
more, steps fall short; with less, rounding decides where rows depend on each other."""
MIN_DAMPING = 1e-12
"""Least damping [1/rad^2, 1/m^2]; with less, rows without any slope divide by zero."""


def _project(
    chain: Chain,
    data: ChainData,
    starts: Float[Array, "n 1 nq"],
    tolerance: Float[Array, ""],
) -> tuple[Float[jax.Array, "n 1 nq"], Float[jax.Array, " n"]]:
    """Return configurations near those given, and their largest violations.

    Args:
        chain: the structure of a problem of one slice.
        data: its numbers.
        starts: configurations.
        tolerance: violation up to which a configuration is moved no further.
    """

    def linearized(
        x: Float[jax.Array, "1 nq"],
    ) -> tuple[Float[jax.Array, " m"], Float[jax.Array, "m nv"]]:
        blocks = chain.evaluate(data, x)
        rows = flatten(blocks)
        J = [
            jnp.reshape(expand_columns(block, chain.nv)[:, -1], (-1, chain.nv))
            for block in blocks
        ]
        is_violated = (rows.kind == EQ) | ((rows.kind == INEQ) & (rows.y > 0))
        phi = jnp.where(is_violated, rows.y, 0.0)
        return phi, jnp.where(is_violated[:, None], jnp.concatenate(J), 0.0)

    def stepped(x: Float[jax.Array, "1 nq"]) -> Float[jax.Array, "1 nq"]:
        phi, J = linearized(x)
        bounds = chain.step_bounds(data, x)
        # what would leave its limits stays, and the others take its part
        first = _least_squares_step(phi, J)
        is_inside = (bounds.low[0] <= first) & (first <= bounds.high[0])
        step = _least_squares_step(phi, J * is_inside) * is_inside
        moved = chain.retract(data, x, step[None])
        return jnp.where(jnp.max(jnp.abs(phi), initial=0.0) > tolerance, moved, x)

    def largest(x: Float[jax.Array, "1 nq"]) -> Float[jax.Array, ""]:
        return jnp.max(jnp.abs(linearized(x)[0]), initial=0.0)

    def advance(
        _: jax.Array, x: Float[jax.Array, "n 1 nq"]
    ) -> Float[jax.Array, "n 1 nq"]:
        return jax.vmap(stepped)(x)

    ends = jax.lax.fori_loop(0, MAX_PROJECTION_STEPS, advance, starts)
    return ends, jax.vmap(largest)(ends)


def _least_squares_step(
    phi: Float[jax.Array, " m"], J: Float[jax.Array, "m nv"]
) -> Float[jax.Array, " nv"]:
    """Return the shortest step after which linearized rows are least (nearly)."""
    H = J.T @ J
    damping = MIN_DAMPING + DAMPING_SHARE * jnp.max(jnp.diagonal(H))
    H = H + damping * jnp.eye(len(H), dtype=H.dtype)
    return -solve_banded([H[None]], (J.T @ phi)[None, :, None])[0, :, 0]


project_rows = compile_program(_project, fetches=True)
