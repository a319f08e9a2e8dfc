"""Rules for water sources, which release droplets, and for objects that absorb them.

iGibson 2.0 (Li et al., 2021), `object_states/water_source.py` and `soaked.py`.
"""

from dataclasses import replace

import numpy as np
from jaxtyping import Bool

from posewise.robots.annotations.object_states import Stream
from posewise.robots.typing import Array

DROPLET_PERIOD = 0.1
"""Nominal time between two droplets [s]; longer releases fewer."""
SPOUT_OFFSET = np.array([0.0, 0.0, -0.05])
"""Start of droplets, from the origin of a source's frame, in the world [m]."""


def stream_step(
    stream: Stream, dt: float, period: float = DROPLET_PERIOD
) -> tuple[Stream, bool]:
    """Return a running stream one step later, and whether it released a droplet.

    Args:
        stream: the stream before the step.
        dt: length of the step [s].
        period: nominal time between two droplets [s].
    """
    if not stream.running or stream.left == 0:
        return stream, False
    if stream.since < period / dt:
        return replace(stream, since=stream.since + 1), False
    # The releasing step itself is not counted, as in iGibson's code, so that at 30 Hz
    # there is a droplet every 4 steps, not every 3.
    return replace(stream, since=0.0, left=stream.left - 1), True


def is_soaked(wetness: Array | int, level: int = 1) -> Bool[np.ndarray, "..."]:
    """Return whether at least `level` droplets were absorbed.

    iGibson's code latches at the first droplet, which is level 1.
    """
    return np.asarray(np.asarray(wetness) >= level)
