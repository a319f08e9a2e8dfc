"""Convex parts of frames as arrays: their extents, and the distances between them.

The functions take orientations R (m, 3, 3) and origins p (m, 3) of some frames. The
kinds of the parts are static; their sizes and their poses in the frames are data, in
arrays whose names begin with a prefix.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from posewise import collision
from posewise.collision.cores import support_function
from posewise.collision.vec3_tuple import vector_components
from posewise.compilation.arrays import Array
from posewise.robots.contact.bodies import Bodies, concatenate_bodies, frame_bodies
from posewise.robots.contact.body_pairs import CoreTypes, group_body_pairs, pack
from posewise.robots.world.frame import Frame

from ..errors import PredicateError
from .world_feature import Arrays, TracedArrays


class PartKinds(NamedTuple):
    """Kinds of the convex parts of some frames, group by group."""

    kinds: tuple[Any, ...]
    """Type of the core of each group."""
    prefix: str
    """Prefix of the names of their arrays."""


def bounded_parts(frames: Sequence[Frame], prefix: str) -> tuple[PartKinds, Arrays]:
    """Return the parts of frames, all of which are bounded, and their arrays.

    Raises:
        PredicateError: for planes, which have no size.
    """
    for frame in frames:
        if any(group.kind[0] is collision.HalfSpace for group in frame_bodies(frame)):
            raise PredicateError(
                f"{frame.name!r} is a plane, which has no size to be relaxed; name a"
                " bounded object."
            )
    return all_parts(frames, prefix)


def all_parts(frames: Sequence[Frame], prefix: str) -> tuple[PartKinds, Arrays]:
    """Return the parts of frames, planes included, and their arrays."""
    kinds: list[Any] = []
    arrays: Arrays = {}
    grouped: dict[Any, list[tuple[int, Bodies]]] = {}
    for i, frame in enumerate(frames):
        for group in frame_bodies(frame):
            grouped.setdefault(group.kind, []).append((i, group))
    # Parts of one kind are one batch, so that a program has one computation per kind.
    for g, (kind, members) in enumerate(grouped.items()):
        body = concatenate_bodies([group for _, group in members]).body
        at = np.repeat([i for i, _ in members], [len(group) for _, group in members])
        leaves = (*body.core, *body[1:], at)
        arrays |= {f"{prefix}{g}_{k}": np.asarray(x) for k, x in enumerate(leaves)}
        kinds.append(kind[0])
    return PartKinds(tuple(kinds), prefix), arrays


def count_parts(parts: PartKinds, arrays: Arrays) -> int:
    """Return the number of parts."""
    return sum(len(arrays[f"{parts.prefix}{g}_0"]) for g in range(len(parts.kinds)))


def posed_parts(
    parts: PartKinds,
    R: Float[jax.Array, "m 3 3"],
    p: Float[jax.Array, "m 3"],
    arrays: TracedArrays,
) -> Iterator[collision.Body]:
    """Yield the parts at their poses in the world, one batch for each kind."""
    for g, core in enumerate(parts.kinds):
        n = len(core._fields)
        *sizes, radius, R_part, p_part, at = (
            arrays[f"{parts.prefix}{g}_{k}"] for k in range(n + 4)
        )
        R_frame = gather_rows(R, at)
        centre = jnp.einsum("nij,nj->ni", R_frame, p_part) + gather_rows(p, at)
        yield collision.Body(core(*sizes), radius, R_frame @ R_part, centre)


def part_extents(
    parts: PartKinds,
    R: Float[jax.Array, "m 3 3"],
    p: Float[jax.Array, "m 3"],
    axes: Float[jax.Array, "n 3"],
    arrays: TracedArrays,
) -> tuple[Float[jax.Array, "parts n"], Float[jax.Array, "parts n"]]:
    """Return lowest and highest coordinate of each part along axes of the world [m]."""
    low: list[jax.Array] = []
    high: list[jax.Array] = []
    for body in posed_parts(parts, R, p, arrays):
        middle = jnp.einsum("nj,aj->an", body.p, axes)
        for sign, ends in ((-1.0, low), (1.0, high)):
            # The extent along d is the support function h(d) = max over x of d·x.
            d = jnp.einsum("nij,ai->naj", body.R, sign * axes)
            far = support_function(body.core, vector_components(d)) + body.radius
            ends.append((middle + sign * far).T)
    return jnp.concatenate(low), jnp.concatenate(high)


class PartPairKinds(NamedTuple):
    """Kinds of pairs of parts."""

    kinds: CoreTypes
    ordered: bool
    """Whether pairs of parts are in the order of the pairs of frames."""


def part_pairs(
    frames: Sequence[Frame], pairs: Sequence[tuple[int, int]]
) -> tuple[PartPairKinds, Arrays]:
    """Return all pairs of parts of pairs of frames, and their arrays.

    The array "order" has one entry for each pair of parts.

    Raises:
        PredicateError: when all parts are half-spaces, which have no distance.
    """
    groups = group_body_pairs(frames, pairs)
    if pairs and not groups:
        names = " and ".join(repr(frames[i].name) for i in pairs[0])
        raise PredicateError(f"{names}: two half-spaces have no distance.")
    kinds, arrays = pack(groups)
    for g, group in enumerate(groups):
        both = np.array(pairs)[group.pair]
        flipped = group.is_flipped.astype(int)
        rows = np.arange(len(both))
        arrays[f"frame_a{g}"] = both[rows, flipped]
        arrays[f"frame_b{g}"] = both[rows, 1 - flipped]
    # Groups are by kind; a stable sort restores the order of the pairs of frames.
    owner = np.concatenate([group.pair for group in groups])
    order = np.argsort(owner, kind="stable")
    ordered = np.array_equal(order, np.arange(len(order)))
    return PartPairKinds(kinds, ordered), arrays | {"order": order}


def part_distances(
    kinds: PartPairKinds,
    R: Float[jax.Array, "m 3 3"],
    p: Float[jax.Array, "m 3"],
    arrays: TracedArrays,
) -> Float[jax.Array, " pairs"]:
    """Return the signed distance of each pair of parts, in order of frame pairs [m]."""
    return part_contacts(kinds, R, p, arrays).distance


def part_contacts(
    kinds: PartPairKinds,
    R: Float[jax.Array, "m 3 3"],
    p: Float[jax.Array, "m 3"],
    arrays: TracedArrays,
) -> collision.Contact:
    """Return the contact of each pair of parts, in order of frame pairs.

    Normals point to the part of the frame that comes first in its pair.
    """
    contacts = []
    for g, types in enumerate(kinds.kinds):
        sides = []
        for side, core in zip("ab", types, strict=True):
            at, n = arrays[f"frame_{side}{g}"], len(core._fields)
            leaves = [arrays[f"{side}{g}_{k}"] for k in range(n + 3)]
            R_frame = gather_rows(R, at)
            origin = gather_rows(p, at)
            origin = origin + jnp.einsum("nij,nj->ni", R_frame, leaves[n + 2])
            sides.append(
                collision.Body(
                    core(*leaves[:n]), leaves[n], R_frame @ leaves[n + 1], origin
                )
            )
        out = collision.contact(*sides)
        # The narrow phase orders the two bodies by kind, so some pairs are swapped.
        flipped = arrays[f"flipped{g}"][:, None]
        on_a = jnp.where(flipped, out.point_b, out.point_a)
        on_b = jnp.where(flipped, out.point_a, out.point_b)
        normal = jnp.where(flipped, -out.normal, out.normal)
        contacts.append(collision.Contact(out.distance, on_a, on_b, normal))
    every = jax.tree.map(lambda *x: jnp.concatenate(x), *contacts)
    if kinds.ordered:
        return every
    return jax.tree.map(lambda x: gather_rows(x, arrays["order"]), every)


def gather_rows(
    x: Float[jax.Array, "m ..."], at: Int[Array, " n"]
) -> Float[jax.Array, "n ..."]:
    """Return x[at], computed as a product with a one-hot matrix."""
    # The reverse derivative of an index is a scatter, which is slow on CPUs and under
    # vmap; that of a product is a product.
    one_hot = (jnp.asarray(at)[:, None] == np.arange(len(x))).astype(x.dtype)
    return jnp.tensordot(one_hot, x, 1)
