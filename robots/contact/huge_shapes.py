"""Reminder of links whose shapes are far larger than their robot: a wrong unit.

Meshes in millimetres are the usual cause. A robot's reach, the length of its longest
chain of joints, does not depend on them.
"""

import warnings
from functools import lru_cache

import numpy as np
from jaxtyping import Int

from ..errors import first_few
from ..kinematics.joint_types import joint_type
from ..world.frame import Frame
from ..world.kinematics_builder import topological_order
from .bodies import Bodies, body_radii, frame_bodies
from .own_links import robot_roots

MIN_RATIO = 10.0
"""Ratio of the extent of a link's shapes to its robot's reach from which they are huge.
Below 2 for all robots of `example-robot-data`, 200 to 1600 for these in millimetres."""
MIN_EXTENT = 3.0
"""Extent from which shapes are huge [m]: short joints may carry a normal door."""


def warn_of_huge_shapes(
    frames: tuple[Frame, ...], involved: Int[np.ndarray, "..."]
) -> None:
    """Warn of moving links that are far larger than their robot; once for each.

    Args:
        frames: all frames.
        involved: indices of those whose collisions are asked for, in any shape.
    """
    root, moves, reach = robot_chains(frames)
    limit = np.maximum(MIN_EXTENT, MIN_RATIO * reach[root])
    indices = np.unique(involved)
    candidates = indices[moves[indices] & (reach[root[indices]] > 0)]
    huge = [i for i in candidates if _extent(frames[i]) > limit[i]]
    if huge:
        _warn(tuple(frames[i] for i in huge), float(reach[root[huge[0]]]))


@lru_cache(maxsize=64)
def robot_chains(
    frames: tuple[Frame, ...],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return each frame's root, whether joints move it, and the reach of each root.

    The reach is the length of the longest chain of joints [m]; slides without limits
    count nothing.
    """
    root = robot_roots(frames)
    length, moves = np.zeros(len(frames)), np.zeros(len(frames), bool)
    reach = np.zeros(len(frames))
    for i in topological_order(frames):
        frame, up = frames[i], frames[i].parent
        if root[i] != i and up is not None:
            has_joint = frame.joint is not None and frame.joint.dim > 0
            moves[i] = moves[up] or has_joint
            length[i] = length[up] + np.linalg.norm(frame.origin[:3]) + _travel(frame)
        reach[root[i]] = max(reach[root[i]], length[i])
    return root, moves, reach


def _travel(frame: Frame) -> float:
    """Return how far the sliding coordinates of a frame go within their limits [m]."""
    joint = frame.joint
    if joint is None or joint.limits is None:
        return 0.0
    slides = [k for node in joint_type(joint.type).nodes for k, _ in node.translations]
    size = np.abs(joint.limits[:, slides])
    return float(size[np.isfinite(size)].sum())


def _extent(frame: Frame) -> float:
    """Return the largest distance of a shape's point from the frame's origin [m].

    Half-spaces, which have none, do not count.
    """

    def extent(group: Bodies) -> float:
        radii = body_radii(group.body)
        return float((np.linalg.norm(group.body.p, axis=1) + radii).max())

    sizes = [extent(group) for group in frame_bodies(frame)]
    return max((size for size in sizes if np.isfinite(size)), default=0.0)


@lru_cache(maxsize=256)
def _warn(frames: tuple[Frame, ...], reach: float) -> None:
    names = first_few([f"{f.name!r} ({_extent(f):.3g} m)" for f in frames])
    warnings.warn(
        f"Shapes for collisions are far larger than the robot: they extend from their"
        f" link by {names}, but all joints of the robot are within {reach:.2g} m. Its"
        ' meshes are probably in millimetres: write scale="0.001 0.001 0.001" in'
        " <mesh> of its file (of an MJCF, in the asset).",
        UserWarning,
        stacklevel=2,
    )
