"""Contacts that matter: exact for pairs that may be near, bounds for all others."""

from typing import Any

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap
from jaxtyping import Float

from .contact import Contact, batched_contact
from .cores import Body, Box, Core, Curved, HalfSpace, Hull, Segment, aligned
from .needed import compute_where
from .response import respond
from .vectors import Array

CHUNK = 16
CHUNKS: dict[tuple[type, type], int] = {(Segment, Segment): 64, (Segment, Box): 32}
"""How many near pairs of one kind are worked on at a time."""


def contact_within(a: Body, b: Body, cutoff: Float[Array, "*batch"]) -> Contact:
    """`contact`, where the bodies may be nearer than `cutoff` [m].

    All other pairs get the `bound` of their distance, with the points of that. The work
    grows with the number of near pairs, and none is left out.

    Args:
        a: bodies of one kind of core, any leading batch axes.
        b: bodies of one kind of core; axes of size one are spread.
        cutoff: for each pair.
    """
    a, b = aligned(a, b)
    return _contact_within(a, b, jnp.broadcast_to(cutoff, a.p.shape[:-1]))


@jax.custom_jvp
def _contact_within(a: Body, b: Body, cutoff: Array) -> Contact:
    return Contact(*_within(a, b, cutoff))


@_contact_within.defjvp
def _contact_within_jvp(primals: Any, tangents: Any) -> Any:
    a, b, _ = primals
    out = _contact_within(*primals)
    return out, Contact(*respond(a, b, out, *tangents[:2]))


@custom_vmap
def _within(a: Body, b: Body, cutoff: Array) -> tuple[jax.Array, ...]:
    batch = a.p.shape[:-1]
    count = a.p[..., 0].size
    flat = lambda x: x.reshape(count, *x.shape[len(batch) :])
    a, b, cutoff = jax.tree.map(flat, (a, b, cutoff))
    out = bound(a, b)
    if count:
        near = out[0] < cutoff
        size = CHUNKS.get((type(a.core), type(b.core)), CHUNK)
        out = compute_where(batched_contact, near, (a, b), out, size)
    return tuple(x.reshape(*batch, *x.shape[1:]) for x in out)


@_within.def_vmap
def _within_vmap(size: int, batched: Any, *args: Any) -> Any:
    spread = lambda x, is_batched: (
        x if is_batched else jnp.broadcast_to(x, (size, *jnp.shape(x)))
    )
    wide = [jax.tree.map(spread, x, i) for x, i in zip(args, batched, strict=True)]
    return _within(*wide), (True,) * 4


def ball_distance(a: Body, b: Body) -> tuple[Any, ...]:
    """Distance, points and normal (as in `Contact`) of the bodies' bounding balls."""
    if isinstance(a.core, HalfSpace):
        d, on_b, on_a, n = ball_distance(b, a)
        return d, on_a, on_b, -n
    radius_a = (bounding_radius(a.core) + a.radius)[..., None]
    if isinstance(b.core, HalfSpace):
        n = b.R[..., :, 2]
        on_a = a.p - radius_a * n
        d = jnp.sum(n * (on_a - b.p), -1)
        return d, on_a, on_a - d[..., None] * n, n
    radius_b = (bounding_radius(b.core) + b.radius)[..., None]
    v = a.p - b.p
    length = jnp.sqrt(jnp.sum(v * v, -1, keepdims=True))
    up = jnp.zeros_like(v).at[..., 2].set(1.0)
    n = jnp.where(length > 0, v / jnp.where(length > 0, length, 1.0), up)
    d = (length - radius_a - radius_b)[..., 0]
    return d, a.p - radius_a * n, b.p + radius_b * n, n


def bound(a: Body, b: Body) -> tuple[Any, ...]:
    """A lower bound of the distance, with points and normal as in `Contact`.

    The largest of the distances of ball and ball, ball and box, box and ball around
    the bodies.
    """
    out = ball_distance(a, b)
    if isinstance(a.core, HalfSpace) or isinstance(b.core, HalfSpace):
        return out
    d, on_b, on_a, n = _ball_to_box(b, a)
    for other in ((d, on_a, on_b, -n), _ball_to_box(a, b)):
        better = other[0] > out[0]
        pick = lambda x, y, better=better: jnp.where(
            better if x.ndim == better.ndim else better[..., None], x, y
        )
        out = tuple(pick(x, y) for x, y in zip(other, out, strict=True))
    return out


def _ball_to_box(a: Body, b: Body) -> tuple[Any, ...]:
    """Distance of the ball around a and the box around b; -inf inside the box."""
    half = half_extents(b.core)
    v = a.p - b.p
    local = jnp.sum(b.R * v[..., :, None], -2)
    foot = jnp.clip(local, -half, half)
    away = jnp.sum(b.R * (local - foot)[..., None, :], -1)
    length = jnp.sqrt(jnp.sum(away * away, -1, keepdims=True))
    n = away / jnp.where(length > 0, length, 1.0)
    reach = bounding_radius(a.core) + a.radius
    d = jnp.where(length > 0, length, -jnp.inf)[..., 0] - reach - b.radius
    on_b = b.p + jnp.sum(b.R * foot[..., None, :], -1) + b.radius[..., None] * n
    return d, a.p - reach[..., None] * n, on_b, n


def half_extents(core: Core) -> Float[Array, "*batch 3"]:
    """Of the box about the core's origin, along its axes, that holds it [m]."""
    match core:
        case Segment(half):
            return half[..., None] * jnp.array([0, 0, 1.0], half.dtype)
        case Box(half):
            return half
        case Curved(half, radii):
            return half + radii
        case Hull(vertices):
            return jnp.max(jnp.abs(vertices), -2)
    raise TypeError(f"{type(core).__name__} is not bounded.")


def bounding_radius(core: Core) -> Float[Array, "*batch"]:
    """Of the ball about the core's origin that holds it [m]."""
    match core:
        case Segment(half):
            return half
        case Box(half):
            return jnp.sqrt(jnp.sum(half * half, -1))
        case Curved(half, radii):
            return jnp.sqrt(jnp.sum(half * half, -1)) + jnp.max(radii, -1)
        case Hull(vertices):
            return jnp.sqrt(jnp.max(jnp.sum(vertices * vertices, -1), -1))
    raise TypeError(f"{type(core).__name__} is not bounded.")
