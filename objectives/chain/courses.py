"""Courses: motions of frames that are given, and not part of the solution.

A frame with a course is a root with a free joint in the solved world. Its coordinates
there are fixed, in each slice, by limits without a range: features, Jacobians and
distances between slices see a joint that moves, and the solver cannot change it. The
poses are data.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.kinematics.transforms import IDENTITY, quat_normalize
from posewise.robots.typing import FrameName


@dataclass(frozen=True, eq=False)
class Course:
    """The poses of a frame over the horizon."""

    frame: FrameName
    poses: Float[np.ndarray, "states 7"]
    """World poses at the start and in each of T slices."""


def make_course(
    frame: FrameName, poses: Float[np.ndarray, "n d"], C: Config, slices: int
) -> Course:
    """Return the course of a frame through poses (n, 7) or positions (n, 3).

    With positions it keeps its orientation. Without a row for the start it begins where
    the frame is.
    """
    present = C.pose(frame)
    if poses.shape[1] == 3:
        turns = np.tile(present[3:], (len(poses), 1))
        poses = np.concatenate([poses, turns], 1)
    if len(poses) == slices:
        poses = np.concatenate([present[None], poses])
    quaternions = quat_normalize(poses[:, 3:])
    # Of both signs of a rotation the nearer one, so that slices are straight between.
    turned = np.sum(quaternions[1:] * quaternions[:-1], 1) < 0
    quaternions[1:] *= np.where(np.cumsum(turned) % 2, -1.0, 1.0)[:, None]
    return Course(frame, np.concatenate([poses[:, :3], quaternions], 1))


def course_joint(frame: FrameName) -> str:
    """Return the name of the joint that moves a frame along its course."""
    return f"course of {frame}"


def add_courses(X: Config, frames: tuple[FrameName, ...]) -> None:
    """Give frames of a world the joints of their courses.

    What is attached to them moves with them. They cannot collide with what no joint of
    the world moves: there would be nothing to change.
    """
    for frame in frames:
        X.detach(frame, joint=None)
    moves = X.tree.model.kinematics.dof_mask[:-1]
    fixed = [X.frame_names[i] for i in np.flatnonzero(~np.any(moves, axis=1))]
    for frame in frames:
        carried = sorted(set(X.subtree(frame)).intersection(fixed))
        X.ignore_collisions(carried, fixed)
    for frame in frames:
        pose = X.pose(frame)
        X.detach(frame, joint="free")
        joint = replace(X.tree.joint(X.index(frame)), name=course_joint(frame))
        X.replace_frame(frame, origin=IDENTITY.copy(), joint=joint)
        X.set_joint(joint.name, pose)


def set_courses(
    X: Config,
    courses: tuple[Course, ...],
    paths: Float[np.ndarray, "*batch T nq"],
) -> None:
    """Write the poses of courses into paths of the solved world."""
    for course in courses:
        paths[..., X.joints.coordinates([course_joint(course.frame)])] = course.poses[
            1:
        ]


def set_course_state(
    X: Config, courses: tuple[Course, ...], q: Float[np.ndarray, " nq"], t: int
) -> None:
    """Write the poses in a slice (-1: the start) into coordinates of that world."""
    for course in courses:
        q[X.joints.coordinates([course_joint(course.frame)])] = course.poses[t + 1]
