"""Closest points of two separated convex sets.

The algorithm of Gilbert, Johnson and Keerthi, "A fast procedure for computing the
distance between complex objects in three-dimensional space" (1988): descend over
simplices of the difference M = A - B towards the origin. The newest vertex always
stays, so each step looks at seven sub-simplices.
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
    """The point of M next to the origin."""

    v: Vectors
    a: Vectors
    """The point of A in v = a - b."""
    inside: Bool[Array, " #pairs"]
    """The origin lies in M; then v means nothing."""


SupportMapping = Callable[[Vectors], tuple[Vectors, Vectors]]
"""Of a direction d: (w, a) with w = a - b the point of M furthest along d."""


class _GJKState(NamedTuple):
    step: Array
    w: Float[Array, "3 3 #pairs"]
    """The simplex's vertices, in places of which one at least is free."""
    a: Float[Array, "3 3 #pairs"]
    has: Bool[Array, "3 #pairs"]
    """In which places there are vertices."""
    weights: Float[Array, "3 #pairs"]
    v: Vectors
    done: Array
    inside: Array


def closest_point_to_origin(
    difference: SupportMapping, start: Vectors, extent: Scalars, steps: int
) -> ClosestPoint:
    """The point of M next to the origin.

    Args:
        difference: support points of M.
        start: a first direction, towards B from A.
        extent: of M's order of size; what is much smaller counts as zero.
        steps: at most.
    """
    single = start.dtype == jnp.float32
    gain, flat = (1e-6, 1e-8) if single else (1e-13, 1e-22)
    zero = (1e-6 if single else 1e-12) * extent
    rounding = 4 * jnp.finfo(extent.dtype).eps * extent

    def ends(s: _GJKState, p: Vectors, near: _SimplexPoint) -> tuple[Array, Array]:
        """Whether there is nothing nearer, and whether the origin is inside."""
        vv = dot(s.v, s.v)
        same = s.w == p
        known = jnp.any(s.has & same[:, 0] & same[:, 1] & same[:, 2], 0)
        touching = vv <= zero * zero
        along = dot(s.v, p)
        stop = touching | (vv - along <= gain * vv + rounding * jnp.sqrt(vv)) | known
        # all of M is beyond p: past the origin, only rounding says that it is inside
        enclosed = ~stop & (along <= 0) & near.encloses
        # no point of M is nearer than the supporting plane at p; rounding may say so
        square = dot(near.point, near.point)
        beyond = (along > 0) & (square * vv < along * along * (1 - 1e-6))
        worse = (square >= vv) | beyond
        inside = s.inside | (~s.done & (enclosed | touching))
        return s.done | stop | enclosed | worse, inside

    def advance(s: _GJKState) -> _GJKState:
        p, pa = materialize(difference, -s.v)
        near = _closest_on_simplex(p, s.w, s.has, flat)
        done, inside = ends(s, p, near)
        kept = near.weights > 0
        free = jnp.stack([~kept[0], kept[0] & ~kept[1], kept[0] & kept[1]])
        put = lambda new, old: jnp.where(free[:, None], new, old)
        newest = 1 - component_sum(near.weights)
        keep = lambda old, new: jnp.where(done, old, new)
        return _GJKState(
            s.step + 1,
            keep(s.w, put(p, s.w)),
            keep(s.a, put(pa, s.a)),
            keep(s.has, free | kept),
            keep(s.weights, jnp.where(free, newest, near.weights)),
            keep(s.v, near.point),
            done,
            inside,
        )

    w, a = difference(start)
    none = jnp.zeros(w.shape[1:], bool)
    first = jnp.broadcast_to(np.array([[True], [False], [False]]), w.shape)
    begin = _GJKState(
        jnp.zeros((), jnp.int32),
        jnp.stack([w] * 3),
        jnp.stack([a] * 3),
        first,
        first.astype(w.dtype),
        w,
        none,
        none,
    )
    end = jax.lax.while_loop(
        lambda s: (s.step < steps) & ~jnp.all(s.done), advance, begin
    )
    point = rotate_back(end.a, end.weights)
    touching = dot(end.v, end.v) <= zero * zero
    return ClosestPoint(end.v, point, end.inside | touching)


class _SimplexPoint(NamedTuple):
    """Of a simplex, the point next to the origin."""

    point: Vectors
    weights: Float[Array, "3 #pairs"]
    """Of the vertices beside the newest; zero of those that take no part."""
    encloses: Bool[Array, " #pairs"]
    """All four are there, and have the origin between them."""


def _closest_on_simplex(p: Vectors, w: Array, has: Array, flat: float) -> _SimplexPoint:
    """Of all simplices of p and some of w: p alone, three edges, three faces."""
    # what comes next in a circle is a slice: of the other vertices, of the components
    twice = lambda x, axis: jnp.concatenate([x, x], axis)
    e = materialize(lambda p, w: twice(twice(w - p, 0), 1)[:4, :5], p, w)
    one, two = e[:3, :3], e[1:, :3]
    here, both = has, has & twice(has, 0)[1:4]
    cross = e[:3, 1:4] * e[1:, 2:] - e[:3, 2:] * e[1:, 1:4]
    length, along = dot(e[:, :3], e[:, :3]), dot(p, e[:, :3])
    shared, area = dot(one, two), dot(cross, cross)

    s = -along[:3] / jnp.where(length[:3] > 0, length[:3], 1.0)
    on_edge = here & (length[:3] > 0) & (s > 0) & (s < 1)
    solid = area > flat * length[:3] * length[1:]
    inverse = 1 / jnp.where(solid, area, 1.0)
    u = (along[1:] * shared - along[:3] * length[1:]) * inverse
    v = (along[:3] * shared - along[1:] * length[:3]) * inverse
    on_face = both & solid & (u > 0) & (v > 0) & (u + v < 1)

    at_edge = p + s[:, None] * one
    at_face = p + u[:, None] * one + v[:, None] * two
    square = lambda ok, x: jnp.where(ok, dot(x, x), jnp.inf)
    squares = dot(p, p), square(on_edge, at_edge), square(on_face, at_face)
    weights = materialize(_closest_weights, *squares, s, u, v)
    point = p + rotate_back(one, weights)

    volume = dot(cross[0], e[2, :3])
    parts = -dot(cross, p)
    positive = here & (parts * volume > 0)
    rest = volume - component_sum(parts)
    encloses = positive[0] & positive[1] & positive[2] & (rest * volume > 0)
    return _SimplexPoint(point, weights, encloses)


def _closest_weights(
    at_p: Array, at_edge: Array, at_face: Array, s: Array, u: Array, v: Array
) -> Float[jax.Array, "3 pairs"]:
    """Of the other vertices, in the simplex whose point is nearest.

    Args:
        at_p: squared distance of the newest vertex.
        at_edge: that of the edge to each other one.
        at_face: that of the face with each other one and the next.
        s: weights on edges.
        u: of the first of the others in faces.
        v: of the second one.
    """
    lesser = lambda x, y: jax.tree.map(
        lambda old, new: jnp.where(y[0] < x[0], new, old), x, y
    )
    of = np.arange(3)[:, None]
    number = jnp.broadcast_to(of, at_edge.shape)
    best = pairwise_reduce(lesser, lesser((at_edge, number), (at_face, number + 3)))
    choice = lesser((at_p, jnp.full_like(best[1], -1)), best)[1]
    in_face = jnp.where(choice == (of + 2) % 3 + 3, jnp.roll(v, 1, 0), 0.0)
    in_face = jnp.where(choice == of + 3, u, in_face)
    return jnp.where(choice == of, s, in_face)
