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
from jaxtyping import Bool, Float

from posewise.compilation.arrays import Array
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
"""Of A's edges and of B's, whether neighbours of those that face each other most."""
RELATIVE_ROUNDING = {True: 3e-6, False: 1e-13}
"""Of lengths, in shares of the pair's extent: in single precision, and in double."""
CORNER_SIGNS = np.array(np.meshgrid(*[[-1.0, 1.0]] * 3)).reshape(3, 8).T[..., None]
UNIT_AXES = np.eye(3)[..., None]
EDGE_DIRECTIONS = np.stack([np.repeat(UNIT_AXES, 3, 0), np.tile(UNIT_AXES, (3, 1, 1))])
"""Of each pair of an edge of A and one of B: 1 where A's, and B's, is along an axis."""
CROSS_MATRICES = np.cross(np.eye(3)[:, None], np.eye(3)).swapaxes(1, 2)[
    :, None, ..., None
]
"""For each axis e, the matrix of e × v."""


def box_distance(
    a: Vectors, b: Vectors, R: Matrix, t: Vectors
) -> tuple[Scalars, Vectors, Vectors]:
    """Signed distance, A's point and the normal from B to A, in A's frame.

    Args:
        a: half sizes of A.
        b: half sizes of B.
        R: rotation of B in A.
        t: position of B in A.
    """
    edges = materialize(_edge_cross_products, R)
    gap, axis = materialize(separating_axis, a, b, R, edges, t)
    extent = norm(a) + norm(b) + norm(t)
    overlap = gap <= 0
    # just beyond touch, where the closest points are those of the deepest overlap
    shift = jnp.where(
        overlap, gap - (1e-3 if _is_single_precision(gap) else 1e-6) * extent, 0.0
    )
    moved = t + shift * axis
    least = (
        jnp.where(overlap, gap - shift, gap)
        + RELATIVE_ROUNDING[_is_single_precision(gap)] * extent
    )
    flat = has_parallel_faces(axis, R)
    far = lambda d: flat & (d > least)
    d, p, away = closest_points(a, b, R, edges, moved, extent, far)
    # of corners; a separating axis that is as good is more exact
    apart = ~overlap & (d > least) & (d > 0)
    normal = jnp.where(apart, away / jnp.where(apart, d, 1.0), axis)
    return jnp.where(overlap, gap, d), p, normal


class _Witness(NamedTuple):
    """Nearest ones: A's, of which there may be several, and to there from B's."""

    distance: Scalars
    away: Vectors
    low: Float[Array, "... 2 3 #pairs"]
    """Of the points and of these negated, the least components."""


def closest_points(
    a: Vectors,
    b: Vectors,
    R: Matrix,
    edges: Vectors,
    t: Vectors,
    extent: Scalars,
    far: Callable[[Scalars], Bool[Array, " #pairs"]],
) -> tuple[Scalars, Vectors, Vectors]:
    """Distance of boxes that are apart, A's point, and to there from B's.

    Of several points, in the middle. Where a distance is `far` off, edges are tried
    that face each other as much as the first ones did.
    """
    nearer = partial(
        _select_nearer, (1e-6 if _is_single_precision(extent) else 1e-11) * extent
    )

    def further(s: tuple[Any, _Witness]) -> tuple[Any, _Witness]:
        k, known = s
        found = _witness(*_edge_points(a, b, R, edges, t, *jnp.asarray(EDGE_SWAPS)[k]))
        found = nearer(known, pairwise_reduce(nearer, found))
        new = (k == 0) | far(known.distance)
        return k + 1, jax.tree.map(lambda x, y: jnp.where(new, x, y), found, known)

    def going(s: tuple[Any, _Witness]) -> Any:
        k, known = s
        return (k == 0) | ((k < len(EDGE_SWAPS)) & jnp.any(far(known.distance)))

    # given: what a compiler knows it makes a constant of at each use
    signs = jnp.asarray(CORNER_SIGNS, extent.dtype)
    begin = jnp.zeros((), int), _corner_witness(nearer, signs, a, b, R, t)
    found: _Witness = jax.lax.while_loop(going, further, begin)[1]
    return found.distance, (found.low[0] - found.low[1]) / 2, found.away


def _corner_witness(
    nearer: Callable[[_Witness, _Witness], _Witness],
    signs: Array,
    a: Vectors,
    b: Vectors,
    R: Matrix,
    t: Vectors,
) -> _Witness:
    """The nearest ones of which one is at a corner."""

    def both(signs: Array, a: Any, b: Any, R: Any, t: Any) -> Any:
        of_a, of_b = signs * a, rotate(R, signs * b) + t
        foot = materialize(lambda v: jnp.clip(rotate_back(R, v - t), -b, b), of_a)
        return (jnp.clip(of_b, -a, a), of_b), (of_a, rotate(R, foot) + t)

    by_a, by_b = materialize(both, signs, a, b, R, t)
    return pairwise_reduce(nearer, nearer(_witness(*by_a), _witness(*by_b)))


def _witness(p: Vectors, q: Vectors) -> _Witness:
    def points(p: Vectors, q: Vectors) -> _Witness:
        signs = np.array([1, -1], p.dtype)[:, None, None]
        return _Witness(norm(p - q), p - q, signs * p[..., None, :, :])

    # what is compared has to be the same for all that is picked by it
    return materialize(points, p, q)


