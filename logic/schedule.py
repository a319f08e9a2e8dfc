"""Which step ends a wait that starts at another, as the floats of a clock say."""

import numpy as np
from jaxtyping import Float, Int


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
