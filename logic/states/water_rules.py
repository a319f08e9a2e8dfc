"""Water sources let go droplets, and what they touch gets wet: iGibson 2.0's rules."""

from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from posewise.robots.world.object_states import Stream

DROPLET_PERIOD = 0.1
"""Nominal time between two droplets [s]."""
SPOUT_OFFSET = np.array([0.0, 0.0, -0.05])
"""Where droplets begin, from a source's point, in the world [m]."""


def stream_step(
    stream: Stream, dt: float, period: float = DROPLET_PERIOD
) -> tuple[Stream, bool]:
    """A running stream one step later, and whether a droplet was let go.

    A step that lets one go counts nothing: at 30 Hz there is one every 4 steps, not 3.
    """
    if not stream.running or stream.left == 0:
        return stream, False
    if stream.since < period / dt:
        return replace(stream, since=stream.since + 1), False
    return replace(stream, since=0.0, left=stream.left - 1), True


def emission(
    running: Bool[np.ndarray, " T"],
    dt: float,
    period: float = DROPLET_PERIOD,
    drops: int = 10,
) -> Bool[np.ndarray, " T"]:
    """At which of T steps a source lets a droplet go.

    Args:
        running: whether it is on during each step: a tap switched on in a step runs
            from the next one on.
        dt: length of a step [s].
        period: nominal time between two droplets [s].
        drops: how many there are; none comes back.
    """
    stream, found = Stream(left=drops), np.zeros(len(running), bool)
    for k, on in enumerate(running):
        stream, found[k] = stream_step(replace(stream, running=bool(on)), dt, period)
    return found


def wetness(
    new_droplets: Int[np.ndarray, "*T"], start: int = 0
) -> Int[np.ndarray, "*T"]:
    """Droplets absorbed after each step: none is ever lost."""
    return start + np.cumsum(new_droplets)


def is_soaked(wetness: Any, level: Any = 1) -> Any:
    """Whether so many droplets were absorbed; iGibson's latch is level 1."""
    return np.asarray(wetness) >= level
