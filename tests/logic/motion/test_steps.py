"""Steps other than picking and placing, and goals of BDDL, with gantries."""

import re
from pathlib import Path

import numpy as np
import pytest
from helpers.cases import case
from helpers.gantry import add_gantry, gantry_world

import posewise as pw
from posewise import ConfigError, logic
from posewise.logic.errors import PredicateError
from posewise.logic.motion import (
    CloseJoint,
    Handover,
    OpenJoint,
    Pick,
    Place,
    Push,
    replay,
)
from posewise.logic.motion.activity import _moves
from posewise.logic.motion.robot import find_robot

pytestmark = pytest.mark.slow


def chest_world() -> pw.Config:
    """A chest with a drawer whose handle stands out in front, and a ball in it."""
    C = pw.Config()
    add_gantry(C)
    C.add_frame("chest", shape=pw.Box([0.3, 0.3, 0.02]), position=[0, 0.25, 0.01])
    parts = [
        (pw.Box([0.2, 0.2, 0.01]), [0, 0, 0, 1, 0, 0, 0]),
        (pw.Box([0.2, 0.01, 0.06]), [0, -0.1, 0.03, 1, 0, 0, 0]),
        (pw.Box([0.1, 0.012, 0.03]), [0, -0.14, 0.05, 1, 0, 0, 0]),
    ]
    C.add_frame(
        "drawer",
        "chest",
        position=[0, 0, 0.03],
        joint="prismatic",
        axis=[0, -1, 0],
        limits=[[0.0], [0.2]],
        shape=parts,
    )
    C.annotations.mark_object("chest", abilities={"openable": {}})
    C.add_object(
        "cube",
        [pw.Box([0.03] * 3)],
        pose=[0, 0.25, 0.06002, 1, 0, 0, 0],
        joint="free",
    )
    return C


def test_a_drawer_is_opened_and_closed_with_what_lies_in_it():
    C = chest_world()
    plan = logic.plan_motion(C, "gantry", [OpenJoint("chest"), CloseJoint("chest")])
    assert plan.solved, plan.report()
    opened = plan.steps[0].segments[-1].world_at(-1)
    assert opened.joints.value("drawer")[0] > 0.1
    moved = opened.pose("cube")[1] - C.pose("cube")[1]
    np.testing.assert_allclose(moved, -opened.joints.value("drawer")[0], atol=1e-3)
    assert not logic.Open("chest").holds(plan.world)
    np.testing.assert_allclose(plan.world.pose("cube"), C.pose("cube"), atol=1e-3)
    # In MuJoCo friction at the handle, thinner than fingers press in a step, pulls it.
    pytest.importorskip("mujoco", reason="needs the extra `mujoco`")
    played = replay(plan)
    assert played.doubts == () and played.error < 0.02, played.report()
    columns = C.joints.coordinates(["drawer"])
    assert played.path[:, columns].max() > 0.1
    np.testing.assert_allclose(played.world.pose("cube"), C.pose("cube"), atol=0.01)


@pytest.mark.parametrize("seed", [0, 1])
def test_a_block_is_put_into_the_drawer_of_a_cabinet(seed):
    pytest.importorskip("mujoco", reason="needs the extra `mujoco`")
    C = pw.load("panda")
    C.add_file(case("drawer_cabinet.urdf"), pose=[0.5, 0.33, 0, 1, 0, 0, 0])
    C.annotations.mark_object("cab", abilities={"openable": {}})
    pose = [0.42, 0.3, 0.34, 1, 0, 0, 0]
    block = pw.Box([0.05, 0.05, 0.08])
    C.add_object("block", [block], pose=pose, joint="free", mass=0.2)
    inside = logic.InsideOf("block", "drawer")
    steps = [OpenJoint("cab"), Pick("block"), Place("block", inside), CloseJoint("cab")]
    plan = logic.plan_motion(C, "panda_link0", steps, seed=seed)
    assert plan.solved and plan.is_certified, plan.report()
    low, high = C.limits[:, C.joints.coordinates(["slide"])[0]]
    values = np.concatenate([s.passive["slide"] for s in plan.segments if s.passive])
    assert low - 2e-3 < values.min() and values.max() < high + 2e-3
    played = replay(plan)
    assert played.doubts == (), played.report()
    assert (inside & ~logic.Open("cab")).holds(played.world)


def test_a_block_is_pushed_along_a_line():
    C = gantry_world()
    C.add_object("mark", [pw.Box([0.05] * 3)], pose=[0, -0.3, 0.025, 1, 0, 0, 0])
    goal = logic.NextTo("block", "mark")
    plan = logic.plan_motion(C, "gantry", [Push("block", goal)])
    assert plan.solved, plan.report()
    assert goal.holds(plan.world)
    start, end = C.pose("block"), plan.world.pose("block")
    np.testing.assert_allclose(end[2:], start[2:], atol=1e-3)
    (slide,) = [s for s in plan.segments if s.name == "push"]
    places = np.array([slide.world_at(t).pose("block")[:2] for t in range(16)])
    ahead = (end - start)[:2] / np.linalg.norm((end - start)[:2])
    across = (places - start[:2]) @ [-ahead[1], ahead[0]]
    assert np.abs(across).max() < 1e-3


