"""Closest or deepest points of two boxes, of which any side may have no extent.

Apart, the closest points lie at a corner of one box, or on an edge of each: 16 corners
and the nine pairs of edges that face each other are all there is to try; but of faces
that are parallel, other edges face each other as much. In overlap,
the separating axes tell the least way out (Gottschalk, Lin and Manocha, "OBBTree",
1996); moved out along it, the boxes are apart. Segments and points are boxes too.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from .once import once
from .vectors import (
    Array,
    Matrix,
    Scalar,
    Vector,
    add,
    cross,
    dot,
    folded,
    neg,
    norm,
    rotate,
    rotate_back,
    scale,
    select,
    sub,
    unit,
)

EXCHANGED = np.array([(0, 0), (1, 0), (0, 1), (1, 1)], bool)
"""Of A's edges and of B's, whether neighbours of those that face each other most."""
_ROUNDING = {True: 3e-6, False: 1e-13}
"""Of lengths, in shares of the pair's extent: in single precision, and in double."""
CORNERS = np.array(np.meshgrid(*[[-1.0, 1.0]] * 3)).reshape(3, 8, 1)
EDGES = np.stack([np.repeat(np.eye(3), 3, 1), np.tile(np.eye(3), 3)])[..., None]
"""Of each pair of an edge of A and one of B: 1 where A's, and B's, is along an axis."""


def box_box(
    a: Vector, b: Vector, R: Matrix, t: Vector
) -> tuple[Scalar, Vector, Vector]:
    """Signed distance, A's point and the normal from B to A, in A's frame.

    Args:
        a: half sizes of A.
        b: half sizes of B.
        R: rotation of B in A.
        t: position of B in A.
    """
    gap, axis = once(parting_axis, a, b, R, t)
    extent = norm(a) + norm(b) + norm(t)
    overlap = gap <= 0
    # just beyond touch, where the closest points are those of the deepest overlap
    shift = jnp.where(overlap, gap - (1e-3 if _single(gap) else 1e-6) * extent, 0.0)
    moved = add(t, scale(shift, axis))
    least = jnp.where(overlap, gap - shift, gap) + _ROUNDING[_single(gap)] * extent
    flat = parallel_faces(axis, R)
    d, p, away = closest(a, b, R, moved, extent, lambda d: flat & (d > least))
    # of corners; a separating axis that is as good is more exact
    apart = ~overlap & (d > least)
    return jnp.where(overlap, gap, d), p, select(apart, unit(away), axis)


class _Points(NamedTuple):
    """Nearest ones: A's, of which there may be several, and to there from B's."""

    distance: Scalar
    away: Vector
    low: Vector
    high: Vector


def closest(
    a: Vector,
    b: Vector,
    R: Matrix,
    t: Vector,
    extent: Scalar,
    far: Callable[[Scalar], Array],
) -> tuple[Scalar, Vector, Vector]:
    """Distance of boxes that are apart, A's point, and to there from B's.

    Of several points, in the middle. Where a distance is `far` off, edges are tried
    that face each other as much as the first ones did.
    """
    nearer = partial(_nearer, (1e-6 if _single(extent) else 1e-11) * extent)

    def further(s: tuple[Any, _Points]) -> tuple[Any, _Points]:
        k, known = s
        swap_a, swap_b = jnp.asarray(EXCHANGED)[k]
        edges = _found(*_edges(a, b, R, t, swap_a, swap_b))
        found = nearer(known, folded(nearer, edges))
        new = (k == 0) | far(known.distance)
        return k + 1, jax.tree.map(lambda x, y: jnp.where(new, x, y), found, known)

    def going(s: tuple[Any, _Points]) -> Any:
        k, known = s
        return (k == 0) | ((k < len(EXCHANGED)) & jnp.any(far(known.distance)))

    # given: what a compiler knows it makes a constant of at each use
    signs = jnp.asarray(CORNERS, extent.dtype)
    begin = jnp.zeros((), int), once(partial(_corners, nearer), signs, a, b, R, t)
    found: _Points = jax.lax.while_loop(going, further, begin)[1]
    return (
        found.distance,
        tuple((x + y) / 2 for x, y in zip(found.low, found.high, strict=True)),
        found.away,
    )


def _corners(
    nearer: Callable[[_Points, _Points], _Points],
    signs: Array,
    a: Vector,
    b: Vector,
    R: Matrix,
    t: Vector,
) -> _Points:
    """The nearest ones of which one is at a corner."""
    corners = lambda half: tuple(c * h for c, h in zip(signs, half, strict=True))
    inside = lambda x, half: tuple(
        jnp.clip(c, -h, h) for c, h in zip(x, half, strict=True)
    )
    of_a, of_b = corners(a), add(rotate(R, corners(b)), t)
    foot = once(lambda R, t: inside(rotate_back(R, sub(of_a, t)), b), R, t)
    by_b = add(rotate(R, foot), t)
    by_a = inside(of_b, a)
    return folded(nearer, nearer(_found(by_a, of_b), _found(of_a, by_b)))


def _found(p: Vector, q: Vector) -> _Points:
    def apart(p: Vector, q: Vector) -> tuple[Scalar, Vector]:
        away = sub(p, q)
        return norm(away), away

    # what is compared has to be the same for all that is picked by it
    distance, away = once(apart, p, q)
    return _Points(distance, away, p, p)


def _nearer(tie: Scalar, x: _Points, y: _Points) -> _Points:
    before, after = (a.distance < b.distance - tie for a, b in ((x, y), (y, x)))
    span = lambda pick, a, b: tuple(map(pick, a, b))
    one = lambda a, b, both: select(before, a, select(after, b, both))
    return _Points(
        jnp.minimum(x.distance, y.distance),
        select(y.distance < x.distance, y.away, x.away),
        one(x.low, y.low, span(jnp.minimum, x.low, y.low)),
        one(x.high, y.high, span(jnp.maximum, x.high, y.high)),
    )


