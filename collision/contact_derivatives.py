"""How distance, witness points and normal change when bodies move or change size.

At the optimum the normal n and the witness points satisfy p_a - p_b = d n, where each
point is the one its body has along the normal. Near it a surface is known by its
curvature (the Hessian of the support function) and by the flat directions in which the
point may slide; linearised, this is a small linear system for the change of the normal.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from posewise.compilation.arrays import Array
from posewise.compilation.precision import full_matmul_precision

from .cores import Body, Core, HalfSpace, Hull, support_point
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


@full_matmul_precision
def contact_tangents(a: Body, b: Body, out: Any, da: Body, db: Body) -> tuple[Any, ...]:
    """Tangents of distance, point on A, point on B and normal.

    Args:
        a: bodies A.
        b: bodies B.
        out: their contacts.
        da: tangents of A's core sizes, radius and pose.
        db: tangents of B's.
    """
    batch = out.distance.shape
    flat = lambda x: x.reshape(-1, *x.shape[len(batch) :])
    a, b, out, da, db = jax.tree.map(flat, (a, b, tuple(out), da, db))
    changes = _tangents_of_pairs(
        _MovingBody.of(a, da), _MovingBody.of(b, db), *map(pairs_last, out)
    )
    return tuple(pairs_first(x).reshape(*batch, *x.shape[:-1]) for x in changes)


class _MovingBody(NamedTuple):
    """A body and its tangent, pairs last but for the core."""

    core: Core
    radius: Array
    R: Matrix
    p: Vectors
    d: Any
    """The same of the tangent."""

    @classmethod
    def of(cls, body: Body, d: Body) -> "_MovingBody":
        last = lambda x: (x.core, x.radius, pairs_last(x.R), pairs_last(x.p))
        return cls(*last(body), cls(*last(d), None))


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
    T = tangent_basis(n)
    bent = dot(T[:, None], rotate(W_a + W_b, T))
    S = bent + distance * np.eye(2, dtype=n.dtype)[..., None]
    E = jnp.concatenate([-E_a, E_b])
    free = dot(T, apart + rotate(W_a, turn_a) + rotate(W_b, turn_b))
    tilt_a = _flat_tilt(a, -n, on_a, E_a) - dot(E_a, turn_a)
    tilt_b = _flat_tilt(b, n, on_b, E_b) + dot(E_b, turn_b)
    y, move = solve_saddle_system(
        S, dot(T[:, None], E), free, jnp.concatenate([tilt_a, tilt_b])
    )
    normal = combine(T, y)
    point_a = move_a - rotate(W_a, normal - turn_a) + combine(E_a, move[:2])
    point_b = move_b + rotate(W_b, normal - turn_b) + combine(E_b, move[2:])
    return dot(n, apart), point_a, point_b, normal


def _point_velocity(side: _MovingBody, point: Vectors, outward: Vectors) -> Vectors:
    """Velocity of the body's material point at `point`, and of its surface's growth."""
    local = rotate_back(side.R, point - side.p)
    rigid = rotate(side.d.R, local) + side.d.p
    m = rotate_back(side.R, outward)
    grown = side.d.radius * m
    if not isinstance(side.core, HalfSpace):
        grown = grown + _core_growth(side.core, side.d.core, m, local - side.radius * m)
    return rigid + rotate(side.R, grown)


def _core_growth(core: Core, d: Core, m: Vectors, x: Vectors) -> Vectors:
    """Change of the core's point x, extreme along m, with the core's sizes."""
    m, x = jax.lax.stop_gradient((m, x))
    if isinstance(core, Hull) and isinstance(d, Hull):
        weights = jax.lax.stop_gradient(
            _vertex_weights(pairs_last(core.vertices), m, x)
        )
        return jnp.sum(weights[:, None] * pairs_last(d.vertices), 0)
    return jax.jvp(lambda c: support_point(c, m), (core,), (d,))[1]


def _flat_tilt(
    side: _MovingBody, outward: Vectors, point: Vectors, E: FlatDirections
) -> Array:
    """Velocity, along the flats E, of the outward normal of a hull that is deformed."""
    if not (isinstance(side.core, Hull) and isinstance(side.d.core, Hull)):
        return jnp.zeros((2, *outward.shape[1:]), outward.dtype)
    m, x = _to_core_frame(side, outward, point)
    E = rotate_back(side.R, E)
    vertices = pairs_last(side.core.vertices)
    still = jax.lax.stop_gradient
    weights = still(_vertex_weights(vertices, m, x))
    rise = dot(pairs_last(side.d.core.vertices), still(m))
    rise = rise - jnp.sum(weights * rise, 0)
    across = dot((vertices - x)[:, None], E) * _extreme_vertices(vertices, m)[:, None]
    across = pairs_first(still(across))
    gram = across.swapaxes(-1, -2) @ across
    inverse = jnp.linalg.pinv(gram, rtol=1e-6, hermitian=True)
    return -jnp.einsum("pij,pvj,vp->ip", inverse, across, rise)


def _extreme_vertices(vertices: Array, m: Vectors) -> Array:
    """Which vertices are extreme along m."""
    along = dot(vertices, m)
    extent = jnp.max(jnp.abs(vertices), (0, 1))
    flat = 1e-5 if m.dtype == jnp.float32 else 1e-9
    return along >= jnp.max(along, 0) - flat * extent


def _vertex_weights(vertices: Array, m: Vectors, x: Vectors) -> Array:
    """Shares in x of the vertices that are extreme along m, the least ones."""
    away = jnp.concatenate([vertices - x, jnp.ones_like(vertices[:, :1])], 1)
    away = pairs_first(away * _extreme_vertices(vertices, m)[:, None])
    gram = away.swapaxes(-1, -2) @ away
    one = np.array([0, 0, 0, 1], m.dtype)
    inverse = jnp.linalg.pinv(gram, rtol=1e-6, hermitian=True)
    return jnp.einsum("pvi,pij,j->vp", away, inverse, one)


def _to_core_frame(
    side: _MovingBody, outward: Vectors, point: Vectors
) -> tuple[Vectors, Vectors]:
    """The normal and the core's point under a surface point, in the core's frame."""
    m = rotate_back(side.R, outward)
    return m, rotate_back(side.R, point - side.p) - side.radius * m


def _normal_velocity(side: _MovingBody, n: Vectors) -> Vectors:
    """Velocity of n if it were fixed in the body."""
    return rotate(side.d.R, rotate_back(side.R, n))


def _surface_in_world(
    side: _MovingBody, outward: Vectors, point: Vectors
) -> tuple[Curvature, FlatDirections]:
    """Curvature and flat directions at a witness point, in the world."""
    m, x = _to_core_frame(side, outward, point)
    flat = 1e-5 if m.dtype == jnp.float32 else 1e-9
    W, E = surface_geometry(side.core, m, x, flat)
    eye = np.eye(3, dtype=m.dtype)[..., None]
    W = W + side.radius * (eye - m[:, None] * m)
    W = rotate(side.R, rotate(side.R, W).swapaxes(0, 1))
    return W, rotate(side.R, jax.lax.stop_gradient(E))
