"""How distance, witness points and normal change when bodies move or change size.

At the optimum the normal n and the witness points satisfy p_a - p_b = d n, where each
point is the one its body has along the normal. Near it a surface is known by its
curvature (the Hessian of the support function) and by the flat directions in which the
point may slide; linearised, this is a small linear system for the change of the normal.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Float

from .cores import Body, Box, Core, Curved, HalfSpace, Hull, Segment, support
from .vectors import stacked, vector

Vec = Float[jax.Array, "*batch 3"]
Mat = Float[jax.Array, "*batch 3 3"]


def respond(a: Body, b: Body, out: Any, da: Body, db: Body) -> tuple[jax.Array, ...]:
    """Tangents of distance, point on A, point on B and normal.

    Args:
        a: bodies A.
        b: bodies B.
        out: their contacts.
        da: tangents of A's core sizes, radius and pose.
        db: tangents of B's.
    """
    n = out.normal
    move_a = _moved(a, da, out.point_a, -n, -1.0)
    move_b = _moved(b, db, out.point_b, n, 1.0)
    apart = move_a - move_b
    distance = jnp.sum(n * apart, -1)

    turn_a, turn_b = _turned(a, da, n), _turned(b, db, n)
    W_a, E_a = _surface(a, -n, out.point_a)
    W_b, E_b = _surface(b, n, out.point_b)
    T = _tangents(n)
    project = lambda x: jnp.einsum("...ij,...i->...j", T, x)
    apply = lambda W, x: jnp.einsum("...ij,...j->...i", W, x)
    flatten = lambda W: jnp.swapaxes(T, -1, -2) @ W @ T
    S = flatten(W_a + W_b) + out.distance[..., None, None] * jnp.eye(2, dtype=n.dtype)
    F = jnp.concatenate(
        [-jnp.swapaxes(T, -1, -2) @ E_a, jnp.swapaxes(T, -1, -2) @ E_b], -1
    )
    free = project(apart + apply(W_a, turn_a) + apply(W_b, turn_b))
    slide = lambda E, turn: jnp.einsum("...ij,...i->...j", E, turn)
    fixed = jnp.concatenate([-slide(E_a, turn_a), slide(E_b, turn_b)], -1)
    y, move = _solve(S, F, free, fixed)
    normal = jnp.einsum("...ij,...j->...i", T, y)
    point_a = move_a - apply(W_a, normal - turn_a)
    point_a = point_a + jnp.einsum("...ij,...j->...i", E_a, move[..., :2])
    point_b = move_b + apply(W_b, normal - turn_b)
    point_b = point_b + jnp.einsum("...ij,...j->...i", E_b, move[..., 2:])
    return distance, point_a, point_b, normal


def _solve(S: jax.Array, F: jax.Array, free: jax.Array, fixed: jax.Array):
    """S y + F c = free and Fᵀ y = fixed, with the least c where c is not determined.

    Where nothing determines y (concentric balls), it is zero.
    """
    single = S.dtype == jnp.float32
    tiny = 1e-5 if single else 1e-10
    top = jnp.concatenate([S, F], -1)
    damp = -tiny * jnp.eye(4, dtype=S.dtype)
    damp = jnp.broadcast_to(damp, (*S.shape[:-2], 4, 4))
    bottom = jnp.concatenate([jnp.swapaxes(F, -1, -2), damp], -1)
    M = jnp.concatenate([top, bottom], -2)
    stiff = jnp.swapaxes(F, -1, -2)
    stiff = S + jnp.swapaxes(stiff, -1, -2) @ stiff
    a, b, c = stiff[..., 0, 0], stiff[..., 0, 1], stiff[..., 1, 1]
    loose = jnp.abs(a * c - b * b) <= tiny * tiny
    M = jnp.where(loose[..., None, None], jnp.eye(6, dtype=S.dtype), M)
    right = jnp.concatenate([free, fixed], -1)
    x = jnp.linalg.solve(M, right[..., None])[..., 0]
    x = jnp.where(loose[..., None], 0.0, x)
    return x[..., :2], x[..., 2:]


def _moved(body: Body, d: Body, point: Vec, outward: Vec, sign: float) -> Vec:
    """Velocity of the body's material point at `point`, and of its surface's growth."""
    local = jnp.einsum("...ji,...j->...i", body.R, point - body.p)
    rigid = jnp.einsum("...ij,...j->...i", d.R, local) + d.p
    if isinstance(body.core, HalfSpace):
        return rigid
    m = jnp.einsum("...ji,...j->...i", body.R, outward)
    grown = _grown(body.core, d.core, m) + d.radius[..., None] * m
    return rigid + jnp.einsum("...ij,...j->...i", body.R, grown)


def _grown(core: Core, d: Core, m: Vec) -> Vec:
    """Change of the core's support point along m with its sizes."""
    flat = lambda x, k: x.reshape(-1, *x.shape[x.ndim - k :])
    m = jax.lax.stop_gradient(m)
    batch = m.shape[:-1]
    leading = len(batch)
    shape = lambda c: jax.tree.map(lambda x: flat(x, x.ndim - leading), c)
    fn = lambda c: stacked(support(c, vector(flat(m, 1))))
    return jax.jvp(fn, (shape(core),), (shape(d),))[1].reshape(*batch, 3)


