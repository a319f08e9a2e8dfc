"""Overlaps, small footings, what sticks out or floats, against sizes in closed form."""

import re
import sys

import numpy as np
import pytest

import posewise as pw
from posewise import FS, OT, logic
from posewise.logic.exact.footing import carried_shares_at
from posewise.logic.exact.protrusion import protrusions_at
from posewise.logic.predicates.footing import rests_on_little
from posewise.logic.predicates.intrusion import overlaps_unseen, sticks_out
from posewise.objectives.checks.doubts import (
    doubts_of,
    doubts_of_rest,
    solution_doubts_of,
)
from posewise.objectives.checks.floating import describe_floating
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
    # Measured by columns of 0.5 x 0.6 cm.
    words = r"on about 1[0-4] of the 1200 cm² that it covers \(1 %\)"
    assert all(re.search(words, text) for text in sentences)
    assert [*solution_doubts_of(on, C)][: len(sentences)] == sentences


def kitchen(door: float | None = None) -> pw.Config:
    """Return an oven of 60 x 60 x 50 cm, open to -y, perhaps with a door, and food.

    The door turns about the lower front edge, and is open by an angle [rad].
    """
    C = pw.Config()
    panels = [
        (pw.Box([0.6, 0.6, 0.02]), at(z=-0.24)),
        (pw.Box([0.6, 0.6, 0.02]), at(z=0.24)),
        (pw.Box([0.02, 0.6, 0.5]), at(-0.29)),
        (pw.Box([0.02, 0.6, 0.5]), at(0.29)),
        (pw.Box([0.6, 0.02, 0.5]), at(y=0.29)),
    ]
    C.add_object("oven", panels)
    if door is not None:
        hinge = {"joint": "hingeX", "limits": [[0], [2]], "q": [door]}
        C.add_frame("hinge", "oven", position=[0, -0.31, -0.25], **hinge)
        C.add_frame(
            "door", "hinge", position=[0, 0, 0.25], shape=pw.Box([0.6, 0.02, 0.5])
        )
    C.add_object("food", [pw.Box([0.1, 0.2, 0.1])], pose=at(z=-0.18), joint="free")
    return C


INSIDE = logic.InsideOf("food", "oven")
PROTRUSIONS = {
    "in the middle": (None, at(z=-0.18), 0.0),
    # Its half length of 10 cm ends at -0.32, the walls at -0.3.
    "out of the front": (None, at(y=-0.22, z=-0.18), 0.02),
    "within rounding": (None, at(y=-0.203, z=-0.18), 0.003),
    "over an open door": (np.pi / 2, at(y=-0.28, z=-0.18), 0.08),
    # The door reaches to -0.32: it overlaps the door, which is told as an overlap.
    "in a closed door": (0.0, at(y=-0.215, z=-0.18), 0.0),
    "through a closed door": (0.0, at(y=-0.24, z=-0.18), 0.02),
}


@pytest.mark.parametrize("case", PROTRUSIONS)
def test_what_sticks_out_of_a_container_is_told(case):
    door, pose, expected = PROTRUSIONS[case]
    C = kitchen(door)
    C.set_pose("food", pose)
    assert INSIDE.holds(C)
    (protrusion,) = protrusions_at(C, "food", "oven", np.array([pose]))
    assert abs(protrusion - expected) < 1e-6
    sentences = list(sticks_out(INSIDE, C, "food", "oven"))
    assert len(sentences) == (expected > 0.005)
    words = f"'food' sticks out of 'oven' by {100 * expected:.1f} cm"
    assert all(words in text for text in sentences)


def test_what_looks_out_of_a_bowl_does_not_stick_out():
    C = kitchen()
    C.set_pose("oven", [0, 0, 0, np.sqrt(0.5), -np.sqrt(0.5), 0, 0])  # opens upwards
    pose = at(z=0.26)  # from 21 to 31 cm, with walls up to 30 cm
    C.set_pose("food", pose)
    assert INSIDE.holds(C)
    assert protrusions_at(C, "food", "oven", np.array([pose])) == 0.0


