"""Configurations of a path at given times, and its samples at a fixed rate."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from posewise.robots.typing import VectorLike
from posewise.robots.validation import float_array, number

from ..chain.modes import ModeSequence
from ..terms.objective import ObjectiveError
from .rounded_path import RoundedPath
from .straight_path import Samples, StraightPath
from .trajectory import Trajectory

MAX_SAMPLES = 10_000_000
"""Largest number of samples of a trajectory; more are taken for a mistake."""


def parse_times(
    t: float | VectorLike, duration: float
) -> Float[np.ndarray, "*samples"]:
    """Return times within a path, of the shape that was given.

    Raises:
        ObjectiveError: for anything but numbers from 0 to the duration.
    """
    expected = f"seconds from 0 to {duration:g}, the duration of the path"
    times = float_array("t", t, expected, ObjectiveError)
    if times.ndim > 1:
        raise ObjectiveError(
            f"t has shape {times.shape}, expected one number or a list of {expected}."
        )
    # Sums of durations round, so that the last time may exceed them by a little.
    is_inside = (times >= 0) & (times <= duration * (1 + 1e-9))
    if not is_inside.all():
        wrong = np.atleast_1d(times)[~np.atleast_1d(is_inside)][0]
        raise ObjectiveError(f"t is {wrong:g}, expected {expected}.")
    return times


def configurations_at(
    path: StraightPath, modes: ModeSequence, t: Float[np.ndarray, " samples"]
) -> Float[np.ndarray, "samples nq"]:
    """Return the coordinates of the user's world at times.

    Args:
        path: of the solved world; its first knot is the start.
        modes: the world with its mode switches.
        t: times within the path.
    """
    x, step = path.positions(t), path.step_at(t)
    # A step has the attachments of the slice in which it begins, -1 for the start.
    slices = np.where(t >= path.times[step + 1], step, step - 1)
    pairs = zip(x, slices.tolist(), strict=True)
    q = [modes.to_base(q, k) for q, k in pairs]
    return np.reshape(q, (len(t), modes.base.nq))


def rounded_in_time(path: StraightPath) -> RoundedPath:
    """Return a path with corners rounded from the middles of steps.

    The parabola around a knot reaches as far as to the middle of the shorter of both
    steps. It begins half a step before the path, with the velocity of the start.
    """
    times, points = path.extended_times, path.extended_points
    durations = np.diff(times)
    reach = np.minimum(durations[:-1], durations[1:]) / 2
    times = times - times[0] - durations[0] / 2
    return RoundedPath(times, points, reach, path.quaternions)


def sample_at_rate(
    sample: Callable[[Float[np.ndarray, " samples"]], Samples],
    duration: float,
    dt: float,
    names: tuple[str, ...],
    slices_at: Callable[[Float[np.ndarray, " samples"]], Float[np.ndarray, " samples"]],
    deviation: float = 0.0,
) -> Trajectory:
    """Return samples of a curve, from time 0 until it has ended.

    A sample after the end, by less than dt, stands still there.

    Args:
        sample: returns coordinates at times, with their derivatives.
        duration: of the curve [s].
        dt: time between samples [s].
        names: of the coordinates.
        slices_at: returns the place on the path at times, in slices.
        deviation: of the curve from the path; see `Trajectory`.

    Raises:
        ObjectiveError: for a dt that is not positive, far too small, or longer than the
            curve.
    """
    dt = number("dt", dt, "seconds > 0", lambda x: x > 0, ObjectiveError)
    if duration / dt > MAX_SAMPLES:
        raise ObjectiveError(
            f"dt is {dt:g} s, but a path of {duration:g} s would have more than"
            f" {MAX_SAMPLES} samples; expected a longer time."
        )
    if 0 < duration < dt:
        raise ObjectiveError(
            f"dt is {dt:g} s, longer than the path of {duration:g} s; expected the time"
            " between samples: for a rate in hertz, 1 / rate."
        )
    times = dt * np.arange(int(np.ceil(duration / dt - 1e-9)) + 1)
    inside = np.minimum(times, duration)
    q, v, a = sample(inside)
    others = {"slice": slices_at(inside)}
    is_moving = (times <= duration * (1 + 1e-9))[:, None]
    v, a = v * is_moving, a * is_moving
    return Trajectory(names, times, q, v, a, deviation, others)
