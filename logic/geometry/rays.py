"""The rays of iGibson's predicates: up, down, and sixteen ways round."""

import numpy as np
from jaxtyping import Bool, Float

from .solids import Solid, first_hits

ANGLES = np.arange(8) * np.pi / 8
HORIZONTAL = np.stack([np.cos(ANGLES), np.sin(ANGLES), np.zeros(8)], -1)
"""Eight axes at 22.5 degrees; axes k and k + 4 are orthogonal."""
VERTICAL = np.array([[0.0, 0.0, 1.0]])
AXES = np.concatenate([HORIZONTAL, VERTICAL])
IGIBSON_RANGE = np.array([1.0] * 8 + [5.0])
"""How far iGibson looks along each of `AXES` [m]."""


def hits_both_ways(
    thing: Solid,
    origin: Float[np.ndarray, "3"],
    axes: Float[np.ndarray, "n 3"],
    reach: Float[np.ndarray, " n"] | float = np.inf,
) -> Float[np.ndarray, "n 2"]:
    """Distances from a point to a thing along axes and against them; inf: no hit.

    Args:
        thing: what is to be met.
        origin: of all rays, in the world.
        axes: unit vectors in the world.
        reach: what is farther is not met [m].
    """
    hits = first_hits(thing, origin, np.concatenate([axes, -axes])).reshape(2, -1)
    return np.where(hits <= reach, hits, np.inf).T


def crossing_axes(both: Bool[np.ndarray, "9"]) -> str | None:
    """Two orthogonal axes along both of which something is on both sides, if any.

    Args:
        both: for each of `AXES`, whether it is.
    """
    across = both[:8]
    if both[8] and across.any():
        return "z and an axis across it"
    if (across[:4] & across[4:]).any():
        return "two axes across z"
    return None
