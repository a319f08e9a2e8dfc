"""Clearance of the cone of sight: hulls of the camera and a box, and other parts."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise import collision
from posewise.collision.cores import support_function
from posewise.collision.vec3_tuple import vector_components
from posewise.features.safe_math import amax, amin, sqrt

MIN_SQUARED_LENGTH = 1e-18
"""Squared length up to which a separating axis is degenerate and left out [m⁴]; axes
that are hardly longer are rounding errors."""
RAYS, EDGES, AXES = range(8), range(8, 11), range(11, 14)
"""Indices of the vectors of which axes are products: from the camera to the corners of
the box, and the directions of the edges of the box and of the other part."""


def _axis_factors() -> tuple[np.ndarray, np.ndarray]:
    """Return which vectors each candidate axis is the cross product of."""
    # A face normal of a box is the product of the two directions of its edges.
    pairs = [(i, k) for i in RAYS for k in EDGES]
    pairs += [(i, k) for i in (*RAYS, *EDGES) for k in AXES]
    pairs += [(x[i], x[(i + 1) % 3]) for x in (EDGES, AXES) for i in range(3)]
    first, second = np.transpose(pairs)
    return np.eye(14)[first], np.eye(14)[second]


FIRST_FACTORS, SECOND_FACTORS = _axis_factors()
"""Indicators of the first and of the second factor of each candidate axis."""


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
    # The derivative of a maximum is that of what is largest, so that only the gap along
    # the best axis is differentiated.
    factors, direct = _widest_axes(*jax.lax.stop_gradient((hull, edges, body)))
    vectors = _vectors(hull, edges, body)
    a, b = (jnp.einsum("fnk,fnki->fni", x, vectors) for x in factors)
    d = jnp.cross(a, b) + direct * _aside(hull, body)
    return _gaps(_unit(d)[0][:, :, None], hull, body)[..., 0]


def _widest_axes(
    hull: Any, edges: Any, body: collision.Body
) -> tuple[tuple[jax.Array, jax.Array], jax.Array]:
    """Return the axis along which the gap between each hull and part is widest.

    Returns:
        Weights of the vectors whose cross product is the axis, and the weight of the
        direction from the middle line of sight, all with the sign of the gap.
    """
    vectors = _vectors(hull, edges, body)
    a, b = (
        jnp.einsum("kl,fnli->fnki", x.astype(vectors.dtype), vectors)
        for x in (FIRST_FACTORS, SECOND_FACTORS)
    )
    d = jnp.concatenate([jnp.cross(a, b), _aside(hull, body)[:, :, None]], 2)
    d, valid = _unit(jnp.concatenate([d, -d], 2))
    gaps = jnp.where(valid, _gaps(d, hull, body), -jnp.inf)
    num_axes = len(FIRST_FACTORS) + 1
    best = jnp.argmax(gaps, -1)
    sign = jnp.where(best < num_axes, 1.0, -1.0)[..., None].astype(d.dtype)
    chosen = sign * jax.nn.one_hot(best % num_axes, num_axes, dtype=d.dtype)
    product, direct = chosen[..., :-1], chosen[..., -1:]
    weights = product @ FIRST_FACTORS, jnp.abs(product) @ SECOND_FACTORS
    first, second = (jnp.asarray(x, d.dtype) for x in weights)
    return (first, second), direct


def _vectors(hull: Any, edges: Any, body: collision.Body) -> jax.Array:
    """Return the vectors of which axes are products, (f, n, 14, 3)."""
    of_hull = jnp.concatenate([hull[:, 1:], edges], 1)[:, None]
    of_parts = body.R.swapaxes(1, 2)[None]
    shape = (len(hull), len(body.p))
    vectors = [jnp.broadcast_to(x, shape + x.shape[2:]) for x in (of_hull, of_parts)]
    return jnp.concatenate(vectors, 2)


def _aside(hull: Any, body: collision.Body) -> Float[jax.Array, "f n 3"]:
    """Return the vectors from the middle line of sight to the centres of parts."""
    middle = jnp.mean(hull[:, 1:], 1)[:, None]
    along = jnp.sum(middle * body.p, -1, keepdims=True)
    square = jnp.sum(middle**2, -1, keepdims=True)
    # The camera may be in the middle of the box.
    share = jnp.clip(along / jnp.where(square > 0, square, 1.0), 0, 1)
    return jnp.subtract(body.p, middle * share)


def _unit(d: Float[jax.Array, "*n 3"]) -> tuple[jax.Array, jax.Array]:
    """Return vectors of unit length, and which were no vectors of length zero."""
    square = jnp.sum(d * d, -1, keepdims=True)
    valid = square > MIN_SQUARED_LENGTH
    return d / jnp.sqrt(jnp.where(valid, square, 1.0)), valid[..., 0]


def _gaps(
    d: Float[jax.Array, "f n k 3"], hull: Float[jax.Array, "f 9 3"], body: Any
) -> Float[jax.Array, "f n k"]:
    """Return how far parts are beyond hulls along unit vectors [m]."""
    f, n = d.shape[:2]
    local = jnp.einsum("nij,fnki->nfkj", body.R, -d).reshape(n, -1, 3)
    far = _support_function(body.core, vector_components(local)) + body.radius
    below = far.T.reshape(n, f, -1).swapaxes(0, 1)
    centre = jnp.einsum("fnki,ni->fnk", d, body.p)
    return centre - below - amax(jnp.einsum("fnki,fvi->fnkv", d, hull))


def _support_function(core: Any, d: Any) -> Any:
    """Return `support_function`, differentiable on axes of symmetry as well."""
    if not isinstance(core, collision.BoxPlusEllipsoid):
        return support_function(core, d)
    # `d` may be along an axis with radius 0, where the square root has no derivative.
    swept = [r * c for r, c in zip(vector_components(core.radii), d, strict=True)]
    length = sqrt(sum(x * x for x in swept))
    return length + support_function(collision.Box(core.half), d)
