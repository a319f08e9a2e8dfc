"""Static equilibrium: the least imbalance that forces in friction cones can leave.

The least imbalance over all forces f in Coulomb cones K,

    r = min over f in K of ½ |G f - b|² + ½ ρ |f|²,

is found by its dual, which has six unknowns per body, however many contacts there are:

    max over y of bᵀy - ½ |y|² - |Π(Gᵀy)|² / 2ρ,

with Π the projection onto the cones. A zero of r is the equilibrium condition for
multi-contact stability (Bretl and Lall, "Testing static equilibrium for legged robots",
IEEE Transactions on Robotics, 2008). The maximiser is what these forces leave,
y = b - G f, whose norm is the imbalance: unlike r it does not grow with the forces
themselves, which in a tower are large and yet in balance.

G is never formed: each force acts at a point on two bodies at most, so that products
with G are sums of moments about one common origin.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Float

from posewise.compilation.arrays import Array
from posewise.robots.kinematics.transforms import skew

FORCE_PENALTY = 1e-4
"""Weight ρ of squared forces [1]; larger values smooth the imbalance and raise it a
little; below 1e-5 float32 is too coarse."""
MAX_NEWTON_STEPS = 40
"""Number of Newton steps at most; about ten are needed, and with fewer the imbalance is
overestimated."""
GRADIENT_TOLERANCE = 1e-8
"""Largest entry of the dual's gradient at which Newton's method stops [1]; a smaller
one takes more steps."""
STEP_FRACTIONS = (1.0, 0.5, 0.2, 0.05, 0.01, 2e-3, 4e-4)
"""Fractions of a Newton step that the line search tries."""

Twists = Float[Array, "bodies 6"]
"""For each body a force, or a translation, then a moment, or a rotation."""


class FrictionContacts(NamedTuple):
    """Points at which contact forces can act on bodies."""

    point: Float[jax.Array, "n 3"]
    """Positions relative to a common origin, over the lever of moments [1]."""
    normal: Float[jax.Array, "n 3"]
    """Unit normals, the axes of the friction cones."""
    friction: Float[Array, " n"]
    """Coefficients of friction."""
    sign: Float[Array, "n bodies"]
    """Factors with which forces act on bodies: negative on those below [1]."""
    centre: Float[jax.Array, "bodies 3"]
    """Points about which moments on bodies are, like `point` [1]."""
    ratio: Float[Array, " bodies"]
    """Unit of forces over the unit of loads of each body [1]."""

    def motions(self, y: Twists) -> Float[jax.Array, "n 3"]:
        """Return Gᵀy: how the points move if bodies do."""
        y = y * self.ratio[:, None]
        turn = y[:, 3:]
        moved = self.sign @ jnp.concatenate(
            [y[:, :3] - jnp.cross(turn, self.centre), turn], -1
        )
        return jnp.cross(moved[:, 3:], self.point) + moved[:, :3]

    def wrenches(self, f: Float[Array, "n 3"]) -> Twists:
        """Return G f: forces on bodies, and moments about their centres."""
        on_bodies = self.sign.T @ jnp.concatenate([f, jnp.cross(self.point, f)], -1)
        force, moment = on_bodies[:, :3], on_bodies[:, 3:]
        moment = moment - jnp.cross(self.centre, force)
        return jnp.multiply(jnp.concatenate([force, moment], -1), self.ratio[:, None])


def force_imbalance(
    contacts: FrictionContacts, b: Float[jax.Array, "loads bodies 6"]
) -> Float[jax.Array, " loads"]:
    """Return |G f - b| for each load, an upper bound of the least imbalance.

    Args:
        contacts: points of contact.
        b: wrenches that the forces must add up to, one for each load.
    """
    return jax.vmap(lambda load: _imbalance(contacts, load))(b)


def _imbalance(contacts: FrictionContacts, b: Twists) -> Float[jax.Array, ""]:
    fixed, load = jax.lax.stop_gradient((contacts, b))
    y = _maximise_dual(fixed, load)
    factor = jax.scipy.linalg.cho_factor(_dual_hessian(fixed, y))
    # A step of Newton's method with a fixed Hessian has the derivative of the maximiser
    # (implicit function theorem), which is what the forces leave: y = b - G f.
    step = jax.scipy.linalg.cho_solve(factor, _dual_gradient(contacts, b, y).ravel())
    left = _norm(y - step.reshape(y.shape))
    # Any forces in the cones give an upper bound, also before convergence, so that rows
    # stay sound.
    bound = _norm(_dual_gradient(fixed, load, y) - y)
    return left + jax.lax.stop_gradient(bound - left)


def _norm(x: Any) -> Any:
    square = jnp.sum(x * x)
    return jnp.sqrt(jnp.maximum(square, jnp.finfo(square.dtype).tiny))


def _negative_dual(contacts: FrictionContacts, b: Any, y: Any) -> Any:
    """Return minus the objective of the dual, which is convex in y."""
    f = _project(contacts, contacts.motions(y))
    return 0.5 * jnp.sum(y * y) + jnp.sum(f * f) / (2 * FORCE_PENALTY) - jnp.sum(b * y)


def _dual_gradient(contacts: FrictionContacts, b: Any, y: Any) -> Any:
    """Return the gradient of `_negative_dual`."""
    # ½|Π(v)|² is differentiable with gradient Π(v), since Π projects onto a cone
    # (Moreau), so that the gradient is exact and its Jacobian semismooth.
    f = _project(contacts, contacts.motions(y))
    return y - b + contacts.wrenches(f) / FORCE_PENALTY


def _maximise_dual(contacts: FrictionContacts, b: Twists) -> Twists:
    """Return the maximiser of the dual, by a damped semismooth Newton method."""
    fractions = jnp.array(STEP_FRACTIONS, b.dtype)[:, None, None]

    def step(state: Any) -> Any:
        y, g, k = state
        factor = jax.scipy.linalg.cho_factor(_dual_hessian(contacts, y))
        change = jax.scipy.linalg.cho_solve(factor, g.ravel()).reshape(y.shape)
        # The best of several fractions is taken at once: under vmap a backtracking loop
        # would run as long as that of the slowest lane.
        tried = y - fractions * change
        best = jnp.argmin(jax.vmap(lambda y: _negative_dual(contacts, b, y))(tried))
        y = tried[best]
        return y, _dual_gradient(contacts, b, y), k + 1

    def is_unfinished(state: Any) -> Any:
        _, g, k = state
        return (jnp.max(jnp.abs(g)) > GRADIENT_TOLERANCE) & (k < MAX_NEWTON_STEPS)

    return jax.lax.while_loop(
        is_unfinished, step, (b, _dual_gradient(contacts, b, b), 0)
    )[0]


def _dual_hessian(
    contacts: FrictionContacts, y: Twists
) -> Float[jax.Array, "dofs dofs"]:
    """Return the (generalised) Hessian of the dual's negative, of 6 rows for a body."""
    slope = _projection_jacobian(contacts, contacts.motions(y)) / FORCE_PENALTY
    # With the matrix T of x ↦ x × point, a point moves by [1, T] times a twist at the
    # origin; it resists as the sum over points of [1, T]ᵀ J [1, T].
    T = -skew(contacts.point)
    right = jnp.einsum("nij,njk->nik", slope, T)
    resistance = jnp.block(
        [[slope, right], [right.mT, jnp.einsum("nji,njk->nik", T, right)]]
    )
    pairs = contacts.sign[:, :, None] * contacts.sign[:, None]
    H = jnp.einsum("nkl,nij->klij", pairs, resistance)
    # From twists of bodies about their centres to those at the origin.
    eye = jnp.broadcast_to(jnp.eye(3, dtype=y.dtype), (len(y), 3, 3))
    moved = jnp.block([[eye, skew(contacts.centre)], [jnp.zeros_like(eye), eye]])
    moved = moved * contacts.ratio[:, None, None]
    H = jnp.einsum("kai,klab,lbj->kilj", moved, H, moved)
    # The identity is the Hessian of ½|y|², so that H is positive definite.
    return H.reshape(y.size, y.size) + jnp.eye(y.size, dtype=y.dtype)


