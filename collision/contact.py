"""Signed distance, witness points and normal of pairs of convex bodies, in batches."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap
from jaxtyping import Float

from .boxes import box_distance
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
    support_point,
)
from .support_distance import support_distance
from .vec3_array import Matrix, Scalars, Vectors, dot, pairs_last, rotate, rotate_back

CORE_ORDER = (Segment, Box, BoxPlusEllipsoid, Hull, HalfSpace)
"""Of the two of a pair, the one whose core comes first is A."""

MAX_PAIRS_PER_CHUNK = 1024
"""Pairs at a time on a CPU: what fits its cache."""


class Contact(NamedTuple):
    """How two bodies stand to each other."""

    distance: Float[jax.Array, "*batch"]
    """Signed distance [m]: negative, the least translation that parts them."""
    point_a: Float[jax.Array, "*batch 3"]
    """The point of A's surface nearest to, or deepest in, B; in the world."""
    point_b: Float[jax.Array, "*batch 3"]
    normal: Float[jax.Array, "*batch 3"]
    """Unit, from B to A: point_a - point_b = distance · normal."""


def contact(a: Body, b: Body) -> Contact:
    """Signed distance, witness points and normal of pairs of bodies.

    Exact on both sides of zero. Derivatives: those of the distance are exact almost
    everywhere, by the witness points (Danskin's envelope theorem); those of points and
    normal follow from the surfaces' curvature at the witness points. At kinks, such as
    parallel faces, they are those of one side.

    Args:
        a: bodies of one kind of core, any leading batch axes.
        b: bodies of one kind of core; axes of size one are spread.
    """
    return _contact(*broadcast_batch(a, b))


@jax.custom_jvp
def _contact(a: Body, b: Body) -> Contact:
    return Contact(*batched_contact(a, b))


@_contact.defjvp
def _contact_jvp(primals: Any, tangents: Any) -> Any:
    a, b = primals
    out = _contact(a, b)
    return out, Contact(*contact_tangents(a, b, out, *tangents))


@custom_vmap
def batched_contact(a: Body, b: Body) -> Any:
    """`contact` as a plain tuple; a batch made by `vmap` is evaluated as one."""
    if CORE_ORDER.index(type(a.core)) > CORE_ORDER.index(type(b.core)):
        d, on_b, on_a, n = batched_contact(b, a)
        return d, on_a, on_b, -n
    batch = a.p.shape[:-1]
    count = a.p[..., 0].size
    flat = jax.tree.map(lambda x: x.reshape(count, *x.shape[len(batch) :]), (a, b))
    if count == 0:
        none = flat[0].p
        out: tuple[jax.Array, ...] = (none[:, 0], none, none, none)
    elif count <= MAX_PAIRS_PER_CHUNK or jax.default_backend() != "cpu":
        out = _contact_of_pairs(*flat)
    else:
        out = _map_chunks(flat, count)
    return tuple(x.reshape(*batch, *x.shape[1:]) for x in out)


@batched_contact.def_vmap
def _contact_vmap(size: int, batched: Any, a: Body, b: Body) -> Any:
    spread = lambda x, is_batched: (
        x if is_batched else jnp.broadcast_to(x, (size, *jnp.shape(x)))
    )
    a, b = (jax.tree.map(spread, x, i) for x, i in zip((a, b), batched, strict=True))
    return batched_contact(a, b), (True,) * 4


def _map_chunks(bodies: Any, count: int) -> tuple[jax.Array, ...]:
    chunks = -(-count // MAX_PAIRS_PER_CHUNK)
    at = jnp.minimum(jnp.arange(chunks * MAX_PAIRS_PER_CHUNK), count - 1).reshape(
        chunks, MAX_PAIRS_PER_CHUNK
    )
    one = lambda rows: _contact_of_pairs(*jax.tree.map(lambda x: x[rows], bodies))
    out = jax.lax.map(one, at)
    return tuple(x.reshape(-1, *x.shape[2:])[:count] for x in out)


@jax.jit
def _contact_of_pairs(a: Body, b: Body) -> tuple[Any, ...]:
    """Of bodies with one batch axis, in the order of `CORE_ORDER`."""
    R_a, p_a, R_b, p_b = map(pairs_last, (a.R, a.p, b.R, b.p))
    R = rotate_back(R_a, R_b.swapaxes(0, 1)).swapaxes(0, 1)
    d, p, n = core_distance(a.core, b.core, R, rotate_back(R_a, p_b - p_a))
    points = [p - a.radius * n, p - (d - b.radius) * n]
    on_a, on_b = ((rotate(R_a, x) + p_a).T for x in points)
    return d - a.radius - b.radius, on_a, on_b, rotate(R_a, n).T


def core_distance(
    a: Core, b: Core, R: Matrix, t: Vectors
) -> tuple[Scalars, Vectors, Vectors]:
    """Signed distance of cores, A's point and the normal from B to A, in A's frame."""
    match a, b:
        case HalfSpace(), _:
            raise TypeError("Two half-spaces have no distance.")
        case _, HalfSpace():
            return _plane_distance(a, R, t)
        case ((Segment() | Box()), (Segment() | Box())):
            halves = [jnp.stack(half_extents(core)) for core in (a, b)]
            return box_distance(halves[0], halves[1], R, t)
    return support_distance(a, b, R, t)


def _plane_distance(a: Core, R: Matrix, t: Vectors) -> tuple[Scalars, Vectors, Vectors]:
    n = R[:, 2]
    lowest = support_point(a, -n)
    return dot(n, lowest - t), lowest, n
