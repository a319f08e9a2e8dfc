"""The scale of a world: the reach of its robots, and objects far larger than that.

Lengths in millimetres make objects a thousand times too large.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from ..geometry.local_bounds import local_bounds
from ..geometry.shapes import Marker, Mesh, Plane, PointCloud, Shape
from ..kinematics.joint_types import joint_type
from ..world.frame import Frame
from .huge_shapes import robot_chains

MIN_HUGE_SIZE = 10.0
"""Least extent of an object from which it may be in millimetres [m]: floors and walls
are thinner."""
MIN_SIZE_RATIO = 10.0
"""The same as a ratio to the reach of the robots; an object must be beyond both."""


@dataclass(frozen=True, eq=False)
class WorldScale:
    """The sizes of a world's robots and objects, which do not depend on its state."""

    bases: Int[np.ndarray, " robots"]
    """Indices of the frames that carry robots; empty: no robot, or one that drives."""
    reach: float
    """Length of the longest chain of joints [m]."""
    huge: tuple[str, ...]
    """Objects that are far larger than that, in words."""

    @classmethod
    def of(cls, frames: tuple[Frame, ...]) -> "WorldScale":
        """Measure the frames of a world."""
        root, moves, reach = robot_chains(frames)
        robots = np.unique(root[moves])
        largest = float(reach[robots].max(initial=0.0))
        if not largest or any(_drives(frames[i]) for i in np.flatnonzero(moves)):
            return cls(np.zeros(0, int), 0.0, ())
        limit = max(MIN_HUGE_SIZE, MIN_SIZE_RATIO * largest)
        huge = []
        for frame in frames:
            size = max((least_extent(g.shape) for g in frame.geometries), default=0.0)
            if size >= limit:
                huge.append(f"{frame.name!r} ({size:.4g} m across)")
        return cls(robots, largest, tuple(huge))


def _drives(frame: Frame) -> bool:
    """Return whether the joint of a frame slides without limits."""
    joint = frame.joint
    if joint is None:
        return False
    slides = [k for node in joint_type(joint.type).nodes for k, _ in node.translations]
    if not slides:
        return False
    return joint.limits is None or not np.isfinite(joint.limits[:, slides]).all()


def least_extent(shape: Shape) -> float:
    """Return the extent of a solid along its shortest axis [m]; else 0.

    Meshes count 0 too, as their files would have to be read.
    """
    if isinstance(shape, Marker | Mesh | Plane | PointCloud):
        return 0.0
    low, high = local_bounds(shape)
    return float((high - low).min())
