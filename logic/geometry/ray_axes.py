"""Ray directions of iGibson's predicates: up, down, and sixteen horizontal ones.

Source: Li et al., "iGibson 2.0: Object-Centric Simulation for Robot Learning of
Everyday Household Tasks", CoRL 2021, and the code of its `object_states`.
"""

import numpy as np
from jaxtyping import Bool, Float

from .frame_groups import FrameGroup, first_hits

ANGLES = np.arange(8) * np.pi / 8
"""Angles of the horizontal axes about z [rad]."""
HORIZONTAL = np.stack([np.cos(ANGLES), np.sin(ANGLES), np.zeros(8)], -1)
"""Eight axes at 22.5 degrees; axes k and k + 4 are orthogonal."""
VERTICAL = np.array([[0.0, 0.0, 1.0]])
"""The axis z."""
AXES = np.concatenate([HORIZONTAL, VERTICAL])
"""All nine axes, z last."""
IGIBSON_RANGE = np.array([1.0] * 8 + [5.0])
"""Length of iGibson's rays along each of `AXES` [m]."""


def hits_along_axes(
    group: FrameGroup,
    origin: Float[np.ndarray, "*points 3"],
    axes: Float[np.ndarray, "n 3"],
    reach: Float[np.ndarray, " n"] | float = np.inf,
) -> Float[np.ndarray, "*points n 2"]:
    """Return distances from points to a group along and against axes; inf for a miss.

    Args:
        group: the frames that rays may hit.
        origin: start of the rays, in the world.
        axes: unit vectors in the world.
        reach: length of the rays along each axis [m].
    """
    directions = np.stack([axes, -axes], 1)
    starts, directions = np.broadcast_arrays(origin[..., None, None, :], directions)
    hits = first_hits(group, starts.reshape(-1, 3), directions.reshape(-1, 3))
    hits = hits.reshape(directions.shape[:-1])
    return np.where(hits <= np.reshape(reach, (-1, 1)), hits, np.inf)


def is_surrounded(
    is_between: Bool[np.ndarray, "*points 9"],
) -> Bool[np.ndarray, "*points"]:
    """Return whether there are hits on both sides along two orthogonal axes.

    Args:
        is_between: for each of `AXES`, whether rays hit along and against it.
    """
    across = is_between[..., :8]
    level = (across[..., :4] & across[..., 4:]).any(-1)
    return np.asarray(is_between[..., 8] & across.any(-1) | level)
