"""Closest points of two segments, and of a segment and a box; closed forms."""

import jax.numpy as jnp

from .boxes import greatest, spread
from .vectors import (
    Matrix,
    Scalar,
    Vector,
    add,
    column,
    cross,
    dot,
    neg,
    norm,
    rotate,
    rotate_back,
    scale,
    select,
    sub,
    unit,
)


def nearest_points(p: Vector, d: Vector, q: Vector, e: Vector) -> tuple[Vector, Vector]:
    """Of the segments p + s d and q + t e, 0 <= s, t <= 1; of several, in the middle.

    After Ericson, "Real-Time Collision Detection" (2005), section 5.1.9.
    """
    r = sub(p, q)
    dd, ee, de = dot(d, d), dot(e, e), dot(d, e)
    dr, er = dot(d, r), dot(e, r)
    single = dd.dtype == jnp.float32
    divide = lambda x, y: jnp.where(y > 0, x / jnp.where(y > 0, y, 1.0), 0.5)
    clip = lambda x: jnp.clip(x, 0.0, 1.0)
    sine = dd * ee - de * de
    parallel = sine <= (1e-6 if single else 1e-12) * dd * ee
    s = clip(divide(de * er - dr * ee, jnp.where(parallel, 0.0, sine)))
    # parallel: the middle of the stretch of s along which the segments face each other
    first, last = divide(-dr, dd), divide(de - dr, dd)
    low, high = clip(jnp.minimum(first, last)), clip(jnp.maximum(first, last))
    s = jnp.where(parallel, (low + high) / 2, s)
    t = clip(divide(de * s + er, ee))
    s = jnp.where(dd > 0, clip(divide(de * t - dr, dd)), s)
    t = clip(divide(de * s + er, ee))
    return add(p, scale(s, d)), add(q, scale(t, e))


def segment_segment(
    a: Scalar, b: Scalar, R: Matrix, t: Vector
) -> tuple[Scalar, Vector, Vector]:
    """Distance, A's point and the normal from B to A, in A's frame.

    Args:
        a: half length of A, along z.
        b: half length of B, along the z of its frame.
        R: rotation of B in A.
        t: position of B in A.
    """
    zero = jnp.zeros_like(a)
    up = (zero, zero, zero + 1)
    along = column(R, 2)
    p, q = nearest_points(
        (zero, zero, -a),
        (zero, zero, 2 * a),
        sub(t, scale(b, along)),
        scale(2 * b, along),
    )
    v = sub(p, q)
    distance = norm(v)
    tiny = 4 * jnp.finfo(a.dtype).eps * (a + b + norm(t))
    x, y, _ = along
    side = jnp.sqrt(x * x + y * y)
    ok = side > 0
    inverse = 1 / jnp.where(ok, side, 1.0)
    across = select(ok, (y * inverse, -x * inverse, zero), (zero + 1, zero, zero))
    # crossing segments part at a right angle to both, points upwards
    across = select((a == 0) & (b == 0), up, across)
    return distance, p, select(distance > tiny, unit(v), across)


def segment_box(
    a: Scalar, h: Vector, R: Matrix, t: Vector
) -> tuple[Scalar, Vector, Vector]:
    """Signed distance, A's point and the normal from B to A, in A's frame.

    Args:
        a: half length of the segment A, along z.
        h: half sizes of the box B.
        R: rotation of B in A.
        t: position of B in A.
    """
    u = (R[2][0], R[2][1], R[2][2])  # the segment's direction in the box
    c = rotate_back(R, neg(t))
    overlap, m = _least_overlap(a, h, u, c)
    p, q = _apart(a, h, u, c)
    v = sub(p, q)
    distance = norm(v)
    tiny = 8 * jnp.finfo(a.dtype).eps * (a + h[0] + h[1] + h[2] + norm(c))
    apart = (overlap > 0) & (distance > tiny)
    n = select(apart, unit(v), m)
    deepest = _deepest(a, h, u, c, n)
    point = select(apart, p, add(c, scale(deepest, u)))
    signed = jnp.where(apart, distance, overlap)
    return signed, add(rotate(R, point), t), rotate(R, n)


