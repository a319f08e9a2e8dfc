"""Closest or deepest points of two boxes, of which any side may have no extent.

The closest points of separated boxes lie at a corner of one box, or on an edge of each:
16 corners and the nine pairs of edges that face each other most are tried. If faces are
parallel, other edges face each other as much, and are tried as well. (Closest points of
segments: Ericson, "Real-Time Collision Detection", 2005, section 5.1.9.)

For overlapping boxes, the separating axis of least overlap is the shortest way out
(Gottschalk, Lin and Manocha, "OBBTree", 1996, the 15 axes); moved out along it, the
boxes are apart. Segments and points are boxes too.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from posewise.compilation.arrays import Array
from posewise.compilation.backend import is_cpu_backend
from posewise.compilation.materialize import materialize

from .vec3_array import (
    Matrix,
    Scalars,
    Vectors,
    component_sum,
    dot,
    norm,
    rotate,
    rotate_back,
)
from .vec3_tuple import pairwise_reduce

EDGE_SWAPS = np.array([(0, 0), (1, 0), (0, 1), (1, 1)], bool)
"""Whether each pass over pairs of edges takes a neighbour of the best edges of A and B.

The best edge is the one that faces the other box most."""
RELATIVE_ROUNDING = {True: 3e-6, False: 1e-13}
"""Error of distances relative to the pair's extent, in single (True) and in double
precision."""
CORNER_SIGNS = np.array(np.meshgrid(*[[-1.0, 1.0]] * 3)).reshape(3, 8).T[..., None]
"""Signs of the coordinates of a box's corners, (8, 3, 1)."""
UNIT_AXES = np.eye(3)[..., None]
"""The three unit vectors, (3, 3, 1)."""
EDGE_DIRECTIONS = np.stack([np.repeat(UNIT_AXES, 3, 0), np.tile(UNIT_AXES, (3, 1, 1))])
"""Directions of A's and of B's edge in each of the nine pairs, (2, 9, 3, 1), in the
axes of A and of B."""
CROSS_MATRICES = np.cross(np.eye(3)[:, None], np.eye(3)).swapaxes(1, 2)[
    :, None, ..., None
]
"""The matrix of v ↦ e × v for each unit vector e."""


def box_distance(
    a: Vectors, b: Vectors, R: Matrix, t: Vectors
) -> tuple[Scalars, Vectors, Vectors]:
    """Return signed distance, A's witness point and normal from B to A, in A's frame.

    Args:
        a: half sizes of A [m].
        b: half sizes of B [m].
        R: rotation of B in A's frame.
        t: position of B in A's frame [m].
    """
    edges = materialize(_edge_cross_products, R)
    gap, axis = materialize(separating_axis, a, b, R, edges, t)
    extent = norm(a) + norm(b) + norm(t)
    is_overlap = gap <= 0
    # Overlapping boxes are moved just beyond touching: the closest points of the moved
    # boxes are those of the deepest overlap.
    single = _is_single_precision(gap)
    beyond = 1e-3 if single else 1e-6
    shift = jnp.where(is_overlap, gap - beyond * extent, 0.0)
    moved = t + shift * axis
    rounding = RELATIVE_ROUNDING[single] * extent
    axis_distance = jnp.where(is_overlap, gap - shift, gap) + rounding
    parallel = has_parallel_faces(axis, R)

    def is_far(d: Scalars) -> Bool[Array, " #pairs"]:
        # Boxes with parallel faces may be as close as the axis tells; a greater
        # distance can mean that the right edges have not been tried yet.
        return parallel & (d > axis_distance)

    d, p, away = closest_points(a, b, R, edges, moved, extent, is_far)
    # If both are equally good, the separating axis is preferred: it is more accurate
    # than the difference of two points.
    by_points = ~is_overlap & (d > axis_distance) & (d > 0)
    normal = jnp.where(by_points, away / jnp.where(by_points, d, 1.0), axis)
    return jnp.where(is_overlap, gap, d), p, normal


class _Witness(NamedTuple):
    """Closest points found so far, of which there may be several of one distance."""

    distance: Scalars
    away: Vectors
    """A's point minus B's."""
    low: Float[Array, "... 2 3 #pairs"]
    """Least components of A's points, and of these points negated: the bounding box of
    the points, whose middle is the witness point."""


