"""Velocities and accelerations of a path in a file, as its positions and times tell.

A difference of two rows is the mean velocity between them. A second difference of
three rows is a mean of the acceleration between them, weighted by a triangle. Neither
exceeds a limit that holds at all times, however coarse the rows are.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float

from posewise.robots.config import Config

from .path_file import PathFile


@dataclass(frozen=True, slots=True)
class RateTolerances:
    """Choices of the checks of rates by positions, varied in docs/evidence.md."""

    decimals: tuple[int, int] = (3, 12)
    """Least and largest number of decimals to which files may be rounded; other numbers
    are taken for exact."""
    roundings: float = 2.5
    """Error of the difference of two numbers, in errors of one: a little more than
    2."""
    uneven_part: float = 1e-6
    """Relative difference of steps of time that are equal up to rounding; beyond it,
    times are rounded themselves."""
    min_span: int = 4
    """Rows on each side of means that hardly depend on when accelerations change; with
    fewer, sudden changes are told."""
    small_part: float = 0.05
    """Part of a coordinate's largest acceleration up to which others are small."""
    still_part: float = 1e-3
    """Part of the largest acceleration up to which that of a coordinate is rounding."""
    few_part: float = 0.1
    """Part of rows, or of a change of velocity, that is no sign of jumps. In our files
    it is at most 0.014 on rounded paths, and at least 0.25 on straight ones."""
    velocity_part: float = 2e-3
    """Part of a coordinate's largest velocity by which columns may be off; with less,
    right velocities are told where accelerations are wrong."""
    acceleration_part: float = 0.25
    """Part of a coordinate's largest acceleration by which columns may be off, as they
    change at once between rows."""
    unseen_rows: int = 10
    """Rows near which accelerations may differ, as files do not tell pulses between two
    rows; a pulse is near up to five."""


RATE_TOLERANCES = RateTolerances()