def test_a_bar_is_handed_over():
    C = pw.Config()
    C.add_frame("stand")
    for name, x in (("a_", -0.2), ("b_", 0.2)):
        add_gantry(C, name, x, parent="stand")
    for name, x in (("here", -0.4), ("there", 0.4)):
        C.add_object(name, [pw.Box([0.2, 0.2, 0.1])], pose=[x, 0, 0.05, 1, 0, 0, 0])
    C.add_object(
        "bar",
        [pw.Box([0.4, 0.03, 0.03])],
        pose=[-0.4, 0, 0.11502, 1, 0, 0, 0],
        joint="free",
    )
    goal = logic.OnTopOf("bar", "there")
    steps = [Pick("bar", hand="a_hand"), Handover("bar"), Place("bar", goal)]
    assert len(find_robot(C, "stand").hands) == 2
    plan = logic.plan_motion(C, "stand", steps)
    assert plan.solved, plan.report()
    assert plan.steps[1].choice.hand == "b_hand" and goal.holds(plan.world)


def problem(goal: str) -> logic.bddl.Problem:
    """A problem about blocks of the gantry's world."""
    objects = "block - block.n.01 top - block.n.02 low - shelf.n.01 high - shelf.n.02"
    return logic.bddl.parse(
        f"(define (problem p) (:domain igibson) (:objects {objects})"
        f" (:init (ontop top block)) (:goal {goal}))"
    )


NAMES = {name: name for name in ("block", "top", "low", "high")}


def blocks() -> pw.Config:
    """The gantry's world with a small block on the block."""
    C = gantry_world()
    C.add_object(
        "top",
        [pw.Box([0.04, 0.04, 0.05])],
        pose=[0, 0.2, 0.12504, 1, 0, 0, 0],
        joint="free",
    )
    return C


@pytest.mark.parametrize(
    ("goal", "moved"),
    [
        ("(ontop block high)", ["top", "block"]),
        ("(and (ontop top low) (ontop block high))", ["top", "block"]),
        ("(ontop top low)", ["top"]),
    ],
)
def test_what_is_in_the_way_is_moved_first(goal, moved):
    activity = logic.solve_activity(blocks(), problem(goal), "gantry", names=NAMES)
    assert activity.holds and activity.motion.is_certified, activity
    picked = [r.step.obj for r in activity.motion.steps if isinstance(r.step, Pick)]
    assert picked == moved


def test_fixed_objects_are_not_moved():
    goal = problem("(and (ontop block high) (ontop high block))")
    with pytest.raises(PredicateError, match="moving objects cannot"):
        logic.solve_activity(blocks(), goal, "gantry", names=NAMES)
    with pytest.raises(ConfigError, match=r"'high' is fixed: .* joint='free'"):
        logic.plan_motion(blocks(), "gantry", [Pick("high")])


@pytest.mark.parametrize("kind", [logic.NextTo, logic.InContactWith])
def test_of_a_symmetric_relation_the_loose_object_moves(kind):
    C = blocks()
    expected = [kind("block", "high")]
    assert _moves(C, [kind("high", "block")])["block"] == expected
    assert _moves(C, [kind("block", "high")])["block"] == expected


@pytest.mark.parametrize(("limit", "stated"), [(0, None), (-1, None), (1, "a goal")])
def test_arguments_of_activities_are_named(limit, stated):
    goal = stated or problem("(ontop block high)")
    with pytest.raises(PredicateError, match=r"(limit|problem) is"):
        logic.solve_activity(blocks(), goal, "gantry", names=NAMES, limit=limit)


def test_goals_about_states_are_refused():
    C = blocks()
    C.annotations.mark_object("block", "block.n.01", abilities={"cookable": {}})
    with pytest.raises(PredicateError, match="moving objects cannot"):
        logic.solve_activity(C, problem("(cooked block)"), "gantry", names=NAMES)


def test_the_goal_holds_in_mujoco():
    pytest.importorskip("mujoco", reason="needs the extra `mujoco`")
    goal = logic.OnTopOf("block", "high")
    plan = logic.plan_motion(
        gantry_world(), "gantry", [Pick("block"), Place("block", goal)]
    )
    played = replay(plan)
    assert goal.holds(played.world), goal.explain(played.world)
    assert played.error < 0.02


def test_the_page_of_the_guide_runs():
    pytest.importorskip("mujoco", reason="needs the extra `mujoco`")
    page = Path(__file__).parents[3] / "docs/guide/motions.md"
    # Another fence than elsewhere: in fast tests this page would take a minute.
    code = "\n".join(re.findall(r"```py\n(.*?)```", page.read_text(), re.S))
    assert "plan_motion" in code
    exec(compile(code, page.name, "exec"), {"__name__": "__main__"})
