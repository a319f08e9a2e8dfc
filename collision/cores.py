"""Convex bodies: a core, a pose, and a radius by which the core is inflated.

The signed distance of two bodies is that of their cores minus both radii, exactly, on
both sides of zero.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.compilation.arrays import Array

from . import vec3_array
from .vec3_array import pairs_last
from .vec3_tuple import (
    Scalar,
    Vector,
    add,
    max_component,
    safe_norm,
    vector_components,
)


class Segment(NamedTuple):
    """From -half to half along z; of zero length: a point."""

    half: Float[Array, "*batch"]


class Box(NamedTuple):
    """All corners at ±half."""

    half: Float[Array, "*batch 3"]


class BoxPlusEllipsoid(NamedTuple):
    """A box swept by an ellipsoid; a cylinder: half (0, 0, h), radii (r, r, 0)."""

    half: Float[Array, "*batch 3"]
    radii: Float[Array, "*batch 3"]


class Hull(NamedTuple):
    """The convex hull of vertices; repeated ones do no harm."""

    vertices: Float[Array, "*batch V 3"]


class HalfSpace(NamedTuple):
    """z <= 0."""


Core = Segment | Box | BoxPlusEllipsoid | Hull | HalfSpace


class Body(NamedTuple):
    """A core at a pose, inflated."""

    core: Core
    radius: Float[Array, "*batch"]
    R: Float[Array, "*batch 3 3"]
    p: Float[Array, "*batch 3"]


def broadcast_batch(a: Body, b: Body) -> tuple[Body, Body]:
    """The two with the same leading axes, those of size one spread."""
    batch = np.broadcast_shapes(a.p.shape[:-1], b.p.shape[:-1])

    def spread(body: Body) -> Body:
        own = body.p.ndim - 1
        to = lambda x: jnp.broadcast_to(x, (*batch, *jnp.shape(x)[own:]))
        return jax.tree.map(to, body)

    return spread(a), spread(b)


def support_point(
    core: Core, d: Float[Array, "3 pairs"]
) -> Float[jax.Array, "3 pairs"]:
    """The core's point furthest along d, in its frame.

    Of several, the middle one. "Several" has a tolerance: directions at a
    right angle to an edge or a face come up all the time, and what is found must not
    depend on the last bit.

    The core's arrays have one batch axis.
    """
    tolerance = (3e-7 if d.dtype == jnp.float32 else 1e-12) * vec3_array.norm(d)
    sides = lambda half: half * jnp.where(jnp.abs(d) <= tolerance, 0.0, jnp.sign(d))
    match core:
        case Segment(half):
            return sides(np.eye(3, dtype=d.dtype)[2][:, None] * half)
        case Box(half):
            return sides(half.T)
        case BoxPlusEllipsoid(half, radii):
            scaled = radii.T * d
            length = vec3_array.norm(scaled)
            ok = length > tolerance * max_component(vector_components(radii))
            inverse = jnp.where(ok, 1 / jnp.where(ok, length, 1.0), 0.0)
            return radii.T * scaled * inverse + sides(half.T)
        case Hull(vertices):
            corners = pairs_last(vertices)
            along = vec3_array.dot(corners, d)
            best = jnp.max(along, 0) - tolerance * characteristic_length(core)
            index = jnp.arange(along.shape[0])[:, None]
            chosen = jnp.min(jnp.where(along >= best, index, along.shape[0] - 1), 0)
            return jnp.take_along_axis(corners, chosen[None, None], 0)[0]
    raise TypeError(f"{type(core).__name__} has no support point.")


def support_function(core: Core, d: Vector) -> Scalar:
    """How far the core reaches along d from its origin (the support function).

    The components of d may have leading axes before the pairs.
    """
    match core:
        case Segment(half):
            return half * jnp.abs(d[2])
        case Box(half):
            x, y, z = vector_components(half)
            return x * jnp.abs(d[0]) + y * jnp.abs(d[1]) + z * jnp.abs(d[2])
        case BoxPlusEllipsoid(half, radii):
            x, y, z = vector_components(radii)
            swept = safe_norm((x * d[0], y * d[1], z * d[2]))
            return swept + support_function(Box(half), d)
        case Hull(vertices):
            x, y, z = vector_components(vertices)
            a, b, c = (k[..., None, :] for k in d)
            return jnp.max(a * x + b * y + c * z, -2)
    raise TypeError(f"{type(core).__name__} has no support point.")


def as_box_plus_ellipsoid(core: Core) -> BoxPlusEllipsoid:
    """The same body written as a box swept by an ellipsoid."""
    match core:
        case Segment(half):
            none = np.zeros_like(half)
            half = np.stack([none, none, half], -1)
        case Box(half):
            half = np.asarray(half)
        case _:
            raise TypeError(f"{type(core).__name__} is no box swept by an ellipsoid.")
    return BoxPlusEllipsoid(half, np.zeros_like(half))


def half_extents(core: Core) -> Vector:
    """Of the box about the core's origin, along its axes, that holds it [m]."""
    match core:
        case Segment(half):
            return (jnp.zeros_like(half), jnp.zeros_like(half), half)
        case Box(half):
            return vector_components(half)
        case BoxPlusEllipsoid(half, radii):
            return add(vector_components(half), vector_components(radii))
        case Hull(vertices):
            x, y, z = vector_components(vertices)
            return tuple(jnp.max(jnp.abs(c), 0) for c in (x, y, z))
    raise TypeError(f"{type(core).__name__} is not bounded.")


def characteristic_length(core: Core) -> Scalar:
    """A length of the order of the extent of cores with one batch axis."""
    match core:
        case Segment(half):
            return jnp.asarray(half)
        case Box(half):
            return max_component(vector_components(half))
        case BoxPlusEllipsoid(half, radii):
            return max_component(vector_components(half)) + max_component(
                vector_components(radii)
            )
        case Hull(vertices):
            return jnp.max(jnp.abs(vertices), (-1, -2))
    raise TypeError(f"{type(core).__name__} has no size.")
