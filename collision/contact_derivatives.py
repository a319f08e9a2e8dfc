"""Derivatives of distance, witness points and normal by poses and sizes of bodies.

At the optimum the normal n and the witness points satisfy p_a - p_b = d n, where each
point is the one that its body has along the normal. Near it, a surface is described by
its curvature (the Hessian W of the support function) and by the flat directions E in
which the point may slide. The implicit function theorem then gives a small linear
system for the change of the normal, from which the points' changes follow.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.compilation.arrays import Array
from posewise.compilation.precision import full_matmul_precision

from .cores import (
    Body,
    BoxPlusEllipsoid,
    Core,
    HalfSpace,
    Hull,
    MixedBody,
    MixedCore,
    support_point,
)
from .surfaces import (
    Curvature,
    FlatDirections,
    combine,
    solve_saddle_system,
    surface_geometry,
    tangent_basis,
)
from .vec3_array import (
    Matrix,
    Vectors,
    dot,
    pairs_first,
    pairs_last,
    rotate,
    rotate_back,
)


class BodyRates(NamedTuple):
    """Rates of a body: its motion as a twist, and those of its sizes."""

    linear: Float[Array, "*batch 3"]
    """Velocity of the body's point at the world's origin [m]."""
    angular: Float[Array, "*batch 3"]
    """Angular velocity, in the world [rad]."""
    core: Core | MixedCore | None
    """Rates of the core's sizes; None: none changes, nor does the radius."""
    radius: Float[Array, "*batch"] | None


def twist_of_pose(
    R: Float[Array, "*batch 3 3"],
    p: Float[Array, "*batch 3"],
    dR: Float[Array, "*batch 3 3"],
    dp: Float[Array, "*batch 3"],
) -> tuple[Float[Array, "*batch 3"], Float[Array, "*batch 3"]]:
    """Return the twist of a pose about the world's origin: linear, angular part.

    Of a dR that is no tangent of rotations, its projection onto these counts.
    """
    # The rate of a rotation is dR = [ω] R, with the antisymmetric matrix of ω. Sums of
    # products instead of `@`, because element-wise operations fuse.
    spin: Any = sum(dR[..., :, None, k] * R[..., None, :, k] for k in range(3))
    spin = (spin - spin.swapaxes(-1, -2)) / 2
    angular = jnp.stack([spin[..., 2, 1], spin[..., 0, 2], spin[..., 1, 0]], -1)
    return dp - jnp.cross(angular, p), angular


@full_matmul_precision
def contact_tangents(
    a: Body | MixedBody,
    b: Body | MixedBody,
    out: tuple[Array, Array, Array, Array],
    da: BodyRates,
    db: BodyRates,
) -> tuple[Any, ...]:
    """Return tangents of distance, point on A, point on B and normal.

    Args:
        a: bodies A.
        b: bodies B.
        out: their distances, points on A, points on B and normals.
        da: rates of A.
        db: rates of B.
    """
    batch = out[0].shape
    a, b, out, da, db = jax.tree.map(
        lambda x: x.reshape(-1, *x.shape[len(batch) :]), (a, b, tuple(out), da, db)
    )
    sides = _MovingBody.of(a, da), _MovingBody.of(b, db)
    tangents = _tangents_of_pairs(*sides, *map(pairs_last, out))
    return tuple(pairs_first(x).reshape(*batch, *x.shape[:-1]) for x in tangents)


class _MovingBody(NamedTuple):
    """A body and its rates; the pairs are the last axis, of the core the first."""

    core: Core | MixedCore
    radius: Array
    R: Matrix
    p: Vectors
    linear: Vectors
    angular: Vectors
    core_rate: Any
    radius_rate: Any

    @classmethod
    def of(cls, body: Body | MixedBody, d: BodyRates) -> "_MovingBody":
        R, p, linear, angular = map(pairs_last, (body.R, body.p, d.linear, d.angular))
        return cls(body.core, body.radius, R, p, linear, angular, d.core, d.radius)


