"""Indices of the steps at which times and waits end, with the rounding of a clock."""

import numpy as np
from jaxtyping import Float, Int


def first_past(
    times: Float[np.ndarray, " steps"], limit: float
) -> Float[np.ndarray, " steps"]:
    """Return 1 at the first step with t > limit, and 0 at all other steps."""
    is_late = times > limit
    return np.diff(is_late.astype(float), prepend=0.0)


def ends_of_tests(
    times: Float[np.ndarray, " steps"], duration: float
) -> Int[np.ndarray, " steps"]:
    """Return for each step t_i the first step with t > t_i + duration.

    The index is the number of steps if there is no such step.
    """
    return np.searchsorted(times, times + duration, "right")


def ends_of_waits(
    times: Float[np.ndarray, " steps"], wait: float
) -> Int[np.ndarray, " steps"]:
    """Return for each step t_i the first step with t - t_i > wait.

    The index is the number of steps if there is no such step. Rounding may make it
    differ from `ends_of_tests` by one step, because exact events compare differences.
    """
    candidates = ends_of_tests(times, wait)[:, None] + np.arange(-1, 2)
    candidate_times = times[np.clip(candidates, 0, len(times) - 1)]
    is_over = (candidate_times - times[:, None] > wait) | (candidates >= len(times))
    first = candidates[np.arange(len(times)), is_over.argmax(1)]
    return np.minimum(first, len(times))
