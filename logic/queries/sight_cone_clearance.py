"""How far the lines of sight to a box are from what might hide it."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Float

from posewise import collision
from posewise.collision.cores import support_function
from posewise.collision.vec3_tuple import vector_components
from posewise.features.safe_math import amax, amin, sqrt


def sight_clearances(
    hull: Float[jax.Array, "f 9 3"], edges: Float[jax.Array, "f 3 3"], body: Any
) -> Float[jax.Array, "f n"]:
    """Distances of hulls about the camera to other parts, at most the signed ones [m].

    The widest gap along the normals of faces of either and along all products of edges:
    for boxes the signed distance where they overlap, and its sign elsewhere. For other
    parts, the axes of which count as edges, a lower bound; for these also along the way
    from the middle line of sight to their centres.

    Args:
        hull: seen from the camera, which is the first vertex.
        edges: of the box the others are corners of.
        body: the parts, seen from there.
    """
    if isinstance(body.core, collision.HalfSpace):
        up = body.R[:, :, 2]
        heights = (
            jnp.einsum("fvi,ni->fnv", hull, up) - jnp.sum(up * body.p, -1)[:, None]
        )
        return amin(heights)
    f, n = len(hull), len(body.p)
    rays, axes = hull[:, 1:], body.R.swapaxes(1, 2)
    own = jnp.concatenate([edges, _cross_products(rays, edges)], 1)
    lines = jnp.concatenate([rays, edges], 1)
    across = jnp.cross(lines[:, None, :, None], axes[None, :, None])
    middle = jnp.mean(rays, 1)[:, None]
    along = jnp.sum(middle * body.p, -1, keepdims=True)
    aside = body.p - middle * jnp.clip(
        along / jnp.sum(middle**2, -1, keepdims=True), 0, 1
    )
    spread = lambda x: jnp.broadcast_to(x, (f, n, *x.shape[-2:]))
    ways = (spread(own[:, None]), spread(axes), across.reshape(f, n, -1, 3))
    d = jnp.concatenate([*ways, aside[:, :, None]], 2)
    square = jnp.sum(d * d, -1, keepdims=True)
    good = square > 1e-18
    d = d / jnp.sqrt(jnp.where(good, square, 1.0))
    turned = jnp.einsum("nij,fnki->nfkj", body.R, d).reshape(n, -1, 3)

    def reach(way: jax.Array) -> Float[jax.Array, "f n ways"]:
        far = _support_height(body.core, vector_components(way)) + body.radius
        return far.T.reshape(n, f, -1).swapaxes(0, 1)

    over, under = reach(turned), reach(-turned)
    place = jnp.einsum("fnki,ni->fnk", d, body.p)
    corners = jnp.einsum("fnki,fvi->fnkv", d, hull)
    low, high = amin(corners), amax(corners)
    gap = jnp.maximum(place - under - high, low - place - over)
    return amax(jnp.where(good[..., 0], gap, -jnp.inf))


def _cross_products(
    a: Float[jax.Array, "f i 3"], b: Float[jax.Array, "f j 3"]
) -> Float[jax.Array, "f ij 3"]:
    """Cross products of each with each."""
    return jnp.cross(a[:, :, None], b[:, None]).reshape(len(a), -1, 3)


def _support_height(core: Any, d: Any) -> Any:
    """Return `support_function`, differentiable on axes of symmetry as well."""
    if not isinstance(core, collision.BoxPlusEllipsoid):
        return support_function(core, d)
    swept = [r * c for r, c in zip(vector_components(core.radii), d, strict=True)]
    length = sqrt(sum(x * x for x in swept))
    return length + support_function(collision.Box(core.half), d)
