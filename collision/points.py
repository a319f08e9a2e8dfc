"""Signed distance from a point to a body, and the normal of the surface nearby.

Closed formulas without iterations serve points better than `contact` does: a point in
a body has no unique witness point at edges, and derivatives of the normal are needed
there.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.compilation.arrays import Array
from posewise.compilation.precision import full_matmul_precision

from .contact import contact
from .cores import Body, Box, BoxPlusEllipsoid, HalfSpace

DistanceAndNormal = tuple[Float[jax.Array, " n"], Float[jax.Array, "n 3"]]
EDGE_RADIUS = 1e-3
"""Radius by which edges are rounded for normals [m]; a greater one turns the normal
more gradually."""


@full_matmul_precision
def point_distance_and_normal(
    body: Body, point: Float[jax.Array, "3"]
) -> DistanceAndNormal:
    """Return signed distances from bodies to a point [m], and outward normals, world.

    Within `EDGE_RADIUS` of an edge the normal changes from that of one face to that of
    the other, so that it has a derivative there; normals of hulls are those of their
    faces. Distances are exact; those from ellipsoids to first order near the surface.

    Args:
        body: bodies of one type of core, with one batch axis.
        point: in the world [m].
    """
    x = jnp.einsum("nji,nj->ni", body.R, point - body.p)
    match body.core:
        case HalfSpace():
            distance, normal = x[:, 2], jnp.zeros_like(x).at[:, 2].set(1.0)
        case Box(half):
            distance, normal = _box_distance_and_normal(x, half)
            distance = distance - body.radius
        case BoxPlusEllipsoid(half, radii):
            distance, normal = _round_distance_and_normal(x, half, radii)
            distance = distance - body.radius
        case _:
            distance, normal = _hull_distance_and_normal(body, point, x)
    return distance, jnp.einsum("nij,nj->ni", body.R, normal)


def _box_distance_and_normal(x: jax.Array, half: Array) -> DistanceAndNormal:
    sign = jnp.where(x < 0, -1.0, 1.0)
    distance, _ = _corner_distance(jnp.abs(x) - half)
    # the normal of the box shrunk by the edges' radius, as that of a rounded box
    inner = jnp.maximum(half - EDGE_RADIUS, 0.0)
    return distance, sign * _corner_distance(jnp.abs(x) - inner)[1]


def _round_distance_and_normal(
    x: jax.Array, half: Array, radii: Array
) -> DistanceAndNormal:
    """Return those of an ellipsoid, or of a cylinder along the axis of radius zero."""
    is_round = radii > 0
    r = jnp.where(is_round, radii, 1.0)
    y = jnp.where(is_round, x, 0.0)
    # With the gauge g(y) = |y / r|, which is 1 at the surface, the distance is to first
    # order (g - 1) / |∇g|, where ∇g = (y / r²) / g.
    gauge, slope = _safe_norm(y / r), y / (r * r)
    steepness = _safe_norm(slope)
    at_centre = steepness == 0
    aside = (gauge - 1) * gauge / jnp.where(at_centre, 1.0, steepness)
    least_radius = jnp.min(jnp.where(is_round, radii, jnp.inf), -1)
    aside = jnp.where(at_centre, -least_radius, aside)
    # A cylinder is a box with two sides, the radial and the axial one. The axes of an
    # ellipsoid have no side: -inf never is the nearest.
    beyond = jnp.where(is_round, -jnp.inf, jnp.abs(x) - half)
    beyond = jnp.concatenate([aside[:, None], beyond], 1)
    normal = _corner_distance(beyond + EDGE_RADIUS)[1]
    along = normal[:, 1:] * jnp.where(x < 0, -1.0, 1.0)
    distance = _corner_distance(beyond)[0]
    return distance, normal[:, :1] * _safe_unit(slope) + along


def _hull_distance_and_normal(
    body: Body, point: jax.Array, x: jax.Array
) -> DistanceAndNormal:
    n = len(x)
    p = jnp.broadcast_to(point, (n, 3))
    sphere = Body(Box(np.zeros((n, 3))), np.zeros(n), np.tile(np.eye(3), (n, 1, 1)), p)
    out = jax.lax.stop_gradient(contact(sphere, body))
    normal = jnp.einsum("nji,nj->ni", jax.lax.stop_gradient(body.R), out.normal)
    # The value comes from `contact`, the derivative is that of the face's plane: the
    # normal of a face is fixed in the body.
    moved = x - jax.lax.stop_gradient(x)
    return out.distance + jnp.sum(normal * moved, -1), normal


def _corner_distance(
    beyond: Float[jax.Array, "n k"],
) -> tuple[jax.Array, jax.Array]:
    """Return the distance from a corner of orthogonal sides, and its derivative.

    Args:
        beyond: signed distances from the planes of the k sides.
    """
    outside = jnp.maximum(beyond, 0.0)
    greatest = jnp.max(beyond, -1)
    side = (beyond >= greatest[:, None]).astype(beyond.dtype)
    is_outside = greatest > 0
    distance = jnp.where(is_outside, _safe_norm(outside), greatest)
    # inside, at the same depth below several sides, the mean of their normals
    normal = jnp.where(is_outside[:, None], _safe_unit(outside), _safe_unit(side))
    return distance, normal


def closest_point_on_box(
    x: Float[jax.Array, "n 3"], half: Float[Array, "n 3"]
) -> tuple[Float[jax.Array, " n"], Float[jax.Array, "n 3"]]:
    """Return signed distances from boxes [m] and the closest points of their surfaces.

    Args:
        x: points in the axes of the boxes [m].
        half: half sizes [m].
    """
    clipped = jnp.clip(x, -half, half)
    outside = jnp.sum(jnp.square(x - clipped), -1)
    is_outside = outside > 0
    distance = jnp.sqrt(jnp.where(is_outside, outside, 1.0))
    # inside, the closest face is the one with the least room before it
    room = half - jnp.abs(x)
    is_face = jnp.arange(3) == jnp.argmin(room, -1)[:, None]
    depth = jnp.sum(jnp.where(is_face, room, 0.0), -1)
    on_face = jnp.where(is_face, jnp.where(x < 0, -1.0, 1.0) * half, x)
    point = jnp.where(is_outside[:, None], clipped, on_face)
    return jnp.where(is_outside, distance, -depth), point


def closest_point_on_cylinder(
    x: Float[jax.Array, "n 3"],
    half_length: Float[Array, " n"],
    radius: Float[Array, " n"],
) -> tuple[Float[jax.Array, " n"], Float[jax.Array, "n 3"]]:
    """Return signed distances from cylinders [m] and closest points of their surfaces.

    Args:
        x: points in the axes of the cylinders, which lie along z [m].
        half_length: half lengths [m].
        radius: radii [m].
    """
    # a box in cylindrical coordinates (ρ, 0, z), without an end along the second axis
    square = x[:, 0] ** 2 + x[:, 1] ** 2
    off_axis = square > 0
    rho = jnp.sqrt(jnp.where(off_axis, square, 1.0)) * off_axis
    radial = x[:, :2] / jnp.where(off_axis, rho, 1.0)[:, None]
    # on the axis all radial directions are equally close; x is taken
    radial = jnp.where(off_axis[:, None], radial, jnp.array([1.0, 0.0], x.dtype))
    flat = jnp.stack([rho, jnp.zeros_like(rho), x[:, 2]], -1)
    half = jnp.stack([radius, jnp.full_like(radius, jnp.inf), half_length], -1)
    distance, on = closest_point_on_box(flat, half)
    return distance, jnp.concatenate([on[:, :1] * radial, on[:, 2:]], -1)


def _safe_norm(v: jax.Array) -> jax.Array:
    """Return |v| over the last axis, with derivative zero at zero."""
    square = jnp.sum(v * v, -1)
    positive = square > 0
    return jnp.where(positive, jnp.sqrt(jnp.where(positive, square, 1.0)), 0.0)


def _safe_unit(v: jax.Array) -> jax.Array:
    """Return v / |v| over the last axis, and zero where v is zero."""
    length = _safe_norm(v)[:, None]
    return v / jnp.where(length > 0, length, 1.0)
