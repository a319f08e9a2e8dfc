"""Convex parts of frames as arrays: how far they reach, and how far apart they are.

Functions of the poses of some frames. Which kinds of parts there are is static; sizes
and places in the frames are numbers, under names that begin with a prefix.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise import collision
from posewise.collision.cores import support_function
from posewise.collision.vec3_tuple import vector_components
from posewise.robots.contact.bodies import Bodies, concatenate_bodies, frame_bodies
from posewise.robots.contact.body_pairs import CoreTypes, group_body_pairs, pack
from posewise.robots.world.frame import Frame

from ..errors import PredicateError


class PartKinds(NamedTuple):
    """Kinds of the convex parts of frames, group by group."""

    kinds: tuple[Any, ...]
    prefix: str


def bounded_parts(
    frames: Sequence[Frame], prefix: str
) -> tuple[PartKinds, dict[str, np.ndarray]]:
    """The bounded parts of frames, and their numbers.

    Raises:
        PredicateError: for planes, which have no size.
    """
    for frame in frames:
        if any(group.kind[0] is collision.HalfSpace for group in frame_bodies(frame)):
            raise PredicateError(
                f"{frame.name!r} is a plane, which has no size to be relaxed; name"
                " something bounded."
            )
    return all_parts(frames, prefix)


def all_parts(
    frames: Sequence[Frame], prefix: str
) -> tuple[PartKinds, dict[str, np.ndarray]]:
    """The parts of frames, planes too, and their numbers."""
    kinds: list[Any] = []
    arrays: dict[str, np.ndarray] = {}
    grouped: dict[Any, list[tuple[int, Bodies]]] = {}
    for i, frame in enumerate(frames):
        for group in frame_bodies(frame):
            grouped.setdefault(group.kind, []).append((i, group))
    for g, (kind, members) in enumerate(grouped.items()):
        body = concatenate_bodies([group.body for _, group in members])
        at = np.repeat([i for i, _ in members], [len(group) for _, group in members])
        leaves = (*body.core, *body[1:], at)
        arrays |= {f"{prefix}{g}_{k}": np.asarray(x) for k, x in enumerate(leaves)}
        kinds.append(kind[0])
    return PartKinds(tuple(kinds), prefix), arrays


def posed_parts(
    parts: PartKinds,
    R: Float[jax.Array, "m 3 3"],
    p: Float[jax.Array, "m 3"],
    arrays: dict[str, jax.Array],
) -> Iterator[collision.Body]:
    """The parts where they are, one batch for each kind."""
    for g, core in enumerate(parts.kinds):
        n = len(core._fields)
        *sizes, radius, own, place, at = (
            arrays[f"{parts.prefix}{g}_{k}"] for k in range(n + 4)
        )
        turn = gather_rows(R, at)
        centre = jnp.einsum("nij,nj->ni", turn, place) + gather_rows(p, at)
        yield collision.Body(core(*sizes), radius, turn @ own, centre)


def part_extents(
    parts: PartKinds,
    R: Float[jax.Array, "m 3 3"],
    p: Float[jax.Array, "m 3"],
    axes: Float[jax.Array, "n 3"],
    arrays: dict[str, jax.Array],
) -> tuple[Float[jax.Array, "parts n"], Float[jax.Array, "parts n"]]:
    """Lowest and highest coordinate of each part along axes of the world [m]."""
    low: list[jax.Array] = []
    high: list[jax.Array] = []
    for body in posed_parts(parts, R, p, arrays):
        middle = jnp.einsum("nj,aj->an", body.p, axes)
        for sign, ends in ((-1.0, low), (1.0, high)):
            d = jnp.einsum("nij,ai->naj", body.R, sign * axes)
            far = support_function(body.core, vector_components(d)) + body.radius
            ends.append((middle + sign * far).T)
    return jnp.concatenate(low), jnp.concatenate(high)


class PartPairKinds(NamedTuple):
    """Kinds of the pairs of parts that meet."""

    kinds: CoreTypes
    ordered: bool
    """Pairs of parts stand in the order of the pairs of frames."""


def part_pairs(
    frames: Sequence[Frame], pairs: Sequence[tuple[int, int]]
) -> tuple[PartPairKinds, dict[str, np.ndarray]]:
    """All pairs of parts of pairs of frames, and their numbers."""
    meets = group_body_pairs(frames, pairs)
    kinds, arrays = pack(meets)
    for g, meet in enumerate(meets):
        both = np.array(pairs)[meet.pair]
        flipped = meet.is_flipped.astype(int)
        rows = np.arange(len(both))
        arrays[f"frame_a{g}"] = both[rows, flipped]
        arrays[f"frame_b{g}"] = both[rows, 1 - flipped]
    owner = np.concatenate([m.pair for m in meets])
    order = np.argsort(owner, kind="stable")
    ordered = np.array_equal(order, np.arange(len(order)))
    return PartPairKinds(kinds, ordered), arrays | {"order": order}


def part_distances(
    which: PartPairKinds,
    R: Float[jax.Array, "m 3 3"],
    p: Float[jax.Array, "m 3"],
    arrays: dict[str, jax.Array],
) -> Float[jax.Array, " pairs"]:
    """Signed distance of each pair of parts [m], one pair of frames after the other."""
    return part_contacts(which, R, p, arrays).distance


def part_contacts(
    which: PartPairKinds,
    R: Float[jax.Array, "m 3 3"],
    p: Float[jax.Array, "m 3"],
    arrays: dict[str, jax.Array],
) -> collision.Contact:
    """Contact of each pair of parts, of the frame that comes first with the other."""
    found = []
    for g, types in enumerate(which.kinds):
        sides = []
        for side, core in zip("ab", types, strict=True):
            at, n = arrays[f"frame_{side}{g}"], len(core._fields)
            leaves = [arrays[f"{side}{g}_{k}"] for k in range(n + 3)]
            turn = gather_rows(R, at)
            place = gather_rows(p, at) + jnp.einsum("nij,nj->ni", turn, leaves[n + 2])
            sides.append(
                collision.Body(
                    core(*leaves[:n]), leaves[n], turn @ leaves[n + 1], place
                )
            )
        out = collision.contact(*sides)
        flipped = arrays[f"flipped{g}"][:, None]
        on_a = jnp.where(flipped, out.point_b, out.point_a)
        on_b = jnp.where(flipped, out.point_a, out.point_b)
        normal = jnp.where(flipped, -out.normal, out.normal)
        found.append(collision.Contact(out.distance, on_a, on_b, normal))
    every = jax.tree.map(lambda *x: jnp.concatenate(x), *found)
    if which.ordered:
        return every
    return jax.tree.map(lambda x: gather_rows(x, arrays["order"]), every)


def gather_rows(x: Float[jax.Array, "m ..."], at: Any) -> Float[jax.Array, "n ..."]:
    """x[at], as a product: its derivative in reverse is one too, and no scatter."""
    chosen = (jnp.asarray(at)[:, None] == np.arange(len(x))).astype(x.dtype)
    return jnp.tensordot(chosen, x, 1)
