"""Clearance of the cone of sight: hulls of the camera and a box, and other parts."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Float

from posewise import collision
from posewise.collision.cores import support_function
from posewise.collision.vec3_tuple import vector_components
from posewise.features.safe_math import amax, amin, sqrt

MIN_SQUARED_LENGTH = 1e-18
"""Squared length up to which a separating axis is degenerate and left out [m⁴]; axes
that are hardly longer are rounding errors."""


def sight_clearances(
    hull: Float[jax.Array, "f 9 3"],
    edges: Float[jax.Array, "f 3 3"],
    body: collision.Body,
) -> Float[jax.Array, "f n"]:
    """Return lower bounds of the signed distances of hulls to other parts [m].

    The bound is the widest gap along candidate separating axes (Gottschalk, Lin and
    Manocha, "OBBTree", SIGGRAPH 1996): the face normals of both, and the cross products
    of their edges. For boxes it is the signed distance where they overlap, and has its
    sign elsewhere. The axes of other parts count as edges, and the direction from the
    middle line of sight to their centre is one more candidate.

    Args:
        hull: vertices relative to the camera, which is the first vertex.
        edges: directions of the edges of the box whose corners the others are.
        body: the parts, relative to the camera.
    """
    if isinstance(body.core, collision.HalfSpace):
        up = body.R[:, :, 2]
        offset = jnp.sum(up * body.p, -1)
        return amin(jnp.einsum("fvi,ni->fnv", hull, up) - offset[:, None])
    f, n = len(hull), len(body.p)
    rays, axes = hull[:, 1:], body.R.swapaxes(1, 2)
    hull_axes = jnp.concatenate([edges, _cross_products(rays, edges)], 1)
    lines = jnp.concatenate([rays, edges], 1)
    across = jnp.cross(lines[:, None, :, None], axes[None, :, None])
    middle = jnp.mean(rays, 1)[:, None]
    along = jnp.sum(middle * body.p, -1, keepdims=True)
    share = jnp.clip(along / jnp.sum(middle**2, -1, keepdims=True), 0, 1)
    aside = body.p - middle * share

    def broadcast(x: Any) -> jax.Array:
        return jnp.broadcast_to(x, (f, n, *x.shape[-2:]))

    candidates = (
        broadcast(hull_axes[:, None]),
        broadcast(axes),
        across.reshape(f, n, -1, 3),
    )
    d = jnp.concatenate([*candidates, aside[:, :, None]], 2)
    square = jnp.sum(d * d, -1, keepdims=True)
    valid = square > MIN_SQUARED_LENGTH
    d = d / jnp.sqrt(jnp.where(valid, square, 1.0))
    local = jnp.einsum("nij,fnki->nfkj", body.R, d).reshape(n, -1, 3)

    def extent(direction: jax.Array) -> Float[jax.Array, "f n directions"]:
        far = _support_function(body.core, vector_components(direction)) + body.radius
        return far.T.reshape(n, f, -1).swapaxes(0, 1)

    above, below = extent(local), extent(-local)
    centre = jnp.einsum("fnki,ni->fnk", d, body.p)
    corners = jnp.einsum("fnki,fvi->fnkv", d, hull)
    low, high = amin(corners), amax(corners)
    gap = jnp.maximum(centre - below - high, low - centre - above)
    return amax(jnp.where(valid[..., 0], gap, -jnp.inf))


def _cross_products(
    a: Float[jax.Array, "f i 3"], b: Float[jax.Array, "f j 3"]
) -> Float[jax.Array, "f ij 3"]:
    """Return the cross products of each vector of a with each of b."""
    return jnp.cross(a[:, :, None], b[:, None]).reshape(len(a), -1, 3)


def _support_function(core: Any, d: Any) -> Any:
    """Return `support_function`, differentiable on axes of symmetry as well."""
    if not isinstance(core, collision.BoxPlusEllipsoid):
        return support_function(core, d)
    # `d` may be along an axis with radius 0, where the square root has no derivative.
    swept = [r * c for r, c in zip(vector_components(core.radii), d, strict=True)]
    length = sqrt(sum(x * x for x in swept))
    return length + support_function(collision.Box(core.half), d)
