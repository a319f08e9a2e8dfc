"""Signed distance, witness points and normal of pairs of convex bodies, in batches."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap
from jaxtyping import Float

from .boxes import box_box
from .cores import (
    Body,
    Box,
    Core,
    Curved,
    HalfSpace,
    Hull,
    Segment,
    aligned,
    half_extents,
    support,
)
from .general import general_distance
from .response import respond
from .vectors import (
    Matrix,
    Scalar,
    Vector,
    add,
    column,
    dot,
    matrix,
    neg,
    rotate,
    rotate_back,
    scale,
    stacked,
    sub,
    vector,
)

ORDER = (Segment, Box, Curved, Hull, HalfSpace)
"""Of the two of a pair, the one whose core comes first is A."""

CHUNK = 1024
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
    return _contact(*aligned(a, b))


@jax.custom_jvp
def _contact(a: Body, b: Body) -> Contact:
    return Contact(*batched_contact(a, b))


@_contact.defjvp
def _contact_jvp(primals: Any, tangents: Any) -> Any:
    a, b = primals
    out = _contact(a, b)
    return out, Contact(*respond(a, b, out, *tangents))


@custom_vmap
def batched_contact(a: Body, b: Body) -> Any:
    """`contact` as a plain tuple; a batch made by `vmap` is evaluated as one."""
    if ORDER.index(type(a.core)) > ORDER.index(type(b.core)):
        d, on_b, on_a, n = batched_contact(b, a)
        return d, on_a, on_b, -n
    batch = a.p.shape[:-1]
    count = a.p[..., 0].size
    flat = jax.tree.map(lambda x: x.reshape(count, *x.shape[len(batch) :]), (a, b))
    if count == 0:
        none = flat[0].p
        out: tuple[jax.Array, ...] = (none[:, 0], none, none, none)
    elif count <= CHUNK or jax.default_backend() != "cpu":
        out = _flat(*flat)
    else:
        out = _in_chunks(flat, count)
    return tuple(x.reshape(*batch, *x.shape[1:]) for x in out)


@batched_contact.def_vmap
def _contact_vmap(size: int, batched: Any, a: Body, b: Body) -> Any:
    spread = lambda x, is_batched: (
        x if is_batched else jnp.broadcast_to(x, (size, *jnp.shape(x)))
    )
    a, b = (jax.tree.map(spread, x, i) for x, i in zip((a, b), batched, strict=True))
    return batched_contact(a, b), (True,) * 4


def _in_chunks(bodies: Any, count: int) -> tuple[jax.Array, ...]:
    chunks = -(-count // CHUNK)
    at = jnp.minimum(jnp.arange(chunks * CHUNK), count - 1).reshape(chunks, CHUNK)
    one = lambda rows: _flat(*jax.tree.map(lambda x: x[rows], bodies))
    out = jax.lax.map(one, at)
    return tuple(x.reshape(-1, *x.shape[2:])[:count] for x in out)


@jax.jit
def _flat(a: Body, b: Body) -> tuple[Any, ...]:
    """Of bodies with one batch axis, in the order of `ORDER`."""
    R_a, R_b = matrix(a.R), matrix(b.R)
    R: Matrix = tuple(
        tuple(dot(column(R_a, i), column(R_b, j)) for j in range(3)) for i in range(3)
    )
    t = rotate_back(R_a, sub(vector(b.p), vector(a.p)))
    d, p, n = core_distance(a.core, b.core, R, t)
    q = sub(p, scale(d, n))
    to_world = lambda x: stacked(add(rotate(R_a, x), vector(a.p)))
    return (
        d - a.radius - b.radius,
        to_world(sub(p, scale(a.radius, n))),
        to_world(add(q, scale(b.radius, n))),
        stacked(rotate(R_a, n)),
    )


def core_distance(
    a: Core, b: Core, R: Matrix, t: Vector
) -> tuple[Scalar, Vector, Vector]:
    """Signed distance of cores, A's point and the normal from B to A, in A's frame."""
    match a, b:
        case HalfSpace(), _:
            raise TypeError("Two half-spaces have no distance.")
        case _, HalfSpace():
            return _above_plane(a, R, t)
        case ((Segment() | Box()), (Segment() | Box())):
            return box_box(half_extents(a), half_extents(b), R, t)
    return general_distance(a, b, R, t)


def _above_plane(a: Core, R: Matrix, t: Vector) -> tuple[Scalar, Vector, Vector]:
    n = (R[0][2], R[1][2], R[2][2])
    lowest = support(a, neg(n))
    above = sub(lowest, t)
    return n[0] * above[0] + n[1] * above[1] + n[2] * above[2], lowest, n
