"""Motions of a gantry: effects and distances, measured independently of the planner."""

import re
import warnings
from dataclasses import replace

import numpy as np
import pytest
from helpers.gantry import gantry_world

import posewise as pw
from posewise import logic
from posewise.logic.errors import PredicateError
from posewise.logic.motion import (
    Grasp,
    Hold,
    MotionStatus,
    MoveUntil,
    Pick,
    Place,
    replay,
)
from posewise.logic.motion.feasibility import out_of_reach
from posewise.logic.motion.floating import stands_on_nothing
from posewise.logic.motion.robot import find_robot
from posewise.objectives.terms.objective import ObjectiveError
from posewise.robots.errors import ConfigError, ProblemWarning

pytestmark = pytest.mark.long

STEPS = [Pick("block"), Place("block", logic.OnTopOf("block", "high"))]


@pytest.fixture(scope="module")
def plan():
    return logic.plan_motion(gantry_world(), "gantry", STEPS)


@pytest.mark.slow
def test_a_block_is_put_on_a_shelf(plan):
    assert plan.solved and plan.is_certified, plan.report()
    assert logic.OnTopOf("block", "high").holds(plan.world)
    assert [s.name for s in plan.segments] == [
        "reach", "approach", "close", "lift", "carry", "lower", "open", "retreat"
    ]  # fmt: skip
    assert all(result.effect for result in plan.steps)
    assert "SOLVED" in plan.report()


@pytest.mark.long
def test_a_slice_is_no_time(plan):
    assert plan.doubts == ()
    last = plan.world_at(-1)
    np.testing.assert_allclose(last.pose("block"), plan.world_at(128).pose("block"))
    for t in (1.7, 129, -130):
        with pytest.raises(ObjectiveError, match=f"t is {t}, .*plan.times"):
            plan.world_at(t)


def with_block(position, size=(0.08, 0.05, 0.1)) -> pw.Config:
    C = gantry_world()
    C.set_shape("block", pw.Box(size))
    C.set_pose("block", [*position, 1, 0, 0, 0])
    return C


WIDE = Grasp(np.array([0, 0, 0, 1.0, 0, 0, 0]), width=0.2)
IMPOSSIBLE = {
    "too wide": ([0, 0.2, 0.1], [0.2, 0.18, 0.2], None, "at least 18.0 cm wide"),
    "too far": ([1.8, 0, 0.05], [0.05] * 3, None, r"1.7\d m from .*reach \(1.08 m"),
    "in mm": ([0, 80, 0.05], [0.05] * 3, None, "79.98 m from .*millimetres"),
    "as a house": ([0, 60, 30], [60] * 3, None, "m from .*millimetres"),
    "a wide grasp": ([0, 0.2, 0.05], [0.05] * 3, WIDE, "20.0 cm .* 8.0 cm"),
}


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_what_no_search_can_grasp_is_told(case):
    position, size, grasp, reason = IMPOSSIBLE[case]
    C = with_block(position, size)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        plan = logic.plan_motion(C, "gantry", [Pick("block", grasp=grasp)])
    assert not plan.solved and re.search(reason, plan.reason), plan.reason
    assert [str(w.message) for w in caught] == [*plan.doubts]
    is_told = any("'block' (60 m across)" in doubt for doubt in plan.doubts)
    assert is_told is (case == "as a house")


def test_a_start_in_a_wall_is_told():
    C = with_block([0, 0.2, 0.1], [0.2, 0.18, 0.2])
    hand = find_robot(C, "gantry").hands[0].link
    wall = C.pose(hand)[:3]
    C.add_frame("wall", position=wall, shape=pw.Box([0.3, 0.3, 0.3]), contact=1)
    with pytest.warns(ProblemWarning, match=r"robot overlaps: .*'wall'.* by 1\d\d"):
        plan = logic.plan_motion(C, "gantry", [Pick("block")])
    assert any("Move the start" in doubt for doubt in plan.doubts)


@pytest.mark.slow
def test_a_place_beyond_reach_is_told():
    C = gantry_world()
    C.add_object("far", [pw.Box([0.2] * 3)], pose=[5, 0, 0.1, 1, 0, 0, 0])
    steps = [Pick("block"), Place("block", logic.OnTopOf("block", "far"))]
    plan = logic.plan_motion(C, "gantry", steps)
    assert "put down, at the nearest, 4.9" in plan.reason


