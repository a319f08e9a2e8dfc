"""A point and a body: signed distance, and the normal of the surface nearby."""

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
"""Radius that edges have for normals [m]."""


@full_matmul_precision
def point_distance_and_normal(
    body: Body, point: Float[jax.Array, "3"]
) -> DistanceAndNormal:
    """Signed distances of a point from bodies [m], and outward normals, in the world.

    Within 1 mm of an edge the normal changes from that of one face to that of the
    other, so that it has a derivative there; those of hulls are their faces'. Distances
    are exact, those from ellipsoids to first order near their surface.

    Args:
        body: of one kind of core, with one batch axis.
        point: in the world [m].
    """
    x = jnp.einsum("nji,nj->ni", body.R, point - body.p)
    match body.core:
        case HalfSpace():
            gap, normal = x[:, 2], jnp.zeros_like(x).at[:, 2].set(1.0)
        case Box(half):
            gap, normal = _box(x, half)
            gap = gap - body.radius
        case BoxPlusEllipsoid(half, radii):
            gap, normal = _curved(x, half, radii)
            gap = gap - body.radius
        case _:
            gap, normal = _hull(body, point, x)
    return gap, jnp.einsum("nij,nj->ni", body.R, normal)


def _box(x: jax.Array, half: Array) -> DistanceAndNormal:
    sign = jnp.where(x < 0, -1.0, 1.0)
    gap, _ = _corner(jnp.abs(x) - half)
    return gap, sign * _corner(jnp.abs(x) - jnp.maximum(half - EDGE_RADIUS, 0.0))[1]


def _curved(x: jax.Array, half: Array, radii: Array) -> DistanceAndNormal:
    """Of an ellipsoid, or a cylinder along the axis of which the radius is zero."""
    round = radii > 0
    r = jnp.where(round, radii, 1.0)
    y = jnp.where(round, x, 0.0)
    # the gauge g is 1 at the surface; (g - 1) / |∇g| with ∇g = slope / g
    gauge, slope = _length(y / r), y / (r * r)
    steep = _length(slope)
    centre = steep == 0
    aside = (gauge - 1) * gauge / jnp.where(centre, 1.0, steep)
    aside = jnp.where(centre, -jnp.min(jnp.where(round, radii, jnp.inf), -1), aside)
    over = jnp.where(round, -jnp.inf, jnp.abs(x) - half)
    over = jnp.concatenate([aside[:, None], over], 1)
    normal = _corner(over + EDGE_RADIUS)[1]
    along = normal[:, 1:] * jnp.where(x < 0, -1.0, 1.0)
    return _corner(over)[0], normal[:, :1] * _unit(slope) + along


def _hull(body: Body, point: jax.Array, x: jax.Array) -> DistanceAndNormal:
    n = len(x)
    at = jnp.broadcast_to(point, (n, 3))
    mark = Body(Box(np.zeros((n, 3))), np.zeros(n), np.tile(np.eye(3), (n, 1, 1)), at)
    out = jax.lax.stop_gradient(contact(mark, body))
    normal = jnp.einsum("nji,nj->ni", jax.lax.stop_gradient(body.R), out.normal)
    moved = x - jax.lax.stop_gradient(x)
    return out.distance + jnp.sum(normal * moved, -1), normal


def _corner(over: Float[jax.Array, "n k"]) -> tuple[jax.Array, jax.Array]:
    """Distance from where k orthogonal excesses are negative, and its derivative."""
    outside = jnp.maximum(over, 0.0)
    deepest = jnp.max(over, -1)
    face = (over >= deepest[:, None]).astype(over.dtype)
    out = deepest > 0
    gap = jnp.where(out, _length(outside), deepest)
    return gap, jnp.where(out[:, None], _unit(outside), _unit(face))


def _length(v: jax.Array) -> jax.Array:
    """Of the last axis; its derivative at zero is zero."""
    square = jnp.sum(v * v, -1)
    positive = square > 0
    return jnp.where(positive, jnp.sqrt(jnp.where(positive, square, 1.0)), 0.0)


def _unit(v: jax.Array) -> jax.Array:
    length = _length(v)[:, None]
    return v / jnp.where(length > 0, length, 1.0)