FLAGS = {
    "by a flag": (lambda C: C.set_contact("oven", 0), True),
    "by choice": (lambda C: C.ignore_collisions("food", "oven"), False),
    "not": (lambda C: None, False),
}


@pytest.mark.parametrize("case", FLAGS)
def test_overlaps_that_contact_flags_hide_are_told(case):
    exclude, is_told = FLAGS[case]
    C = kitchen()
    C.set_pose("food", at(z=-0.22))  # 4 cm in the floor of 2 cm
    exclude(C)
    sentences = list(overlaps_unseen(INSIDE, C, "food", "oven"))
    assert len(sentences) == is_told
    assert all("'food' and 'oven' overlap by 40.0 mm" in text for text in sentences)


def stand(position: list[float], legs: bool = False) -> pw.Config:
    """Return a body above a table whose top is at z = 0, beside a wall and a hook."""
    C = pw.Config()
    C.add_frame("table", position=[0, 0, -0.05], shape=pw.Box([2.0, 2.0, 0.1]))
    C.add_frame("wall", position=[0.5, 0, 0.5], shape=pw.Box([0.1, 2.0, 1.0]))
    C.add_frame("peg", position=[0, 0.8, 0.5], shape=pw.Box([0.02, 0.3, 0.02]))
    parts = [(pw.Box([0.2, 0.2, 0.02]), at())]
    if legs:
        corners = [(x, y) for x in (-0.097, 0.097) for y in (-0.097, 0.097)]
        parts += [(pw.Box([0.002, 0.002, 0.1]), at(x, y, -0.06)) for x, y in corners]
    C.add_object("body", parts, pose=at(*position), joint="free")
    return C


FLOATING = {
    "on the table": ([0, 0, 0.01], False, ""),
    "within the gap": ([0, 0, 0.014], False, ""),
    "above the table": ([0, 0, 0.06], False, "that of 'table', 50 mm lower"),
    "on thin legs": ([0, 0, 0.11], True, ""),
    "touching a wall": ([0.35, 0, 0.31], False, "that of 'table', 300 mm lower"),
    "beside the table": ([3, 0, 0.5], False, "nothing is straight below it"),
    "over the edge": ([1.05, 0, 0.01], False, ""),
    "on a peg": ([0, 0.8, 0.52], False, ""),
    "below it": ([0, 0.8, 0.45], False, "that of 'table', 440 mm lower"),
}


@pytest.mark.parametrize("case", FLOATING)
def test_what_nothing_carries_is_told(case):
    position, legs, expected = FLOATING[case]
    sentence = describe_floating(stand(position, legs), "body")
    assert expected in sentence and bool(sentence) == bool(expected)


def test_what_hangs_or_is_held_does_not_float():
    C = stand([0, 0, 0.5])
    # A frame around the peg hangs on it by its upper bar.
    bars = [(pw.Box([0.2, 0.02, 0.02]), at(z=z)) for z in (-0.1, 0.1)]
    C.add_object("frame", bars, pose=at(0, 0.8, 0.42), joint="free")
    assert describe_floating(C, "frame") == ""
    assert "'body' is in the air" in describe_floating(C, "body")
    # Two fingers, 2 mm from its sides.
    for name, x in (("left", -0.112), ("right", 0.112)):
        C.add_frame(name, position=[x, 0, 0.5], shape=pw.Box([0.02] * 3))
    assert describe_floating(C, "body") == ""


def test_objects_of_which_a_constraint_says_what_carries_them_are_left_out():
    C = stand([0, 0, 0.06])
    near = logic.NextTo("body", "table")
    (text,) = doubts_of_rest([near], C, ["body"])
    assert "50 mm lower" in text and "logic.Stable('body')" in text
    on = logic.OnTopOf("body", "table")
    for statement in (on, near & on, logic.Stable("body")):
        assert doubts_of_rest([statement], C, ["body"]) == ()
    assert len(doubts_of_rest([on | near], C, ["body"])) == 1


