"""How distance, witness points and normal change when bodies move or change size.

At the optimum the normal n and the witness points satisfy p_a - p_b = d n, where each
point is the one its body has along the normal. Near it a surface is known by its
curvature (the Hessian of the support function) and by the flat directions in which the
point may slide; linearised, this is a small linear system for the change of the normal.
"""

from typing import Any

import jax
import jax.numpy as jnp

from .cores import Body, Core, HalfSpace, Hull, support
from .surfaces import Flats, Mat, Vec, balance, surface, tangents
from .vectors import Array, stacked, vector


def respond(a: Body, b: Body, out: Any, da: Body, db: Body) -> tuple[Any, ...]:
    """Tangents of distance, point on A, point on B and normal.

    Args:
        a: bodies A.
        b: bodies B.
        out: their contacts.
        da: tangents of A's core sizes, radius and pose.
        db: tangents of B's.
    """
    n = out.normal
    move_a = _moved(a, da, out.point_a, -n)
    move_b = _moved(b, db, out.point_b, n)
    apart = move_a - move_b
    distance = jnp.sum(n * apart, -1)

    turn_a, turn_b = _turned(a, da, n), _turned(b, db, n)
    W_a, E_a = _surface(a, -n, out.point_a)
    W_b, E_b = _surface(b, n, out.point_b)
    T = tangents(n)
    project = lambda x: jnp.einsum("...ij,...i->...j", T, x)
    apply = lambda W, x: jnp.einsum("...ij,...j->...i", W, x)
    flatten = lambda W: jnp.swapaxes(T, -1, -2) @ W @ T
    S = flatten(W_a + W_b) + out.distance[..., None, None] * jnp.eye(2, dtype=n.dtype)
    F = jnp.concatenate(
        [-jnp.swapaxes(T, -1, -2) @ E_a, jnp.swapaxes(T, -1, -2) @ E_b], -1
    )
    free = project(apart + apply(W_a, turn_a) + apply(W_b, turn_b))
    slide = lambda E, turn: jnp.einsum("...ij,...i->...j", E, turn)
    fixed = jnp.concatenate(
        [
            _tilt(a, da, -n, out.point_a, E_a) - slide(E_a, turn_a),
            _tilt(b, db, n, out.point_b, E_b) + slide(E_b, turn_b),
        ],
        -1,
    )
    y, move = balance(S, F, free, fixed)
    normal = jnp.einsum("...ij,...j->...i", T, y)
    point_a = move_a - apply(W_a, normal - turn_a)
    point_a = point_a + jnp.einsum("...ij,...j->...i", E_a, move[..., :2])
    point_b = move_b + apply(W_b, normal - turn_b)
    point_b = point_b + jnp.einsum("...ij,...j->...i", E_b, move[..., 2:])
    return distance, point_a, point_b, normal


def _moved(body: Body, d: Body, point: Vec, outward: Vec) -> Vec:
    """Velocity of the body's material point at `point`, and of its surface's growth."""
    local = jnp.einsum("...ji,...j->...i", body.R, point - body.p)
    rigid = jnp.einsum("...ij,...j->...i", d.R, local) + d.p
    m = jnp.einsum("...ji,...j->...i", body.R, outward)
    grown = d.radius[..., None] * m
    if not isinstance(body.core, HalfSpace):
        grown = grown + _grown(body.core, d.core, m, local - body.radius[..., None] * m)
    return rigid + jnp.einsum("...ij,...j->...i", body.R, grown)


def _grown(core: Core, d: Core, m: Vec, x: Vec) -> Vec:
    """Change of the core's point x, extreme along m, with the core's sizes."""
    batch = m.shape[:-1]
    m, x = jax.lax.stop_gradient((m, x))
    if isinstance(core, Hull) and isinstance(d, Hull):
        weights = jax.lax.stop_gradient(_weights(core.vertices, m, x))
        return jnp.einsum("...v,...vi->...i", weights, d.vertices)
    flat = lambda a: a.reshape(-1, *a.shape[len(batch) :])
    fn = lambda c: stacked(support(c, vector(flat(m))))
    sizes = jax.tree.map(flat, core), jax.tree.map(flat, d)
    return jax.jvp(fn, (sizes[0],), (sizes[1],))[1].reshape(*batch, 3)