def _tangents_of_pairs(
    a: _MovingBody,
    b: _MovingBody,
    distance: Array,
    on_a: Vectors,
    on_b: Vectors,
    n: Vectors,
) -> tuple[Any, ...]:
    move_a, move_b = _point_velocity(a, on_a, -n), _point_velocity(b, on_b, n)
    apart = move_a - move_b
    turn_a, turn_b = _normal_velocity(a, n), _normal_velocity(b, n)
    W_a, E_a = _surface_in_world(a, -n, on_a)
    W_b, E_b = _surface_in_world(b, n, on_b)
    # Unknown are the change T y of the normal and the slides c along the flats E.
    # p_a - p_b - d n = 0 in the tangents T: (Tᵀ (W_a + W_b) T + d) y + Tᵀ E c = f,
    # and the flats keep at right angles to the normal: (Tᵀ E)ᵀ y = tilt.
    T = tangent_basis(n)
    S = dot(T[:, None], rotate(W_a + W_b, T))
    S = S + distance * np.eye(2, dtype=n.dtype)[..., None]
    E = jnp.concatenate([-E_a, E_b])
    f = dot(T, apart + rotate(W_a, turn_a) + rotate(W_b, turn_b))
    tilt_a = _flat_tilt(a, -n, on_a, E_a) - dot(E_a, turn_a)
    tilt_b = _flat_tilt(b, n, on_b, E_b) + dot(E_b, turn_b)
    tilt = jnp.concatenate([tilt_a, tilt_b])
    y, slide = solve_saddle_system(S, dot(T[:, None], E), f, tilt)
    normal = combine(T, y)
    # a point moves with the body, rolls as far as the normal turns in the body, slides
    point_a = move_a - rotate(W_a, normal - turn_a) + combine(E_a, slide[:2])
    point_b = move_b + rotate(W_b, normal - turn_b) + combine(E_b, slide[2:])
    # Danskin's theorem: n and the points' motion within the surfaces do not contribute
    return dot(n, apart), point_a, point_b, normal


def _point_velocity(side: _MovingBody, point: Vectors, outward: Vectors) -> Vectors:
    """Return the velocity of a witness point as a material point of the body.

    It includes the growth of the surface with radius and core sizes.
    """
    rigid: Vectors = side.linear + jnp.cross(side.angular, point, axis=0)
    if side.core_rate is None:
        return rigid
    m, on_core = _to_core_frame(side, outward, point)
    growth = _core_growth(side.core, side.core_rate, m, on_core)
    velocity: Vectors = rigid + rotate(side.R, side.radius_rate * m + growth)
    return velocity


def _core_growth(core: Core | MixedCore, d: Any, m: Vectors, x: Vectors) -> Vectors:
    """Return the change of the core's point x, extreme along m, with core sizes."""
    m, x = jax.lax.stop_gradient((m, x))
    match core:
        case HalfSpace():
            return jnp.zeros_like(m)
        case Hull(vertices):
            of_vertices = pairs_last(vertices)
            weights = jax.lax.stop_gradient(_vertex_weights(of_vertices, m, x))
            return jnp.sum(weights[:, None] * pairs_last(d.vertices), 0)
        case MixedCore(half, radii, vertices, is_hull, is_plane):
            rates = BoxPlusEllipsoid(d.half, d.radii)
            growth = _core_growth(BoxPlusEllipsoid(half, radii), rates, m, x)
            if vertices is not None:
                of_hull = _core_growth(Hull(vertices), Hull(d.vertices), m, x)
                growth = jnp.where(is_hull, of_hull, growth)
            return jnp.where(is_plane, 0.0, growth)
    moved: Vectors = jax.jvp(lambda c: support_point(c, m), (core,), (d,))[1]
    return moved


