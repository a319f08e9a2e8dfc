"""Fastest timing of a path within limits of velocity and acceleration, by toppra.

Pham and Pham, "A new approach to time-optimal path parameterization based on
reachability analysis" (2018).
"""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from posewise.robots.validation import number

from ..terms.objective import ObjectiveError
from .rounded_path import RoundedPath
from .straight_path import Samples, StraightPath

MIN_STEP = 1e-3
"""Smallest distance of two knots, as a fraction of the mean; a nearer one is left out,
because the speed along the path has no bound where the path stands still."""
GRID_SIZES = (500, 1000, 2000)
"""Least numbers of intervals in each of which the path accelerates evenly (count); a
larger one is tried where rounding in toppra leaves no timing."""

Progress = tuple[
    Float[np.ndarray, " samples"],
    Float[np.ndarray, " samples"],
    Float[np.ndarray, " samples"],
]
"""The parameter of a path with its first and second derivatives by time."""


def import_toppra() -> Any:
    """Return the module `toppra`.

    Raises:
        ImportError: without toppra; names the extra.
    """
    try:
        # Its sources have escapes that Python warns of when it first compiles them.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            warnings.simplefilter("ignore", DeprecationWarning)
            import toppra
            import toppra.algorithm
            import toppra.constraint
    except ImportError as error:
        raise ImportError(
            'retime() needs toppra; install it with `pip install "posewise[retime]"`.'
        ) from error
    return toppra


def round_corners(
    path: StraightPath, deviation: float
) -> tuple[RoundedPath, Float[np.ndarray, " knots"]]:
    """Return a path with corners rounded within a distance, by its mean length.

    Parabolas reach to the middles of steps if their deviation allows it: the motion
    with steps of equal duration is one timing of that path.

    Args:
        path: with its knots.
        deviation: largest distance of a coordinate from the path [rad, m].

    Returns:
        The rounded path, and the value of its parameter at each knot of the path.

    Raises:
        ObjectiveError: for a deviation that is not positive.
    """
    expected = "a distance > 0 [rad, m]; without any, the path would stop at each slice"
    deviation = number(
        "deviation", deviation, expected, lambda x: x > 0, ObjectiveError
    )
    mean = np.abs(np.diff(path.points, axis=0)).max(1).mean()
    skipped = min(MIN_STEP * mean, deviation / 10)
    points, indices = _distinct_points(path.points, skipped)
    changes = np.diff(points, axis=0)
    # All steps have the same length of s, and the total is that of the path.
    step = np.abs(changes).max(1, initial=0.0).mean() if len(changes) else 1.0
    turns = np.abs(np.diff(changes, axis=0)).max(1, initial=0.0)
    # A parabola over the fraction f of both steps is |change of step| f / 4 off.
    with np.errstate(divide="ignore"):
        fraction = np.minimum(0.5, 4 * (deviation - skipped) / turns)
    s = step * np.arange(len(points))
    return RoundedPath(s, points, step * fraction, path.quaternions), s[indices]


def _distinct_points(
    points: Float[np.ndarray, "knots n"], distance: float
) -> tuple[Float[np.ndarray, "distinct n"], Int[np.ndarray, " knots"]]:
    """Return the points without those within a distance of the one before.

    Returns:
        The points that are kept, and for each point the index of the one kept for it.
    """
    distinct, index = [points[0]], [0]
    for point in points[1:]:
        if np.abs(point - distinct[-1]).max() > distance:
            distinct.append(point)
        index.append(len(distinct) - 1)
    # The last point is met exactly.
    if len(distinct) > 1:
        distinct[-1] = points[-1]
    return np.array(distinct), np.array(index)


@dataclass(frozen=True, eq=False)
class Timing:
    """A path with its speed at the ends of intervals of even acceleration."""

    path: RoundedPath
    s: Float[np.ndarray, " grid"]
    """Position along the path at the ends of intervals."""
    speed: Float[np.ndarray, " grid"]
    """Derivative of s by time there [1/s]."""
    factor: float = 1.0
    """Time is stretched by this factor."""

    @property
    def times(self) -> Float[np.ndarray, " grid"]:
        """Times of the ends of the intervals [s]."""
        steps = 2 * np.diff(self.s) / (self.speed[1:] + self.speed[:-1])
        return self.factor * np.concatenate([[0.0], np.cumsum(steps)])

    def sample(self, t: Float[np.ndarray, " samples"]) -> Samples:
        """Return coordinates at times, with their derivatives."""
        s, ds, dds = (values[:, None] for values in self.progress(t))
        q, dq, ddq = self.path.sample(s[:, 0])
        return q, dq * ds, ddq * ds**2 + dq * dds

    def progress(self, t: Float[np.ndarray, " samples"]) -> Progress:
        """Return the parameter of the path at times, with its derivatives."""
        times = self.times
        k = np.clip(np.searchsorted(times, t, side="right") - 1, 0, len(times) - 2)
        dt = (t - times[k]) / self.factor
        rate = np.diff(self.speed**2)[k] / (2 * np.diff(self.s)[k])
        s = self.s[k] + self.speed[k] * dt + rate * dt**2 / 2
        ds = (self.speed[k] + rate * dt) / self.factor
        return np.clip(s, self.s[k], self.s[k + 1]), ds, rate / self.factor**2


