"""The direction of least penetration of two overlapping convex sets.

The expanding polytope of van den Bergen, "Proximity queries and penetration depth
computation on 3D game objects" (2001): a polytope inside M = A - B grows at its face
nearest to the origin until M's boundary is reached there. It sees all of M, so that
what it finds is the global minimum to within the gap at its last step.

Faces are stored with each of their directed edges (i, j), as tables over pairs of
vertices: the horizon of a new vertex, edges of faces it sees whose twins belong to
faces it does not see, is then an element-wise expression.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from .vectors import (
    Array,
    Scalar,
    Vector,
    cross,
    dot,
    neg,
    norm,
    perpendicular,
    select,
    sub,
    unit,
)

Support = Callable[[Vector], Vector]
"""Of a direction, the point of M furthest along it."""


class Penetration(NamedTuple):
    """What is known of the depth."""

    direction: Vector
    """Unit; M's boundary is nearest along it."""
    depth: Scalar
    """M's support value there: the depth, or more by at most `gap`."""
    gap: Scalar


class _Polytope(NamedTuple):
    used: Array
    """How many vertices there are."""
    vertices: Vector
    """Components (V, pairs)."""
    normal: Vector
    """Components (V, V, pairs): of the face left of each directed edge."""
    offset: Array
    """(V, V, pairs): distance of its plane from the origin; inf: no such edge."""
    best: Penetration
    done: Array


def least_penetration(
    support: Support, extent: Scalar, capacity: int, gap: float
) -> Penetration:
    """Where M's boundary is nearest to the origin.

    Args:
        support: of M, which contains the origin.
        extent: of M's order of size.
        capacity: number of vertices at most.
        gap: relative to the extent, at which the search ends.
    """
    tolerance = gap * extent
    index = np.arange(capacity * capacity).reshape(capacity, capacity, 1)

    def advance(s: _Polytope) -> _Polytope:
        nearest = jnp.min(s.offset, (0, 1))
        at = jnp.min(jnp.where(s.offset <= nearest, index, capacity**2 - 1), (0, 1))
        flat = lambda c: c.reshape(capacity**2, -1)
        pick = lambda c: jnp.take_along_axis(flat(c), at[None], 0)[0]
        m = (pick(s.normal[0]), pick(s.normal[1]), pick(s.normal[2]))
        w = support(m)
        best = _better(s.best, m, w)
        best = best._replace(gap=jnp.minimum(best.depth - nearest, best.gap))
        done = s.done | (best.gap <= tolerance)
        # tiny triangles have wrong normals: what a vertex barely sees, it does not see
        slack = jnp.where(done, jnp.inf, 0.1 * tolerance)
        seen, horizon, broken = _horizon(s, w, slack)
        grown = _insert(s, w, seen, horizon, extent)
        return _Polytope(s.used + 1, *grown, best, done | broken)

    return jax.lax.while_loop(
        lambda s: (s.used < capacity) & ~jnp.all(s.done),
        advance,
        _start(support, extent, capacity),
    ).best


def _better(best: Penetration, m: Vector, w: Vector) -> Penetration:
    depth = dot(m, w)
    less = (depth < best.depth) & (dot(m, m) > 0)
    return Penetration(
        select(less, m, best.direction), jnp.where(less, depth, best.depth), best.gap
    )


