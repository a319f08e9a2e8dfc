"""Signed distance, witness points and normal of pairs of convex bodies, in batches."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero
from jaxtyping import Float

from posewise.compilation.arrays import Array
from posewise.compilation.backend import is_cpu_backend
from posewise.compilation.compaction import compute_where
from posewise.compilation.shared_calls import SharedFunction
from posewise.compilation.zero_tangents import instantiate_zeros

from .boxes import box_distance
from .broad_phase import distance_lower_bound
from .contact_derivatives import BodyRates, contact_tangents, twist_of_pose
from .cores import (
    Body,
    Box,
    BoxPlusEllipsoid,
    Core,
    HalfSpace,
    Hull,
    Segment,
    box_plus_ellipsoid,
    broadcast_batch,
    half_extents,
    support_point,
)
from .support_distance import support_distance
from .vec3_array import Matrix, Scalars, Vectors, dot, pairs_last, rotate, rotate_back

CORE_ORDER = (Segment, Box, BoxPlusEllipsoid, Hull, HalfSpace)
"""Types of cores; the body of a pair whose type comes first is computed as A."""

MAX_PAIRS_PER_CHUNK = 32
"""Number of pairs computed at a time on CPUs. More vectorise better, but all wait for
the one that takes the most steps, and intermediates leave the cache."""
CHUNK_SIZE = 16
"""Number of pairs nearer than a cutoff computed at a time on CPUs."""


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


_ContactArrays = tuple[jax.Array, jax.Array, jax.Array, jax.Array]
"""Arrays of a `Contact`."""


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
    return _contact(*broadcast_batch(a, b), None)


def contact_within(a: Body, b: Body, cutoff: Float[Array, "*batch"]) -> Contact:
    """Return `contact` of the pairs that may be nearer than a cutoff.

    All other pairs get their `distance_lower_bound`, with its points and normal. The
    cost grows with the number of near pairs, and none of them is left out.

    Args:
        a: bodies of one type of core, with any leading batch axes.
        b: bodies of one type of core; axes of size one are broadcast.
        cutoff: distance for each pair [m].
    """
    a, b = broadcast_batch(a, b)
    return _contact(a, b, jnp.broadcast_to(cutoff, a.p.shape[:-1]))


def _contact(a: Body, b: Body, cutoff: Array | None) -> Contact:
    """Return contacts of bodies with the same batch axes."""
    if CORE_ORDER.index(type(a.core)) > CORE_ORDER.index(type(b.core)):
        d, on_b, on_a, n = _contact(b, a, cutoff)
        return Contact(d, on_a, on_b, -n)
    if type(b.core) is BoxPlusEllipsoid:
        # All pairs with a round body are of one kind, and measured by one program.
        a = a._replace(core=box_plus_ellipsoid(a.core))
    batch = a.p.shape[:-1]
    count = a.p[..., 0].size
    if count == 0:
        nothing = jnp.zeros((*batch, 3), a.p.dtype)
        return Contact(nothing[..., 0], nothing, nothing, nothing)
    flat = jax.tree.map(
        lambda x: x.reshape(count, *x.shape[len(batch) :]), (a, b, cutoff)
    )
    out = _contacts(flat[:2], flat[2])
    return Contact(*(x.reshape(*batch, *x.shape[1:]) for x in out))


@jax.jit
def _compute_contacts(
    bodies: tuple[Body, Body], cutoff: Array | None
) -> tuple[Array, ...]:
    """Return contacts of bodies with one batch axis, in the order of `CORE_ORDER`."""
    a, b = bodies
    if cutoff is not None:
        bounds = distance_lower_bound(a, b)
        is_near = bounds[0] < cutoff
        out: tuple[Array, ...] = compute_where(
            _exact_contact, is_near, (a, b), bounds, CHUNK_SIZE
        )
        return out
    count = len(a.p)
    if count <= MAX_PAIRS_PER_CHUNK or not is_cpu_backend():
        out = _exact_contact(a, b)
        return out
    num_chunks = -(-count // MAX_PAIRS_PER_CHUNK)
    # the last chunk is filled up by repetitions of the last pair
    indices = jnp.minimum(jnp.arange(num_chunks * MAX_PAIRS_PER_CHUNK), count - 1)
    indices = indices.reshape(num_chunks, MAX_PAIRS_PER_CHUNK)

    def contact_of_chunk(rows: Array) -> _ContactArrays:
        chunk: _ContactArrays = _exact_contact(*jax.tree.map(lambda x: x[rows], (a, b)))
        return chunk

    out = jax.lax.map(contact_of_chunk, indices)
    return tuple(x.reshape(-1, *x.shape[2:])[:count] for x in out)


def _contacts_and_tangents(
    primals: tuple[tuple[Body, Body], Array | None], tangents: Any
) -> Any:
    bodies, cutoff = primals
    out: Any = _contacts(bodies, cutoff)
    rates = map(_rates_of_body, bodies, tangents[0])
    return out, contact_tangents(*bodies, out, *rates)


_contacts = SharedFunction(_compute_contacts, _contacts_and_tangents)


def _rates_of_body(body: Body, d: Body) -> BodyRates:
    """Return the rates of a body, of sizes only if one of them changes."""
    sizes = jax.tree.leaves((d.core, d.radius))
    has_fixed_sizes = all(isinstance(t, SymbolicZero) for t in sizes)
    rates = instantiate_zeros(d, body)
    twist = twist_of_pose(body.R, body.p, rates.R, rates.p)
    if has_fixed_sizes:
        return BodyRates(*twist, None, None)
    return BodyRates(*twist, rates.core, rates.radius)


@jax.jit
def _exact_contact(a: Body, b: Body) -> tuple[Any, ...]:
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
