"""Which step a time or a wait ends at, as the floats of a clock say."""

import numpy as np
from jaxtyping import Float, Int


def first_past(
    times: Float[np.ndarray, " steps"], limit: float
) -> Float[np.ndarray, " steps"]:
    """1 at the first step with t > limit, 0 at all others."""
    late = times > limit
    return np.diff(late.astype(float), prepend=0.0)


def ends_of_tests(
    times: Float[np.ndarray, " steps"], duration: float
) -> Int[np.ndarray, " steps"]:
    """For each step the first one with t > its time + duration; else their number."""
    return np.searchsorted(times, times + duration, "right")


def ends_of_waits(
    times: Float[np.ndarray, " steps"], wait: float
) -> Int[np.ndarray, " steps"]:
    """For each step the first one with t - its time > wait; else their number.

    One step more or less than `ends_of_tests` where rounding decides.
    """
    near = ends_of_tests(times, wait)[:, None] + np.arange(-1, 2)
    at = times[np.clip(near, 0, len(times) - 1)]
    over = (at - times[:, None] > wait) | (near >= len(times))
    return np.minimum(near[np.arange(len(times)), over.argmax(1)], len(times))