def _deepest(a: Scalar, h: Vector, u: Vector, c: Vector, n: Vector) -> Scalar:
    """Where a segment c + x u, |x| <= a, is deepest in a box, seen along the normal.

    An end; the middle of the stretch inside the box where the segment lies along a
    face; or the point that meets the edge of the box at a right angle to both.
    """
    flat = 1e-5 if a.dtype == jnp.float32 else 1e-9
    down = dot(u, n)
    low, high = -a, a
    for i in range(3):
        # the slab of the box that the normal does not point along
        steep = (jnp.abs(n[i]) <= flat) & (jnp.abs(u[i]) > flat)
        inverse = 1 / jnp.where(steep, u[i], 1.0)
        one, other = (-h[i] - c[i]) * inverse, (h[i] - c[i]) * inverse
        low = jnp.where(steep, jnp.maximum(low, jnp.minimum(one, other)), low)
        high = jnp.where(steep, jnp.minimum(high, jnp.maximum(one, other)), high)
    middle = jnp.clip((low + high) / 2, -a, a)
    count = sum(jnp.abs(x) > flat for x in n)
    crossing = jnp.zeros_like(a)
    for i in range(3):
        along_edge = (count == 2) & (jnp.abs(n[i]) <= flat)
        j, k = (i + 1) % 3, (i + 2) % 3
        corner = (h[j] * jnp.sign(n[j]), h[k] * jnp.sign(n[k]))
        away = (corner[0] - c[j], corner[1] - c[k])
        square = u[j] * u[j] + u[k] * u[k]
        ok = square > 0
        meets = (away[0] * u[j] + away[1] * u[k]) / jnp.where(ok, square, 1.0)
        crossing = jnp.where(along_edge & ok, jnp.clip(meets, -a, a), crossing)
    lying = jnp.where(count == 2, crossing, middle)
    return jnp.where(jnp.abs(down) <= flat, lying, -jnp.sign(down) * a)


def _least_overlap(a: Scalar, h: Vector, u: Vector, c: Vector) -> tuple[Scalar, Vector]:
    """Greatest separation over the axes that may part a segment from a box."""
    zero = jnp.zeros_like(a)
    faces = spread([tuple(zero + (k == i) for k in range(3)) for i in range(3)])
    edges = cross(u, faces)
    length = norm(edges)
    ok = (length > 1e-4) & (a > 0)
    edges = scale(1 / jnp.where(ok, length, 1.0), edges)
    axes: Vector = tuple(
        jnp.concatenate([x, y]) for x, y in zip(faces, edges, strict=True)
    )
    along = dot(c, axes)
    reach = sum(h[k] * jnp.abs(axes[k]) for k in range(3))
    gap = jnp.abs(along) - reach - a * jnp.abs(dot(u, axes))
    gap = jnp.concatenate([gap[:3], jnp.where(ok, gap[3:], -jnp.inf)])
    best, axis, along = greatest(gap, axes, along)
    return best, scale(jnp.where(along >= 0, 1.0, -1.0), axis)


def _apart(a: Scalar, h: Vector, u: Vector, c: Vector) -> tuple[Vector, Vector]:
    """Closest points of a segment c + x u, |x| <= a, and a box that do not overlap.

    The squared distance from the box is convex in x, its derivative piecewise linear
    with corners where the line leaves the slabs of the box: exact between two of them.
    """
    single = a.dtype == jnp.float32
    corners = [-a, a]
    for i in range(3):
        ok = jnp.abs(u[i]) > (1e-6 if single else 1e-12)
        inverse = jnp.where(ok, 1 / jnp.where(ok, u[i], 1.0), 0.0)
        corners += [jnp.clip((side * h[i] - c[i]) * inverse, -a, a) for side in (-1, 1)]
    at = jnp.stack(corners)
    point = lambda x: add(c, scale(x, u))
    inside = lambda y: tuple(jnp.clip(y_i, -k, k) for y_i, k in zip(y, h, strict=True))
    noise = (4e-7 if single else 1e-15) * (norm(c) + a)
    y = point(at)
    slope = dot(u, sub(y, inside(y)))
    falls, rises = slope < -noise, slope > noise
    level = ~falls & ~rises
    first = jnp.min(jnp.where(level, at, a + 1), 0)
    last = jnp.max(jnp.where(level, at, -a - 1), 0)
    low = jnp.max(jnp.where(falls, at, -a), 0)
    high = jnp.min(jnp.where(rises, at, a), 0)
    # the slope grows with x: the one there is the greatest below zero, least above
    low_slope = jnp.max(jnp.where(falls, slope, -jnp.inf), 0)
    high_slope = jnp.min(jnp.where(rises, slope, jnp.inf), 0)
    low_slope = jnp.where(jnp.any(falls, 0), low_slope, 0.0)
    high_slope = jnp.where(jnp.any(rises, 0), high_slope, 0.0)
    rise = high_slope - low_slope
    ok = rise > 0
    share = jnp.where(ok, -low_slope / jnp.where(ok, rise, 1.0), 0.0)
    between = low + share * (high - low)
    # falling to the very end, or rising from the start
    between = jnp.where(high_slope <= 0, a, jnp.where(low_slope >= 0, -a, between))
    p = point(jnp.where(first <= last, (first + last) / 2, between))
    return p, inside(p)
