"""Whether friction forces at given points can hold bodies up: how much is missing.

The least imbalance over all forces in friction cones,

    r = min ½ |G f - b|² + ½ ρ |f|²,

is found by its dual, which has six unknowns for each body however many points there
are: max bᵀy - ½ |y|² - |Π(Gᵀy)|² / 2ρ, with Π the projection onto the cones. Its
derivative is that of the dual at the y found (Danskin's envelope theorem).
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Float

FORCE_PENALTY = 1e-4
"""ρ: what forces cost."""
MAX_NEWTON_STEPS = 40
"""Newton steps; about ten are needed."""
GRADIENT_TOLERANCE = 1e-11
"""Gradient that counts as none."""
STEP_FRACTIONS = (1.0, 0.5, 0.2, 0.05, 0.01)
"""Shares of a Newton step that are tried."""


class FrictionContacts(NamedTuple):
    """Where forces can act, and on what."""

    G: Float[jax.Array, "n 3 dofs"]
    """Transposed: what a force in the world does to the bodies, `Gᵀ y` by G @ y."""
    normal: Float[jax.Array, "n 3"]
    """Unit, of the cones."""
    friction: Float[jax.Array, " n"]


def force_imbalance(
    forces: FrictionContacts, b: Float[jax.Array, "loads dofs"]
) -> Float[jax.Array, " loads"]:
    """sqrt(2 r) for each of the loads, never less than the exact one.

    Args:
        forces: that may act.
        b: what they have to add up to.
    """
    still, wanted = jax.lax.stop_gradient((forces, b))
    y = jax.vmap(lambda load: _solve(still, load))(wanted)
    primal = jax.vmap(lambda load, y: _primal(still, load, y))(wanted, y)
    dual = jax.vmap(lambda load, y: -_dual(forces, load, y))(b, y)
    r = dual + jax.lax.stop_gradient(primal - dual)
    return jnp.sqrt(2 * jnp.maximum(r, jnp.finfo(r.dtype).tiny))


def _dual(forces: FrictionContacts, b: Any, y: Any) -> Any:
    """Minus the dual's objective, convex in y."""
    f = _project(forces, forces.G @ y)
    return 0.5 * y @ y + jnp.sum(f * f) / (2 * FORCE_PENALTY) - b @ y


def _primal(forces: FrictionContacts, b: Any, y: Any) -> Any:
    f = _project(forces, forces.G @ y) / FORCE_PENALTY
    missing = jnp.einsum("nid,ni->d", forces.G, f) - b
    return 0.5 * missing @ missing + 0.5 * FORCE_PENALTY * jnp.sum(f * f)


def _solve(
    forces: FrictionContacts, b: Float[jax.Array, " dofs"]
) -> Float[jax.Array, " dofs"]:
    """Newton's method on the dual, which is convex, with shorter steps where needed."""
    G, shares = forces.G, jnp.array(STEP_FRACTIONS, b.dtype)

    def gradient(y: Any) -> Any:
        f = _project(forces, G @ y)
        return y - b + jnp.einsum("nid,ni->d", G, f) / FORCE_PENALTY

    def step(state: Any) -> Any:
        y, g, k = state
        slope = _projection_jacobian(forces, G @ y)
        H = jnp.einsum("nid,nij,nje->de", G, slope, G) / FORCE_PENALTY
        H = H + jnp.eye(len(b), dtype=b.dtype)
        tried = y - shares[:, None] * jnp.linalg.solve(H, g)
        best = jnp.argmin(jax.vmap(lambda y: _dual(forces, b, y))(tried))
        y = tried[best]
        return y, gradient(y), k + 1

    def going(state: Any) -> Any:
        _, g, k = state
        return (jnp.max(jnp.abs(g)) > GRADIENT_TOLERANCE) & (k < MAX_NEWTON_STEPS)

    return jax.lax.while_loop(going, step, (b, gradient(b), 0))[0]


def _cone_coordinates(
    forces: FrictionContacts, v: Any
) -> tuple[Any, Any, Any, Any, Any]:
    """Along the normal; its tangential length and direction; inside; on the edge."""
    n, mu = forces.normal, forces.friction
    along = jnp.sum(v * n, -1)
    side = v - along[:, None] * n
    square = jnp.sum(side * side, -1)
    some = square > 0
    length = jnp.sqrt(jnp.where(some, square, 1.0)) * some
    direction = side / jnp.where(some, length, 1.0)[:, None]
    inside = length <= mu * along
    edge = ~inside & (mu * length > -along)
    return along, length, direction, inside, edge


def _project(forces: FrictionContacts, v: Any) -> Float[jax.Array, "n 3"]:
    """The nearest forces in the cones."""
    along, length, direction, inside, edge = _cone_coordinates(forces, v)
    mu = forces.friction
    s = (along + mu * length) / (1 + mu * mu)
    on_edge = s[:, None] * (forces.normal + mu[:, None] * direction)
    return jnp.where(inside[:, None], v, jnp.where(edge[:, None], on_edge, 0.0))


def _projection_jacobian(forces: FrictionContacts, v: Any) -> Float[jax.Array, "n 3 3"]:
    """The projection's derivative."""
    along, length, direction, inside, edge = _cone_coordinates(forces, v)
    n, mu = forces.normal, forces.friction
    outer = lambda a: a[:, :, None] * a[:, None, :]
    eye = jnp.eye(3, dtype=v.dtype)
    share = 1 / (1 + mu * mu)
    ray = n + mu[:, None] * direction
    turn = share * (along + mu * length) * mu / jnp.where(length > 0, length, 1.0)
    around = eye - outer(n) - outer(direction)
    on_edge = share[:, None, None] * outer(ray) + turn[:, None, None] * around
    at = lambda which: which[:, None, None]
    return jnp.where(at(inside), eye, jnp.where(at(edge), on_edge, 0.0))
