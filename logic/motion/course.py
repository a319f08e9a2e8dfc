"""Courses: straight or circular motions that a hand follows, as doors and drawers do.

A frame on the hand keeps some of its coordinates: on a straight course all but that
along the axis, on a circular one its origin on the axis and the direction of the axis.
Where it moves something, it goes no further than that is to move, nor back: a drawer
has stops, and a pushed block does not come back. These are rows of every path, with
zero scale where there is no course, so that one program serves for all paths.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from posewise.features import FS
from posewise.objectives.komo import KOMO
from posewise.objectives.terms.objective import OT
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


@dataclass(frozen=True, slots=True)
class CourseRows:
    """Choices of the rows of courses and of their check, varied in docs/evidence.md."""

    position_scale: float = 30.0
    """Scale of the rows of position [1/m]; with a larger one a hand comes off its
    course less, and paths are harder to solve."""
    rotation_scale: float = 10.0
    """Scale of the rows of directions [1]; a larger one lets a hand tilt less."""
    limit_tolerance: float = 1e-3
    """Amount by which a hand may be beyond the limits of its course [m or rad]:
    configurations at their ends are no more exact. Larger values press a door against
    its stop."""
    grasp_distance: float = 0.1
    """Distance from the link of a hand to what it holds [m], by which a tilt counts;
    with a larger one hands may tilt less."""
    max_deviation: float = 5e-3
    """Distance that a hand may come off its course between slices [m]: fingers give way
    as far. With more, it loses a handle."""
    places_per_step: int = 4
    """Number of places from slice to slice at which that is measured; more take
    longer."""


COURSE_ROWS = CourseRows()


@dataclass(frozen=True, eq=False)
class HandCourse:
    """A straight motion along an axis, or a turn about it."""

    link: str
    """Link of the hand that follows it."""
    point: Float[np.ndarray, "3"]
    """A point on the axis, in the world [m]."""
    axis: Float[np.ndarray, "3"]
    """Unit vector, in the world."""
    is_turn: bool
    limits: tuple[float, float] = (-np.inf, np.inf)
    """Least and largest progress from the start [m or rad]."""

    def progress(self, C: Config, now: Config) -> float:
        """Return how far the hand has moved between two worlds [m or rad]."""
        if not self.is_turn:
            moved = now.pose(self.link)[:3] - C.pose(self.link)[:3]
            return float(moved @ self.axis)
        before, after = (X.pose(self.link)[3:] for X in (C, now))
        turn = quat_log(quat_multiply(after, quat_conjugate(before)))
        return float(turn @ self.axis)

    def deviation(self, C: Config, now: Config) -> float:
        """Return how far the hand has come off its course between two worlds [m].

        It is the distance of its link, and of what that holds before it.
        """
        before, after = (X.pose(self.link) for X in (C, now))
        progress, expected = self.progress(C, now), before.copy()
        if self.is_turn:
            turn = np.append(np.cos(progress / 2), np.sin(progress / 2) * self.axis)
            arm = quat_to_matrix(turn) @ (before[:3] - self.point)
            expected = make_pose(self.point + arm, quat_multiply(turn, before[3:]))
        else:
            expected[:3] += progress * self.axis
        tilt = quat_log(quat_multiply(after[3:], quat_conjugate(expected[3:])))
        off = np.linalg.norm(after[:3] - expected[:3])
        return float(off + COURSE_ROWS.grasp_distance * np.linalg.norm(tilt))

    def frame_pose(self) -> Float[np.ndarray, "7"]:
        """Return the world pose, at the start, of a frame with z along the axis."""
        side = np.eye(3)[int(np.abs(self.axis).argmin())]
        x = np.cross(side, self.axis)
        x /= np.linalg.norm(x)
        R = np.stack([x, np.cross(self.axis, x), self.axis], -1)
        return make_pose(self.point, matrix_to_quat(R))


def straight_course(
    link: str, start: Float[np.ndarray, "7"], end: Float[np.ndarray, "7"]
) -> HandCourse:
    """Return the course of a link straight from one world pose to another."""
    direction = end[:3] - start[:3]
    direction /= np.linalg.norm(direction)
    return HandCourse(link, start[:3], direction, is_turn=False)


def add_course_frame(X: Config, link: str, course: HandCourse | None) -> None:
    """Add the frame of a course to a hand of a planning world."""
    pose = np.array([0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    if course is not None:
        pose = pose_multiply(pose_inverse(X.pose(link)), course.frame_pose())
    X.add_frame(COURSE_FRAME, link, pose=pose)


def follow_course(komo: KOMO, course: HandCourse | None) -> None:
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
        (FS.position, COURSE_ROWS.position_scale * across, pose[:3]),
        (FS.vectorZ, COURSE_ROWS.rotation_scale * along, R[:, 2]),
        (FS.vectorX, COURSE_ROWS.rotation_scale * aside, R[:, 0]),
    ):
        komo.add_objective(
            None, symbol, [COURSE_FRAME], OT.eq, scale=scale, target=target
        )
    for symbol, scale, target in _limit_rows(course, pose):
        komo.add_objective(
            None, symbol, [COURSE_FRAME], OT.ineq, scale=scale, target=target
        )


def _limit_rows(
    course: HandCourse | None, pose: Float[np.ndarray, "7"]
) -> Iterator[tuple[FS, Float[np.ndarray, "1 3"], Float[np.ndarray, "3"]]]:
    """Yield symbols with scales and targets of rows that limit the progress of a hand.

    Straight courses have a row for each end. On a turn the direction x, which is at an
    angle of zero in the beginning, is within half of the range from its middle.

    Args:
        course: the course, if there is one.
        pose: of the frame of the course at the start, in the world.
    """
    nothing, anywhere = np.zeros((1, 3)), np.zeros(3)
    limits = (-np.inf, np.inf) if course is None else course.limits
    is_turn = course is not None and course.is_turn
    R = quat_to_matrix(pose[3:])
    for side, limit in zip((-1, 1), limits, strict=True):
        if is_turn or not np.isfinite(limit):
            yield FS.position, nothing, anywhere
            continue
        end = pose[:3] + (limit + side * COURSE_ROWS.limit_tolerance) * R[:, 2]
        yield FS.position, side * COURSE_ROWS.position_scale * R[None, :, 2], end
    half = (limits[1] - limits[0]) / 2 + COURSE_ROWS.limit_tolerance
    if not is_turn or not half < np.pi:
        yield FS.vectorX, nothing, anywhere
        return
    angle = sum(limits) / 2
    middle = np.cos(angle) * R[:, 0] + np.sin(angle) * R[:, 1]
    yield FS.vectorX, -COURSE_ROWS.rotation_scale * middle[None], np.cos(half) * middle