def _start(support: Support, extent: Scalar, capacity: int) -> _Polytope:
    """A tetrahedron of points of M far from each other."""
    zero = jnp.zeros_like(extent)
    x = (zero + 1, zero, zero)
    best = Penetration(x, zero + jnp.inf, zero + jnp.inf)

    def look(d: Vector) -> Vector:
        nonlocal best
        w = support(d)
        best = _better(best, d, w)
        return w

    a, b = look(x), look(neg(x))
    line = sub(b, a)
    side = perpendicular(unit(line))
    c, other = look(side), look(neg(side))
    off = lambda w: norm(cross(sub(w, a), line))
    c = select(off(c) >= off(other), c, other)
    up = unit(cross(line, sub(c, a)), side)
    d, other = look(up), look(neg(up))
    above = lambda w: dot(up, sub(w, a))
    d = select(jnp.abs(above(d)) >= jnp.abs(above(other)), d, other)
    flipped = above(d) > 0
    b, c = select(flipped, c, b), select(flipped, b, c)

    corners = (a, b, c, d)
    third = np.full((4, 4), -1)
    for i, j, k in ((0, 1, 2), (0, 3, 1), (1, 3, 2), (2, 3, 0)):
        third[i, j], third[j, k], third[k, i] = k, i, j
    W = tuple(jnp.stack(c) for c in zip(*corners, strict=True))
    spread = lambda c: (c[:, None], c[None], c[np.maximum(third, 0)])
    sides = [spread(c) for c in W]
    p, q, r = (tuple(s[n] for s in sides) for n in range(3))
    normal = unit(cross(sub(q, p), sub(r, p)))
    offset = jnp.where((third >= 0)[..., None], dot(normal, p), jnp.inf)
    room = [(0, capacity - 4)]
    pad = lambda c, fill=0.0: jnp.pad(
        c, room * (c.ndim - 1) + [(0, 0)], constant_values=fill
    )
    return _Polytope(
        jnp.asarray(4),
        tuple(pad(c) for c in W),
        tuple(pad(jnp.broadcast_to(c, offset.shape)) for c in normal),
        pad(offset, jnp.inf),
        best,
        jnp.zeros(len(extent), bool),
    )


def _horizon(s: _Polytope, w: Vector, slack: Scalar) -> tuple[Array, Array, Array]:
    """Edges of faces that w sees; those on the horizon; whether that is no circle."""
    there = s.offset < jnp.inf
    above = s.normal[0] * w[0] + s.normal[1] * w[1] + s.normal[2] * w[2]
    seen = there & (above > s.offset + slack)
    horizon = seen & jnp.swapaxes(there & ~seen, 0, 1)
    broken = jnp.any(jnp.sum(horizon, 1) > 1, 0) | ~jnp.any(horizon, (0, 1))
    return seen & ~broken, horizon & ~broken, broken


def _insert(
    s: _Polytope, w: Vector, seen: Array, horizon: Array, extent: Scalar
) -> tuple[Vector, Vector, Array]:
    """Vertices, normals and offsets with one more vertex, at the place `count`."""
    V = s.vertices
    masked = lambda c, axis: jnp.sum(jnp.where(horizon, c, 0.0), axis)
    following = tuple(masked(c[None], 1) for c in V)
    start = jnp.any(horizon, 1)
    apex = (w[0][None], w[1][None], w[2][None])
    area = cross(sub(following, V), sub(apex, V))
    normal = unit(area)
    # a triangle without area is kept out of the way: never nearest, never seen
    sliver = norm(area) <= 16 * jnp.finfo(extent.dtype).eps * extent * extent
    offset = jnp.where(sliver, 1e3 * extent, dot(normal, V))
    put = lambda c, x, axis: jax.lax.dynamic_update_index_in_dim(c, x, s.used, axis)

    def renew(table: Array, new: Array, ending: Array) -> Array:
        """The new faces (i, j, w) at their edges (i, j), (w, i) and (j, w)."""
        table = jnp.where(horizon, new[:, None], table)
        return put(put(table, new, 0), ending, 1)

    ends = jnp.any(horizon, 0)
    offsets = renew(
        jnp.where(seen, jnp.inf, s.offset),
        jnp.where(start, offset, jnp.inf),
        jnp.where(ends, masked(offset[:, None], 0), jnp.inf),
    )
    normals = tuple(
        renew(t, c, masked(c[:, None], 0))
        for t, c in zip(s.normal, normal, strict=True)
    )
    return tuple(put(c, x, 0) for c, x in zip(V, w, strict=True)), normals, offsets
