"""Paths that are straight between knots, with velocities and accelerations."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from posewise.robots.kinematics.transforms import (
    quat_conjugate,
    quat_log,
    quat_multiply,
    quat_normalize,
)

from .waypoints import slerp

Samples = tuple[
    Float[np.ndarray, "samples n"],
    Float[np.ndarray, "samples n"],
    Float[np.ndarray, "samples n"],
]
"""Coordinates with their first and second derivatives by time."""


@dataclass(frozen=True, eq=False)
class StraightPath:
    """Coordinates at some times, the knots, and straight lines between them.

    Quaternions rotate about a constant axis, by the smaller angle. Velocity is constant
    between two knots. Its jump at a knot is told as the acceleration from the middle of
    one step to the middle of the next, as features of order 2 measure it.
    """

    times: Float[np.ndarray, " knots"]
    """Increasing, at least two [s]."""
    points: Float[np.ndarray, "knots n"]
    quaternions: tuple[int, ...] = ()
    """First column of each quaternion."""
    before: Float[np.ndarray, " n"] | None = None
    """Coordinates before the first knot, by the duration of the first step; None: the
    path begins at rest."""

    def step_at(self, t: Float[np.ndarray, " samples"]) -> np.ndarray:
        """Return the step that leads to each time; at a knot the one that ends there.

        Steps count from 0, which begins at the first knot.
        """
        after = np.searchsorted(self.times, t) - 1
        return np.clip(after, 0, len(self.times) - 2)

    def positions(
        self, t: Float[np.ndarray, " samples"]
    ) -> Float[np.ndarray, "samples n"]:
        """Return the coordinates at times; before and after the path its ends."""
        step = self.step_at(t)
        fraction = np.clip((t - self.times[step]) / self._durations[step], 0.0, 1.0)
        a, b = self.points[step], self.points[step + 1]
        # Not a + f (b - a), which misses b by rounding: knots are met exactly.
        q = (1 - fraction[:, None]) * a + fraction[:, None] * b
        for part in self._quaternion_parts:
            q[:, part] = slerp(a[:, part], b[:, part], fraction)
        return q

    def sample(self, t: Float[np.ndarray, " samples"]) -> Samples:
        """Return coordinates at times, with their derivatives.

        The derivatives of a quaternion follow from its angular velocity.
        """
        q, step = self.positions(t), self.step_at(t)
        # Velocities are those of the middles of steps, accelerations lie between them.
        durations, slopes = np.diff(self.extended_times), self._slopes
        between = (durations[1:] + durations[:-1]) / 2
        rates = np.diff(slopes, axis=0) / between[:, None]
        rates = np.concatenate([rates, np.zeros_like(rates[:1])])
        middle = self.times[step] + self._durations[step] / 2
        v, a = slopes[step + 1], rates[step + (t > middle)]
        for part in self._quaternion_parts:
            v[:, part], a[:, part] = _quaternion_derivatives(
                q[:, part], v[:, part], a[:, part]
            )
        return q, v, a

    @property
    def _quaternion_parts(self) -> list[slice]:
        return [slice(first, first + 4) for first in self.quaternions]

    @cached_property
    def _durations(self) -> Float[np.ndarray, " steps"]:
        return np.diff(self.times)

    @property
    def extended_times(self) -> Float[np.ndarray, " knots_and_before"]:
        """Times of the knots, and of the one before the first."""
        first = self.times[1] - self.times[0]
        return np.concatenate([self.times[:1] - first, self.times])

    @property
    def extended_points(self) -> Float[np.ndarray, "knots_and_before n"]:
        """Coordinates at `extended_times`."""
        before = self.points[0] if self.before is None else self.before
        return np.concatenate([before[None], self.points])

    @cached_property
    def _slopes(self) -> Float[np.ndarray, "steps n"]:
        """Velocity of each step, also of that before the first knot.

        For quaternions it is (0, ω), ω in the moved frame.
        """
        points = self.extended_points
        change = np.diff(points, axis=0)
        for part in self._quaternion_parts:
            unit = quat_normalize(points[:, part])
            turn = quat_multiply(quat_conjugate(unit[:-1]), unit[1:])
            change[:, part] = np.insert(quat_log(turn), 0, 0.0, axis=1)
        return change / np.diff(self.extended_times)[:, None]


def _quaternion_derivatives(
    q: Float[np.ndarray, "samples 4"],
    omega: Float[np.ndarray, "samples 4"],
    alpha: Float[np.ndarray, "samples 4"],
) -> tuple[Float[np.ndarray, "samples 4"], Float[np.ndarray, "samples 4"]]:
    """Return the derivatives of quaternions by time.

    Args:
        q: unit quaternions.
        omega: angular velocities (0, ω) in the moved frame.
        alpha: angular accelerations (0, α) in the moved frame.
    """
    # q' = ½ q ⊗ ω, so q'' = ½ q ⊗ α + ¼ q ⊗ ω ⊗ ω, and ω ⊗ ω = -|ω|².
    square = np.sum(omega * omega, -1, keepdims=True)
    return quat_multiply(q, omega) / 2, quat_multiply(q, alpha) / 2 - square * q / 4