def _turned(body: Body, d: Body, n: Vec) -> Vec:
    """Velocity of n if it were fixed in the body."""
    local = jnp.einsum("...ji,...j->...i", body.R, n)
    return jnp.einsum("...ij,...j->...i", d.R, local)


def _tangents(n: Vec) -> Float[jax.Array, "*batch 3 2"]:
    """Two unit vectors at right angles to n and to each other."""
    x, y, z = n[..., 0], n[..., 1], n[..., 2]
    sign = jnp.where(z >= 0, 1.0, -1.0)
    # Duff et al., "Building an orthonormal basis, revisited" (2017)
    s = -1 / (sign + z)
    t = x * y * s
    u = jnp.stack([1 + sign * x * x * s, sign * t, -sign * x], -1)
    v = jnp.stack([t, sign + y * y * s, -y], -1)
    return jax.lax.stop_gradient(jnp.stack([u, v], -1))


def _surface(
    body: Body, outward: Vec, point: Vec
) -> tuple[Mat, Float[jax.Array, "*batch 3 2"]]:
    """Curvature and flat directions (zero where none) at a witness point, in the world.

    The curvature is the derivative of the surface point by the outward normal.
    """
    m = jnp.einsum("...ji,...j->...i", body.R, outward)
    x = jnp.einsum("...ji,...j->...i", body.R, point - body.p)
    x = x - body.radius[..., None] * m
    W, E = _core_surface(body.core, m, x)
    eye = jnp.eye(3, dtype=m.dtype)
    W = W + body.radius[..., None, None] * (eye - m[..., :, None] * m[..., None, :])
    R = body.R
    return R @ W @ jnp.swapaxes(R, -1, -2), R @ jax.lax.stop_gradient(E)


def _core_surface(core: Core, m: Vec, x: Vec) -> tuple[Mat, jax.Array]:
    zero = jnp.zeros_like(m[..., 0])
    flat = 1e-5 if m.dtype == jnp.float32 else 1e-9
    none = jnp.zeros((*m.shape, 3), m.dtype)
    axis = lambda k, on: jnp.where(on, 1.0, 0.0)[..., None] * jnp.eye(3)[k]
    inner = lambda k, half: (jnp.abs(m[..., k]) <= flat) & (
        jnp.abs(x[..., k]) < half * (1 - flat)
    )
    match core:
        case Segment(half):
            along = axis(2, inner(2, half))
            return none, jnp.stack([along, 0 * along], -1)
        case Box(half):
            on = [inner(k, half[..., k]) for k in range(3)]
            e = [axis(k, on[k]) for k in range(3)]
            first = jnp.where(on[0][..., None], e[0], e[1])
            second = jnp.where((on[0] & on[1])[..., None], e[1], e[2])
            first = jnp.where((on[0] | on[1])[..., None], first, e[2])
            second = jnp.where((on[0] | on[1])[..., None], second, 0.0)
            return none, jnp.stack([first, second], -1)
        case Curved(half, radii):
            square = radii * radii
            scaled = square * m
            length = jnp.sqrt(jnp.maximum(jnp.sum(scaled * m, -1), 0.0))
            cap = length <= flat * jnp.max(radii, -1)
            inverse = jnp.where(cap, 0.0, 1 / jnp.where(cap, 1.0, length))
            eye = jnp.eye(3, dtype=m.dtype)
            W = square[..., :, None] * eye * inverse[..., None, None]
            outer = scaled[..., :, None] * scaled[..., None, :]
            W = W - outer * (inverse**3)[..., None, None]
            lateral = (jnp.abs(m[..., 2]) <= flat) & (half > 0)
            first = jnp.where(cap[..., None], axis(0, cap), axis(2, lateral))
            return W, jnp.stack([first, axis(1, cap)], -1)
        case Hull(vertices):
            along = jnp.einsum("...vi,...i->...v", vertices, m)
            best = jnp.max(along, -1, keepdims=True)
            extent = jnp.max(jnp.abs(vertices), (-1, -2))
            active = along >= best - 10 * flat * extent[..., None]
            away = vertices - x[..., None, :]
            away = away - jnp.sum(away * m[..., None, :], -1, keepdims=True) * m[
                ..., None, :
            ]
            away = jnp.where(active[..., None], away, 0.0)
            length = jnp.sum(away * away, -1)
            far = jnp.argmax(length, -1)
            first = jnp.take_along_axis(away, far[..., None, None], -2)[..., 0, :]
            size = jnp.sqrt(jnp.sum(first * first, -1))
            on = size > 1e3 * flat * extent
            first = jnp.where(on[..., None], first, 0.0)
            first = first / jnp.where(on, size, 1.0)[..., None]
            side = jnp.cross(m, first)
            off = jnp.max(jnp.abs(jnp.sum(away * side[..., None, :], -1)), -1)
            second = jnp.where((off > 1e3 * flat * extent)[..., None], side, 0.0)
            return none, jnp.stack([first, second], -1)
        case HalfSpace():
            return none, jnp.stack([axis(0, zero == 0), axis(1, zero == 0)], -1)
    raise TypeError(f"{type(core).__name__} has no surface.")
