"""Paths in finer steps for roll-outs, and the duration of slices."""

import numpy as np
from jaxtyping import Float

from posewise.objectives.terms.interval import SliceInterval
from posewise.robots.config import Config
from posewise.robots.typing import MatrixLike
from posewise.robots.validation import float_array, number, require_finite

from ..errors import PredicateError
from .thermal_rules import DEFAULT_STEP


def resample(
    C: Config, path: MatrixLike, duration: float, dt: float = DEFAULT_STEP
) -> tuple[Float[np.ndarray, "steps nq"], float]:
    """Return a path in finer steps, for `rollout`: straight between slices.

    The path goes from the world's present configuration through each slice, by as many
    equal steps as keep each step no longer than dt. Coordinates are interpolated
    linearly, quaternions then normalised, along the shorter arc.

    Args:
        C: the world; its configuration is where the path begins.
        path: configurations (T, nq), one for each slice.
        duration: time from one slice to the next [s]: `solution.tau[0]`.
        dt: longest step [s].

    Returns:
        The path, of which every n-th configuration is a slice, and the time of its
        steps [s]: `rollout(C, *resample(C, path, duration))`.

    Raises:
        PredicateError: if the path does not fit the world, or a time is not > 0.
    """
    slices = float_array("path", path, f"(T, {C.nq}) numbers", PredicateError)
    require_finite("path", slices, PredicateError)
    if slices.ndim != 2 or slices.shape[1] != C.nq:
        raise PredicateError(
            f"path has shape {slices.shape}, expected (T, {C.nq}): one configuration"
            " for each slice."
        )

    def positive(name: str, value: float) -> float:
        return number(name, value, "a number > 0 (s)", lambda x: x > 0, PredicateError)

    tau, dt = positive("duration", duration), positive("dt", dt)
    # The tolerance keeps a duration that is a multiple of dt from taking one step more.
    n = max(int(np.ceil(tau / dt - 1e-9)), 1)
    waypoints = np.concatenate([C.q[None], slices])
    # q and -q are the same rotation: flip signs so that neighbours are in one
    # hemisphere and interpolation takes the shorter arc.
    for first in C.joints.quaternions:
        quaternion = waypoints[:, first : first + 4]
        dot = (quaternion[1:] * quaternion[:-1]).sum(-1)
        quaternion[1:] *= np.cumprod(np.where(dot < 0, -1.0, 1.0))[:, None]
    fraction = np.arange(1, n + 1)[:, None] / n
    steps = waypoints[:-1, None] + fraction * (waypoints[1:] - waypoints[:-1])[:, None]
    resampled = steps.reshape(-1, C.nq)
    for first in C.joints.quaternions:
        quaternion = resampled[:, first : first + 4]
        norm = np.linalg.norm(quaternion, axis=-1, keepdims=True)
        quaternion /= np.maximum(norm, 1e-9)
    return resampled, tau / n


def slice_duration(interval: SliceInterval, process: str) -> float:
    """Return the time from each slice to the next [s].

    Args:
        interval: slices of a path.
        process: name of the process that needs equal steps, for the message.

    Raises:
        PredicateError: if the slices have different durations.
    """
    tau = float(interval.tau[0])
    if not np.allclose(interval.tau, tau, rtol=1e-9):
        raise PredicateError(
            f"{process} develops in equal steps, and slices of this path are"
            f" {interval.tau.min():g} to {interval.tau.max():g} s apart; give all"
            " phases the same duration."
        )
    return tau