@pytest.mark.long
def test_reach_is_a_bound():
    """Whatever the joints are, the hand is no farther from their base."""
    C, rng = pw.load("panda"), np.random.default_rng(0)
    robot = find_robot(C, "panda_hand")
    (hand,) = robot.hands
    C.add_object("ball", [pw.Sphere(0.02)], joint="free")
    X = C.copy()
    X.joints.select(list(robot.joints))
    for _ in range(50):
        X.q = rng.uniform(*X.limits)
        pose = hand.pose(X)
        assert out_of_reach(X, robot, hand, "ball", [pose]) == ""
    beyond = np.array([0, 0, 2.0, 1, 0, 0, 0])
    assert out_of_reach(X, robot, hand, "ball", [beyond])
    assert out_of_reach(X, robot, hand, "ball", [beyond, pose]) == ""


@pytest.mark.parametrize(
    ("gap", "floats"), [(0.0, False), (0.004, False), (0.02, True)]
)
def test_what_floats_is_told(gap, floats):
    C = with_block([0, 0.2, 0.05 + gap])
    assert bool(stands_on_nothing(C, "block", "At first")) is floats


@pytest.mark.slow
def test_what_is_put_into_the_air_is_told(monkeypatch):
    air = np.array([0.1, -0.2, 0.2, 1, 0, 0, 0])
    module = "posewise.logic.motion.place.find_goal_poses"
    monkeypatch.setattr(module, lambda *arguments: [air])
    steps = [Pick("block"), Place("block", logic.Upright("block"))]
    with pytest.warns(ProblemWarning, match=r"After step 1 \(Place\), 'block' stands"):
        plan = logic.plan_motion(gantry_world(), "gantry", steps)
    assert plan.solved and len(plan.doubts) == 1
    assert f"! {plan.doubts[0]}" in plan.report()


def slip(C: pw.Config) -> None:
    for name in ("block", "left", "right"):
        C.set_attributes(name, contact_friction=0.01)


def add_wall(C: pw.Config) -> None:
    wall = pw.Box([0.02, 0.6, 0.6])
    C.add_frame("wall", position=[-0.05, 0.1, 0.3], shape=wall, contact=1)


FALLS = "20.0 cm below its planned place"
REPLAYS = {
    "as planned": (lambda C: None, ()),
    "no friction": (
        slip,
        ("In 'lift' of step 0 .*'block' slips out of 'hand'", "OnTo"),
    ),
    "no shelf": (lambda C: C.set_contact("high", 0), (f"'block' falls: .*{FALLS}", "")),
    "a wall": (
        add_wall,
        ("'carry' .*'gantry' is up to 2.. mrad", "slips in", "At the"),
    ),
}
"""Changes of the planned world, and what its replay tells."""


@pytest.mark.long
@pytest.mark.sampled
@pytest.mark.parametrize("case", REPLAYS)
def test_a_replay_judges_itself(plan, case):
    pytest.importorskip("mujoco", reason="needs the extra `mujoco`")
    change, patterns = REPLAYS[case]
    C = plan.start.copy()
    change(C)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        played = replay(replace(plan, start=C))
    assert [str(w.message) for w in caught] == [*played.doubts]
    assert len(patterns) == len(played.doubts), played.doubts
    assert all(map(re.search, patterns, played.doubts)), played.doubts
    ends_well = logic.OnTopOf("block", "high").holds(played.world)
    assert ends_well is not bool(patterns)
    assert ("otherwise" in played.report()) is bool(patterns)


@pytest.mark.long
def test_what_is_held_moves_with_the_hand(plan):
    names = [s.name for s in plan.segments for _ in s.solution.path]
    carrying = [t for t, n in enumerate(names, 1) if n in ("lift", "carry", "lower")]
    poses = []
    for t in carrying:
        world = plan.world_at(t)
        assert world.frames[world.frame("block").parent].name == "hand"
        poses.append(world.pose("block")[:3] - world.pose("hand")[:3])
    np.testing.assert_allclose(np.linalg.norm(poses, axis=1), np.linalg.norm(poses[0]))


def test_distances_are_kept_between_slices(plan):
    rng = np.random.default_rng(0)
    for segment in plan.segments:
        points = np.concatenate([[segment.world.q], segment.solution.path])
        allowed = {frozenset(pair) for pair in segment.touching}
        world = segment.world.copy()
        for a, b in zip(points[:-1], points[1:], strict=True):
            world.q = a + rng.uniform() * (b - a)
            for first, second, distance in world.collisions(0.004):
                assert frozenset((first, second)) in allowed or distance > 9e-4
                assert distance > -1e-3


