"""Ranges of sources of heat and cold: which objects they reach."""

from typing import Literal, TypeAlias

import numpy as np
from jaxtyping import Float

from posewise.robots.contact.bodies import body_radii, frame_bodies
from posewise.robots.contact.gjk_numpy import min_distance
from posewise.robots.kinematics.joint_types import joint_type
from posewise.robots.world.frame import Frame

from ..geometry.frame_groups import FrameGroup, centre_of_mass

HeatSemantics: TypeAlias = Literal["posewise", "igibson"]
"""Name of a rule for what is in range: the nearest point, or the centre of mass."""
POINT = Frame("point")
"""A frame without shapes, which is a point for distances."""


def is_within(group: FrameGroup, point: Float[np.ndarray, "3"], limit: float) -> bool:
    """Return whether the nearest point of a group is within a distance of a point.

    A group without shapes is the point of its centre of mass.

    Args:
        group: an object.
        point: in the world [m].
        limit: the distance [m].
    """
    frames = group.collision_frames
    if not frames:
        return is_centre_within(group, point, limit)
    spheres = [_bounding_sphere(group, i) for i in frames]
    gaps = [np.linalg.norm(centre - point) - radius for centre, radius in spheres]
    near = [i for i, gap in zip(frames, gaps, strict=True) if gap <= limit]
    placed = [(group.C.frames[i], *group.pose(i)) for i in near]
    if not placed:
        return False
    nearest = min_distance(placed, [(POINT, np.eye(3), point)])
    return nearest is not None and bool(nearest.distance <= limit)


def is_centre_within(
    group: FrameGroup, point: Float[np.ndarray, "3"], limit: float
) -> bool:
    """Return whether the centre of mass is within a distance of a point, as in iGibson.

    The centre is that of the root frame alone.
    """
    centre = centre_of_mass(group, root_only=True)
    return bool(np.linalg.norm(centre - point) <= limit)


def _bounding_sphere(
    group: FrameGroup, frame: int
) -> tuple[Float[np.ndarray, "3"], float]:
    """Return a sphere about the origin of a frame that encloses its shapes [m]."""
    return group.pose(frame)[1], shape_radius(group, frame)


def shape_radius(group: FrameGroup, frame: int) -> float:
    """Return the largest distance of a frame's shapes from its origin [m]."""
    bodies = frame_bodies(group.C.frames[frame])
    reaches = [np.linalg.norm(b.body.p, axis=-1) + body_radii(b.body) for b in bodies]
    return float(max((r.max() for r in reaches), default=0.0))


def nearest_shape_point(
    group: FrameGroup, point: Float[np.ndarray, "3"]
) -> Float[np.ndarray, "3"]:
    """Return the point of a group's root frame that is nearest to a point.

    The given point itself where it is inside, or where the frame has no shapes; both in
    the world [m].
    """
    root = group.frames[0]
    if root not in group.collision_frames:
        return point
    placed = [(group.C.frames[root], *group.pose(root))]
    nearest = min_distance(placed, [(POINT, np.eye(3), point)])
    if nearest is None or nearest.distance == 0:
        return point
    return point + nearest.distance * nearest.normal


def enclosing_radius(group: FrameGroup) -> float:
    """Return a bound of how far shapes reach from the root frame's centre of mass [m].

    For all values of the joints inside the group.
    """
    R, p = group.pose(group.frames[0])
    centre = R.T @ (centre_of_mass(group, root_only=True) - p)
    # Bounds of the distances of the frames' origins from the centre of mass.
    origins: dict[int | None, float] = {group.frames[0]: float(np.linalg.norm(centre))}
    for i in group.frames[1:]:
        frame = group.C.frames[i]
        step = float(np.linalg.norm(frame.origin[:3])) + _travel(frame)
        origins[i] = origins[frame.parent] + step
    reaches = [origins[i] + shape_radius(group, i) for i in group.collision_frames]
    return max(reaches, default=0.0)


def _travel(frame: Frame) -> float:
    """Return how far a joint translates its frame at most [m]; inf if unlimited."""
    joint = frame.joint
    if joint is None:
        return 0.0
    coordinates = [
        k for node in joint_type(joint.type).nodes for k, _ in node.translations
    ]
    if not coordinates:
        return 0.0
    if joint.limits is None:
        return float("inf")
    largest = np.abs(joint.scale * joint.limits[:, coordinates]).max(0)
    return float(np.linalg.norm(largest))
