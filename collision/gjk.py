"""Closest points of two separated convex sets.

The algorithm of Gilbert, Johnson and Keerthi, "A fast procedure for computing the
distance between complex objects in three-dimensional space" (1988): descend over
simplices of the difference M = A - B towards the origin. The newest vertex always
stays, so each step looks at eight sub-simplices.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from .once import once
from .vectors import Array, Scalar, Vector, add, cross, dot, neg, scale, sub


class Closest(NamedTuple):
    """The point of M next to the origin."""

    v: Vector
    a: Vector
    """The point of A in v = a - b."""
    inside: Array
    """The origin lies in M; then v means nothing."""


Difference = Callable[[Vector], tuple[Vector, Vector]]
"""Of a direction d: (w, a) with w = a - b the point of M furthest along d."""


class _State(NamedTuple):
    step: Array
    w: tuple[Vector, Vector, Vector]
    a: tuple[Vector, Vector, Vector]
    has: tuple[Array, Array]
    """Whether the second and the third vertex are there."""
    weights: tuple[Scalar, Scalar, Scalar]
    v: Vector
    done: Array
    inside: Array


def closest(
    difference: Difference, start: Vector, extent: Scalar, steps: int
) -> Closest:
    """The point of M next to the origin.

    Args:
        difference: support points of M.
        start: a first direction, towards B from A.
        extent: of M's order of size; what is much smaller counts as zero.
        steps: at most.
    """
    single = start[0].dtype == jnp.float32
    gain, flat = (1e-6, 1e-8) if single else (1e-13, 1e-22)
    zero = (1e-6 if single else 1e-12) * extent
    rounding = 4 * jnp.finfo(extent.dtype).eps * extent

    def ends(s: _State, p: Vector, near: _Nearest) -> tuple[Array, Array]:
        """Whether there is nothing nearer, and whether the origin is inside."""
        vv = dot(s.v, s.v)
        known = [_same(p, s.w[0]), s.has[0] & _same(p, s.w[1])]
        known.append(s.has[1] & _same(p, s.w[2]))
        touching = vv <= zero * zero
        along = dot(s.v, p)
        stop = touching | (vv - along <= gain * vv + rounding * jnp.sqrt(vv))
        stop = stop | known[0] | known[1] | known[2]
        # all of M is beyond p: past the origin, only rounding says that it is inside
        enclosed = ~stop & (along <= 0) & s.has[1] & _encloses(p, *s.w)
        # no point of M is nearer than the supporting plane at p; rounding may say so
        square = dot(near.point, near.point)
        beyond = (along > 0) & (square * vv < along * along * (1 - 1e-6))
        worse = (square >= vv) | beyond
        inside = s.inside | (~s.done & (enclosed | touching))
        return s.done | stop | enclosed | worse, inside

    def advance(s: _State) -> _State:
        p, pa = once(difference, neg(s.v))
        near = _nearest(p, s.w, (True, *s.has), flat)
        done, inside = ends(s, p, near)
        # what stays, packed behind the new vertex
        first = near.kept
        pick_2 = lambda x: _choose(first[0], x[0], _choose(first[1], x[1], x[2]))
        pick_3 = lambda x: _choose(first[2], x[2], x[1])
        count = sum(k.astype(jnp.int32) for k in near.kept)
        weights = near.weights
        shares = (weights[0], pick_2(weights[1:]), pick_3(weights[1:]))
        keep = lambda old, new: _choose(done, old, new)
        return _State(
            s.step + 1,
            keep(s.w, (p, pick_2(s.w), pick_3(s.w))),
            keep(s.a, (pa, pick_2(s.a), pick_3(s.a))),
            keep(s.has, (count >= 1, count >= 2)),
            keep(s.weights, shares),
            keep(s.v, near.point),
            done,
            inside,
        )

    w, a = difference(start)
    none = jnp.zeros(w[0].shape, bool)
    one, nothing = jnp.ones_like(w[0]), jnp.zeros_like(w[0])
    begin = _State(
        jnp.zeros((), jnp.int32),
        (w, w, w),
        (a, a, a),
        (none, none),
        (one, nothing, nothing),
        w,
        none,
        none,
    )
    end = jax.lax.while_loop(
        lambda s: (s.step < steps) & ~jnp.all(s.done), advance, begin
    )
    point = scale(end.weights[0], end.a[0])
    for k in (1, 2):
        there = jnp.where(end.has[k - 1], end.weights[k], 0.0)
        point = add(point, scale(there, end.a[k]))
    touching = dot(end.v, end.v) <= zero * zero
    return Closest(end.v, point, end.inside | touching)


def _same(a: Vector, b: Vector) -> Array:
    return (a[0] == b[0]) & (a[1] == b[1]) & (a[2] == b[2])


def _choose(condition: Array, a, b):
    return jax.tree.map(lambda x, y: jnp.where(condition, x, y), a, b)


class _Nearest(NamedTuple):
    """Of a simplex, the point next to the origin."""

    point: Vector
    weights: tuple[Scalar, ...]
    """Of the newest vertex, and of the others."""
    kept: tuple[Array, ...]
    """Which of the others take part."""


OTHERS = ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2))
"""The vertices of a simplex beside the newest one."""


def _nearest(p: Vector, w: tuple[Vector, ...], present: Any, flat: float) -> _Nearest:
    """Of all simplices of p and some of w."""
    e = tuple(sub(x, p) for x in w)
    choice, shares = once(partial(_options, flat), p, e, present)
    weights = [jnp.zeros_like(p[0])] * 3
    kept = [choice < 0] * 3
    for k, (others, own) in enumerate(zip(OTHERS, shares, strict=True), 1):
        mine = choice == k
        for i, share in zip(others, own, strict=True):
            weights[i] = jnp.where(mine, share, weights[i])
            kept[i] = kept[i] | mine
    weights = once(tuple, weights)
    point = p
    for x, weight in zip(e, weights, strict=True):
        point = add(point, scale(weight, x))
    return _Nearest(point, (1 - sum(weights), *weights), once(tuple, kept))


def _options(flat: float, p: Vector, e: Any, present: Any) -> Any:
    """Which simplex has the nearest point (0: p alone), and the shares in each."""
    pe = [dot(p, x) for x in e]
    gram = {(i, j): dot(e[i], e[j]) for i in range(3) for j in range(i, 3)}
    shares, squares = [], [dot(p, p)]

    def offer(ok: Array, own: dict[int, Scalar]) -> None:
        x = p
        for i, share in own.items():
            x = add(x, scale(share, e[i]))
        shares.append(tuple(own.values()))
        squares.append(jnp.where(ok, dot(x, x), jnp.inf))

    for i in range(3):
        length = gram[i, i]
        t = -pe[i] / jnp.where(length > 0, length, 1.0)
        ok = present[i] & (length > 0) & (t > 0) & (t < 1)
        offer(ok, {i: t})
    for i, j in OTHERS[3:]:
        normal = cross(e[i], e[j])
        area = dot(normal, normal)
        solid = area > flat * gram[i, i] * gram[j, j]
        inverse = 1 / jnp.where(solid, area, 1.0)
        u = (pe[j] * gram[i, j] - pe[i] * gram[j, j]) * inverse
        t = (pe[i] * gram[i, j] - pe[j] * gram[i, i]) * inverse
        ok = present[i] & present[j] & solid & (u > 0) & (t > 0) & (u + t < 1)
        offer(ok, {i: u, j: t})

    best, choice = squares[0], jnp.zeros(p[0].shape, jnp.int32)
    for k, square in enumerate(squares):
        choice = jnp.where(square < best, k, choice)
        best = jnp.minimum(square, best)
    return choice, tuple(shares)


def _encloses(p: Vector, a: Vector, b: Vector, c: Vector) -> Array:
    """Whether the tetrahedron of the four points has the origin in its inside."""

    def same_side(x, y, z, apex):
        normal = cross(sub(y, x), sub(z, x))
        return dot(normal, sub(apex, x)) * -dot(normal, x) > 0

    return (
        same_side(p, a, b, c)
        & same_side(p, b, c, a)
        & same_side(p, c, a, b)
        & same_side(a, b, c, p)
    )