def _select_nearer(tie: Scalars, x: _Witness, y: _Witness) -> _Witness:
    before, after = (a.distance < b.distance - tie for a, b in ((x, y), (y, x)))
    closer = y.distance < x.distance
    wide = lambda condition: condition[..., None, None, :]
    low = jnp.where(wide(after), y.low, jnp.minimum(x.low, y.low))
    return _Witness(
        jnp.minimum(x.distance, y.distance),
        jnp.where(closer[..., None, :], y.away, x.away),
        jnp.where(wide(before), x.low, low),
    )


def has_parallel_faces(axis: Vectors, R: Matrix) -> Bool[Array, " #pairs"]:
    """Whether an axis is a normal of faces of A as well as of B."""
    flat = 1e-5 if _is_single_precision(axis) else 1e-9
    ours, theirs = jnp.abs(axis), jnp.abs(rotate_back(R, axis))
    return (component_sum(ours) < 1 + flat) & (component_sum(theirs) < 1 + flat)


def _is_single_precision(x: Scalars) -> bool:
    return x.dtype == jnp.float32


def _edge_points(
    a: Vectors,
    b: Vectors,
    R: Matrix,
    edges: Vectors,
    t: Vectors,
    swap_a: Array,
    swap_b: Array,
) -> tuple[Vectors, Vectors]:
    """For each direction of A's edges and of B's: points of two that face each other.

    `swap`: whether an edge is the neighbour of the one that faces most.
    """
    given = jnp.asarray(EDGE_DIRECTIONS, t.dtype)

    def middles(own: Array, edges: Vectors, R: Matrix, t: Vectors, *swap: Array) -> Any:
        m = jnp.where(dot(edges, t) > 0, 1.0, -1.0)[:, None] * edges
        at_b = _edge_midpoints(rotate_back(R, -m), b, own[1], swap[1])
        return _edge_midpoints(m, a, own[0], swap[0]), at_b

    def feet(own: Array, p: Vectors, q_local: Vectors, R: Matrix, t: Vectors) -> Any:
        q, u, others = rotate(R, q_local) + t, own[0], R.swapaxes(0, 1)
        r, w = q - p, jnp.broadcast_to(others, (3, *R.shape)).reshape(q.shape)
        along, across, c = dot(r, u), dot(r, w), dot(u, w)
        sine = 1 - c * c
        inverse = jnp.where(sine > 1e-12, 1 / jnp.where(sine > 1e-12, sine, 1.0), 0.0)
        limit = lambda x, half: jnp.clip(x, -half, half)[:, None]
        x = limit((along - c * across) * inverse, dot(own[0], a))
        y = limit((c * along - across) * inverse, dot(own[1], b))
        return p + x * u, q + y * w

    p, q_local = materialize(middles, given, edges, R, t, swap_a, swap_b)
    return materialize(feet, given, p, q_local, R, t)


def _edge_midpoints(m: Vectors, half: Vectors, own: Array, swap: Array) -> Vectors:
    """Middles of the edges that reach farthest along m, or of their neighbours.

    Args:
        m: at right angles to the edges.
        half: half sizes of the box.
        own: 1 in the edges' own directions, of which their middles have no share.
        swap: whether the neighbour, across the side that turns to m least.
    """
    size = jnp.abs(m) + 10 * own
    x, y, z = jnp.unstack(size, axis=-2)
    least = jnp.minimum(jnp.minimum(x, y), z)[..., None, :]
    up = (m > 0) ^ (swap & (size <= least))
    return (1 - own) * jnp.where(up, half, -half)


def separating_axis(
    a: Vectors, b: Vectors, R: Matrix, edges: Vectors, t: Vectors
) -> tuple[Scalars, Vectors]:
    """The greatest separation along an axis, and that: unit, from B to A.

    Of overlapping boxes, their signed distance.
    """

    def greater(x: Any, y: Any) -> tuple[Scalars, Vectors]:
        more = (y[0] > x[0])[..., None, :]
        return jnp.maximum(x[0], y[0]), jnp.where(more, y[1], x[1])

    return pairwise_reduce(greater, materialize(_axis_separations, a, b, R, edges, t))


def _axis_separations(
    a: Vectors, b: Vectors, R: Matrix, edges: Vectors, t: Vectors
) -> tuple[Scalars, Vectors]:
    """The separation along each of the 15 axes, and these."""
    length = norm(edges)
    ok = length > 1e-4
    edges = edges * (1 / jnp.where(ok, length, 1.0))[:, None]
    ours = jnp.broadcast_to(UNIT_AXES.astype(t.dtype), R.shape)
    axes = materialize(jnp.concatenate, [ours, R.swapaxes(0, 1), edges])
    reach = dot(a, jnp.abs(axes)) + dot(b, jnp.abs(rotate_back(R, axes)))
    along = dot(t, axes)
    # an edge's axis must be better by more than rounding
    noise = np.where(np.arange(15) < 6, 0.0, 4 * np.finfo(reach.dtype).eps)
    noise = noise.astype(reach.dtype)[:, None]
    gap = jnp.abs(along) - reach * (1 + noise)
    gap = jnp.concatenate([gap[:6], jnp.where(ok, gap[6:], -jnp.inf)])
    return gap, jnp.where((along > 0)[:, None], -axes, axes)


def _edge_cross_products(R: Matrix) -> Vectors:
    """Each of A's directions × each of B's."""
    product = CROSS_MATRICES.astype(R.dtype) * R.swapaxes(0, 1)[:, None]
    return component_sum(product).reshape(9, 3, -1)
