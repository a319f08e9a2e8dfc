"""Overlaps that nothing forbids, and small footings, against depths in closed form."""

import re

import numpy as np
import pytest

import posewise as pw
from posewise import FS, OT, logic
from posewise.logic.predicates.footing import rests_on_little
from posewise.objectives.checks.doubts import solution_doubts_of
from posewise.objectives.checks.path_doubts import overlap_doubts
from posewise.objectives.problem.spec import mode_sequence

IDENTITY = (1, 0, 0, 0)


def oven() -> pw.Config:
    """Return two walls on a floor, food in front of them, and a gripper above it."""
    C = pw.Config()
    walls = [(pw.Box([0.4, 0.02, 0.3]), [0, y, 0, *IDENTITY]) for y in (-0.3, 0.3)]
    C.add_object("oven", walls)
    food = pw.Box([0.1] * 3)
    C.add_object("food", [food], pose=[0, -0.6, 0, *IDENTITY], joint="free")
    C.add_frame("arm", joint="transZ", limits=[[0], [1]], q=[0.3])
    C.add_frame("tip", "arm", position=[0, -0.6, 0], shape=pw.Box([0.02] * 3))
    return C


def told_on_line(C: pw.Config, end: float, arm: float = 0.3) -> list[str]:
    """Return what is told of a path on which the food moves along y."""
    komo = pw.KOMO(C, 1, 5, 1)
    path = np.tile(C.q, (5, 1))
    path[:, C.joints.coordinates(["food"])[1]] = np.linspace(-0.6, end, 5)
    path[:, C.joints.coordinates(["arm"])] = arm
    return list(overlap_doubts(mode_sequence(komo.spec), path))


def test_the_deepest_overlap_of_a_path_is_told():
    C = oven()
    # In slice 2 the food's middle is 1.5 cm from that of the wall, whose half
    # thicknesses are 5 and 1 cm: 4.5 cm is the least way out.
    (text,) = told_on_line(C, 0.03)
    assert "'oven' and 'food' by 45.0 mm in slice 2" in text
    assert told_on_line(C, -0.45) == []  # 15 cm from the wall
    assert told_on_line(C, -0.361) == []  # overlaps by 1 mm, as solves may
    # The robot's tip, of 2 cm, at the food's upper face.
    (text,) = told_on_line(C, -0.6, arm=0.05)
    assert "'food' and 'tip' by 10.0 mm in slice 0" in text


def test_what_is_ignored_or_no_object_is_not_told():
    C = oven()
    C.ignore_collisions("food", "oven")
    assert told_on_line(C, 0.03) == []
    C = oven()
    C.set_contact("food", 0)
    assert told_on_line(C, 0.03) == []
    # A robot in a wall is what its own objectives are about.
    C = oven()
    C.add_frame("wall", position=[0, -0.6, 0.3], shape=pw.Box([0.1] * 3), contact=1)
    assert told_on_line(C, -0.45) == []


def test_a_solution_tells_what_overlaps():
    C = oven()
    C.lock("arm")
    komo = pw.KOMO(C, 1, 4, 2)
    komo.add_control_objective(2, 0.1)
    goal = [0, -0.31, 0]
    komo.add_objective([1], FS.position, ["food"], OT.eq, target=goal, scale=10)
    solution = komo.solve(progress=False)
    (text,) = solution.doubts
    assert solution.feasible and "'oven' and 'food' by 50.0 mm in slice 3" in text
    assert text in solution.report()


def at(x: float = 0.0, y: float = 0.0, z: float = 0.0) -> list[float]:
    return [x, y, z, *IDENTITY]


KNOB = [
    (pw.Box([0.6, 0.6, 0.6]), at(z=-0.5)),
    (pw.Box([0.03, 0.04, 0.02]), at(0.315, 0, -0.01)),
]
LEGS = [
    (pw.Box([0.03, 0.03, 0.4]), at(x, y, 0.2))
    for x in (-0.18, 0.18)
    for y in (-0.18, 0.18)
]
TABLE, SHEET = [pw.Box([0.6, 0.6, 0.02])], [pw.Box([0.3, 0.4, 0.01])]
FOOTINGS = {
    # A knob of 3 x 4 cm below a sheet of 30 x 40 cm: 1 %.
    "a sheet on a knob": (KNOB, SHEET, at(0.315, 0, 0.005), True),
    "a sheet on a table": (TABLE, SHEET, at(0, 0, 0.015), False),
    "half over the edge": (TABLE, SHEET, at(0.28, 0, 0.015), False),
    "a chair": (
        [pw.Plane()],
        [(pw.Box([0.4, 0.4, 0.02]), at(z=0.41)), *LEGS],
        at(),
        False,
    ),
    # 7 % of the plate's area.
    "a plate on a glass": (
        [pw.Cylinder(0.1, 0.035)],
        [pw.Cylinder(0.01, 0.13)],
        at(0, 0, 0.055),
        False,
    ),
    "a ball": (TABLE, [pw.Sphere(0.1)], at(0, 0, 0.11), False),
}


@pytest.mark.parametrize("case", FOOTINGS)
def test_small_footings_are_told(case):
    lower, upper, pose, is_told = FOOTINGS[case]
    C = pw.Config()
    C.add_object("lower", lower)
    C.add_object("upper", upper, pose=pose, joint="free")
    on = logic.OnTopOf("upper", "lower")
    assert on.holds(C)
    sentences = list(rests_on_little(on, C, "upper", "lower"))
    assert len(sentences) == is_told
    assert all(re.search("carries 'upper' on [12] %", text) for text in sentences)
    assert [*solution_doubts_of(on, C)][: len(sentences)] == sentences
