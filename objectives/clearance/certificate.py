"""Proof that a path keeps its distances between slices too, or where it does not."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from posewise.robots.kinematics.forward import Kinematics

from .motion_model import MotionPart
from .path_bounds import PathBounds, bound_path

RESOLUTION = 1e-3
"""Accuracy to which the deepest place of a segment is found [m]; a smaller one takes
more splits, and a path that fails is solved again in any case."""


class Shortfall(NamedTuple):
    """A pair of frames that comes nearer than it should on a segment."""

    frames: tuple[str, str]
    segment: int
    """The segment that ends in this slice."""
    fraction: float
    """Fraction of the segment where the pair is nearest."""
    distance: float
    """Distance there [m]."""
    required: float
    """Least distance that was required [m]."""

    @property
    def depth(self) -> float:
        """Required distance that is missing [m]."""
        return self.required - self.distance


class Certificate(NamedTuple):
    """Result of a check of a whole path."""

    missing: Float[np.ndarray, " T"]
    """By how much the required distance is missed on each segment, at most [m]."""
    shortfalls: tuple[Shortfall, ...]
    """The worst pair of each segment on which distance is missing."""

    @property
    def is_kept(self) -> bool:
        """Whether all distances are kept, on the whole path."""
        return not self.shortfalls


def certify(
    K: Kinematics, parts: Sequence[MotionPart], path: Float[np.ndarray, "points nq"]
) -> Certificate:
    """Check the distances along a path.

    Args:
        K: kinematics of the world.
        parts: what is required in each mode.
        path: configurations of the world, with the start as the first one.
    """
    missing = np.zeros(len(path) - 1)
    shortfalls: list[Shortfall] = []
    for part in parts:
        first, last = part.segments[0], part.segments[-1]
        bounds = bound_path(
            K,
            part.pairs,
            path[first : last + 2],
            part.required,
            RESOLUTION,
            each_segment=True,
        )
        short = _missing(part, bounds)
        missing[part.segments] = short.max(1)
        shortfalls += _worst_pairs(part, bounds, short)
    return Certificate(missing, tuple(shortfalls))


def _missing(part: MotionPart, bounds: PathBounds) -> Float[np.ndarray, "n pairs"]:
    """Return how much of the required distance is not certain, 0 where all of it is."""
    counts = part.required > -np.inf
    required = np.where(counts, part.required, 0.0)
    missing = np.maximum(required - np.where(counts, bounds.lower, 0.0), 0.0)
    # A distance that could not be computed proves nothing.
    return np.where(np.isnan(missing), np.inf, missing)


def _worst_pairs(
    part: MotionPart, bounds: PathBounds, short: Float[np.ndarray, "n pairs"]
) -> Iterator[Shortfall]:
    """Yield the pair that is missing most distance on each segment that misses some."""
    names = part.config.frame_names
    for row in np.flatnonzero(short.max(1) > 0).tolist():
        pair = int(np.argmax(short[row]))
        a, b = part.pairs.pairs[pair].tolist()
        yield Shortfall(
            (names[a], names[b]),
            int(part.segments[row]),
            float(bounds.fraction[row, pair]),
            float(bounds.nearest[row, pair]),
            float(part.required[row, pair]),
        )