def _flat_tilt(
    side: _MovingBody, outward: Vectors, point: Vectors, E: FlatDirections
) -> Array:
    """Return the velocity, along flats E, of the outward normal of a deformed hull."""
    zero = jnp.zeros((2, *outward.shape[1:]), outward.dtype)
    if side.core_rate is None or not isinstance(side.core, Hull | MixedCore):
        return zero
    if side.core.vertices is None:
        return zero
    m, x = _to_core_frame(side, outward, point)
    E = rotate_back(side.R, E)
    vertices = pairs_last(side.core.vertices)
    weights = jax.lax.stop_gradient(_vertex_weights(vertices, m, x))
    rise = dot(pairs_last(side.core_rate.vertices), jax.lax.stop_gradient(m))
    rise = rise - jnp.sum(weights * rise, 0)
    # least squares: the plane through the face's vertices as they rise along m
    across = dot((vertices - x)[:, None], E) * _extreme_vertices(vertices, m)[:, None]
    across = pairs_first(jax.lax.stop_gradient(across))
    gram = across.swapaxes(-1, -2) @ across
    inverse = jnp.linalg.pinv(gram, rtol=1e-6, hermitian=True)
    tilt = jnp.einsum("pij,pvj,vp->ip", inverse, across, rise)
    if isinstance(side.core, MixedCore):
        tilt = jnp.where(side.core.is_hull, tilt, 0.0)
    return -tilt


def _flat_cosine(dtype: Any) -> float:
    """Return the greatest cosine between normal and a direction counted as flat."""
    return 1e-5 if dtype == jnp.float32 else 1e-9


def _extreme_vertices(vertices: Array, m: Vectors) -> Array:
    """Return which vertices are extreme along m."""
    along = dot(vertices, m)
    extent = jnp.max(jnp.abs(vertices), (0, 1))
    return along >= jnp.max(along, 0) - _flat_cosine(m.dtype) * extent


def _vertex_weights(vertices: Array, m: Vectors, x: Vectors) -> Array:
    """Return weights of the vertices extreme along m, whose weighted mean is x.

    They are those of least norm: x is linear in the vertices with weights that sum to
    one, A w = (0, 1), and w = Aᵀ (A Aᵀ)⁺ (0, 1).
    """
    away = jnp.concatenate([vertices - x, jnp.ones_like(vertices[:, :1])], 1)
    away = pairs_first(away * _extreme_vertices(vertices, m)[:, None])
    gram = away.swapaxes(-1, -2) @ away
    one = np.array([0, 0, 0, 1], m.dtype)
    inverse = jnp.linalg.pinv(gram, rtol=1e-6, hermitian=True)
    return jnp.einsum("pvi,pij,j->vp", away, inverse, one)


def _to_core_frame(
    side: _MovingBody, outward: Vectors, point: Vectors
) -> tuple[Vectors, Vectors]:
    """Return the normal and the core's point under a surface point, in its frame."""
    m = rotate_back(side.R, outward)
    return m, rotate_back(side.R, point - side.p) - side.radius * m


def _normal_velocity(side: _MovingBody, n: Vectors) -> Vectors:
    """Return the velocity of n if n were fixed in the body."""
    velocity: Vectors = jnp.cross(side.angular, n, axis=0)
    return velocity


def _surface_in_world(
    side: _MovingBody, outward: Vectors, point: Vectors
) -> tuple[Curvature, FlatDirections]:
    """Return curvature and flat directions at a witness point, in the world."""
    m, x = _to_core_frame(side, outward, point)
    W, E = surface_geometry(side.core, m, x, _flat_cosine(m.dtype))
    # the ball's support function radius |m| has the Hessian radius (I - m mᵀ)
    eye = np.eye(3, dtype=m.dtype)[..., None]
    W = W + side.radius * (eye - m[:, None] * m)
    # R W Rᵀ, with W symmetric
    W = rotate(side.R, rotate(side.R, W).swapaxes(0, 1))
    return W, rotate(side.R, jax.lax.stop_gradient(E))