@dataclass(frozen=True, eq=False)
class RatesByPositions:
    """Rows of a file, and what their differences tell."""

    names: tuple[str, ...]
    """Names of the coordinates."""
    quaternions: tuple[int, ...]
    """First coordinate of each quaternion."""
    times: Float[np.ndarray, " n"]
    """Time of each row [s]."""
    q: Float[np.ndarray, "n nq"]
    """Positions; quaternions without changes of sign."""
    v: Float[np.ndarray, "n nq"]
    """Velocities of the file; NaN where it has none."""
    a: Float[np.ndarray, "n nq"]
    """Accelerations of the file, likewise."""

    @classmethod
    def of(cls, loaded: PathFile, C: Config) -> "RatesByPositions | None":
        """Return the rates of a path; None for less than two rows, or no times."""
        if loaded.times is None or len(loaded.path) < 2:
            return None
        unknown = np.full_like(loaded.path, np.nan)
        v = unknown if loaded.velocities is None else loaded.velocities
        a = unknown if loaded.accelerations is None else loaded.accelerations
        signs = _signs(loaded.path, C)
        q, names = loaded.path * signs, C.joints.coordinate_names
        return cls(names, C.joints.quaternions, loaded.times, q, v * signs, a * signs)

    @cached_property
    def steps(self) -> Float[np.ndarray, "steps 1"]:
        """Time between each two rows [s]."""
        return np.diff(self.times)[:, None]

    @cached_property
    def velocities(self) -> Float[np.ndarray, "steps nq"]:
        """Mean velocity between each two rows."""
        return np.diff(self.q, axis=0) / self.steps

    @cached_property
    def velocity_rounding(self) -> Float[np.ndarray, "steps nq"]:
        """Largest error of `velocities` by rounded numbers in the file."""
        by_time = 0.0 if self._is_even else rounding(self.times)
        error = rounding(self.q) + by_time * np.abs(self.velocities)
        return RATE_TOLERANCES.roundings * error / self.steps

    @cached_property
    def has_jumps(self) -> bool:
        """Whether velocity jumps between rows, as on paths that are straight.

        There it stands still between jumps, though accelerations are told: they are
        the jumps, spread over the time between these. If rows are too far apart for
        that, velocities of rows are not those between them.
        """
        told, few = self._told, RATE_TOLERANCES.few_part
        if not told.any():
            return False
        size, ends = np.abs(self._changes[told]), (self.v[1:] + self.v[:-1]) / 2
        misfit = np.abs(self.velocities - ends)[told] / size
        return bool(self._stands[told].mean() > few or np.median(misfit) > few)

    @cached_property
    def span(self) -> int:
        """Rows on each side over which accelerations of both sources are nearly equal.

        They may change between rows, or be spread over the time between two jumps.
        """
        if not self.has_jumps:
            return RATE_TOLERANCES.min_span
        longest = max(map(_longest_run, (self._stands & self._told).T))
        return max(RATE_TOLERANCES.min_span, 2 * (1 + longest))

    @cached_property
    def _turning(self) -> Float[np.ndarray, "n nq"]:
        """Accelerations of quaternions that turn evenly; zero elsewhere."""
        turning = np.zeros_like(self.q)
        for first in self.quaternions:
            part = slice(first, first + 4)
            square = np.sum(self.v[:, part] ** 2, 1, keepdims=True)
            turning[:, part] = -square * self.q[:, part]
        return turning

    @cached_property
    def _changes(self) -> Float[np.ndarray, "steps nq"]:
        """Change of velocity between each two rows by the accelerations of the file."""
        a = self.a - self._turning
        return self.steps * (a[1:] + a[:-1]) / 2

    @cached_property
    def _told(self) -> Bool[np.ndarray, "steps nq"]:
        """Steps of coordinates in which accelerations are not small."""
        size = np.nan_to_num(np.abs(self._changes))
        largest = size.max(0)
        is_large = size > RATE_TOLERANCES.small_part * largest
        return is_large & (largest > RATE_TOLERANCES.still_part * largest.max())

    @cached_property
    def _stands(self) -> Bool[np.ndarray, "steps nq"]:
        """Steps of coordinates whose velocity hardly follows accelerations."""
        by_turning = self.steps * (self._turning[1:] + self._turning[:-1]) / 2
        changes = np.diff(self.v, axis=0) - by_turning
        return np.abs(changes) <= RATE_TOLERANCES.few_part * np.abs(self._changes)

    def centers(self, span: int) -> np.ndarray:
        """Return rows with `span` rows on each side, half a span apart."""
        end = len(self.times)
        if not (self.v[-1].any() or self.a[-1].any()):
            # The sample after the end stands still, wherever the path ended.
            end -= 1
        return np.arange(span, end - span, max(1, span // 2))

    def accelerations(
        self, values: Float[np.ndarray, "n nq"], span: int
    ) -> Float[np.ndarray, "centers nq"]:
        """Return second differences by time of values at `centers(span)`.

        Args:
            values: at each row.
            span: rows on each side of a center.
        """
        k = self.centers(span)
        before, after = self._times_around(span)
        rise = (values[k + span] - values[k]) / after
        return 2 * (rise - (values[k] - values[k - span]) / before) / (before + after)

    def acceleration_rounding(self, span: int) -> Float[np.ndarray, "centers nq"]:
        """Return the largest error of `accelerations(q, span)` by rounded numbers."""
        by_time = 0.0 if self._is_even else rounding(self.times)
        speed = np.max(np.abs(self.velocities), axis=0, initial=0.0)
        least = np.minimum(*self._times_around(span))
        error = rounding(self.q) + by_time * speed
        return 2 * RATE_TOLERANCES.roundings * error / least**2

    def _times_around(self, span: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the times from the row before each center to it, and to that after."""
        k, t = self.centers(span), self.times[:, None]
        return t[k] - t[k - span], t[k + span] - t[k]

    @cached_property
    def _is_even(self) -> bool:
        """Whether times are on a grid, so that few decimals are no rounding."""
        # The last sample may be the end of the path.
        steps = self.steps[: max(1, len(self.steps) - 1)]
        return bool(np.ptp(steps) <= RATE_TOLERANCES.uneven_part * steps.mean())


def rounding(values: Float[np.ndarray, "*shape"]) -> float:
    """Return the largest error of numbers that a file may have rounded."""
    size = float(np.max(np.abs(values), initial=0.0))
    if not np.isfinite(size):
        return 0.0
    least, most = RATE_TOLERANCES.decimals
    for decimals in range(least, most + 1):
        if np.array_equal(np.round(values, decimals), values):
            return 0.5 * 10.0**-decimals
    if np.array_equal(values.astype(np.float32), values):
        return float(np.spacing(np.float32(size)))
    return float(np.spacing(size))


def _longest_run(flags: np.ndarray) -> int:
    """Return how many flags in a row are set at most."""
    ends = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]])))
    return int(np.max(ends[1::2] - ends[::2], initial=0))


def _signs(path: Float[np.ndarray, "n nq"], C: Config) -> Float[np.ndarray, "n nq"]:
    """Return factors that keep quaternions from changing their sign between rows."""
    signs = np.ones_like(path)
    for first in C.joints.quaternions:
        part = path[:, first : first + 4]
        flips = np.where(np.sum(part[1:] * part[:-1], 1) < 0, -1.0, 1.0)
        signs[1:, first : first + 4] = np.cumprod(flips)[:, None]
    return signs
