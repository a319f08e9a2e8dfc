"""Closest points of two separated convex sets by the GJK algorithm.

Gilbert, Johnson and Keerthi, "A fast procedure for computing the distance between
complex objects in three-dimensional space" (1988): descend over simplices of the
Minkowski difference M = A - B towards the origin. The newest vertex always stays in the
simplex, so that each step examines seven sub-simplices.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from posewise.compilation.arrays import Array
from posewise.compilation.materialize import materialize

from .vec3_array import Scalars, Vectors, component_sum, dot, rotate_back
from .vec3_tuple import pairwise_reduce


class ClosestPoint(NamedTuple):
    """The point of M closest to the origin."""

    v: Vectors
    """The point; without meaning if the origin is inside M."""
    a: Vectors
    """The point of A in v = a - b."""
    inside: Bool[Array, " #pairs"]
    """Whether the origin lies in M, that is, A and B intersect."""


SupportMapping = Callable[[Vectors], tuple[Vectors, Vectors]]
"""Maps a direction d to (w, a): the point w = a - b of M furthest along d."""


class _GJKState(NamedTuple):
    step: Array
    w: Float[Array, "3 3 #pairs"]
    """The simplex's vertices; of these places one at least is free."""
    a: Float[Array, "3 3 #pairs"]
    """The points of A of the vertices."""
    has: Bool[Array, "3 #pairs"]
    """Whether there is a vertex in a place."""
    weights: Float[Array, "3 #pairs"]
    """Barycentric coordinates of v."""
    v: Vectors
    done: Array
    inside: Array


def closest_point_to_origin(
    support: SupportMapping, start: Vectors, extent: Scalars, max_steps: int
) -> ClosestPoint:
    """Return the point of M closest to the origin.

    Args:
        support: support mapping of M.
        start: a first direction, from A towards B.
        extent: length of the order of M's size [m]; much smaller lengths count as zero.
        max_steps: number of steps after which a pair keeps its last point.
    """
    single = start.dtype == jnp.float32
    gain, min_sine_squared = (1e-6, 1e-8) if single else (1e-13, 1e-22)
    zero = (1e-6 if single else 1e-12) * extent
    rounding = 4 * jnp.finfo(extent.dtype).eps * extent

    def terminate(s: _GJKState, p: Vectors, near: _SimplexPoint) -> tuple[Array, Array]:
        """Return whether no point is closer, and whether the origin is inside M."""
        vv = dot(s.v, s.v)
        same = s.w == p
        is_known = jnp.any(s.has & same[:, 0] & same[:, 1] & same[:, 2], 0)
        touching = vv <= zero * zero
        along = dot(s.v, p)
        # The supporting plane at p has the distance v·p / |v| from the origin, a lower
        # bound: |v|² - v·p bounds what can still be gained.
        is_optimal = vv - along <= gain * vv + rounding * jnp.sqrt(vv)
        stop = touching | is_optimal | is_known
        # If the supporting plane at p lies beyond the origin, only rounding can put
        # the origin inside the tetrahedron.
        enclosed = ~stop & (along <= 0) & near.encloses
        # A point closer than the supporting plane, or not closer than v, is an error
        # of rounding, so that v is kept.
        square = dot(near.point, near.point)
        below_bound = (along > 0) & (square * vv < along * along * (1 - 1e-6))
        worse = (square >= vv) | below_bound
        inside = s.inside | (~s.done & (enclosed | touching))
        return s.done | stop | enclosed | worse, inside

    def advance(s: _GJKState) -> _GJKState:
        p, pa = materialize(support, -s.v)
        near = _closest_on_simplex(p, s.w, s.has, min_sine_squared)
        done, inside = terminate(s, p, near)
        # vertices without weight leave; p takes the first free place
        stays = near.weights > 0
        free = jnp.stack([~stays[0], stays[0] & ~stays[1], stays[0] & stays[1]])
        weight_of_p = 1 - component_sum(near.weights)

        def insert(new: Array, old: Array) -> jax.Array:
            return jnp.where(free[:, None], new, old)

        def unless_done(old: Array, new: Array) -> jax.Array:
            return jnp.where(done, old, new)

        return _GJKState(
            s.step + 1,
            unless_done(s.w, insert(p, s.w)),
            unless_done(s.a, insert(pa, s.a)),
            unless_done(s.has, free | stays),
            unless_done(s.weights, jnp.where(free, weight_of_p, near.weights)),
            unless_done(s.v, near.point),
            done,
            inside,
        )

    w, a = support(start)
    false = jnp.zeros(w.shape[1:], bool)
    first = jnp.broadcast_to(np.array([[True], [False], [False]]), w.shape)
    begin = _GJKState(
        jnp.zeros((), jnp.int32),
        jnp.stack([w] * 3),
        jnp.stack([a] * 3),
        first,
        first.astype(w.dtype),
        w,
        false,
        false,
    )
    end = jax.lax.while_loop(
        lambda s: (s.step < max_steps) & ~jnp.all(s.done), advance, begin
    )
    point = rotate_back(end.a, end.weights)
    touching = dot(end.v, end.v) <= zero * zero
    return ClosestPoint(end.v, point, end.inside | touching)


