"""Bounds of the distances of pairs of bodies, which rule out most pairs of a scene.

Bounding spheres and boxes reject most pairs of a scene before the exact distance is
computed (Ericson, "Real-Time Collision Detection", 2005, chapters 4 and 7).
"""

import jax.numpy as jnp

from posewise.compilation.arrays import Array

from .cores import (
    Body,
    Box,
    BoxPlusEllipsoid,
    Core,
    HalfSpace,
    Hull,
    Segment,
    half_extents,
)
from .vec3_tuple import (
    Matrix,
    Scalar,
    Vector,
    add,
    column,
    dot,
    matrix_components,
    max_component,
    neg,
    norm,
    rotate,
    rotate_back,
    scale,
    select,
    sub,
    to_array,
    unit,
    vector_components,
)


def distance_lower_bound(a: Body, b: Body) -> tuple[Array, ...]:
    """Return a lower bound of the distance, with points and normal as in `Contact`.

    The bound is the greatest of three distances: of the bodies' bounding spheres, of
    A's sphere and B's bounding box, and of A's box and B's sphere.

    Args:
        a: bodies with one batch axis.
        b: bodies with the same batch axis.
    """
    if isinstance(a.core, HalfSpace):
        swapped = distance_lower_bound(b, a)
        return swapped[0], swapped[2], swapped[1], -swapped[3]
    p_a, p_b = vector_components(a.p), vector_components(b.p)
    R_a, R_b = matrix_components(a.R), matrix_components(b.R)
    reach_a = bounding_radius(a.core) + a.radius
    if isinstance(b.core, HalfSpace):
        n = column(R_b, 2)
        on_a = sub(p_a, scale(reach_a, n))
        d = dot(n, sub(on_a, p_b))
        return d, to_array(on_a), to_array(sub(on_a, scale(d, n))), to_array(n)
    reach_b = bounding_radius(b.core) + b.radius
    v = sub(p_a, p_b)
    n, d = unit(v), norm(v) - reach_a - reach_b
    from_b, above = _box_separation(b.core, R_b, v)
    from_a, below = _box_separation(a.core, R_a, neg(v))
    above, below = above - reach_a - b.radius, below - reach_b - a.radius
    n = select(above > d, from_b, n)
    d = jnp.maximum(d, above)
    n = select(below > d, neg(from_a), n)
    on_b = add(p_b, scale(reach_b, n))
    on_a = select(below > d, add(on_b, scale(below, n)), sub(p_a, scale(reach_a, n)))
    d = jnp.maximum(d, below)
    return d, to_array(on_a), to_array(sub(on_a, scale(d, n))), to_array(n)


def _box_separation(core: Core, R: Matrix, v: Vector) -> tuple[Vector, Scalar]:
    """Return direction and distance of a point from the box around a core.

    Args:
        core: the core.
        R: its rotation.
        v: the point, relative to the core's origin, in the axes of the world.

    Returns:
        The unit direction away from the box, and the distance, -inf inside the box:
        there the spheres give the better bound.
    """
    local = rotate_back(R, v)
    half = half_extents(core)
    nearest = tuple(jnp.clip(x, -h, h) for x, h in zip(local, half, strict=True))
    away = rotate(R, sub(local, nearest))
    length = norm(away)
    return unit(away), jnp.where(length > 0, length, -jnp.inf)


def bounding_radius(core: Core) -> Scalar:
    """Return the radius of the ball around the core's origin that encloses it [m].

    The result is a NumPy array if the core's sizes are.
    """
    match core:
        case Segment(half):
            return half
        case Box(half):
            return norm(vector_components(half))
        case BoxPlusEllipsoid(half, radii):
            longest = max_component(vector_components(radii))
            return norm(vector_components(half)) + longest
        case Hull(vertices):
            return norm(vector_components(vertices)).max(0)
    raise TypeError(f"{type(core).__name__} is not bounded.")
