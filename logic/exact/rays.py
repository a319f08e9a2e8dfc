"""The rays of iGibson's predicates: up, down, and sixteen ways round."""

import numpy as np
from jaxtyping import Bool, Float

from ..geometry.frame_groups import FrameGroup, first_hits

ANGLES = np.arange(8) * np.pi / 8
HORIZONTAL = np.stack([np.cos(ANGLES), np.sin(ANGLES), np.zeros(8)], -1)
"""Eight axes at 22.5 degrees; axes k and k + 4 are orthogonal."""
VERTICAL = np.array([[0.0, 0.0, 1.0]])
AXES = np.concatenate([HORIZONTAL, VERTICAL])
IGIBSON_RANGE = np.array([1.0] * 8 + [5.0])
"""How far iGibson looks along each of `AXES` [m]."""


def hits_along_axes(
    thing: FrameGroup,
    origin: Float[np.ndarray, "*points 3"],
    axes: Float[np.ndarray, "n 3"],
    reach: Float[np.ndarray, " n"] | float = np.inf,
) -> Float[np.ndarray, "*points n 2"]:
    """Distances from points to a thing along axes and against them; inf: no hit.

    Args:
        thing: what is to be met.
        origin: where rays start, in the world.
        axes: unit vectors in the world.
        reach: what is farther is not met [m].
    """
    ways = np.stack([axes, -axes], 1)
    starts, ways = np.broadcast_arrays(origin[..., None, None, :], ways)
    hits = first_hits(thing, starts.reshape(-1, 3), ways.reshape(-1, 3))
    hits = hits.reshape(ways.shape[:-1])
    return np.where(hits <= np.reshape(reach, (-1, 1)), hits, np.inf)


def is_surrounded(both: Bool[np.ndarray, "*points 9"]) -> Bool[np.ndarray, "*points"]:
    """Whether something is on both sides along two orthogonal axes.

    Args:
        both: for each of `AXES`, whether it is on both sides along that one.
    """
    across = both[..., :8]
    level = (across[..., :4] & across[..., 4:]).any(-1)
    return np.asarray(both[..., 8] & across.any(-1) | level)