class _SimplexPoint(NamedTuple):
    """The point of a simplex closest to the origin."""

    point: Vectors
    weights: Float[Array, "3 #pairs"]
    """Barycentric coordinates of the vertices besides the newest; zero of those that
    are not in the closest sub-simplex."""
    encloses: Bool[Array, " #pairs"]
    """Whether there are four vertices with the origin between them."""


def _closest_on_simplex(
    p: Vectors, w: Array, has: Array, min_sine_squared: float
) -> _SimplexPoint:
    """Return the closest point of all sub-simplices that contain the vertex p.

    These are p itself, three edges and three faces (Ericson, "Real-Time Collision
    Detection", 2005, section 5.1, has the formulas of each).
    """

    # The next vertex and the next component in cyclic order are slices of an array
    # written twice, which need no gathers.
    def twice(x: Array, axis: int) -> jax.Array:
        return jnp.concatenate([x, x], axis)

    e = materialize(lambda p, w: twice(twice(w - p, 0), 1)[:4, :5], p, w)
    one, two = e[:3, :3], e[1:, :3]
    has_face = has & twice(has, 0)[1:4]
    cross = e[:3, 1:4] * e[1:, 2:] - e[:3, 2:] * e[1:, 1:4]
    length, along = dot(e[:, :3], e[:, :3]), dot(p, e[:, :3])
    shared, area = dot(one, two), dot(cross, cross)

    # on the edge p + s e: s = -p·e / |e|²
    s = -along[:3] / jnp.where(length[:3] > 0, length[:3], 1.0)
    on_edge = has & (length[:3] > 0) & (s > 0) & (s < 1)
    # on the face p + u e + v f: the normal equations of u and v, by Cramer's rule;
    # their determinant |e × f|² vanishes for degenerate faces
    solid = area > min_sine_squared * length[:3] * length[1:]
    inverse = 1 / jnp.where(solid, area, 1.0)
    u = (along[1:] * shared - along[:3] * length[1:]) * inverse
    v = (along[:3] * shared - along[1:] * length[:3]) * inverse
    on_face = has_face & solid & (u > 0) & (v > 0) & (u + v < 1)

    at_edge = p + s[:, None] * one
    at_face = p + u[:, None] * one + v[:, None] * two

    def squared_norm(ok: Array, x: Array) -> jax.Array:
        return jnp.where(ok, dot(x, x), jnp.inf)

    squares = dot(p, p), squared_norm(on_edge, at_edge), squared_norm(on_face, at_face)
    weights = materialize(_closest_weights, *squares, s, u, v)
    point = p + rotate_back(one, weights)

    # The origin is inside the tetrahedron if the volumes of the tetrahedra that it
    # forms with each face have the same sign.
    volume = dot(cross[0], e[2, :3])
    parts = -dot(cross, p)
    positive = has & (parts * volume > 0)
    opposite_part = volume - component_sum(parts)
    encloses = positive[0] & positive[1] & positive[2] & (opposite_part * volume > 0)
    return _SimplexPoint(point, weights, encloses)


_Choice = tuple[Array, Array]
"""Squared distances of sub-simplices, and their numbers."""


def _closest_weights(
    at_p: Array, at_edge: Array, at_face: Array, s: Array, u: Array, v: Array
) -> Float[jax.Array, "3 pairs"]:
    """Return weights of the vertices besides p in the closest sub-simplex.

    Args:
        at_p: squared distance of the vertex p.
        at_edge: squared distance of the edge from p to each other vertex.
        at_face: squared distance of the face of p, each other vertex and the next.
        s: weights of the other vertices on edges.
        u: weights of the first other vertices of faces.
        v: weights of the second other vertices of faces.
    """

    def select_less(x: _Choice, y: _Choice) -> _Choice:
        is_less = y[0] < x[0]
        less: _Choice = jax.tree.map(
            lambda old, new: jnp.where(is_less, new, old), x, y
        )
        return less

    vertex = np.arange(3)[:, None]
    # sub-simplices are numbered: -1 is p, 0 to 2 are edges, 3 to 5 are faces
    number = jnp.broadcast_to(vertex, at_edge.shape)
    candidates = select_less((at_edge, number), (at_face, number + 3))
    best = pairwise_reduce(select_less, candidates)
    choice = select_less((at_p, jnp.full_like(best[1], -1)), best)[1]
    in_face = jnp.where(choice == (vertex + 2) % 3 + 3, jnp.roll(v, 1, 0), 0.0)
    in_face = jnp.where(choice == vertex + 3, u, in_face)
    return jnp.where(choice == vertex, s, in_face)