def closest_points(
    a: Vectors,
    b: Vectors,
    R: Matrix,
    edges: Vectors,
    t: Vectors,
    extent: Scalars,
    is_far: Callable[[Scalars], Bool[Array, " #pairs"]],
) -> tuple[Scalars, Vectors, Vectors]:
    """Return distance of separated boxes, A's point, and A's point minus B's.

    If several points are equally close, A's point is the middle of them.

    Args:
        a: half sizes of A [m].
        b: half sizes of B [m].
        R: rotation of B in A's frame.
        edges: cross products of the boxes' axes.
        t: position of B in A's frame [m].
        extent: length of the order of the pair's extent [m].
        is_far: of distances, whether they are too great, so that the neighbours of the
            edges that face the other box most are tried too.
    """
    tie = (1e-6 if _is_single_precision(extent) else 1e-11) * extent
    nearer = partial(_select_nearer, tie)

    def try_edges(s: tuple[jax.Array, _Witness]) -> tuple[jax.Array, _Witness]:
        k, known = s
        swaps = jnp.asarray(EDGE_SWAPS)[k]
        points = _edge_points(a, b, R, edges, t, swaps[0], swaps[1])
        best = nearer(known, pairwise_reduce(nearer, _witness(*points)))
        is_tried = (k == 0) | is_far(known.distance)
        best = jax.tree.map(lambda x, y: jnp.where(is_tried, x, y), best, known)
        return k + 1, best

    def is_going(s: tuple[jax.Array, _Witness]) -> jax.Array:
        k, known = s
        return (k == 0) | ((k < len(EDGE_SWAPS)) & jnp.any(is_far(known.distance)))

    # an argument, because XLA writes out a constant at each of its uses
    signs = jnp.asarray(CORNER_SIGNS, extent.dtype)
    begin = jnp.zeros((), int), _corner_witness(nearer, signs, a, b, R, t)
    if is_cpu_backend():
        best = jax.lax.while_loop(is_going, try_edges, begin)[1]
    else:
        # The host of an accelerator would be asked before each step of the loop.
        for _ in EDGE_SWAPS:
            begin = try_edges(begin)
        best = begin[1]
    return best.distance, (best.low[0] - best.low[1]) / 2, best.away


def _corner_witness(
    nearer: Callable[[_Witness, _Witness], _Witness],
    signs: Array,
    a: Vectors,
    b: Vectors,
    R: Matrix,
    t: Vectors,
) -> _Witness:
    """Return the closest points of which one is a corner."""

    def with_both(
        signs: Array, a: Vectors, b: Vectors, R: Matrix, t: Vectors
    ) -> tuple[tuple[Vectors, Vectors], tuple[Vectors, Vectors]]:
        # the closest point of a box is the corner of the other one, clamped
        corner_a, corner_b = signs * a, rotate(R, signs * b) + t
        on_b = materialize(lambda v: jnp.clip(rotate_back(R, v - t), -b, b), corner_a)
        on_a = jnp.clip(corner_b, -a, a)
        return (on_a, corner_b), (corner_a, rotate(R, on_b) + t)

    corners_of_b, corners_of_a = materialize(with_both, signs, a, b, R, t)
    witness = nearer(_witness(*corners_of_b), _witness(*corners_of_a))
    return pairwise_reduce(nearer, witness)


def _witness(p: Vectors, q: Vectors) -> _Witness:
    def points(p: Vectors, q: Vectors) -> _Witness:
        signs = np.array([1, -1], p.dtype)[:, None, None]
        return _Witness(norm(p - q), p - q, signs * p[..., None, :, :])

    # Materialized, because a distance that is computed twice may round differently:
    # distance and points would then be selected from different candidates.
    return materialize(points, p, q)


def _select_nearer(tie: Scalars, x: _Witness, y: _Witness) -> _Witness:
    """Return the closer points, or both at distances that differ by less than `tie`."""
    before = x.distance < y.distance - tie
    after = y.distance < x.distance - tie
    is_nearer = y.distance < x.distance
    low = jnp.where(after[..., None, None, :], y.low, jnp.minimum(x.low, y.low))
    return _Witness(
        jnp.minimum(x.distance, y.distance),
        jnp.where(is_nearer[..., None, :], y.away, x.away),
        jnp.where(before[..., None, None, :], x.low, low),
    )


def has_parallel_faces(axis: Vectors, R: Matrix) -> Bool[Array, " #pairs"]:
    """Whether an axis is a normal of faces of A as well as of B."""
    flat = 1e-5 if _is_single_precision(axis) else 1e-9
    # the sum of magnitudes of a unit vector is 1 only along a coordinate axis
    in_a, in_b = jnp.abs(axis), jnp.abs(rotate_back(R, axis))
    return (component_sum(in_a) < 1 + flat) & (component_sum(in_b) < 1 + flat)


def _is_single_precision(x: Scalars) -> bool:
    return bool(x.dtype == jnp.float32)


