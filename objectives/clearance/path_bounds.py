"""Bounds of distances along a whole path, by intervals that are split where needed."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from posewise.robots.kinematics.forward import Kinematics
from posewise.robots.kinematics.manifold import difference, integrate

from .interval_distances import (
    BATCH,
    FramePairs,
    IntervalDistances,
    interval_distances,
)

MAX_SPLITS = 24
"""Number of times an interval is halved (count). Motions are shorter than a micrometre
then, and only bodies without bounds are left."""
MAX_INTERVALS = 4096
"""Number of unsettled intervals at which splitting ends (count), which takes about a
tenth of a second. Bodies whose motion has no bound would have millions."""


class PathBounds(NamedTuple):
    """Distances of pairs of frames on each segment of a path [m]."""

    lower: Float[np.ndarray, "segments pairs"]
    """Lower bound on the whole segment, at most the range."""
    nearest: Float[np.ndarray, "segments pairs"]
    """Least distance that was measured on the segment, infinite where none was."""
    fraction: Float[np.ndarray, "segments pairs"]
    """Fraction of the segment where it was measured."""


class _Intervals(NamedTuple):
    """Parts of segments."""

    segment: Int[np.ndarray, " n"]
    begin: Float[np.ndarray, " n"]
    end: Float[np.ndarray, " n"]
    pairs: Bool[np.ndarray, "n pairs"]
    """Pairs that are not settled on the whole interval."""

    def rows(self, which: Any) -> "_Intervals":
        """Return some of the intervals."""
        return _Intervals(*(x[which] for x in self))

    def halves(self) -> "_Intervals":
        """Return both halves of each interval."""
        middle = (self.begin + self.end) / 2
        return _Intervals(
            np.tile(self.segment, 2),
            np.concatenate([self.begin, middle]),
            np.concatenate([middle, self.end]),
            np.tile(self.pairs, (2, 1)),
        )


def bound_path(
    K: Kinematics,
    pairs: FramePairs,
    path: Float[np.ndarray, "points nq"],
    reach: Float[np.ndarray, "segments pairs"],
    resolution: float,
    relative: float = 0.0,
    *,
    each_segment: bool,
    enough: Float[np.ndarray, "segments pairs"] | None = None,
) -> PathBounds:
    """Bound the distances along a path that is straight between its points.

    An interval is split while a lower bound is below the range of its pair; once a pair
    was measured within its range, while it is below the least distance by more than the
    resolution.

    Args:
        K: kinematics of the world.
        pairs: pairs of frames.
        path: configurations, with the start as the first one.
        reach: distance of each pair up to which it is measured [m]; negative infinity
            for pairs that do not count.
        resolution: how far bounds may be below the least distance [m].
        relative: how far they may be below it as a fraction of its size, on top.
        each_segment: whether the least distance of each segment is found; otherwise
            only that of the whole path.
        enough: distances that bounds have to reach where those measured do, too; None:
            none.
    """
    count = len(path) - 1
    lower = np.array(reach, float)
    nearest = np.full_like(lower, np.inf)
    fraction = np.full_like(lower, 0.5)
    steps = difference(K.tree, path[:-1], path[1:])

    def sufficient(part: _Intervals) -> np.ndarray:
        """Return the distances that lower bounds need not exceed."""
        least = nearest if each_segment else nearest.min(0, keepdims=True)
        least, limit = least[part.segment % len(least)], reach[part.segment]
        size = np.where(np.isfinite(least), np.abs(least), 0.0)
        below = least - resolution - relative * size
        if enough is not None:
            accepted = enough[part.segment]
            below = np.where(least >= accepted, np.maximum(below, accepted), below)
        return np.where(part.pairs, np.where(least < limit, below, limit), -np.inf)

    open_ = _Intervals(
        np.arange(count), np.zeros(count), np.ones(count), reach > -np.inf
    )
    for split in range(MAX_SPLITS + 1):
        is_last = split == MAX_SPLITS or len(open_.segment) > MAX_INTERVALS
        unsettled = []
        for part in _batches(open_):
            measured = _measure(K, pairs, path, steps, part, sufficient(part))
            _keep_nearest(part, measured.middle, nearest, fraction)
            # What was measured in this batch already spares splits of it.
            is_open = measured.lower < sufficient(part)
            if is_last:
                is_open = np.zeros_like(is_open)
            bound = np.where(part.pairs & ~is_open, measured.lower, np.inf)
            np.minimum.at(lower, part.segment, bound)
            part = part._replace(pairs=is_open)
            unsettled.append(part.rows(is_open.any(1)))
        open_ = _Intervals(*map(np.concatenate, zip(*unsettled, strict=True))).halves()
        if not len(open_.segment):
            break
    return PathBounds(lower, nearest, fraction)


def _batches(intervals: _Intervals) -> Iterator[_Intervals]:
    for k in range(0, len(intervals.segment), BATCH):
        yield intervals.rows(np.arange(k, min(k + BATCH, len(intervals.segment))))


def _measure(
    K: Kinematics,
    pairs: FramePairs,
    path: np.ndarray,
    steps: np.ndarray,
    part: _Intervals,
    sufficient: np.ndarray,
) -> IntervalDistances:
    """Return the distances on intervals."""
    step = steps[part.segment]
    middle = ((part.begin + part.end) / 2)[:, None] * step
    half = ((part.end - part.begin) / 2)[:, None] * step
    q = integrate(K.tree, path[part.segment], middle)
    return interval_distances(K, pairs, q, half, sufficient)


def _keep_nearest(
    part: _Intervals, measured: np.ndarray, nearest: np.ndarray, fraction: np.ndarray
) -> None:
    """Write distances and their places where they are less than those known."""
    middle = (part.begin + part.end) / 2
    for segment, position, values in zip(part.segment, middle, measured, strict=True):
        is_less = values < nearest[segment]
        nearest[segment, is_less] = values[is_less]
        fraction[segment, is_less] = position