def parallel_faces(axis: Vector, R: Matrix) -> Array:
    """Whether an axis is a normal of faces of A as well as of B."""
    flat = 1e-5 if _single(axis[0]) else 1e-9
    sides = (tuple(map(jnp.abs, v)) for v in (axis, rotate_back(R, axis)))
    ours, theirs = (v[0] + v[1] + v[2] < 1 + flat for v in sides)
    return ours & theirs


def _single(x: Scalar) -> bool:
    return x.dtype == jnp.float32


def _edges(
    a: Vector, b: Vector, R: Matrix, t: Vector, swap_a: Array, swap_b: Array
) -> tuple[Vector, Vector]:
    """For each direction of A's edges and of B's: points of two that face each other.

    `swap`: whether an edge is the neighbour of the one that faces most.
    """
    axes, others = _directions(R, t)
    u, w = _each(axes, others)
    given = jnp.asarray(EDGES, t[0].dtype)

    def across(u: Vector, w: Vector, t: Vector) -> Vector:
        m = cross(u, w)
        return scale(jnp.where(dot(m, t) > 0, 1.0, -1.0), m)

    def middles(
        along: Array, m: Vector, R: Matrix, *swap: Array
    ) -> tuple[Vector, Vector]:
        turned = rotate_back(R, neg(m))
        return _middle(m, a, along[0], swap[0]), _middle(turned, b, along[1], swap[1])

    def feet(
        own: Array, p: Vector, q: Vector, u: Vector, w: Vector
    ) -> tuple[Scalar, Scalar]:
        r = sub(q, p)
        along, across, c = dot(r, u), dot(r, w), dot(u, w)
        sine = 1 - c * c
        inverse = jnp.where(sine > 1e-12, 1 / jnp.where(sine > 1e-12, sine, 1.0), 0.0)
        reach = lambda half, mine: sum(mine[k] * half[k] for k in range(3))
        limit = lambda x, half: jnp.clip(x, -half, half)
        return (
            limit((along - c * across) * inverse, reach(a, own[0])),
            limit((c * along - across) * inverse, reach(b, own[1])),
        )

    p, q_local = once(middles, given, once(across, u, w, t), R, swap_a, swap_b)
    q = add(rotate(R, q_local), t)
    x, y = once(feet, given, p, q, u, w)
    return add(p, scale(x, u)), add(q, scale(y, w))


def _middle(m: Vector, half: Vector, own: Array, swap: Array) -> Vector:
    """Middles of the edges that reach farthest along m, or of their neighbours.

    Args:
        m: at right angles to the edges.
        half: half sizes of the box.
        own: 1 in the edges' own directions, of which their middles have no share.
        swap: whether the neighbour, across the side that turns to m least.
    """
    size = [jnp.abs(c) + 10 * k for c, k in zip(m, own, strict=True)]
    least = jnp.minimum(jnp.minimum(size[0], size[1]), size[2])
    up = [(c > 0) ^ (swap & (s <= least)) for c, s in zip(m, size, strict=True)]
    return tuple((1 - own[k]) * jnp.where(up[k], 1.0, -1.0) * half[k] for k in range(3))


def parting_axis(a: Vector, b: Vector, R: Matrix, t: Vector) -> tuple[Scalar, Vector]:
    """The greatest separation along an axis, and that: unit, from B to A.

    Of overlapping boxes, their signed distance.
    """
    greater = lambda x, y: (
        jnp.maximum(x[0], y[0]),
        select(y[0] > x[0], y[1], x[1]),
    )
    return folded(greater, once(_gaps, a, b, R, t))


def _gaps(a: Vector, b: Vector, R: Matrix, t: Vector) -> tuple[Scalar, Vector]:
    """The separation along each of the 15 axes, and these."""
    ours, theirs = _directions(R, t)
    edges = cross(*_each(ours, theirs))
    length = norm(edges)
    ok = length > 1e-4
    edges = scale(1 / jnp.where(ok, length, 1.0), edges)
    axes: Vector = tuple(
        jnp.concatenate([x, y, z]) for x, y, z in zip(ours, theirs, edges, strict=True)
    )
    turned = rotate_back(R, axes)
    size = tuple(map(jnp.abs, axes)), tuple(map(jnp.abs, turned))
    reach = dot(a, size[0]) + dot(b, size[1])
    along = dot(t, axes)
    # an edge's axis must be better by more than rounding
    noise = np.where(np.arange(15) < 6, 0.0, 4 * np.finfo(reach.dtype).eps)
    noise = noise.astype(reach.dtype)[:, None]
    gap = jnp.abs(along) - reach * (1 + noise)
    gap = jnp.concatenate([gap[:6], jnp.where(ok, gap[6:], -jnp.inf)])
    return gap, select(along > 0, neg(axes), axes)


def _directions(R: Matrix, t: Vector) -> tuple[Vector, Vector]:
    """Of A's and of B's sides, in A's frame; first axis: which."""
    one = jnp.ones_like(t[0])
    ours = tuple(np.eye(3, dtype=one.dtype)[k][:, None] * one for k in range(3))
    return ours, tuple(jnp.stack(row) for row in R)


def _each(x: Vector, y: Vector) -> tuple[Vector, Vector]:
    """Each of three with each of three."""
    first = tuple(jnp.repeat(c, 3, 0) for c in x)
    return first, tuple(jnp.concatenate([c] * 3) for c in y)
