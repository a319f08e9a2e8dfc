"""Distances and contacts between the convex parts of frames.

The functions take orientations R (m, 3, 3) and origins p (m, 3) of some frames. Which
parts there are, of which kind and size, and where in their frames, is data.
"""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Float, Int

from posewise import collision
from posewise.compilation.capacity import Capacity, capacity_at_hand, capacity_class
from posewise.features.pairs.nearest import contacts_of_kinds
from posewise.features.parts import (
    part_columns,
    part_core,
    part_poses,
    vertex_class,
    with_prefix,
)
from posewise.features.symbol import Arrays, TracedArrays
from posewise.robots.contact.body_table import (
    CORES_OF_KIND,
    HULL_KINDS,
    MIN_VERTICES,
    BodyPairTable,
    PairKind,
    body_pairs,
)
from posewise.robots.world.frame import Frame

from ..errors import PredicateError


class PartPairKinds(NamedTuple):
    """Kinds of pairs of parts."""

    kinds: tuple[PairKind, ...]


def part_pairs(
    frames: Sequence[Frame],
    pairs: Sequence[tuple[int, int]],
    rows: str,
    groups: int = 1,
) -> tuple[PartPairKinds, Arrays]:
    """Return all pairs of parts of pairs of frames, and their arrays.

    Pairs of parts are in the order of the pairs of frames. Copies of the first one
    follow them, up to a class of capacity.

    Args:
        frames: with the parts.
        pairs: pairs of frames, as indices.
        rows: name of what is computed from them; see `capacity_at_hand`.
        groups: number of groups of equally many pairs of parts that follow each other,
            each of which is filled up.

    Raises:
        PredicateError: when all parts are half-spaces, which have no distance.
    """
    table = body_pairs(frames, np.array(pairs, int).reshape(-1, 2))
    if not len(table.kind):
        names = " and ".join(repr(frames[i].name) for i in pairs[0])
        raise PredicateError(f"{names}: two half-spaces have no distance.")
    return pairs_of_table(table, rows, groups)


def pairs_of_table(
    table: BodyPairTable, rows: str, groups: int = 1
) -> tuple[PartPairKinds, Arrays]:
    """Return the pairs of a table, of which there is one at least; see `part_pairs`."""
    need = Capacity(
        frozenset(np.unique(table.kind).tolist()),
        (capacity_class(len(table.kind) // groups, 1), vertex_class(table.bodies)),
    )
    known = capacity_at_hand(("part pairs", rows, groups), need)
    count, num_vertices = known.counts
    if not HULL_KINDS.isdisjoint(known.kinds):
        num_vertices = max(num_vertices, MIN_VERTICES)
    places = np.arange(len(table.kind)).reshape(groups, -1)
    copies = np.repeat(places[:, :1], count - places.shape[1], 1)
    chosen = np.concatenate([places, copies], 1).ravel()
    is_copy = np.concatenate([places < 0, copies >= 0], 1).ravel()
    arrays = _pair_arrays(table, chosen, num_vertices) | {"is_copy": is_copy}
    return PartPairKinds(tuple(PairKind(k) for k in sorted(known.kinds))), arrays


def _pair_arrays(
    table: BodyPairTable, chosen: Int[np.ndarray, " n"], num_vertices: int
) -> Arrays:
    columns = part_columns(table.bodies, num_vertices)
    arrays: Arrays = {
        "kind": table.kind[chosen],
        "is_flipped": table.is_flipped[chosen],
        "frame_pair": table.pair[chosen],
    }
    for side in ("a", "b"):
        bodies = getattr(table, side)[chosen]
        arrays |= {f"{side}_{name}": x[bodies] for name, x in columns.items()}
    return arrays


def count_pairs(arrays: Arrays) -> int:
    """Return the number of pairs of parts, with those that fill up a class."""
    return len(arrays["kind"])


def part_distances(
    kinds: PartPairKinds,
    R: Float[jax.Array, "m 3 3"],
    p: Float[jax.Array, "m 3"],
    arrays: TracedArrays,
) -> Float[jax.Array, " pairs"]:
    """Return the signed distance of each pair of parts [m]."""
    return part_contacts(kinds, R, p, arrays).distance


def part_contacts(
    kinds: PartPairKinds,
    R: Float[jax.Array, "m 3 3"],
    p: Float[jax.Array, "m 3"],
    arrays: TracedArrays,
) -> collision.Contact:
    """Return the contact of each pair of parts.

    Normals point to the part of the frame that comes first in its pair.
    """
    sides = [with_prefix(arrays, prefix) for prefix in ("a_", "b_")]
    poses = [part_poses(R, p, side) for side in sides]

    def bodies(kind: PairKind) -> tuple[collision.Body, collision.Body]:
        a, b = (
            collision.Body(part_core(core, side), side["radius"], *pose)
            for core, side, pose in zip(CORES_OF_KIND[kind], sides, poses, strict=True)
        )
        return a, b

    return contacts_of_kinds(kinds.kinds, bodies, arrays, p.dtype)
