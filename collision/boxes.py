"""Closest or deepest points of two boxes, of which any side may have no extent.

Apart, the closest points lie at a corner of one box, or on an edge of each: 16 corners
and the nine pairs of edges that face each other are all there is to try; but of faces
that are parallel, other edges face each other as much. In overlap,
the separating axes tell the least way out (Gottschalk, Lin and Manocha, "OBBTree",
1996); moved out along it, the boxes are apart. Segments and points are boxes too.
"""

import jax
import jax.numpy as jnp
import numpy as np

from .needed import compute_where
from .vectors import (
    Array,
    Matrix,
    Scalar,
    Vector,
    add,
    cross,
    dot,
    norm,
    rotate,
    rotate_back,
    scale,
    select,
    sub,
    unit,
)

FACING = ((0, 0),)
NEIGHBOURS = ((1, 0), (0, 1), (1, 1))
_ROUNDING = {True: 3e-6, False: 1e-13}
"""Of lengths, in shares of the pair's extent: in single precision, and in double."""
CORNERS = np.array(np.meshgrid(*[[-1.0, 1.0]] * 3)).reshape(3, 8, 1)


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
    gap, axis = parting_axis(a, b, R, t)
    extent = norm(a) + norm(b) + norm(t)
    overlap = gap <= 0
    # just beyond touch, where the closest points are those of the deepest overlap
    shift = jnp.where(overlap, gap - (1e-3 if _single(gap) else 1e-6) * extent, 0.0)
    moved = add(t, scale(shift, axis))
    found = closest(a, b, R, moved, extent)
    least = jnp.where(overlap, gap - shift, gap) + _ROUNDING[_single(gap)] * extent
    lost = (found[0] > least) & parallel_faces(axis, R)
    d, p, away = compute_where(
        other_edges, lost, (a, b, R, moved, extent, found), found, 8
    )
    # of corners; a separating axis that is as good is more exact
    apart = ~overlap & (d > least)
    return jnp.where(overlap, gap, d), p, select(apart, unit(away), axis)


def closest(
    a: Vector, b: Vector, R: Matrix, t: Vector, extent: Scalar
) -> tuple[Scalar, Vector, Vector]:
    """Distance of boxes that are apart, A's point, and to there from B's.

    Of several points, in the middle.
    """
    signs = CORNERS.astype(extent.dtype)
    corners = lambda half: tuple(c * h for c, h in zip(signs, half, strict=True))
    inside = lambda x, half: tuple(
        jnp.clip(c, -h, h) for c, h in zip(x, half, strict=True)
    )
    of_a, of_b = corners(a), add(rotate(R, corners(b)), t)
    by_b = add(rotate(R, inside(rotate_back(R, sub(of_a, t)), b)), t)
    by_a = inside(of_b, a)
    tried = [
        jnp.stack([*x, *sub(x, y)])
        for x, y in ((by_a, of_b), (of_a, by_b), _edges(a, b, R, t, FACING))
    ]
    # computed once, not in each of the sums that follow
    every = jax.lax.optimization_barrier(jnp.concatenate(tried, 1))
    distance = jnp.sqrt(jnp.sum(every[3:] ** 2, 0))
    least = jnp.min(distance, 0)
    first = np.arange(len(distance))[:, None] == jnp.argmin(distance, 0)
    away = jnp.sum(jnp.where(first, every[3:], 0.0), 1)
    tie = distance <= least + (1e-6 if _single(extent) else 1e-11) * extent
    low = jnp.min(jnp.where(tie, every[:3], jnp.inf), 1)
    high = jnp.max(jnp.where(tie, every[:3], -jnp.inf), 1)
    return least, tuple((low + high) / 2), tuple(away)


def parallel_faces(axis: Vector, R: Matrix) -> Array:
    """Whether an axis is a normal of faces of A as well as of B."""
    flat = 1e-5 if _single(axis[0]) else 1e-9
    sides = (tuple(map(jnp.abs, v)) for v in (axis, rotate_back(R, axis)))
    ours, theirs = (v[0] + v[1] + v[2] < 1 + flat for v in sides)
    return ours & theirs


Found = tuple[Scalar, Vector, Vector]
"""Distance, A's point, and to there from B's."""


