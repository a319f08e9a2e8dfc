"""Rules for dust and stains: particles that a cleaning tool removes.

iGibson 2.0 (Li et al., 2021), `object_states/dirty.py` and `cleaning_tool.py`.
"""

import numpy as np
from jaxtyping import Bool, Float

DIRTY_SHARE = 0.5
"""Share of its particles above which an object is dirty; higher is clean sooner."""
DIRTY_FLOOR_SHARE = 0.75
"""Share of its particles above which a floor is dirty; higher is clean sooner."""


def wipe_step(
    active: Bool[np.ndarray, " n"],
    particles: Float[np.ndarray, "n 3"],
    lower: Float[np.ndarray, "3"],
    upper: Float[np.ndarray, "3"],
    working: bool,
) -> Bool[np.ndarray, " n"]:
    """Return which particles remain after a step.

    Args:
        active: which particles remained before.
        particles: their positions in the world [m].
        lower: lower corner of the tool's box along the world's axes [m].
        upper: upper corner of that box.
        working: whether the tool touches the object and, for stains, is soaked.
    """
    inside = ((lower <= particles) & (particles <= upper)).all(-1)
    return active & ~(inside & working)


def dirt_level(active: Bool[np.ndarray, "*T n"]) -> Float[np.ndarray, "*T"]:
    """Return the share of particles that remain; 0 where there never were any."""
    n = np.shape(active)[-1]
    return np.asarray(np.sum(active, -1) / max(n, 1))


def is_dirty(
    active: Bool[np.ndarray, "*T n"], threshold: float = DIRTY_SHARE
) -> Bool[np.ndarray, "*T"]:
    """Return whether more than a share of the particles remains."""
    n = np.shape(active)[-1]
    return np.asarray(np.sum(active, -1) > n * threshold)