def _edge_points(
    a: Vectors,
    b: Vectors,
    R: Matrix,
    edges: Vectors,
    t: Vectors,
    swap_a: Array,
    swap_b: Array,
) -> tuple[Vectors, Vectors]:
    """Return closest points of two facing edges, for each pair of edge directions.

    Args:
        a: half sizes of A [m].
        b: half sizes of B [m].
        R: rotation of B in A's frame.
        edges: cross products of the boxes' axes.
        t: position of B in A's frame [m].
        swap_a: whether A's edge is the neighbour of the one that faces B most.
        swap_b: whether B's edge is the neighbour of the one that faces A most.
    """
    directions = jnp.asarray(EDGE_DIRECTIONS, t.dtype)

    def midpoints(
        directions: Array, edges: Vectors, R: Matrix, t: Vectors, *swap: Array
    ) -> tuple[Vectors, Vectors]:
        # the common normal of both edges, from A towards B
        m = jnp.where(dot(edges, t) > 0, 1.0, -1.0)[:, None] * edges
        on_b = _edge_midpoints(rotate_back(R, -m), b, directions[1], swap[1])
        return _edge_midpoints(m, a, directions[0], swap[0]), on_b

    def closest(
        directions: Array, p: Vectors, q_local: Vectors, R: Matrix, t: Vectors
    ) -> tuple[Vectors, Vectors]:
        # Lines p + x u and q + y w: r·u = x - c y and r·w = c x - y with c = u·w, r =
        # q - p, for the points whose difference is orthogonal to both.
        axes_of_b = R.swapaxes(0, 1)
        q, u = rotate(R, q_local) + t, directions[0]
        r, w = q - p, jnp.broadcast_to(axes_of_b, (3, *R.shape)).reshape(q.shape)
        along, across, c = dot(r, u), dot(r, w), dot(u, w)
        sine = 1 - c * c
        inverse = jnp.where(sine > 1e-12, 1 / jnp.where(sine > 1e-12, sine, 1.0), 0.0)
        # clamped to the edges: if an end is closest, a corner is the better candidate
        limit_a, limit_b = dot(directions[0], a), dot(directions[1], b)
        x = jnp.clip((along - c * across) * inverse, -limit_a, limit_a)[:, None]
        y = jnp.clip((c * along - across) * inverse, -limit_b, limit_b)[:, None]
        return p + x * u, q + y * w

    p, q_local = materialize(midpoints, directions, edges, R, t, swap_a, swap_b)
    return materialize(closest, directions, p, q_local, R, t)


def _edge_midpoints(
    m: Vectors, half: Vectors, direction: Array, swap: Array
) -> Vectors:
    """Return midpoints of the edges that reach furthest along m, or of neighbours.

    Args:
        m: vectors orthogonal to the edges.
        half: half sizes of the box [m].
        direction: the edges' directions, in which midpoints have the coordinate zero.
        swap: whether the neighbour is meant, across the side that faces m least.
    """
    # 10 is more than any component of m, so that the edge's own axis is never the least
    size = jnp.abs(m) + 10 * direction
    x, y, z = jnp.unstack(size, axis=-2)
    least = jnp.minimum(jnp.minimum(x, y), z)[..., None, :]
    is_positive = (m > 0) ^ (swap & (size <= least))
    return (1 - direction) * jnp.where(is_positive, half, -half)


def separating_axis(
    a: Vectors, b: Vectors, R: Matrix, edges: Vectors, t: Vectors
) -> tuple[Scalars, Vectors]:
    """Return the greatest separation along an axis, and that unit axis from B to A.

    It is the signed distance of overlapping boxes, and a lower bound for others.

    Args:
        a: half sizes of A [m].
        b: half sizes of B [m].
        R: rotation of B in A's frame.
        edges: cross products of the boxes' axes.
        t: position of B in A's frame [m].
    """

    def select_greater(
        x: tuple[Scalars, Vectors], y: tuple[Scalars, Vectors]
    ) -> tuple[Scalars, Vectors]:
        is_greater = (y[0] > x[0])[..., None, :]
        return jnp.maximum(x[0], y[0]), jnp.where(is_greater, y[1], x[1])

    candidates = materialize(_axis_separations, a, b, R, edges, t)
    return pairwise_reduce(select_greater, candidates)


def _axis_separations(
    a: Vectors, b: Vectors, R: Matrix, edges: Vectors, t: Vectors
) -> tuple[Scalars, Vectors]:
    """Return the separations along each of the 15 axes, and these unit axes."""
    length = norm(edges)
    # nearly parallel edges have no cross product; a face's normal serves instead
    ok = length > 1e-4
    edges = edges * (1 / jnp.where(ok, length, 1.0))[:, None]
    axes_of_a = jnp.broadcast_to(UNIT_AXES.astype(t.dtype), R.shape)
    axes = materialize(jnp.concatenate, [axes_of_a, R.swapaxes(0, 1), edges])
    # |t·n| - (h_a + h_b), with the boxes' half widths along n
    reach = dot(a, jnp.abs(axes)) + dot(b, jnp.abs(rotate_back(R, axes)))
    along = dot(t, axes)
    # Axes of edges must be better than normals of faces by more than rounding, so that
    # parallel faces have the normal of the faces.
    noise = np.where(np.arange(15) < 6, 0.0, 4 * np.finfo(reach.dtype).eps)
    noise = noise.astype(reach.dtype)[:, None]
    gap = jnp.abs(along) - reach * (1 + noise)
    gap = jnp.concatenate([gap[:6], jnp.where(ok, gap[6:], -jnp.inf)])
    return gap, jnp.where((along > 0)[:, None], -axes, axes)


def _edge_cross_products(R: Matrix) -> Vectors:
    """Return the cross products of each of A's axes with each of B's, (9, 3, pairs)."""
    product = CROSS_MATRICES.astype(R.dtype) * R.swapaxes(0, 1)[:, None]
    return component_sum(product).reshape(9, 3, -1)