def fastest_timing(path: RoundedPath, limits: Float[np.ndarray, "2 n"]) -> Timing:
    """Return the fastest timing of a path from rest to rest.

    Args:
        path: with at least two knots.
        limits: of velocity and acceleration of each coordinate; inf where none.

    Raises:
        ImportError: without toppra; names the extra.
        ObjectiveError: if toppra finds none.
    """
    toppra = import_toppra()
    own_limits, own_path = _toppra_limits(toppra, limits), _toppra_path(toppra, path)
    for size in GRID_SIZES:
        grid = _grid(path.joints_of_pieces, size)
        algorithm = toppra.algorithm.TOPPRA([own_limits], own_path, gridpoints=grid)
        _, speed, _ = algorithm.compute_parameterization(0, 0)
        if speed is not None and np.isfinite(speed).all():
            return _within_limits(Timing(path, grid, speed), limits)
    raise ObjectiveError(
        "toppra found no timing of the path within the limits; expected larger limits"
        " or a larger deviation."
    )


def _grid(ends: Float[np.ndarray, " ends"], size: int) -> Float[np.ndarray, " grid"]:
    """Return about evenly spaced positions, which contain the ends of pieces."""
    parts = np.maximum(np.ceil(np.diff(ends) / (ends[-1] / size)), 2).astype(int)
    pieces = zip(ends[:-1], ends[1:], parts, strict=True)
    inner = [np.linspace(a, b, n, endpoint=False) for a, b, n in pieces]
    return np.concatenate([*inner, ends[-1:]])


def _within_limits(timing: Timing, limits: Float[np.ndarray, "2 n"]) -> Timing:
    """Return a timing that is slower by what it exceeds the limits, everywhere."""
    # toppra keeps limits up to its tolerance, and speed at the ends of intervals only.
    path, start, step = timing.path, timing.s[:-1], np.diff(timing.s)
    before, after = timing.speed[:-1] ** 2, timing.speed[1:] ** 2
    rate = (after - before) / (2 * step)
    # It jumps at the ends, which may be nearer than rounding lets a sample be inside.
    middle = path.sample(start + step / 2)[2]
    too_fast = too_hard = 0.0
    # Acceleration is linear in s within an interval, so that its ends tell the largest,
    # except of quaternions, which are normalised.
    for fraction in (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0):
        _, dq, ddq = path.sample(start + fraction * step)
        ddq = middle if fraction in (0.0, 1.0) else ddq
        square = (1 - fraction) * before + fraction * after
        v = np.abs(dq) * np.sqrt(square)[:, None] / limits[0]
        acceleration = np.abs(ddq * square[:, None] + dq * rate[:, None]) / limits[1]
        too_fast = max(too_fast, float(v.max(initial=0.0)))
        too_hard = max(too_hard, float(acceleration.max(initial=0.0)))
    factor = max(1.0, too_fast, np.sqrt(too_hard))
    return Timing(path, timing.s, timing.speed, factor)


def _toppra_path(toppra: Any, path: RoundedPath) -> Any:
    """Return a path in toppra's interface."""

    class Path(toppra.interpolator.AbstractGeometricPath):
        dof = path.points.shape[1]
        path_interval = np.array([path.times[0], path.times[-1]])
        waypoints = path.times, path.points

        def __call__(self, s: Any, order: int = 0) -> np.ndarray:
            return path.sample(np.atleast_1d(s))[order].reshape(*np.shape(s), -1)

    return Path()


def _largest_nearby(slopes: Float[np.ndarray, "grid n"]) -> Float[np.ndarray, "grid n"]:
    """Return the largest size of the slopes at each place and its neighbours.

    A speed that is within limits by these is so in all of the intervals beside: both
    the slopes and the square of the speed are linear in each.
    """
    size = np.abs(slopes)
    padded = np.concatenate([size[:1], size, size[-1:]])
    return np.maximum(size, np.maximum(padded[:-2], padded[2:]))


def _toppra_limits(toppra: Any, limits: Float[np.ndarray, "2 n"]) -> Any:
    """Return limits of velocity and acceleration as a constraint of toppra.

    Unlike toppra's own ones it takes second derivatives of the path from the inside of
    each interval, since they jump where a parabola begins, and infinite limits.
    """

    class Limits(toppra.constraint.LinearConstraint):
        def __init__(self) -> None:
            super().__init__()
            self.identical, self.dof = True, limits.shape[1]
            self._format_string = f"    limits: {limits}"

        def compute_constraint_params(self, path: Any, s: Any) -> tuple[Any, ...]:
            # With u = s'' constant in an interval and x = s'², q'' is
            # dq u + ddq x where it begins and dq⁺ u + ddq (x + 2 u Δs) where it ends.
            velocity_limits, acceleration_limits = limits
            dq, step = path(s, 1), np.diff(s)[:, None]
            ddq = path((s[1:] + s[:-1]) / 2, 2)
            a = np.concatenate([dq[:-1], dq[1:] + 2 * step * ddq], 1)
            b = np.concatenate([ddq, ddq], 1)
            a, b = (
                np.concatenate([x, x[-1:]]) / np.tile(acceleration_limits, 2)
                for x in (a, b)
            )
            F = np.concatenate([np.eye(a.shape[1]), -np.eye(a.shape[1])])
            highest = _largest_nearby(dq)
            highest = (highest / velocity_limits).max(1)
            with np.errstate(divide="ignore"):
                x = np.minimum(1 / highest**2, toppra.constants.MAXX)
            bounds = np.stack([np.zeros_like(x), x], 1)
            return a, b, np.zeros_like(a), F, np.ones(len(F)), None, bounds

    return Limits()
