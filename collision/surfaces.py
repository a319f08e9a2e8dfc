"""What a surface looks like near a point: its curvature and its flat directions."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .cores import Box, Core, Curved, HalfSpace, Hull, Segment
from .vectors import Array

Vec = Float[Array, "*batch 3"]
Mat = Float[Array, "*batch 3 3"]
Flats = Float[Array, "*batch 3 2"]
"""Two columns: unit directions, zero where there are none."""


def surface(core: Core, m: Vec, x: Vec, flat: Any) -> tuple[Mat, Flats]:
    """Curvature and flat directions of a core where its outward normal is m.

    The curvature is the derivative of the surface point by the normal; along flat
    directions the point may slide while the normal stays.

    Args:
        core: with arrays of the same batch axes.
        m: unit normals, in the core's frame.
        x: the points.
        flat: largest cosine between m and a direction that counts as flat.
    """
    zero = jnp.zeros_like(m[..., 0])
    none = jnp.zeros((*m.shape, 3), m.dtype)
    E_k = np.eye(3, dtype=m.dtype)
    axis = lambda k, on: jnp.asarray(on, m.dtype)[..., None] * E_k[k]
    inner = lambda k, half: (
        (jnp.abs(m[..., k]) <= flat) & (jnp.abs(x[..., k]) < half * (1 - 1e-6))
    )

    def two(on: list) -> Flats:
        """The first two of the three axes that are flat."""
        e = [axis(k, on[k]) for k in range(3)]
        x, y, one = on[0][..., None], on[1][..., None], (on[0] | on[1])[..., None]
        first = jnp.where(one, jnp.where(x, e[0], e[1]), e[2])
        second = jnp.where(one, jnp.where(x & y, e[1], e[2]), 0.0)
        return jnp.stack([first, second], -1)

    match core:
        case Segment(half):
            along = axis(2, inner(2, half))
            return none, jnp.stack([along, 0 * along], -1)
        case Box(half):
            return none, two([inner(k, half[..., k]) for k in range(3)])
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
            on = (jnp.abs(m) <= flat) & (half > 0) | (cap[..., None] & (radii > 0))
            return W, two([on[..., k] for k in range(3)])
        case Hull(vertices):
            along = jnp.einsum("...vi,...i->...v", vertices, m)
            best = jnp.max(along, -1, keepdims=True)
            extent = jnp.max(jnp.abs(vertices), (-1, -2))
            active = along >= best - flat * extent[..., None]
            away = jnp.where(active[..., None], vertices - x[..., None, :], 0.0)
            pick = lambda v, at: jnp.take_along_axis(v, at[..., None, None], -2)[
                ..., 0, :
            ]
            first = pick(away, jnp.argmax(jnp.sum(away * away, -1), -1))
            size = jnp.sqrt(jnp.sum(first * first, -1))
            wide = size > 1e-6 * extent
            first = jnp.where(wide[..., None], first, 0.0)
            first = first / jnp.where(wide, size, 1.0)[..., None]
            # the edges' own directions: they tell how far m is from being normal
            off = (
                away
                - jnp.sum(away * first[..., None, :], -1, keepdims=True)
                * (first[..., None, :])
            )
            side = jnp.cross(m, first)
            across = jnp.abs(jnp.sum(off * side[..., None, :], -1))
            second = pick(off, jnp.argmax(across, -1))
            size = jnp.sqrt(jnp.sum(second * second, -1))
            broad = (jnp.max(across, -1) > 1e-6 * extent) & (
                jnp.abs(jnp.sum(second * m, -1)) < 0.1 * size
            )
            second = jnp.where(broad[..., None], second, 0.0)
            second = second / jnp.where(broad, size, 1.0)[..., None]
            return none, jnp.stack([first, second], -1)
        case HalfSpace():
            return none, jnp.stack([axis(0, zero == 0), axis(1, zero == 0)], -1)
    raise TypeError(f"{type(core).__name__} has no surface.")


def tangents(n: Vec) -> Float[Array, "*batch 3 2"]:
    """Two unit vectors at right angles to n and to each other."""
    x, y, z = n[..., 0], n[..., 1], n[..., 2]
    sign = jnp.where(z >= 0, 1.0, -1.0)
    # Duff et al., "Building an orthonormal basis, revisited" (2017)
    s = -1 / (sign + z)
    t = x * y * s
    u = jnp.stack([1 + sign * x * x * s, sign * t, -sign * x], -1)
    v = jnp.stack([t, sign + y * y * s, -y], -1)
    return jax.lax.stop_gradient(jnp.stack([u, v], -1))


def balance(S: Array, F: Array, free: Array, fixed: Array):
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
    stiff = S + F @ jnp.swapaxes(F, -1, -2)
    a, b, c = stiff[..., 0, 0], stiff[..., 0, 1], stiff[..., 1, 1]
    rounding = 8 * jnp.finfo(S.dtype).eps * (a + c) ** 2
    loose = jnp.abs(a * c - b * b) <= jnp.maximum(tiny * tiny, rounding)
    M = jnp.where(loose[..., None, None], jnp.eye(6, dtype=S.dtype), M)
    right = jnp.concatenate([free, fixed], -1)
    x = jnp.sum(_inverse(M) * right[..., None, :], -1)
    x = jnp.where(loose[..., None], 0.0, x)
    return x[..., :2], x[..., 2:]


def _inverse(M: Array) -> Array:
    """Of many small matrices: Gauss-Jordan elimination with pivots."""
    n = M.shape[-1]

    def eliminate(k: Array, A: Array) -> Array:
        row = np.arange(n)
        column = jnp.take(A, k, -1)
        best = jnp.argmax(jnp.where(row >= k, jnp.abs(column), -1.0), -1)
        chosen = (row == best[..., None])[..., None]
        pivot = jnp.sum(jnp.where(chosen, A, 0.0), -2, keepdims=True)
        here = jnp.take(A, k[None], -2)
        A = jnp.where((row == k)[:, None], pivot, jnp.where(chosen, here, A))
        pivot = pivot / jnp.take(pivot, k[None], -1)
        factor = jnp.where(row == k, 0.0, jnp.take(A, k, -1))[..., None]
        return jnp.where((row == k)[:, None], pivot, A - factor * pivot)

    eye = jnp.broadcast_to(jnp.eye(n, dtype=M.dtype), M.shape)
    A = jnp.concatenate([M, eye], -1)
    return jax.lax.fori_loop(0, n, eliminate, A)[..., n:]