class _ConeCoordinates(NamedTuple):
    """Vectors relative to friction cones."""

    along: Any
    """Component along the normal (n,)."""
    length: Any
    """Length of the tangential component (n,)."""
    direction: Any
    """Unit tangential direction (n, 3); 0 without a tangential component."""
    inside: Any
    """True for vectors in the cone (n,)."""
    on_edge: Any
    """True for vectors whose projection is on the edge, not at the apex (n,)."""


def _cone_coordinates(contacts: FrictionContacts, v: Any) -> _ConeCoordinates:
    n, mu = contacts.normal, contacts.friction
    along = jnp.sum(v * n, -1)
    side = v - along[:, None] * n
    square = jnp.sum(side * side, -1)
    nonzero = square > 0
    # The double `where` keeps derivatives finite for vectors along the normal.
    length = jnp.sqrt(jnp.where(nonzero, square, 1.0)) * nonzero
    direction = side / jnp.where(nonzero, length, 1.0)[:, None]
    inside = length <= mu * along
    on_edge = ~inside & (mu * length > -along)
    return _ConeCoordinates(along, length, direction, inside, on_edge)


def _project(contacts: FrictionContacts, v: Any) -> Float[jax.Array, "n 3"]:
    """Return the closest vectors in the friction cones."""
    along, length, direction, inside, on_edge = _cone_coordinates(contacts, v)
    mu = contacts.friction
    # On the edge: s (n + μ d) with s = (v·n + μ |v_t|) / (1 + μ²). Else the apex, 0.
    s = (along + mu * length) / (1 + mu * mu)
    edge = s[:, None] * (contacts.normal + mu[:, None] * direction)
    return jnp.where(inside[:, None], v, jnp.where(on_edge[:, None], edge, 0.0))


def _projection_jacobian(
    contacts: FrictionContacts, v: Any
) -> Float[jax.Array, "n 3 3"]:
    """Return the (generalised) Jacobian of the projection."""
    along, length, direction, inside, on_edge = _cone_coordinates(contacts, v)
    n, mu = contacts.normal, contacts.friction
    eye = jnp.eye(3, dtype=v.dtype)
    share = 1 / (1 + mu * mu)
    ray = n + mu[:, None] * direction
    # Along the edge the projection is linear; across it, the tangential direction
    # turns with rate 1 / |v_t|.
    rate = share * (along + mu * length) * mu / jnp.where(length > 0, length, 1.0)
    across = eye - _outer(n) - _outer(direction)
    edge = share[:, None, None] * _outer(ray) + rate[:, None, None] * across
    edge = jnp.where(on_edge[:, None, None], edge, 0.0)
    return jnp.where(inside[:, None, None], eye, edge)


def _outer(a: Float[jax.Array, "n 3"]) -> Float[jax.Array, "n 3 3"]:
    return a[:, :, None] * a[:, None, :]
