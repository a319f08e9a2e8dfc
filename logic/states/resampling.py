"""Paths in finer steps, and how long slices are: what roll-outs of a path see."""

from typing import Any

import numpy as np
from jaxtyping import Float

from posewise.objectives.interval import SliceInterval
from posewise.robots.config import Config
from posewise.robots.validation import float_array, number

from ..errors import PredicateError
from .thermal_rules import DEFAULT_STEP


def resample(
    C: Config, path: Any, duration: Any, dt: Any = DEFAULT_STEP
) -> tuple[Float[np.ndarray, "steps nq"], float]:
    """A path in finer steps, for `rollout`: straight between slices.

    It goes from the world's present configuration through each slice, by as many equal
    steps as it takes for them to be no longer than dt. Coordinates are interpolated
    linearly, quaternions then normalised, on the shorter way.

    Args:
        C: the world; its state is where the path begins.
        path: configurations (T, nq), one for each slice.
        duration: time from one slice to the next [s]: `solution.tau[0]`.
        dt: longest step [s].

    Returns:
        The path, of which every n-th configuration is a slice, and the time of its
        steps [s]: `rollout(C, *resample(C, path, duration))`.

    Raises:
        PredicateError: for a path that does not fit, and times that are not > 0.
    """
    slices = float_array("path", path, f"(T, {C.nq}) numbers", PredicateError)
    if slices.ndim != 2 or slices.shape[1] != C.nq or not np.isfinite(slices).all():
        raise PredicateError(
            f"path has shape {slices.shape}, expected (T, {C.nq}) finite numbers: one"
            " configuration for each slice."
        )
    expected, error = "a number > 0 (s)", PredicateError
    tau = number("duration", duration, expected, lambda x: x > 0, error)
    dt = number("dt", dt, expected, lambda x: x > 0, error)
    n = max(int(np.ceil(tau / dt - 1e-9)), 1)
    ends = np.concatenate([C.q[None], slices])
    for first in C.quaternions:
        part = ends[:, first : first + 4]
        turns = np.where((part[1:] * part[:-1]).sum(-1) < 0, -1.0, 1.0)
        part[1:] *= np.cumprod(turns)[:, None]
    share = np.arange(1, n + 1)[:, None] / n
    steps = ends[:-1, None] + share * (ends[1:] - ends[:-1])[:, None]
    found = steps.reshape(-1, C.nq)
    for first in C.quaternions:
        part = found[:, first : first + 4]
        part /= np.maximum(np.linalg.norm(part, axis=-1, keepdims=True), 1e-9)
    return found, tau / n


def slice_duration(interval: SliceInterval, what: str) -> float:
    """The time from each slice to the next [s].

    Raises:
        PredicateError: where they differ.
    """
    tau = float(interval.tau[0])
    if not np.allclose(interval.tau, tau, rtol=1e-9):
        raise PredicateError(
            f"{what} develops in equal steps, and slices of this path are"
            f" {interval.tau.min():g} to {interval.tau.max():g} s apart; give all"
            " phases the same duration."
        )
    return tau
