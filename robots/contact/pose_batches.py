"""Distances of frames from others, at many poses at once, in NumPy, float64.

They are those of `gjk_numpy`, whose algorithm runs for all pairs of all poses together.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from ..world.frame import Frame
from .gjk_numpy import (
    MAX_PAIRS_PER_CHUNK,
    PosedFrame,
    SweptHulls,
    ball_bounds,
    bodies_in_frame,
    heights_above,
    hull_distances,
)


def distances_at_poses(
    frames: Sequence[Frame],
    R: Float[np.ndarray, "n frames 3 3"],
    p: Float[np.ndarray, "n frames 3"],
    others: Sequence[PosedFrame],
    limit: float = np.inf,
) -> Float[np.ndarray, " n"]:
    """Return the distance of the nearest two bodies at each of some poses [m].

    It is 0 where bodies overlap, and infinite beyond the limit.

    Args:
        frames: that move; their half-spaces are left out.
        R: their orientations in the frame of the others' poses, for each row.
        p: their origins in it [m].
        others: that stay.
        limit: [m]; with a finite one, distances up to it are upper bounds.

    Raises:
        ConfigError: for a frame with shapes that cannot be used, see `frame_bodies`.
    """
    in_own_axes = [(frame, np.eye(3), np.zeros(3)) for frame in frames]
    counts = [len(bodies_in_frame([posed])[0].p) for posed in in_own_axes]
    owner = np.repeat(np.arange(len(frames)), counts)
    bodies, _ = bodies_in_frame(in_own_axes)
    fixed, planes = bodies_in_frame(others)
    step = max(MAX_PAIRS_PER_CHUNK // max(len(bodies.p) * len(fixed.p), 1), 1)
    chunks = []
    for first in range(0, len(R), step):
        rows = slice(first, first + step)
        moved = _at_poses(bodies, R[rows, owner], p[rows, owner])
        chunks.append(_nearest(moved, len(R[rows]), fixed, planes, limit))
    nearest = np.concatenate([np.zeros(0), *chunks])
    return np.where(nearest <= limit, np.maximum(nearest, 0.0), np.inf)


def _at_poses(
    bodies: SweptHulls,
    R: Float[np.ndarray, "n bodies 3 3"],
    p: Float[np.ndarray, "n bodies 3"],
) -> SweptHulls:
    """Return the bodies at the first pose, then those at the second, and so on."""
    repeated = bodies.rows(np.tile(np.arange(len(bodies.p)), len(R)))
    R_body, p_body = R @ bodies.R, (R @ bodies.p[..., None])[..., 0] + p
    return replace(repeated, R=R_body.reshape(-1, 3, 3), p=p_body.reshape(-1, 3))


def _nearest(
    moved: SweptHulls,
    count: int,
    fixed: SweptHulls,
    planes: Float[np.ndarray, "planes 4"],
    limit: float,
) -> Float[np.ndarray, " count"]:
    """Return the distance of the nearest two bodies at each pose; overlaps: below 0."""
    nearest = np.full(count, np.inf)
    for plane in planes:
        heights = heights_above(moved, plane).reshape(count, -1)
        nearest = np.minimum(nearest, heights.min(1, initial=np.inf))
    if not len(moved.p) or not len(fixed.p):
        return nearest
    lower, upper = (
        x.reshape(count, -1, len(fixed.p)) for x in ball_bounds(moved, fixed)
    )
    # No pair whose lower bound exceeds another one's upper bound can be the nearest.
    most = np.minimum(limit, upper.min((1, 2), keepdims=True))
    pose, i, j = np.nonzero(lower <= most * (1 + 1e-9) + 1e-12)
    a = moved.rows(pose * lower.shape[1] + i)
    distance, _ = hull_distances(a, fixed.rows(j), limit)
    np.minimum.at(nearest, pose, distance)
    return nearest