def other_edges(
    a: Vector, b: Vector, R: Matrix, t: Vector, extent: Scalar, found: Found
) -> Found:
    """`closest`, with the edges tried that face each other as much as those did."""
    p, q = _edges(a, b, R, t, NEIGHBOURS)
    away = sub(p, q)
    distance = norm(away)
    least = jnp.min(distance, 0)
    first = np.arange(len(distance))[:, None] == jnp.argmin(distance, 0)
    pick = lambda v: tuple(jnp.sum(jnp.where(first, c, 0.0), 0) for c in v)
    better = least < found[0] - 1e-3 * _ROUNDING[_single(extent)] * extent
    return (
        jnp.where(better, least, found[0]),
        select(better, pick(p), found[1]),
        select(better, pick(away), found[2]),
    )


def _single(x: Scalar) -> bool:
    return x.dtype == jnp.float32


def _edges(
    a: Vector, b: Vector, R: Matrix, t: Vector, exchanged: tuple[tuple[int, int], ...]
) -> tuple[Vector, Vector]:
    """For each direction of A's edges and of B's: points of two that face each other.

    `exchanged`: whether A's edge, and B's, is the neighbour of the one that faces most.
    """
    count = len(exchanged)
    axes, others = _directions(R, t)
    u, w = _each(axes, others)
    if count > 1:
        u, w = (tuple(jnp.concatenate([c] * count) for c in v) for v in (u, w))
    m = cross(u, w)
    sign = lambda x: jnp.where(x > 0, 1.0, -1.0)
    m = scale(sign(dot(m, t)), m)
    # the middle of an edge has no share of its own direction
    eye = np.eye(3, dtype=t[0].dtype)
    own = np.tile(np.repeat(eye, 3, 0), (count, 1)).T[:, :, None]
    theirs = np.tile(eye, (3 * count, 1)).T[:, :, None]
    swap_a, swap_b = np.repeat(exchanged, 9, 0).T[:, :, None]
    p = _middle(m, a, own, swap_a)
    q_local = tuple(-c for c in _middle(rotate_back(R, m), b, theirs, swap_b))
    q = add(rotate(R, q_local), t)
    r = sub(q, p)
    along, across, c = dot(r, u), dot(r, w), dot(u, w)
    sine = 1 - c * c
    inverse = jnp.where(sine > 1e-12, 1 / jnp.where(sine > 1e-12, sine, 1.0), 0.0)
    reach = lambda half, mine: sum(mine[k] * half[k] for k in range(3))
    limit = lambda x, half: jnp.clip(x, -half, half)
    x = limit((along - c * across) * inverse, reach(a, own))
    y = limit((c * along - across) * inverse, reach(b, theirs))
    return add(p, scale(x, u)), add(q, scale(y, w))


def _middle(m: Vector, half: Vector, own: np.ndarray, swap: np.ndarray) -> Vector:
    """Middles of the edges that reach farthest along m, or of their neighbours.

    Args:
        m: at right angles to the edges.
        half: half sizes of the box.
        own: 1 in the edges' own directions.
        swap: 1 for the neighbour, across the side that turns to m least.
    """
    up = [c > 0 for c in m]
    if swap.any():
        size = [jnp.abs(c) + 10 * k for c, k in zip(m, own, strict=True)]
        least = jnp.minimum(jnp.minimum(size[0], size[1]), size[2])
        up = [u ^ ((s <= least) & (swap > 0)) for u, s in zip(up, size, strict=True)]
    return tuple((1 - own[k]) * jnp.where(up[k], 1.0, -1.0) * half[k] for k in range(3))


def parting_axis(a: Vector, b: Vector, R: Matrix, t: Vector) -> tuple[Scalar, Vector]:
    """The greatest separation along an axis, and that: unit, from B to A.

    Of overlapping boxes, their signed distance.
    """
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
    gap, sides = jax.lax.optimization_barrier(
        (gap, jnp.stack([jnp.where(along > 0, -x, x) for x in axes]))
    )
    mine = np.arange(15)[:, None] == jnp.argmax(gap, 0)
    return jnp.max(gap, 0), tuple(jnp.sum(jnp.where(mine, sides, 0.0), 1))


def _directions(R: Matrix, t: Vector) -> tuple[Vector, Vector]:
    """Of A's and of B's sides, in A's frame; first axis: which."""
    one = jnp.ones_like(t[0])
    ours = tuple(np.eye(3, dtype=one.dtype)[k][:, None] * one for k in range(3))
    return ours, tuple(jnp.stack(row) for row in R)


def _each(x: Vector, y: Vector) -> tuple[Vector, Vector]:
    """Each of three with each of three."""
    first = tuple(jnp.repeat(c, 3, 0) for c in x)
    return first, tuple(jnp.concatenate([c] * 3) for c in y)
