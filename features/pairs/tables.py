"""Bodies on frames, and pairs of them, as arrays of classes of capacity.

A feature of distances reads some frames, bodies on these, and pairs of bodies. Its
program depends on the kinds of the pairs and on the classes of their numbers; all else
is in the arrays. Places that no pair takes have a margin of -inf.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from posewise.compilation.arrays import Array
from posewise.compilation.capacity import (
    Capacity,
    capacity_at_hand,
    capacity_class,
    pad_rows,
)
from posewise.robots.contact.body_table import (
    HULL_KINDS,
    MIN_VERTICES,
    NO_PAIR_NUMBER,
    BodyPairTable,
    PairKind,
    body_pairs,
    pad_vertices,
)
from posewise.robots.kinematics.forward import Kinematics
from posewise.robots.world.frame import Frame

from ..pair_types import PairTypes

FAR_DISTANCE = 1e3
"""Distance of what is no pair [m]: more than any margin, and little enough that sums
with it keep their digits."""


MIN_NAMED_SIZE = 4
"""Least numbers of bodies and pairs of a few frames that a feature names, which
programs are compiled for (count). Larger ones waste work on padding, smaller ones
compile more programs."""
MIN_WORLD_SIZE = 8
"""The same of all that moves in a world, and what stands around it (count). Larger ones
waste work in small worlds, smaller ones compile more programs."""


@dataclass(frozen=True, eq=False)
class FramePairTable:
    """Pairs of frames whose distances a feature measures."""

    pairs: BodyPairTable
    ends: Int[np.ndarray, "n 2"]
    """The two frames of each pair, as indices among the frames of the feature."""
    margin: Float[np.ndarray, " n"]
    """Distance at which each pair begins to count [m]; -inf: never."""

    def arrays(
        self,
        key: Hashable,
        least: int,
        *,
        has_exact_rows: bool = False,
        is_shared: bool = False,
    ) -> tuple[PairTypes, dict[str, np.ndarray]]:
        """Return what a program depends on, and the arrays.

        Args:
            key: what programs depend on besides, see `capacity_at_hand`.
            least: number of bodies, of their pairs and of pairs of frames, in the
                smallest tables.
            has_exact_rows: whether the places of pairs of frames are as many as these.
            is_shared: see `capacity_at_hand`.
        """
        types, counts = self._classes(key, least, is_shared)
        num_bodies, num_hulls, num_vertices, num_pairs, num_ends = counts
        if has_exact_rows:
            num_ends = len(self.ends)
        if not types.has_unions:
            num_pairs = num_ends
        b, p = self.pairs.bodies, self.pairs
        vertices = pad_vertices(b.vertices, num_vertices)
        params = {
            "body_frame": pad_rows(b.frame, num_bodies, 0),
            "body_pose": pad_rows(b.pose, num_bodies, 0.0),
            "half": pad_rows(b.half, num_bodies, 0.0),
            "radii": pad_rows(b.radii, num_bodies, 0.0),
            "radius": pad_rows(b.radius, num_bodies, 0.0),
            "core_radius": pad_rows(b.core_radius, num_bodies, 0.0),
            "hull": np.maximum(pad_rows(b.hull, num_bodies, 0), 0),
            "vertices": pad_rows(vertices, num_hulls, 0.0),
            "body_a": pad_rows(p.a, num_pairs, 0),
            "body_b": pad_rows(p.b, num_pairs, 0),
            "is_flipped": pad_rows(p.is_flipped, num_pairs, False),
            "kind": pad_rows(p.kind, num_pairs, NO_PAIR_NUMBER),
            "ends": pad_rows(self.ends, num_ends, 0),
            "margin": pad_rows(self.margin, num_ends, -np.inf),
        }
        if types.has_unions:
            params["end_row"] = pad_rows(p.pair, num_pairs, 0)
        return types, params

    def _classes(
        self, key: Hashable, least: int, is_shared: bool
    ) -> tuple[PairTypes, tuple[int, ...]]:
        """Return the types, and the classes of the numbers of bodies and pairs."""
        b, pairs, ends = self.pairs.bodies, len(self.pairs.pair), len(self.ends)
        has_unions = not np.array_equal(self.pairs.pair, np.arange(ends))
        vertices = 0
        if len(b.vertices):
            vertices = capacity_class(b.vertices.shape[1], MIN_VERTICES)
        sizes = (
            capacity_class(n, least)
            for n in (max(len(b.rank), len(b.vertices)), pairs, ends)
        )
        need = Capacity(
            frozenset(np.unique(self.pairs.kind).tolist()),
            (*sizes, vertices, int(has_unions)),
        )
        known = capacity_at_hand((key, least), need, is_shared)
        bodies, num_pairs, num_ends, vertices, unions = known.counts
        kinds = tuple(PairKind(k) for k in sorted(known.kinds))
        has_hulls = not HULL_KINDS.isdisjoint(kinds)
        vertices = max(vertices, MIN_VERTICES * has_hulls)
        counts = bodies, bodies * has_hulls, vertices, num_pairs, num_ends
        return PairTypes(kinds, bool(unions)), counts


def table_of_frames(
    frames: Sequence[Frame],
    pairs: Int[np.ndarray, "n 2"],
    margin: Float[np.ndarray, " n"],
) -> FramePairTable:
    """Return a table of pairs of frames, as indices among those that are given.

    Raises:
        ConfigError: for a frame without collision shapes.
    """
    return FramePairTable(body_pairs(frames, pairs), pairs, margin)


def on_nodes(K: Kinematics, params: Mapping[str, Array]) -> dict[str, Any]:
    """Return arrays of a table whose frames are those of a world as such of its nodes.

    Where frames are on their nodes is data of the kinematics, so that a table serves
    while they move.

    Args:
        K: kinematics of the world.
        params: arrays of a `FramePairTable` of all frames of the world, with any
            leading axes.
    """
    frame, ends = params["body_frame"], params["ends"]
    xp = K.frame_R.__array_namespace__()
    R, p = K.frame_R[frame], K.frame_p[frame]
    pose = xp.asarray(params["body_pose"], dtype=R.dtype)
    # Sums of products instead of `@`, because element-wise operations fuse.
    turned = sum(R[..., k, None] * pose[..., k, None, :] for k in range(3))
    return dict(params) | {
        "body_frame": K.frame_nodes[frame],
        "body_pose": turned + p[..., None] * np.array([0, 0, 0, 1], R.dtype),
        "ends": K.frame_nodes[ends],
    }
