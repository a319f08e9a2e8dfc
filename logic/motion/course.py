"""Courses: straight or circular motions that a hand follows, as doors and drawers do.

A frame on the hand keeps some of its coordinates: on a straight course all but that
along the axis, on a circular one its origin on the axis and the direction of the axis.
These are rows of every path, with zero scale where there is no course, so that one
program serves for all paths.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from posewise.features import FS
from posewise.objectives.komo import KOMO
from posewise.objectives.objective import OT
from posewise.robots.config import Config
from posewise.robots.kinematics.transforms import (
    make_pose,
    matrix_to_quat,
    pose_inverse,
    pose_multiply,
    quat_conjugate,
    quat_log,
    quat_multiply,
    quat_to_matrix,
)

COURSE_FRAME = "frame of the course of a hand"
"""Name of the frame on the hand."""
POSITION_SCALE = 30.0
"""Scale of the rows of position [1/m]."""
ROTATION_SCALE = 10.0
"""Scale of the rows of directions [1]."""


@dataclass(frozen=True, eq=False)
class Course:
    """A straight motion along an axis, or a turn about it."""

    link: str
    """Link of the hand that follows it."""
    point: Float[np.ndarray, "3"]
    """A point on the axis, in the world [m]."""
    axis: Float[np.ndarray, "3"]
    """Unit vector, in the world."""
    is_turn: bool

    def progress(self, C: Config, now: Config) -> float:
        """Return how far the hand has moved between two worlds [m or rad]."""
        if not self.is_turn:
            moved = now.pose(self.link)[:3] - C.pose(self.link)[:3]
            return float(moved @ self.axis)
        before, after = (X.pose(self.link)[3:] for X in (C, now))
        turn = quat_log(quat_multiply(after, quat_conjugate(before)))
        return float(turn @ self.axis)

    def frame_pose(self) -> Float[np.ndarray, "7"]:
        """Return the world pose, at the start, of a frame with z along the axis."""
        side = np.eye(3)[int(np.abs(self.axis).argmin())]
        x = np.cross(side, self.axis)
        x /= np.linalg.norm(x)
        R = np.stack([x, np.cross(self.axis, x), self.axis], -1)
        return make_pose(self.point, matrix_to_quat(R))


def straight_course(
    link: str, start: Float[np.ndarray, "7"], end: Float[np.ndarray, "7"]
) -> Course:
    """Return the course of a link straight from one world pose to another."""
    direction = end[:3] - start[:3]
    direction /= np.linalg.norm(direction)
    return Course(link, start[:3], direction, is_turn=False)


def add_course_frame(X: Config, link: str, course: Course | None) -> None:
    """Add the frame of a course to a hand of a planning world."""
    pose = np.array([0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    if course is not None:
        pose = pose_multiply(pose_inverse(X.pose(link)), course.frame_pose())
    X.add_frame(COURSE_FRAME, link, pose=pose)


def follow_course(komo: KOMO, course: Course | None) -> None:
    """Constrain the hand of a path to a course, if there is one."""
    pose = komo.config.pose(COURSE_FRAME)
    R, free = quat_to_matrix(pose[3:]), np.zeros((3, 3))
    across, along, aside = free, free, free
    if course is not None:
        across = along = np.eye(3)
        if not course.is_turn:
            across = across - np.outer(course.axis, course.axis)
            aside = np.eye(3)
    for symbol, scale, target in (
        (FS.position, POSITION_SCALE * across, pose[:3]),
        (FS.vectorZ, ROTATION_SCALE * along, R[:, 2]),
        (FS.vectorX, ROTATION_SCALE * aside, R[:, 0]),
    ):
        komo.add_objective(
            None, symbol, [COURSE_FRAME], OT.eq, scale=scale, target=target
        )
