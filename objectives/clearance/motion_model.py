"""A path as it is played: its configurations, and the pairs of frames in each part."""

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from posewise.robots.config import Config
from posewise.robots.contact.collision_pairs import can_collide

from ..chain.modes import Mode, ModeSequence
from .avoidance import CollisionAvoidance, accepted_distances
from .interval_distances import FramePairs, frame_pairs


class MotionPart(NamedTuple):
    """Segments of a path during one mode, and what is required on them."""

    segments: Int[np.ndarray, " n"]
    """Segment t leads from slice t - 1 to slice t; segment 0 begins at the start."""
    config: Config
    """World in which the active frames collide."""
    pairs: FramePairs
    required: Float[np.ndarray, "n pairs"]
    """Least distance of each pair on each segment [m]; negative infinity: none."""
    is_ignored: Bool[np.ndarray, " pairs"]
    """Whether a pair is excluded from collisions, though not both are of one robot."""
    counts: Bool[np.ndarray, " pairs"]
    """Whether a pair can meet in this mode; others do in other modes."""

    @property
    def accepted(self) -> Float[np.ndarray, "n pairs"]:
        """Distances with which those required are taken to be kept [m]."""
        return accepted_distances(self.required)


@lru_cache(maxsize=32)
def motion_parts(
    modes: ModeSequence, avoidance: CollisionAvoidance, T: int
) -> list[MotionPart]:
    """Return the parts of a path with T slices, one for each mode; cached.

    Until a slice with a mode switch is reached, frames are attached as in the slice
    before.
    """
    parts = (
        _motion_part(mode.config, segments, avoidance)
        for mode, segments in _segments_of_modes(modes, T)
    )
    return [part for part in parts if part is not None]


def _segments_of_modes(
    modes: ModeSequence, T: int
) -> Iterator[tuple[Mode, Int[np.ndarray, " n"]]]:
    mode_of = np.searchsorted(modes.starts, np.arange(T) - 1, side="right")
    for k, mode in enumerate(modes.modes):
        segments = np.flatnonzero(mode_of == k)
        if len(segments):
            yield mode, segments


def _motion_part(
    C: Config, segments: Int[np.ndarray, " n"], avoidance: CollisionAvoidance
) -> MotionPart | None:
    (pairs, is_counted), ignored = C.pairs.places(), _ignored_pairs(C)
    indices = np.concatenate([pairs, ignored]).reshape(-1, 2)
    if not len(indices):
        return None
    is_ignored = np.arange(len(indices)) >= len(pairs)
    counts = np.concatenate([is_counted, np.ones(len(ignored), bool)])
    required = np.stack(
        [
            avoidance.required(C, indices, avoidance.touching([t - 1, t]))
            for t in segments.tolist()
        ]
    )
    required[:, is_ignored | ~counts] = -np.inf
    return MotionPart(
        segments,
        C,
        frame_pairs(C.frames, C.tree.model.layout.tree, indices),
        required,
        is_ignored,
        counts,
    )


def _ignored_pairs(C: Config) -> Int[np.ndarray, "n 2"]:
    """Return excluded pairs that move, but are not both links of one robot."""
    named = [(C.index(p.a), C.index(p.b)) for p in C.pairs.ignored()]
    pairs = np.array(named, int).reshape(-1, 2)
    is_solid = np.array([can_collide(frame) for frame in C.frames], bool)
    driven = C.tree.model.kinematics.dof_mask[pairs]
    moves = (driven[:, 0] != driven[:, 1]).any(-1)
    return pairs[is_solid[pairs].all(1) & moves & ~C.pairs.own_links(pairs)]
