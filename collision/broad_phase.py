"""Bounds of the distances of pairs of bodies, which rule out most pairs of a scene.

Bounding spheres and boxes reject most pairs of a scene before the exact distance is
computed (Ericson, "Real-Time Collision Detection", 2005, chapters 4 and 7).
"""

from typing import NamedTuple

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


class BoundingVolume(NamedTuple):
    """The box and the ball around a core at a pose, inflated by a radius.

    Scalars are arrays (n,), vectors and matrices tuples of them.
    """

    half: Vector
    """Half sizes of a box about the core's origin that encloses the core [m]."""
    core_radius: Scalar
    """Radius of a ball about the core's origin that encloses the core [m]."""
    radius: Scalar
    R: Matrix
    p: Vector

    @property
    def reach(self) -> Scalar:
        """Radius of the ball that encloses the body [m]."""
        return self.core_radius + self.radius


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
    volume = bounding_volume(a)
    if isinstance(b.core, HalfSpace):
        n = column(matrix_components(b.R), 2)
        on_a = sub(volume.p, scale(volume.reach, n))
        d = dot(n, sub(on_a, vector_components(b.p)))
        return d, to_array(on_a), to_array(sub(on_a, scale(d, n))), to_array(n)
    return volume_distance(volume, bounding_volume(b))


def bounding_volume(body: Body) -> BoundingVolume:
    """Return the box and the ball around a bounded body."""
    core = body.core
    return BoundingVolume(
        half_extents(core),
        bounding_radius(core),
        body.radius,
        matrix_components(body.R),
        vector_components(body.p),
    )


def volume_distance(a: BoundingVolume, b: BoundingVolume) -> tuple[Array, ...]:
    """Return `distance_lower_bound` of the bodies that volumes enclose."""
    v = sub(a.p, b.p)
    n, d = unit(v), norm(v) - a.reach - b.reach
    from_b, above = _box_separation(b, v)
    from_a, below = _box_separation(a, neg(v))
    above, below = above - a.reach - b.radius, below - b.reach - a.radius
    n = select(above > d, from_b, n)
    d = jnp.maximum(d, above)
    n = select(below > d, neg(from_a), n)
    on_b = add(b.p, scale(b.reach, n))
    on_a = select(below > d, add(on_b, scale(below, n)), sub(a.p, scale(a.reach, n)))
    d = jnp.maximum(d, below)
    return d, to_array(on_a), to_array(sub(on_a, scale(d, n))), to_array(n)


def _box_separation(volume: BoundingVolume, v: Vector) -> tuple[Vector, Scalar]:
    """Return direction and distance of a point from the box around a core.

    Args:
        volume: the box.
        v: the point, relative to the core's origin, in the axes of the world.

    Returns:
        The unit direction away from the box, and the distance, -inf inside the box:
        there the spheres give the better bound.
    """
    local = rotate_back(volume.R, v)
    sides = zip(local, volume.half, strict=True)
    nearest = tuple(jnp.clip(x, -h, h) for x, h in sides)
    away = rotate(volume.R, sub(local, nearest))
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
