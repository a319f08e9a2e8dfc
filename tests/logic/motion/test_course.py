"""Limits and deviations of courses, against values of a joint that a hand holds."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.worlds import random_pose

import posewise as pw
from posewise import OT
from posewise.logic.motion.course import (
    COURSE_ROWS,
    HandCourse,
    add_course_frame,
    follow_course,
)
from posewise.robots.kinematics.transforms import IDENTITY, quat_to_matrix


def hand_on_door(
    joint: str, first: float, limits, is_turned: bool = True
) -> tuple[pw.Config, HandCourse]:
    """Return a hand that is fixed to a door or drawer, and its course."""
    C = pw.Config()
    pose = random_pose(np.random.default_rng(3)) if is_turned else IDENTITY
    C.add_frame("door", joint=joint, pose=pose)
    C.add_frame("hand", "door", position=[0.3, 0.2, 0.1])
    C.q = [first]
    axis = quat_to_matrix(pose[3:])[:, 2]
    course = HandCourse("hand", pose[:3], axis, joint == "hingeZ", limits)
    add_course_frame(C, "hand", course)
    return C, course


def violation(
    C: pw.Config, course: HandCourse | None, change: float, kind: OT
) -> float:
    """Return the largest violation of a course after a change of a joint value."""
    komo = pw.KOMO(C)
    follow_course(komo, course)
    world = C.copy()
    world.q = C.q + change
    rows = [o.feature.eval(world)[0] for o in komo.objectives if o.type is kind]
    values = np.concatenate(rows)
    return float(np.abs(values).max() if kind is OT.eq else values.max())


CHANGES = np.linspace(-0.5, 3.0, 36)


@pytest.mark.sampled
@pytest.mark.parametrize("first", [0.0, 0.4])
@pytest.mark.parametrize("limits", [(0.0, 0.2), (-0.3, 0.0), (0.0, 2.2)])
@pytest.mark.parametrize("joint", ["transZ", "hingeZ"])
def test_a_hand_stays_within_the_limits_of_its_course(joint, limits, first):
    C, course = hand_on_door(joint, first, limits)
    low, high = limits
    for change in CHANGES:
        assert violation(C, course, change, OT.eq) < 1e-9
        beyond = max(low - change, change - high)
        assert (violation(C, course, change, OT.ineq) > 0) == (
            beyond > COURSE_ROWS.limit_tolerance
        )
    moved = C.copy()
    moved.q = C.q + high
    np.testing.assert_allclose(course.progress(C, moved), high, atol=1e-12)


@pytest.mark.parametrize("is_turned", [True, False])
@pytest.mark.parametrize("joint", ["transZ", "hingeZ"])
def test_a_course_without_limits_has_none(joint, is_turned):
    C, course = hand_on_door(joint, 0.0, (-np.inf, np.inf), is_turned)
    assert max(violation(C, course, change, OT.ineq) for change in CHANGES) <= 0
    assert violation(C, None, 0.3, OT.ineq) <= 0


@pytest.mark.parametrize("joint", ["transZ", "hingeZ"])
def test_what_a_hand_comes_off_its_course(joint):
    C, course = hand_on_door(joint, 0.4, (-np.inf, np.inf))
    moved = C.copy()
    for change in CHANGES:
        moved.q = C.q + change
        assert course.deviation(C, moved) < 1e-9
    moved.q = C.q
    # Off by 2 cm across a straight way, by 0.1 rad off its direction.
    moved.add_frame("off", "hand", position=[0.02, 0, 0])
    C.add_frame("off", "hand")
    moved.add_frame("tilted", "hand", pose=[0, 0, 0, np.cos(0.05), np.sin(0.05), 0, 0])
    C.add_frame("tilted", "hand")
    amounts = {"off": 0.02, "tilted": 0.1 * COURSE_ROWS.grasp_distance}
    for name, amount in amounts.items():
        off = replace(course, link=name).deviation(C, moved)
        np.testing.assert_allclose(off, amount, atol=1e-9)
