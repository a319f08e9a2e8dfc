"""Convex bodies: a core, a pose, and a radius by which the core is inflated.

The signed distance of two bodies is that of their cores minus both radii, exactly, on
both sides of zero: the bodies are Minkowski sums of cores and balls (van den Bergen,
"Collision Detection in Interactive 3D Environments", 2003).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from posewise.compilation.arrays import Array

from . import vec3_array
from .subgradients import greatest
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
    """A segment from -half to half along z; a point if half is zero."""

    half: Float[Array, "*batch"]


class Box(NamedTuple):
    """A box with corners at ±half."""

    half: Float[Array, "*batch 3"]


class BoxPlusEllipsoid(NamedTuple):
    """The Minkowski sum of a box with corners at ±half and an ellipsoid.

    An ellipsoid has half = 0, a cylinder half = (0, 0, h) and radii = (r, r, 0).
    """

    half: Float[Array, "*batch 3"]
    radii: Float[Array, "*batch 3"]


class Hull(NamedTuple):
    """The convex hull of vertices, which may repeat."""

    vertices: Float[Array, "*batch V 3"]


class HalfSpace(NamedTuple):
    """The half-space z <= 0."""


class MixedCore(NamedTuple):
    """Cores of several types in arrays, of which only derivatives are computed.

    Each is a box plus ellipsoid unless it is a hull or a half-space.
    """

    half: Float[Array, "*batch 3"]
    radii: Float[Array, "*batch 3"]
    vertices: Float[Array, "*batch V 3"] | None
    """None: there are no hulls."""
    is_hull: Bool[Array, "*batch"]
    is_plane: Bool[Array, "*batch"]


Core = Segment | Box | BoxPlusEllipsoid | Hull | HalfSpace


class Body(NamedTuple):
    """A core at a pose, inflated by a radius."""

    core: Core
    radius: Float[Array, "*batch"]
    R: Float[Array, "*batch 3 3"]
    p: Float[Array, "*batch 3"]


class MixedBody(NamedTuple):
    """Bodies whose cores are of several types; see `Body`."""

    core: MixedCore
    radius: Float[Array, "*batch"]
    R: Float[Array, "*batch 3 3"]
    p: Float[Array, "*batch 3"]


def broadcast_batch(a: Body, b: Body) -> tuple[Body, Body]:
    """Return the bodies with their leading axes broadcast against each other."""
    batch = np.broadcast_shapes(a.p.shape[:-1], b.p.shape[:-1])

    def broadcast(body: Body) -> Body:
        rank = body.p.ndim - 1
        wide: Body = jax.tree.map(
            lambda x: jnp.broadcast_to(x, (*batch, *jnp.shape(x)[rank:])), body
        )
        return wide

    return broadcast(a), broadcast(b)


def support_point(core: Core, d: Float[Array, "3 pairs"]) -> Float[Array, "3 pairs"]:
    """Return the core's point furthest along d, in the core's frame.

    Among several such points it is the middle one (of a hull the first). "Several" has
    a tolerance, because directions at a right angle to an edge or a face are common and
    the result must not depend on their last bit.

    Args:
        core: with arrays of one batch axis.
        d: directions, of any length, in the core's frame.
    """
    tolerance = (3e-7 if d.dtype == jnp.float32 else 1e-12) * vec3_array.norm(d)

    def corner(half: Array) -> Array:
        # sign(0) = 0 gives the middle of an edge or a face
        return half * jnp.where(jnp.abs(d) <= tolerance, 0.0, jnp.sign(d))

    match core:
        case Segment(half):
            return corner(np.eye(3, dtype=d.dtype)[2][:, None] * half)
        case Box(half):
            return corner(half.T)
        case BoxPlusEllipsoid(half, radii):
            # The support point of an ellipsoid with axes r is r² d / |r d|; that of a
            # Minkowski sum is the sum of its terms' support points.
            scaled = radii.T * d
            length = vec3_array.norm(scaled)
            ok = length > tolerance * max_component(vector_components(radii))
            inverse = jnp.where(ok, 1 / jnp.where(ok, length, 1.0), 0.0)
            return radii.T * scaled * inverse + corner(half.T)
        case Hull(vertices):
            corners = pairs_last(vertices)
            along = vec3_array.dot(corners, d)
            best = jnp.max(along, 0) - tolerance * characteristic_length(core)
            # the first of the best, by its index: argmax would depend on the last bit
            index = jnp.arange(along.shape[0])[:, None]
            chosen = jnp.min(jnp.where(along >= best, index, along.shape[0] - 1), 0)
            return jnp.take_along_axis(corners, chosen[None, None], 0)[0]
    raise TypeError(f"{type(core).__name__} has no support point.")


def support_function(core: Core, d: Vector) -> Scalar:
    """Return h(d) = max x·d over the points x of the core.

    Args:
        core: with arrays of one batch axis.
        d: directions in the core's frame; their components may have leading axes
            before the pairs.
    """
    match core:
        case Segment(half):
            return half * jnp.abs(d[2])
        case Box(half):
            x, y, z = vector_components(half)
            return x * jnp.abs(d[0]) + y * jnp.abs(d[1]) + z * jnp.abs(d[2])
        case BoxPlusEllipsoid(half, radii):
            # support functions of Minkowski sums add up; an ellipsoid's is |r d|
            x, y, z = vector_components(radii)
            ellipsoid = safe_norm((x * d[0], y * d[1], z * d[2]))
            return ellipsoid + support_function(Box(half), d)
        case Hull(vertices):
            x, y, z = vector_components(vertices)
            a, b, c = (k[..., None, :] for k in d)
            return greatest(a * x + b * y + c * z, -2)
    raise TypeError(f"{type(core).__name__} has no support function.")


def pad_hull(hull: Hull, count: int) -> Hull:
    """Return hulls with copies of their first vertex, up to a number of vertices.

    Copies do not change the support function.
    """
    vertices = np.asarray(hull.vertices)
    missing = count - vertices.shape[-2]
    copies = np.repeat(vertices[..., :1, :], missing, -2)
    return Hull(np.concatenate([vertices, copies], -2))


def box_as_hull(box: Box, count: int) -> Hull:
    """Return boxes as hulls of their corners, with at least 8 vertices."""
    signs = np.stack(np.meshgrid(*[(-1.0, 1.0)] * 3, indexing="ij"), -1).reshape(8, 3)
    return pad_hull(Hull(signs * np.asarray(box.half)[..., None, :]), count)


def half_extents(core: Core) -> Vector:
    """Return half sizes of the box around the core's origin that encloses it [m]."""
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


def box_plus_ellipsoid(core: Core) -> BoxPlusEllipsoid:
    """Return a core, with any batch axes, as the sum of a box and an ellipsoid.

    Raises:
        TypeError: for a core that is no such sum.
    """
    match core:
        case BoxPlusEllipsoid():
            return core
        case Box(half):
            return BoxPlusEllipsoid(half, jnp.zeros_like(half))
        case Segment(half):
            sizes = half[..., None] * np.array([0.0, 0.0, 1.0], half.dtype)
            return BoxPlusEllipsoid(sizes, jnp.zeros_like(sizes))
    raise TypeError(f"{type(core).__name__} is no sum of a box and an ellipsoid.")


def characteristic_length(core: Core) -> Scalar:
    """Return a length of the order of the core's extent [m], for tolerances."""
    match core:
        case Segment(half):
            return jnp.asarray(half)
        case Box(half):
            return max_component(vector_components(half))
        case BoxPlusEllipsoid(half, radii):
            longest = max_component(vector_components(half))
            return longest + max_component(vector_components(radii))
        case Hull(vertices):
            return jnp.max(jnp.abs(vertices), (-1, -2))
    raise TypeError(f"{type(core).__name__} is not bounded.")
