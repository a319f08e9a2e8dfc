"""Dust and stains: particles that a cleaning tool takes away, iGibson 2.0's rules."""

import numpy as np
from jaxtyping import Bool, Float

DIRTY_SHARE = 0.5
"""An object is dirty while more than this share of its particles is there."""
DIRTY_FLOOR_SHARE = 0.75
"""The same for floors."""


def wipe_step(
    active: Bool[np.ndarray, " n"],
    particles: Float[np.ndarray, "n 3"],
    lower: Float[np.ndarray, "3"],
    upper: Float[np.ndarray, "3"],
    working: bool,
) -> Bool[np.ndarray, " n"]:
    """Which particles are left after a step.

    Args:
        active: which were there before.
        particles: their positions in the world [m].
        lower: corner of the tool's box along the world's axes [m].
        upper: its other corner.
        working: whether the tool touches the object; for stains, and is soaked.
    """
    inside = ((lower <= particles) & (particles <= upper)).all(-1)
    return active & ~(inside & working)


def dirt_level(active: Bool[np.ndarray, "*T n"]) -> Float[np.ndarray, "*T"]:
    """Share of the particles that are still there; 0 where there never were any."""
    n = np.shape(active)[-1]
    return np.asarray(np.sum(active, -1) / max(n, 1))


def is_dirty(
    active: Bool[np.ndarray, "*T n"], threshold: float = DIRTY_SHARE
) -> Bool[np.ndarray, "*T"]:
    """Whether more than a share of the particles is still there."""
    n = np.shape(active)[-1]
    return np.asarray(np.sum(active, -1) > n * threshold)