def test_nothing_jumps(plan):
    assert len(plan.path) == len(plan.times) == 1 + 8 * 16
    assert (np.diff(plan.times) > 0).all()
    last = plan.start.q[plan.start.joints.coordinates(list(plan.joints))]
    np.testing.assert_allclose(plan.path[0], last)
    before = plan.world_at(0).pose("block")
    for t in range(1, len(plan.path)):
        now = plan.world_at(t).pose("block")
        assert np.linalg.norm(now[:3] - before[:3]) < 0.2
        before = now


def test_the_motion_is_exported(plan, tmp_path):
    motion = plan.resample(0.05)
    motion.save(tmp_path / "motion.csv")
    assert pw.Trajectory.load(tmp_path / "motion.csv").positions.shape[1] == 5
    np.testing.assert_allclose(motion.positions[-1], plan.path[-1], atol=1e-6)
    assert plan.retime(dt=0.01).duration < motion.duration


@pytest.mark.slow
def test_objects_are_told_beside_the_robot(plan):
    C = plan.start
    for t, q in enumerate(plan.whole_path):
        world = C.copy()
        world.q = q
        for name in ("hand", "left", "right", "block"):
            expected = plan.world_at(t).pose(name)
            np.testing.assert_allclose(world.pose(name), expected, atol=1e-9)
    motion = plan.resample(0.02)
    slices = motion.others["slice"]
    assert slices[0] == 0 and slices[-1] == len(plan.path) - 1
    assert (np.diff(slices) > 0).all()
    names = [n for n in C.joints.coordinate_names if n.startswith("block")]
    columns = C.joints.coordinates(["block"])
    columns_beside = set(motion.others) - {"slice"}
    assert columns_beside < set(names) | {"slice"} and "block:2" in columns_beside
    rows = np.arange(len(plan.path))
    for k, name in zip(columns, names, strict=True):
        values = motion.others.get(name, np.full(len(slices), C.q[k]))
        at_rows = np.interp(rows, slices, values)
        # Samples are 20 ms apart, so that corners at slices are cut.
        np.testing.assert_allclose(at_rows, plan.whole_path[:, k], atol=0.01)


@pytest.mark.slow  # all ways to a place that there is not
def test_a_step_that_fails_is_named_and_the_rest_is_kept():
    C = gantry_world()
    C.add_object("far", [pw.Box([0.2] * 3)], pose=[5, 0, 0.1, 1, 0, 0, 0])
    steps = [Pick("block"), Place("block", logic.OnTopOf("block", "low"))]
    steps += [Pick("block"), Place("block", logic.OnTopOf("block", "far"))]
    plan = logic.plan_motion(C, "hand", steps)
    assert plan.status is MotionStatus.FAILED
    assert len(plan.steps) == 2 and logic.OnTopOf("block", "low").holds(plan.world)
    assert plan.reason.startswith("Step 2, Pick(obj='block'")


@pytest.mark.slow
def test_a_predicate_holds_on_the_way_until_it_is_ended():
    C = gantry_world()
    level = logic.Upright("block", tilt=0.02)
    steps = [Hold(level), *STEPS, MoveUntil(logic.OnTopOf("block", "high"))]
    plan = logic.plan_motion(C, "hand", steps)
    assert plan.solved, plan.report()
    assert all(level.holds(plan.world_at(t)) for t in range(len(plan.path)))
    tilted = C.copy()
    tilted.set_pose("block", [0, 0.2, 0.1, 1, 0.2, 0, 0])
    with pytest.warns(ProblemWarning, match="'block' stands on nothing"):
        failed = logic.plan_motion(tilted, "hand", steps)
    assert not failed.solved and "Step 0, Hold" in failed.reason


ERRORS = {
    "no list": (Pick("block"), PredicateError, "expected a list of steps"),
    "a name": ("block", PredicateError, "expected a list of steps"),
    "no step": ([logic.OnTopOf("block", "low")], PredicateError, r"steps\[0\]"),
    "unknown object": ([Pick("blok")], ConfigError, "block"),
    "unknown hand": ([Pick("block", hand="hnd")], ConfigError, "hand"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_mistakes_are_sentences(case):
    steps, kind, message = ERRORS[case]
    with pytest.raises(kind, match=message):
        logic.plan_motion(gantry_world(), "gantry", steps)


def test_place_takes_predicates_only():
    with pytest.raises(PredicateError, match="Place: predicate"):
        Place("block", "high")
