"""Paths whose corners are rounded by parabolas, so that velocity is continuous.

Near a knot the two lines that meet there are replaced by a parabola that touches both,
of constant second derivative ("linear segments with parabolic blends", Craig,
Introduction to Robotics, 7.3). If it reaches to the middles of both steps the path is a
quadratic B-spline of the knots: velocity is then that of a step in the step's middle
and changes linearly between, so that limits that hold for differences of slices hold at
all times.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from .straight_path import Samples


@dataclass(frozen=True, eq=False)
class RoundedPath:
    """Lines between knots, with a parabola around each knot between two lines."""

    times: Float[np.ndarray, " knots"]
    """Increasing; the parameter of the path, in any unit."""
    points: Float[np.ndarray, "knots n"]
    """Coordinates at the knots."""
    reach: Float[np.ndarray, " inner"]
    """Half the length of the parabola around each inner knot, at most half a step; in
    the unit of `times`."""
    quaternions: tuple[int, ...] = ()
    """First column of each quaternion."""

    @property
    def deviation(self) -> float:
        """Largest distance of a coordinate from its value on the unrounded path."""
        curvature, reach = self._curvature[1:-1], self.reach[:, None]
        return float(np.max(np.abs(curvature) * reach**2 / 2, initial=0.0))

    @property
    def joints_of_pieces(self) -> Float[np.ndarray, " ends"]:
        """Values of the parameter between which the path is a line or a parabola."""
        inner = self.times[1:-1]
        ends = [self.times[:1], inner - self.reach, inner + self.reach, self.times[-1:]]
        ordered = np.sort(np.concatenate(ends))
        # Parabolas that meet in the middle of a step do so up to rounding.
        is_apart = np.diff(ordered) > 1e-9 * (ordered[-1] - ordered[0])
        return np.append(ordered[:-1][is_apart], ordered[-1])

    def sample(self, t: Float[np.ndarray, " samples"]) -> Samples:
        """Return coordinates with their first and second derivatives."""
        step = np.clip(
            np.searchsorted(self.times, t, side="right") - 1, 0, len(self.times) - 2
        )
        reach = np.concatenate([[0.0], self.reach, [0.0]])
        # Lengths of the parabolas of both ends of the step that lie beyond t.
        left = np.maximum(reach[step] - (t - self.times[step]), 0)[:, None]
        right = np.maximum(reach[step + 1] - (self.times[step + 1] - t), 0)[:, None]
        a, b = self._curvature[step], self._curvature[step + 1]
        slope = self._slopes[step]
        q = self._points[step] + slope * (t - self.times[step])[:, None]
        q = q + (a * left**2 + b * right**2) / 2
        v = slope - a * left + b * right
        # Where two parabolas meet, both lengths are zero up to rounding: the later one
        # counts there, so that the acceleration neither vanishes nor adds up.
        slack = 1e-9 * (self.times[step + 1] - self.times[step])
        is_later = self.times[step + 1] - t <= reach[step + 1] + slack
        acceleration = np.where(is_later[:, None], b, a * (left > 0))
        for first in self.quaternions:
            part = slice(first, first + 4)
            q[:, part], v[:, part], acceleration[:, part] = _normalized(
                q[:, part], v[:, part], acceleration[:, part]
            )
        return q, v, acceleration

    @cached_property
    def _points(self) -> Float[np.ndarray, "knots n"]:
        """Knots with unit quaternions, whose signs are continuous."""
        points = np.array(self.points)
        for first in self.quaternions:
            part = points[:, first : first + 4]
            part /= np.linalg.norm(part, axis=1, keepdims=True)
            flips = np.sum(part[1:] * part[:-1], 1) < 0
            part[1:] *= np.where(flips, -1.0, 1.0).cumprod()[:, None]
        return points

    @cached_property
    def _slopes(self) -> Float[np.ndarray, "steps n"]:
        return np.diff(self._points, axis=0) / np.diff(self.times)[:, None]

    @cached_property
    def _curvature(self) -> Float[np.ndarray, "knots n"]:
        """Second derivative of the parabola around each knot; 0 at both ends."""
        inner = np.diff(self._slopes, axis=0) / (2 * self.reach[:, None])
        return np.pad(inner, [(1, 1), (0, 0)])


def _normalized(
    p: Float[np.ndarray, "samples 4"],
    dp: Float[np.ndarray, "samples 4"],
    ddp: Float[np.ndarray, "samples 4"],
) -> Samples:
    """Return p / |p| with its first and second derivatives, from those of p."""

    def dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.sum(a * b, -1, keepdims=True)

    # With u = p / r: p' = u' r + u r' and p'' = u'' r + 2 u' r' + u r'', r' = u · p'.
    r = np.sqrt(dot(p, p))
    u = p / r
    dr = dot(u, dp)
    du = (dp - u * dr) / r
    return u, du, (ddp - 2 * du * dr - u * (dot(du, dp) + dot(u, ddp))) / r
