"""Proof that a path keeps its distances between slices too, or where it does not."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from posewise.robots.kinematics.forward import Kinematics

from .interval_distances import interval_distances
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
    is_tolerated: bool = False
    """Whether what is missing is within the tolerance of margins, for certain."""

    @property
    def depth(self) -> float:
        """Required distance that is missing [m]."""
        return self.required - self.distance

    @property
    def is_in_slice(self) -> bool:
        """Whether the pair is nearest in the start, or in a slice."""
        return self.fraction in (0.0, 1.0)

    @property
    def place(self) -> str:
        """Words for where the pair is nearest, such as "in slice 3"."""
        if self.is_in_slice:
            t = self.segment - (self.fraction == 0.0)
            return f"in slice {t}" if t >= 0 else "in the start"
        return f"{100 * self.fraction:.0f} % of the way to slice {self.segment}"


def millimetres(distance: float, required: float) -> tuple[str, str]:
    """Return two distances [m] as text in mm, with digits that tell them apart.

    >>> millimetres(0.00498, 0.005)
    ('4.98', '5.00')
    >>> millimetres(-0.0123, 0.0)
    ('-12.3', '0.0')
    >>> millimetres(-1e-17, 0.0)
    ('0.000000', '0.000000')
    """
    depth = 1e3 * abs(required - distance)
    digits = np.clip(np.ceil(-np.log10(max(depth, 1e-9))), 1, 6)
    near, least = (f"{1e3 * x:z.{int(digits)}f}" for x in (distance, required))
    return near, least


def amount_of_required(distance: float, required: float) -> str:
    """Return two distances [m] as text: "4.98 of 5 mm"."""
    near, least = (
        text.rstrip("0").rstrip(".") for text in millimetres(distance, required)
    )
    return f"{near} of {least} mm"


class Certificate(NamedTuple):
    """Result of a check of a whole path."""

    missing: Float[np.ndarray, " T"]
    """By how much the required distance is missed on each segment, at most [m]."""
    every: tuple[Shortfall, ...]
    """The worst pair of each segment on which distance is missing, tolerated or not."""

    @property
    def shortfalls(self) -> tuple[Shortfall, ...]:
        """The worst pair of each segment on which more is missing than tolerated."""
        return tuple(short for short in self.every if not short.is_tolerated)

    @property
    def is_kept(self) -> bool:
        """Whether all distances are kept within the tolerance, on the whole path."""
        return not self.shortfalls

    @property
    def violation(self) -> Float[np.ndarray, " T"]:
        """Distance that is missing on each segment, 0 where that is tolerated [m]."""
        is_tolerated = np.ones(len(self.missing), bool)
        is_tolerated[[short.segment for short in self.shortfalls]] = False
        return np.where(is_tolerated, 0.0, self.missing)


def certify(
    K: Kinematics,
    parts: Sequence[MotionPart],
    path: Float[np.ndarray, "points nq"],
    is_slice: Bool[np.ndarray, " points"] | None = None,
) -> Certificate:
    """Check the distances along a path.

    Args:
        K: kinematics of the world.
        parts: what is required in each mode.
        path: configurations of the world, with the start as the first one.
        is_slice: which of them are named where a pair is nearest there; None: all.
    """
    if is_slice is None:
        is_slice = np.ones(len(path), bool)
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
            enough=part.accepted,
        )
        short = _missing(part, bounds)
        if short.any():
            points = slice(first, last + 2)
            bounds = _with_slices(K, part, path[points], is_slice[points], bounds)
        missing[part.segments] = short.max(1)
        shortfalls += _worst_pairs(part, bounds, short)
    return Certificate(missing, tuple(shortfalls))


def _missing(part: MotionPart, bounds: PathBounds) -> Float[np.ndarray, "n pairs"]:
    """Return how much of the required distance is not certain, 0 where all of it is."""
    short = ~(bounds.lower >= part.required)
    missing = np.zeros(short.shape)
    missing[short] = part.required[short] - bounds.lower[short]
    # A distance that could not be computed proves nothing.
    return np.where(np.isnan(missing), np.inf, missing)


def _with_slices(
    K: Kinematics,
    part: MotionPart,
    points: Float[np.ndarray, "points nq"],
    is_slice: Bool[np.ndarray, " points"],
    bounds: PathBounds,
) -> PathBounds:
    """Return bounds with what is nearest in the slices at both ends of a segment.

    Distances were measured inside of the segments; where a start or a goal is what
    comes too near, that tells it.
    """
    near, fraction = bounds.nearest.copy(), bounds.fraction.copy()
    no_motion = np.zeros((len(near), K.nv))
    for end_fraction, ends in ((1.0, slice(1, None)), (0.0, slice(-1))):
        measured = interval_distances(
            K, part.pairs, points[ends], no_motion, part.required
        )
        is_nearer = (measured.middle <= near) & is_slice[ends, None]
        near = np.where(is_nearer, measured.middle, near)
        fraction = np.where(is_nearer, end_fraction, fraction)
    return bounds._replace(nearest=near, fraction=fraction)


def _worst_pairs(
    part: MotionPart, bounds: PathBounds, short: Float[np.ndarray, "n pairs"]
) -> Iterator[Shortfall]:
    """Yield the pair that is missing most distance on each segment that misses some.

    Pairs that miss more than is tolerated come before those that do not.
    """
    names = part.config.frame_names
    is_tolerated = bounds.lower >= part.accepted
    for row in np.flatnonzero(short.max(1) > 0).tolist():
        intolerable = np.where(is_tolerated[row], 0.0, short[row])
        pair = int(np.argmax(intolerable if intolerable.any() else short[row]))
        a, b = part.pairs.pairs[pair].tolist()
        yield Shortfall(
            (names[a], names[b]),
            int(part.segments[row]),
            float(bounds.fraction[row, pair]),
            float(bounds.nearest[row, pair]),
            float(part.required[row, pair]),
            bool(is_tolerated[row, pair]),
        )
