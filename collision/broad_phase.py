"""Contacts that matter: exact for pairs that may be near, bounds for all others."""

from typing import Any

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap
from jaxtyping import Float

from posewise.compilation.arrays import Array
from posewise.compilation.compaction import compute_where

from .contact import Contact, batched_contact
from .contact_derivatives import contact_tangents
from .cores import (
    Body,
    Box,
    BoxPlusEllipsoid,
    Core,
    HalfSpace,
    Hull,
    Segment,
    broadcast_batch,
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

CHUNK_SIZE = 16
"""How many near pairs are worked on at a time."""


def contact_within(a: Body, b: Body, cutoff: Float[Array, "*batch"]) -> Contact:
    """`contact`, where the bodies may be nearer than `cutoff` [m].

    All other pairs get their `distance_lower_bound`, with the points of that. The work
    grows with the number of near pairs, and none is left out.

    Args:
        a: bodies of one kind of core, any leading batch axes.
        b: bodies of one kind of core; axes of size one are spread.
        cutoff: for each pair.
    """
    a, b = broadcast_batch(a, b)
    return _contact_within(a, b, jnp.broadcast_to(cutoff, a.p.shape[:-1]))


@jax.custom_jvp
def _contact_within(a: Body, b: Body, cutoff: Array) -> Contact:
    return Contact(*_near_contacts(a, b, cutoff))


@_contact_within.defjvp
def _contact_within_jvp(primals: Any, tangents: Any) -> Any:
    a, b, _ = primals
    out = _contact_within(*primals)
    return out, Contact(*contact_tangents(a, b, out, *tangents[:2]))


@custom_vmap
def _near_contacts(a: Body, b: Body, cutoff: Array) -> tuple[Array, ...]:
    batch = a.p.shape[:-1]
    count = a.p[..., 0].size
    flat = lambda x: x.reshape(count, *x.shape[len(batch) :])
    a, b, cutoff = jax.tree.map(flat, (a, b, cutoff))
    out = distance_lower_bound(a, b)
    if count:
        out = compute_where(batched_contact, out[0] < cutoff, (a, b), out, CHUNK_SIZE)
    return tuple(x.reshape(*batch, *x.shape[1:]) for x in out)


@_near_contacts.def_vmap
def _within_vmap(size: int, batched: Any, *args: Any) -> Any:
    spread = lambda x, is_batched: (
        x if is_batched else jnp.broadcast_to(x, (size, *jnp.shape(x)))
    )
    wide = [jax.tree.map(spread, x, i) for x, i in zip(args, batched, strict=True)]
    return _near_contacts(*wide), (True,) * 4


def distance_lower_bound(a: Body, b: Body) -> tuple[Array, ...]:
    """A lower bound of the distance, with points and normal as in `Contact`.

    The largest of the distances of ball and ball, ball and box, box and ball around
    the bodies. Bodies have one batch axis.
    """
    if isinstance(a.core, HalfSpace):
        turned = distance_lower_bound(b, a)
        return turned[0], turned[2], turned[1], -turned[3]
    p_a, p_b, R_b = (
        vector_components(a.p),
        vector_components(b.p),
        matrix_components(b.R),
    )
    reach_a = bounding_radius(a.core) + a.radius
    if isinstance(b.core, HalfSpace):
        n = column(R_b, 2)
        on_a = sub(p_a, scale(reach_a, n))
        d = dot(n, sub(on_a, p_b))
        return d, to_array(on_a), to_array(sub(on_a, scale(d, n))), to_array(n)
    reach_b = bounding_radius(b.core) + b.radius
    v = sub(p_a, p_b)
    n, d = unit(v), norm(v) - reach_a - reach_b
    toward, above = _box_separation(b.core, R_b, v)
    back, below = _box_separation(a.core, matrix_components(a.R), neg(v))
    above, below = above - reach_a - b.radius, below - reach_b - a.radius
    n = select(above > d, toward, n)
    d = jnp.maximum(d, above)
    n = select(below > d, neg(back), n)
    on_b = add(p_b, scale(reach_b, n))
    on_a = select(below > d, add(on_b, scale(below, n)), sub(p_a, scale(reach_a, n)))
    d = jnp.maximum(d, below)
    return d, to_array(on_a), to_array(sub(on_a, scale(d, n))), to_array(n)


def _box_separation(core: Core, R: Matrix, v: Vector) -> tuple[Vector, Scalar]:
    """Direction and distance of a point from the box around a core; -inf inside."""
    local = rotate_back(R, v)
    half = half_extents(core)
    foot = tuple(jnp.clip(x, -h, h) for x, h in zip(local, half, strict=True))
    away = rotate(R, sub(local, foot))
    length = norm(away)
    return unit(away), jnp.where(length > 0, length, -jnp.inf)


def bounding_radius(core: Core) -> Scalar:
    """Of the ball about the core's origin that holds it [m]; of numpy's arrays, too."""
    match core:
        case Segment(half):
            return half
        case Box(half):
            return norm(vector_components(half))
        case BoxPlusEllipsoid(half, radii):
            return norm(vector_components(half)) + max_component(
                vector_components(radii)
            )
        case Hull(vertices):
            return norm(vector_components(vertices)).max(0)
    raise TypeError(f"{type(core).__name__} is not bounded.")
