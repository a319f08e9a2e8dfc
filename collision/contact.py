"""Signed distance, witness points and normal of pairs of convex bodies, in batches."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap
from jaxtyping import Float, PyTree

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
"""Types of cores; the body of a pair whose type comes first is computed as A."""

MAX_PAIRS_PER_CHUNK = 1024
"""Number of pairs computed at a time on CPUs, so that intermediates fit the cache."""


class Contact(NamedTuple):
    """The signed distance of two bodies, and where it is attained."""

    distance: Float[jax.Array, "*batch"]
    """Signed distance [m]; if negative, minus the shortest translation that parts
    the bodies (the penetration depth)."""
    point_a: Float[jax.Array, "*batch 3"]
    """Witness point: the point of A's surface nearest to, or deepest in, B [m], world.
    """
    point_b: Float[jax.Array, "*batch 3"]
    """Witness point on B's surface [m], world."""
    normal: Float[jax.Array, "*batch 3"]
    """Unit vector from B to A: point_a - point_b = distance · normal."""


def contact(a: Body, b: Body) -> Contact:
    """Return signed distance, witness points and normal of pairs of bodies.

    The distance is exact on both sides of zero. Its derivatives are exact almost
    everywhere: by Danskin's theorem only the witness points' material velocities
    contribute. Derivatives of points and normal follow from the curvature of the
    surfaces. At kinks, such as parallel faces, they are those of one side.

    Args:
        a: bodies of one type of core, with any leading batch axes.
        b: bodies of one type of core; axes of size one are broadcast.
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


# Under `vmap`, the loops within would select the old or the new state at every step.
# The batch is evaluated as one longer batch instead.
@custom_vmap
def batched_contact(a: Body, b: Body) -> Any:
    """Return `contact` as a plain tuple, without derivatives."""
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
    a, b = broadcast_unbatched(size, batched, (a, b))
    return batched_contact(a, b), (True,) * 4


def broadcast_unbatched(
    size: int, batched: Sequence[PyTree], args: Sequence[PyTree]
) -> Any:
    """Return arguments of a `vmap` rule, each with the batch as its leading axis."""

    def broadcast(x, is_batched):
        return x if is_batched else jnp.broadcast_to(x, (size, *jnp.shape(x)))

    pairs = zip(args, batched, strict=True)
    return [jax.tree.map(broadcast, x, is_batched) for x, is_batched in pairs]


def _map_chunks(bodies: Any, count: int) -> tuple[jax.Array, ...]:
    num_chunks = -(-count // MAX_PAIRS_PER_CHUNK)
    # the last chunk is filled up by repetitions of the last pair
    indices = jnp.minimum(jnp.arange(num_chunks * MAX_PAIRS_PER_CHUNK), count - 1)
    indices = indices.reshape(num_chunks, MAX_PAIRS_PER_CHUNK)

    def contact_of_chunk(rows):
        return _contact_of_pairs(*jax.tree.map(lambda x: x[rows], bodies))

    out = jax.lax.map(contact_of_chunk, indices)
    return tuple(x.reshape(-1, *x.shape[2:])[:count] for x in out)


@jax.jit
def _contact_of_pairs(a: Body, b: Body) -> tuple[Any, ...]:
    """Return contacts of bodies with one batch axis, in the order of `CORE_ORDER`."""
    R_a, p_a, R_b, p_b = map(pairs_last, (a.R, a.p, b.R, b.p))
    # X_AB: the pose of B in A's frame, in which cores are measured
    R_AB = rotate_back(R_a, R_b.swapaxes(0, 1)).swapaxes(0, 1)
    p_AB = rotate_back(R_a, p_b - p_a)
    d, p, n = core_distance(a.core, b.core, R_AB, p_AB)
    # from the cores' witness points to those of the inflated bodies
    points = [p - a.radius * n, p - (d - b.radius) * n]
    on_a, on_b = ((rotate(R_a, x) + p_a).T for x in points)
    return d - a.radius - b.radius, on_a, on_b, rotate(R_a, n).T


def core_distance(
    a: Core, b: Core, R: Matrix, t: Vectors
) -> tuple[Scalars, Vectors, Vectors]:
    """Return signed distance of cores, A's witness point and normal, in A's frame.

    Args:
        a: core of A.
        b: core of B.
        R: rotation of B in A's frame.
        t: position of B in A's frame [m].

    Raises:
        TypeError: for two half-spaces, whose distance is not defined.
    """
    match a, b:
        case HalfSpace(), _:
            raise TypeError(
                "core_distance: both bodies are half-spaces, which have no distance;"
                " leave out pairs of planes."
            )
        case _, HalfSpace():
            return _plane_distance(a, R, t)
        case ((Segment() | Box()), (Segment() | Box())):
            halves = [jnp.stack(half_extents(core)) for core in (a, b)]
            return box_distance(halves[0], halves[1], R, t)
    return support_distance(a, b, R, t)


def _plane_distance(a: Core, R: Matrix, t: Vectors) -> tuple[Scalars, Vectors, Vectors]:
    # the half-space's normal is fixed: the lowest point of A along it is the witness
    n = R[:, 2]
    lowest = support_point(a, -n)
    return dot(n, lowest - t), lowest, n