def _tilt(body: Body, d: Body, outward: Vec, point: Vec, E: Flats) -> Array:
    """Velocity, along the flats E, of the outward normal of a hull that is deformed."""
    core = body.core
    if not (isinstance(core, Hull) and isinstance(d.core, Hull)):
        return jnp.zeros((*outward.shape[:-1], 2), outward.dtype)
    m, x = _local(body, outward, point)
    E = jnp.einsum("...ji,...jk->...ik", body.R, E)
    still = jax.lax.stop_gradient
    weights = still(_weights(core.vertices, m, x))
    rise = jnp.einsum("...vi,...i->...v", d.core.vertices, still(m))
    rise = rise - jnp.sum(weights * rise, -1, keepdims=True)
    across = jnp.einsum("...vi,...ij->...vj", core.vertices - x[..., None, :], E)
    across = still(across * _active(core.vertices, m)[..., None])
    gram = jnp.swapaxes(across, -1, -2) @ across
    inverse = jnp.linalg.pinv(gram, rtol=1e-6, hermitian=True)
    return -jnp.einsum("...ij,...vj,...v->...i", inverse, across, rise)


def _active(vertices: Array, m: Vec) -> Array:
    """Which vertices are extreme along m."""
    along = jnp.einsum("...vi,...i->...v", vertices, m)
    best = jnp.max(along, -1, keepdims=True)
    extent = jnp.max(jnp.abs(vertices), (-1, -2))[..., None]
    flat = 1e-5 if m.dtype == jnp.float32 else 1e-9
    return along >= best - flat * extent


def _weights(vertices: Array, m: Vec, x: Vec) -> Array:
    """Shares in x of the vertices that are extreme along m, the least ones."""
    active = _active(vertices, m).astype(m.dtype)
    away = jnp.concatenate(
        [vertices - x[..., None, :], jnp.ones_like(active)[..., None]], -1
    )
    away = away * active[..., None]
    gram = jnp.swapaxes(away, -1, -2) @ away
    one = jnp.broadcast_to(jnp.array([0, 0, 0, 1], m.dtype), (*m.shape[:-1], 4))
    inverse = jnp.linalg.pinv(gram, rtol=1e-6, hermitian=True)
    return jnp.einsum("...vi,...ij,...j->...v", away, inverse, one)


def _local(body: Body, outward: Vec, point: Vec) -> tuple[Vec, Vec]:
    """The normal and the core's point under a surface point, in the core's frame."""
    m = jnp.einsum("...ji,...j->...i", body.R, outward)
    x = jnp.einsum("...ji,...j->...i", body.R, point - body.p)
    return m, x - body.radius[..., None] * m


def _turned(body: Body, d: Body, n: Vec) -> Vec:
    """Velocity of n if it were fixed in the body."""
    local = jnp.einsum("...ji,...j->...i", body.R, n)
    return jnp.einsum("...ij,...j->...i", d.R, local)


def _surface(body: Body, outward: Vec, point: Vec) -> tuple[Mat, Flats]:
    """Curvature and flat directions (zero where none) at a witness point, in the world.

    The curvature is the derivative of the surface point by the outward normal.
    """
    m, x = _local(body, outward, point)
    flat = 1e-5 if m.dtype == jnp.float32 else 1e-9
    W, E = surface(body.core, m, x, flat)
    eye = jnp.eye(3, dtype=m.dtype)
    W = W + body.radius[..., None, None] * (eye - m[..., :, None] * m[..., None, :])
    R = body.R
    return R @ W @ jnp.swapaxes(R, -1, -2), R @ jax.lax.stop_gradient(E)
