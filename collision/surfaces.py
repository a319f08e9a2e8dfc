"""Local geometry of a core's surface: curvature and flat directions at a point."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike
from jaxtyping import Float

from posewise.compilation.arrays import Array
from posewise.compilation.compaction import dynamic_row

from .cores import (
    Box,
    BoxPlusEllipsoid,
    Core,
    HalfSpace,
    Hull,
    MixedCore,
    Segment,
)
from .vec3_array import Vectors, dot, norm, pairs_last, safe_root
from .vec3_tuple import max_component, vector_components

FlatDirections = Float[Array, "2 3 #pairs"]
"""Orthonormal directions in which the surface is flat; zero where there are fewer."""
Curvature = Float[Array, "3 3 #pairs"]
"""The derivative of the support point by the normal: the Hessian of the support
function, whose eigenvalues are the principal radii of curvature [m]."""


def surface_geometry(
    core: Core | MixedCore, m: Vectors, x: Vectors, max_cosine: Array | float
) -> tuple[Curvature, FlatDirections]:
    """Return curvature and flat directions of a core where its outward normal is m.

    Along flat directions the point may slide while the normal stays.

    Args:
        core: with arrays of one batch axis.
        m: unit normals, in the core's frame.
        x: the points, in the core's frame.
        max_cosine: greatest cosine between m and a direction that counts as flat.
    """
    zero = jnp.zeros((3, *m.shape), m.dtype)
    axes = np.eye(3, dtype=m.dtype)[..., None]

    def is_flat_axis(half: Array) -> jax.Array:
        # at an end of an edge, the point could slide off
        return (jnp.abs(m) <= max_cosine) & (jnp.abs(x) < half * (1 - 1e-6))

    match core:
        case Segment(half):
            along = is_flat_axis(half)[2] * axes[2]
            return zero, jnp.stack([along, jnp.zeros_like(along)])
        case Box(half):
            return zero, _first_two_axes(is_flat_axis(half.T), m.dtype)
        case BoxPlusEllipsoid(half, radii):
            # h(m) = |r m| has the Hessian diag(r²)/h - (r² m)(r² m)ᵀ/h³; the box's
            # support function is linear almost everywhere and adds none
            r, is_long = radii.T, half.T > 0
            scaled = r * r * m
            length = safe_root(dot(scaled, m))
            is_cap = length <= max_cosine * max_component(vector_components(radii))
            inverse = jnp.where(is_cap, 0.0, 1 / jnp.where(is_cap, 1.0, length))
            W = (r * r)[:, None] * axes * inverse
            W = W - scaled[:, None] * scaled * inverse**3
            on = (jnp.abs(m) <= max_cosine) & is_long | (is_cap & (r > 0))
            return W, _first_two_axes(on, m.dtype)
        case Hull(vertices):
            return zero, _face_directions(pairs_last(vertices), m, x, max_cosine)
        case HalfSpace():
            return zero, jnp.broadcast_to(axes[:2], (2, *m.shape))
        case MixedCore():
            return _mixed_geometry(core, m, x, max_cosine)
    raise TypeError(f"{type(core).__name__} has no surface.")


def _mixed_geometry(
    core: MixedCore, m: Vectors, x: Vectors, max_cosine: Array | float
) -> tuple[Curvature, FlatDirections]:
    """Return `surface_geometry` of cores of several types."""
    half, radii, vertices, is_hull, is_plane = core
    is_round = jnp.any(radii > 0, -1)
    _, E = surface_geometry(Box(half), m, x, max_cosine)
    round_core = BoxPlusEllipsoid(half, radii)
    W, round_flats = surface_geometry(round_core, m, x, max_cosine)
    E = jnp.where(is_round, round_flats, E)
    if vertices is not None:
        E = jnp.where(is_hull, surface_geometry(Hull(vertices), m, x, max_cosine)[1], E)
    E = jnp.where(is_plane, surface_geometry(HalfSpace(), m, x, max_cosine)[1], E)
    return jnp.where(is_round & ~is_hull & ~is_plane, W, 0.0), E


def _first_two_axes(on: Array, dtype: DTypeLike) -> FlatDirections:
    """Return the first two of the three axes for which `on` holds."""
    x, y, z = jnp.unstack(on)
    first = jnp.stack([x, y & ~x, z & ~(x | y)])
    second = jnp.stack([jnp.zeros_like(x), x & y, z & (x ^ y)])
    return jnp.stack([first, second]).astype(dtype)


def _face_directions(
    vertices: Array, m: Vectors, x: Vectors, max_cosine: Array | float
) -> FlatDirections:
    """Return directions that span the vertices of a hull that are extreme along m."""
    along = dot(vertices, m)
    extent = jnp.max(jnp.abs(vertices), (0, 1))
    extreme = along >= jnp.max(along, 0) - max_cosine * extent
    away = jnp.where(extreme[:, None], vertices - x, 0.0)

    def vertex_of_max(v: Array, key: Array) -> jax.Array:
        return jnp.take_along_axis(v, jnp.argmax(key, 0)[None, None], 0)[0]

    first = vertex_of_max(away, dot(away, away))
    size = norm(first)
    has_edge = size > 1e-6 * extent
    first = jnp.where(has_edge, first, 0.0) / jnp.where(has_edge, size, 1.0)
    # Directions are those of the hull, not projected onto the tangents of m: their
    # products with m are the residuals by which a Newton step turns the normal.
    off = away - dot(away, first)[:, None] * first
    across = jnp.abs(dot(off, jnp.cross(m, first, axis=0)))
    second = vertex_of_max(off, across)
    size = norm(second)
    has_face = (jnp.max(across, 0) > 1e-6 * extent) & (
        jnp.abs(dot(second, m)) < 0.1 * size
    )
    second = jnp.where(has_face, second, 0.0) / jnp.where(has_face, size, 1.0)
    return jnp.stack([first, second])


def tangent_basis(n: Vectors) -> Float[jax.Array, "2 3 #pairs"]:
    """Return two unit vectors orthogonal to n and to each other.

    The formula is that of Duff et al., "Building an orthonormal basis, revisited"
    (2017), which has no singular direction.
    """
    x, y, z = jnp.unstack(n)
    sign = jnp.where(z >= 0, 1.0, -1.0)
    s = -1 / (sign + z)
    t = x * y * s
    rows = [1 + sign * x * x * s, sign * t, -sign * x, t, sign + y * y * s, -y]
    return jnp.stack(rows).reshape(2, 3, -1)


def combine(
    vectors: Float[Array, "2 3 #pairs"], weights: Float[Array, "2 #pairs"]
) -> Vectors:
    """Return the weighted sum of two vectors."""
    return vectors[0] * weights[0] + vectors[1] * weights[1]


def solve_saddle_system(
    S: Float[Array, "2 2 #pairs"],
    F: Float[Array, "2 4 #pairs"],
    f: Float[Array, "2 #pairs"],
    g: Float[Array, "4 #pairs"],
) -> tuple[jax.Array, jax.Array]:
    """Solve S y + F c = f, Fᵀ y = g, with the least c where it is not unique.

    y turns the normal within its tangents, c slides the points along flat directions.
    Where nothing determines y (concentric balls), it is zero.
    """
    single = S.dtype == jnp.float32
    tiny = 1e-5 if single else 1e-10
    # -tiny I in the lower right block selects the least c (Tikhonov regularization)
    damp = jnp.broadcast_to(-tiny * np.eye(4, dtype=S.dtype)[..., None], (4, *g.shape))
    bottom = jnp.concatenate([F.swapaxes(0, 1), damp], 1)
    M = jnp.concatenate([jnp.concatenate([S, F], 1), bottom])
    # y is determined where S + F Fᵀ is regular, by a determinant above rounding
    stiffness = S + jnp.sum(F[:, None] * F, 2)
    a, b, c = stiffness[0, 0], stiffness[0, 1], stiffness[1, 1]
    rounding = 8 * jnp.finfo(S.dtype).eps * (a + c) ** 2
    is_singular = jnp.abs(a * c - b * b) <= jnp.maximum(tiny * tiny, rounding)
    M = jnp.where(is_singular, np.eye(6, dtype=S.dtype)[..., None], M)
    x = jnp.sum(_invert(M) * jnp.concatenate([f, g]), 1)
    x = jnp.where(is_singular, 0.0, x)
    return x[:2], x[2:]


def _invert(M: Float[Array, "n n pairs"]) -> jax.Array:
    """Return inverses of many small matrices, by Gauss–Jordan elimination."""
    # LAPACK is called for one matrix after the other on CPUs, and no single kernel may
    # contain such calls
    n = len(M)
    number = np.arange(n)[:, None]

    def eliminate(k: Array, A: Array) -> Array:
        # the row of the greatest entry of the column becomes the pivot row
        column = dynamic_row(A.swapaxes(0, 1), k)
        best = jnp.argmax(jnp.where(number >= k, jnp.abs(column), -1.0), 0)
        chosen = (number == best)[:, None]
        is_kth = (number == k)[..., None]
        pivot = jnp.sum(jnp.where(chosen, A, 0.0), 0)
        A = jnp.where(is_kth, pivot, jnp.where(chosen, dynamic_row(A, k), A))
        pivot = pivot / dynamic_row(pivot, k)
        column = dynamic_row(A.swapaxes(0, 1), k)
        factor = jnp.where(number == k, 0.0, column)[:, None]
        return jnp.where(is_kth, pivot, A - factor * pivot)

    eye = jnp.broadcast_to(np.eye(n, dtype=M.dtype)[..., None], M.shape)
    A = jnp.concatenate([M, eye], 1)
    inverses: jax.Array = jax.lax.fori_loop(0, n, eliminate, A)[:, n:]
    return inverses
