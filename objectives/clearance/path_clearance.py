"""Clearance of a path: the least distance of each pair of frames along all of it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from posewise.robots.kinematics.forward import Kinematics

from ..chain.modes import original_name
from .motion_model import MotionPart
from .path_bounds import PathBounds, bound_path

RESOLUTION = 1e-4
"""Distance by which a lower bound may be below the least measured distance [m]."""
RELATIVE_RESOLUTION = 0.05
"""The same as a fraction of that distance, on top: far pairs need no exact bound."""


@dataclass(frozen=True)
class PairClearance:
    """Least distance of two frames along a path."""

    frames: tuple[str, str]
    lower_bound: float
    """Distance that is certified: the pair is nowhere nearer [m]."""
    distance: float
    """Least distance that was measured [m]; negative: they overlap."""
    time: float
    """Time at which it was measured, since the start [s]."""
    slice: int
    """Slice into which the path leads at that time."""

    def __str__(self) -> str:
        a, b = self.frames
        return (
            f"{a!r} and {b!r}: {1e3 * self.distance:.1f} mm at {self.time:.2f} s,"
            f" before slice {self.slice}; certified {1e3 * self.lower_bound:.1f} mm"
        )


@dataclass(frozen=True)
class PathClearance:
    """Least distances along a path that is straight between slices, from its start.

    They are certified by bounds on how far bodies move between configurations, and not
    by sampling.
    """

    pairs: tuple[PairClearance, ...]
    """Pairs that can collide and come within the range, nearest first."""
    ignored: tuple[PairClearance, ...]
    """Pairs that come within the range but are excluded from collisions, although not
    both frames are links of one robot; nearest first."""
    range: float
    """Distance up to which pairs are told [m]; all others are farther apart."""

    @property
    def lower_bound(self) -> float:
        """Distance that no pair that can collide is below [m], at most the range."""
        return min((pair.lower_bound for pair in self.pairs), default=self.range)

    @property
    def distance(self) -> float:
        """Least measured distance of pairs that can collide [m]; inf: none in range."""
        return min((pair.distance for pair in self.pairs), default=np.inf)

    def __str__(self) -> str:
        others = "All other pairs" if self.pairs else "All pairs"
        beyond = f"{others} that can collide are {1e3 * self.range:.0f} mm apart."
        lines = [*map(str, self.pairs), beyond]
        if self.ignored:
            lines += ["Excluded from collisions:", *map(str, self.ignored)]
        return "\n".join(lines)


def path_clearance(
    K: Kinematics,
    parts: Sequence[MotionPart],
    path: Float[np.ndarray, "points nq"],
    times: Float[np.ndarray, " points"],
    range: float,
    missing: Float[np.ndarray, " segments"] | None,
) -> PathClearance:
    """Return the clearance of a path.

    Args:
        K: kinematics of the world.
        parts: pairs of frames in each mode, and what is required of them.
        path: configurations, with the start as the first one.
        times: of the configurations [s].
        range: distance up to which pairs are told [m].
        missing: what a certificate of the path misses on each segment at most [m];
            None: there is none.
    """
    found: dict[tuple[bool, tuple[str, str]], PairClearance] = {}
    for part in parts:
        points = np.arange(part.segments[0], part.segments[-1] + 2)
        bounds = bound_path(
            K,
            part.pairs,
            path[points],
            np.where(part.counts, np.full(part.required.shape, range), -np.inf),
            RESOLUTION,
            RELATIVE_RESOLUTION,
            each_segment=False,
        )
        if missing is not None:
            proven = part.required - missing[part.segments][:, None]
            lower = np.maximum(bounds.lower, proven)
            bounds = bounds._replace(lower=lower)
        for is_ignored, pair in _near_pairs(part, bounds, times[points], range):
            key = is_ignored, pair.frames
            if key not in found or pair.distance < found[key].distance:
                found[key] = pair
    ordered = sorted(found.items(), key=lambda item: item[1].distance)
    return PathClearance(
        tuple(pair for (is_ignored, _), pair in ordered if not is_ignored),
        tuple(pair for (is_ignored, _), pair in ordered if is_ignored),
        range,
    )


def _near_pairs(
    part: MotionPart, bounds: PathBounds, times: Float[np.ndarray, " n"], range: float
) -> list[tuple[bool, PairClearance]]:
    """Return the pairs of a part within the range, and whether each is ignored."""
    names = [original_name(name) for name in part.config.frame_names]
    rows = bounds.nearest.argmin(0)
    result = []
    is_near = part.counts & (bounds.lower.min(0) < range)
    for k in np.flatnonzero(is_near).tolist():
        row = int(rows[k])
        fraction = bounds.fraction[row, k]
        a, b = part.pairs.pairs[k].tolist()
        pair = PairClearance(
            (names[a], names[b]),
            float(bounds.lower[:, k].min()),
            float(bounds.nearest[row, k]),
            float(times[row] + fraction * (times[row + 1] - times[row])),
            int(part.segments[row]),
        )
        result.append((bool(part.is_ignored[k]), pair))
    return result