def test_starts_prefer_large_supports():
    C = pw.Config()
    C.add_object("oven", KNOB)
    C.add_object("sheet", SHEET, pose=at(z=1), joint="free")
    poses = np.array([at(0, 0, -0.19), at(0.28, 0, -0.19), at(0.315, 0, 0.005)])
    shares = carried_shares_at(C, "sheet", "oven", poses)
    # All; all but the columns beyond the edge; the middle of 3 x 3 columns.
    np.testing.assert_allclose(shares, [1.0, 2 / 3, 1 / 9])


def path_to(
    C: pw.Config,
    statement: logic.Predicate,
    goal: list[float],
    collisions: bool = True,
) -> pw.Solution:
    """Return the solution of a path on which an object goes where a predicate holds."""
    komo = pw.KOMO(C, 1, 3, 2)
    komo.add_control_objective(2, 0.1)
    food = {"symbol": FS.pose, "frames": ["food"], "type": OT.eq, "scale": 10.0}
    komo.add_objective([1], **food, target=goal)
    komo.add(statement, times=[1], collisions=collisions)
    return komo.solve(progress=False)


@pytest.mark.slow
def test_a_path_tells_what_a_placement_tells():
    C = kitchen()
    solution = path_to(C, INSIDE, at(y=-0.24, z=-0.18))
    assert solution.feasible, solution.message
    (out,) = solution.doubts
    assert "sticks out of 'oven' by 4.0 cm" in out and out in solution.report()
    # In the back wall, from 0.28 m on.
    first = path_to(C, INSIDE, at(y=0.23, z=-0.18), collisions=False).doubts[0]
    assert "Objects overlap" in first and "'food' by 50.0 mm in slice 2" in first
    assert path_to(C, INSIDE, at(y=0.1, z=-0.18)).doubts == ()
    # In the air.
    (text,) = path_to(C, INSIDE, at(z=0.05)).doubts
    assert "InsideOf('food', 'oven') holds, but 'food' does not stay there" in text


@pytest.mark.long
def test_placements_tell_objects_in_the_air():
    C = kitchen()
    C.add_object("fixed", [pw.Box([0.1] * 3)], pose=at(2))
    place = (pw.Feature(FS.position, ["food"], target=[0, 0, 1]), OT.eq)
    options = {"starts": 1, "progress": False}
    (best, *_) = pw.solve_placement(C, [place], ["food"], **options)
    (text,) = best.doubts
    # Its lower face is at 0.95 m, the oven's upper one at 0.25 m.
    assert best.feasible and "that of 'oven', 700 mm lower" in text
    assert text in best.report()
    # What is fixed in the world may be a shelf on a wall.
    place = (pw.Feature(FS.position, ["fixed"], target=[0, 0, 1]), OT.eq)
    assert pw.solve_placement(C, [place], ["fixed"], **options)[0].doubts == ()


def test_without_a_simulator_objects_in_the_air_are_told(monkeypatch):
    C = kitchen()
    C.set_pose("food", at(z=0.05))  # the floor is at -0.23, its lower face at 0
    monkeypatch.setitem(sys.modules, "mujoco", None)
    (text,) = solution_doubts_of(INSIDE, C)
    assert "does not stay there: 'food' is in the air" in text and "230 mm" in text
    C.set_pose("food", at(z=-0.18))
    assert [*solution_doubts_of(INSIDE, C)] == []


@pytest.mark.parametrize(("scale", "is_told"), [(1, False), (1.3, True)])
def test_sizes_of_contents_are_those_along_their_own_axes(scale, is_told):
    """An object that lies about askew has a larger box along the world's axes."""
    C = pw.Config()
    C.add_frame("crate", shape=pw.Box([0.38, 0.28, 0.12]))
    plate, askew = pw.Box(scale * np.array([0.36, 0.26, 0.1])), [-0.1, 0.3, -0.9, 0.1]
    turn = np.array(askew) / np.linalg.norm(askew)
    C.add_frame("plate", joint="free", quaternion=turn, shape=plate)
    assert any(doubts_of(logic.InsideOf("plate", "crate"), C)) == is_told
