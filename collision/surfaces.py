"""What a surface looks like near a point: its curvature and its flat directions."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.compilation.arrays import Array
from posewise.compilation.compaction import dynamic_row

from .cores import Box, BoxPlusEllipsoid, Core, HalfSpace, Hull, Segment
from .vec3_array import Vectors, dot, pairs_last
from .vec3_tuple import max_component, vector_components

FlatDirections = Float[Array, "2 3 #pairs"]
"""Unit directions at right angles, zero where there are none."""
Curvature = Float[Array, "3 3 #pairs"]
"""The derivative of a surface's point by the normal."""


def surface_geometry(
    core: Core, m: Vectors, x: Vectors, flat: Any
) -> tuple[Curvature, FlatDirections]:
    """Curvature and flat directions of a core where its outward normal is m.

    Along flat directions the point may slide while the normal stays.

    Args:
        core: with arrays of one batch axis.
        m: unit normals, in the core's frame.
        x: the points.
        flat: largest cosine between m and a direction that counts as flat.
    """
    none = jnp.zeros((3, *m.shape), m.dtype)
    axes = np.eye(3, dtype=m.dtype)[..., None]
    inside = lambda half: (jnp.abs(m) <= flat) & (jnp.abs(x) < half * (1 - 1e-6))
    match core:
        case Segment(half):
            along = inside(half)[2] * axes[2]
            return none, jnp.stack([along, jnp.zeros_like(along)])
        case Box(half):
            return none, _first_two_axes(inside(half.T), m.dtype)
        case BoxPlusEllipsoid(half, radii):
            r, long = radii.T, half.T > 0
            scaled = r * r * m
            length = jnp.sqrt(jnp.maximum(dot(scaled, m), 0.0))
            cap = length <= flat * max_component(vector_components(radii))
            inverse = jnp.where(cap, 0.0, 1 / jnp.where(cap, 1.0, length))
            W = (r * r)[:, None] * axes * inverse
            W = W - scaled[:, None] * scaled * inverse**3
            on = (jnp.abs(m) <= flat) & long | (cap & (r > 0))
            return W, _first_two_axes(on, m.dtype)
        case Hull(vertices):
            return none, _face_directions(pairs_last(vertices), m, x, flat)
        case HalfSpace():
            return none, jnp.broadcast_to(axes[:2], (2, *m.shape))
    raise TypeError(f"{type(core).__name__} has no surface.")


def _first_two_axes(on: Array, dtype: Any) -> FlatDirections:
    """The first two of the three axes that are flat."""
    x, y, z = jnp.unstack(on)
    first = jnp.stack([x, y & ~x, z & ~(x | y)])
    second = jnp.stack([jnp.zeros_like(x), x & y, z & (x ^ y)])
    return jnp.stack([first, second]).astype(dtype)


def _face_directions(
    vertices: Array, m: Vectors, x: Vectors, flat: Any
) -> FlatDirections:
    """The flat of a hull's vertices that are extreme along m, seen from x."""
    along = dot(vertices, m)
    extent = jnp.max(jnp.abs(vertices), (0, 1))
    active = along >= jnp.max(along, 0) - flat * extent
    away = jnp.where(active[:, None], vertices - x, 0.0)
    pick = lambda v, by: jnp.take_along_axis(v, jnp.argmax(by, 0)[None, None], 0)[0]
    first = pick(away, dot(away, away))
    size = jnp.sqrt(dot(first, first))
    wide = size > 1e-6 * extent
    first = jnp.where(wide, first, 0.0) / jnp.where(wide, size, 1.0)
    # the edges' own directions: they tell how far m is from being normal
    off = away - dot(away, first)[:, None] * first
    across = jnp.abs(dot(off, jnp.cross(m, first, axis=0)))
    second = pick(off, across)
    size = jnp.sqrt(dot(second, second))
    broad = (jnp.max(across, 0) > 1e-6 * extent) & (
        jnp.abs(dot(second, m)) < 0.1 * size
    )
    second = jnp.where(broad, second, 0.0) / jnp.where(broad, size, 1.0)
    return jnp.stack([first, second])


def tangent_basis(n: Vectors) -> Float[jax.Array, "2 3 #pairs"]:
    """Two unit vectors at right angles to n and to each other."""
    x, y, z = jnp.unstack(n)
    sign = jnp.where(z >= 0, 1.0, -1.0)
    # Duff et al., "Building an orthonormal basis, revisited" (2017)
    s = -1 / (sign + z)
    t = x * y * s
    rows = [1 + sign * x * x * s, sign * t, -sign * x, t, sign + y * y * s, -y]
    return jax.lax.stop_gradient(jnp.stack(rows).reshape(2, 3, -1))


def combine(rows: Float[Array, "2 3 #pairs"], weights: Float[Array, "2 #pairs"]):
    """The weighted sum of two vectors."""
    return rows[0] * weights[0] + rows[1] * weights[1]


def solve_saddle_system(
    S: Float[Array, "2 2 #pairs"],
    F: Float[Array, "2 4 #pairs"],
    free: Float[Array, "2 #pairs"],
    fixed: Float[Array, "4 #pairs"],
) -> tuple[jax.Array, jax.Array]:
    """S y + F c = free and Fᵀ y = fixed, with the least c where c is not determined.

    Where nothing determines y (concentric balls), it is zero.
    """
    single = S.dtype == jnp.float32
    tiny = 1e-5 if single else 1e-10
    damp = jnp.broadcast_to(
        -tiny * np.eye(4, dtype=S.dtype)[..., None], (4, *fixed.shape)
    )
    bottom = jnp.concatenate([F.swapaxes(0, 1), damp], 1)
    M = jnp.concatenate([jnp.concatenate([S, F], 1), bottom])
    stiff = S + jnp.sum(F[:, None] * F, 2)
    a, b, c = stiff[0, 0], stiff[0, 1], stiff[1, 1]
    rounding = 8 * jnp.finfo(S.dtype).eps * (a + c) ** 2
    loose = jnp.abs(a * c - b * b) <= jnp.maximum(tiny * tiny, rounding)
    M = jnp.where(loose, np.eye(6, dtype=S.dtype)[..., None], M)
    x = jnp.sum(_invert(M) * jnp.concatenate([free, fixed]), 1)
    x = jnp.where(loose, 0.0, x)
    return x[:2], x[2:]


def _invert(M: Float[Array, "n n pairs"]) -> jax.Array:
    """Of many small matrices: Gauss-Jordan elimination with pivots."""
    n = len(M)
    at = np.arange(n)[:, None]

    def eliminate(k: Array, A: Array) -> Array:
        column = dynamic_row(A.swapaxes(0, 1), k)
        best = jnp.argmax(jnp.where(at >= k, jnp.abs(column), -1.0), 0)
        chosen = (at == best)[:, None]
        pivot = jnp.sum(jnp.where(chosen, A, 0.0), 0)
        A = jnp.where(
            (at == k)[..., None], pivot, jnp.where(chosen, dynamic_row(A, k), A)
        )
        pivot = pivot / dynamic_row(pivot, k)
        factor = jnp.where(at == k, 0.0, dynamic_row(A.swapaxes(0, 1), k))[:, None]
        return jnp.where((at == k)[..., None], pivot, A - factor * pivot)

    eye = jnp.broadcast_to(np.eye(n, dtype=M.dtype)[..., None], M.shape)
    A = jnp.concatenate([M, eye], 1)
    return jax.lax.fori_loop(0, n, eliminate, A)[:, n:]
