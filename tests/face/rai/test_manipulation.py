"""`KOMO_ManipulationHelper` against `robotic` itself, and its methods."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from face.rai.manipulation_problems import PROBLEMS

import posewise as pw
import posewise.rai as ry

needs_robotic = pytest.mark.skipif(
    importlib.util.find_spec("robotic") is None,
    reason="robotic, whose models and values these tests compare with, is absent",
)


@pytest.fixture(scope="module")
def theirs(tmp_path_factory) -> dict:
    """Return the results of `robotic`, computed in a separate process and folder."""
    tests = Path(__file__).parents[2]
    run = subprocess.run(
        [sys.executable, "-m", "face.rai.manipulation_problems"],
        cwd=tmp_path_factory.mktemp("robotic"),
        env=os.environ | {"PYTHONPATH": str(tests)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "RESULT " in run.stdout, run.stderr[-2000:]
    return json.loads(run.stdout.rpartition("RESULT ")[2])


@needs_robotic
@pytest.mark.filterwarnings("ignore:feasible by rai's rule:posewise.ProblemWarning")
@pytest.mark.long
@pytest.mark.sampled("box_grasp_x")
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.__name__)
def test_solutions_are_as_good_as_robotics(problem, theirs):
    """Feasible where rai is, at no higher a cost; pushes have several local optima."""
    ours, rai = problem(ry), theirs[problem.__name__]
    assert ours["feasible"] and rai["feasible"]
    assert ours["path"] == rai["path"]
    factor = 2 if problem.__name__ == "push" else 1.05
    assert ours["sos"] <= rai["sos"] * factor + 1e-3, (ours, rai)


def arm() -> ry.Config:
    """A gantry with a gripper above a table with a box."""
    C = ry.Config()
    C.addFrame("table").setShape(ry.ST.ssBox, [1, 1, 0.1, 0.01]).setPosition([0, 0, 0])
    lift = C.addFrame("lift", "table").setRelativePosition([0, 0, 0.5])
    lift.setJoint(ry.JT.trans3, [-1, -1, -1, 1, 1, 1])
    hand = C.addFrame("hand", "lift").setJoint(ry.JT.hingeZ, [-2, 2])
    hand.setShape(ry.ST.marker, [0.1])
    C.addFrame("palm", "hand").setRelativePosition([0, 0, 0.15]).setShape(
        ry.ST.sphere, [0.03]
    )
    box = C.addFrame("box", "table").setShape(ry.ST.ssBox, [0.1, 0.06, 0.06, 0.005])
    box.setJoint(ry.JT.rigid).setRelativePosition([0.2, 0.1, 0.08])
    return C


@pytest.mark.slow
def test_a_pick_its_motions_and_a_path_finder():
    C = arm()
    man = ry.KOMO_ManipulationHelper("a pick")
    man.setup_pick_and_place_waypoints(C, "hand", "box")
    man.grasp_box(1.0, "hand", "box", "palm", "y")
    man.place_box(2.0, "box", "table", "palm", "z")
    man.target_relative_xy_position(2.0, "box", "table", [-0.2, 0.2, 7.0])
    assert man.solve(0).feasible and man.feasible
    assert man.path.shape == (2, 4)
    motion = man.sub_motion(0)
    motion.retract([0.0, 0.2], "hand")
    motion.approach([0.8, 1.0], "hand")
    motion.no_collisions([0.3, 0.7], ["palm", "box"], 0.05)
    assert motion.solve(0).feasible
    np.testing.assert_allclose(motion.path[-1], man.path[0], atol=2e-3)
    motion.play(C, 0.0)
    np.testing.assert_allclose(C.getJointState(), motion.path[-1])
    finder = man.sub_rrt(1, ["palm", "table"])
    ret = finder.solve(0)
    assert ret.feasible
    np.testing.assert_allclose(ret.x[[0, -1]], man.path, atol=2e-3)
    assert finder.get_resampledPath(10).shape == (10, 4)


METHODS = {
    "grasp_top_box": lambda m: m.grasp_top_box(1.0, "hand", "box", "yz"),
    "stop": lambda m: m.freeze_joint([1.0, 2.0], ["lift"]),
    "poseRel": lambda m: m.freeze_relativePose([1.0], "box", "hand"),
    "qItself": lambda m: m.bias(1.0, np.zeros(4), 2.0),
    "target_x_orientation": lambda m: m.target_x_orientation(2.0, "box", [0, 1, 0]),
    "pull": lambda m: m.pull([1.0, 2.0], "box", "hand", "table"),
    "approach_push": lambda m: m.approachPush([1.0, 2.0], "hand", 0.03),
    "retract_push": lambda m: m.retractPush([1.0, 2.0], "hand", 0.03),
    "straight_push": lambda m: m.straight_push([1.0, 2.0], "box", "hand", "table"),
}


@pytest.mark.parametrize("name", METHODS)
def test_methods_add_rows(name):
    man = ry.KOMO_ManipulationHelper()
    man.setup_sequence(arm(), 2, accumulated_collisions=False)
    before = len(man.komo.komo.objectives)
    METHODS[name](man)
    added = [o.name for o in man.komo.komo.objectives[before:]]
    assert added and all(name in n or name == "stop" for n in added)


BAD = {
    "place_direction is 'up'": lambda m: m.place_box(2.0, "box", "table", None, "up"),
    "call solve() first": lambda m: m.feasible,
    "solve the problem first": lambda m: m.sub_motion(0),
    "RRT_PathFinder has no problem": lambda m: ry.RRT_PathFinder().solve(),
    "There is no path": lambda m: ry.RRT_PathFinder().get_resampledPath(3),
}


@pytest.mark.parametrize("says", BAD)
def test_mistakes_are_told(says):
    man = ry.KOMO_ManipulationHelper()
    man.setup_sequence(arm(), 2, accumulated_collisions=False)
    with pytest.raises(pw.ObjectiveError) as error:
        BAD[says](man)
    assert says in str(error.value)


def test_what_only_rais_rule_lets_pass_is_told():
    man = ry.KOMO_ManipulationHelper()
    man.setup_inverse_kinematics(arm(), accumulated_collisions=False)
    for target in (0.1, 0.12):
        man.komo.addObjective(
            [1.0], ry.FS.position, ["hand"], ry.OT.eq, [[0, 0, 1]], [0, 0, target]
        )
    with pytest.warns(pw.ProblemWarning, match="feasible by rai's rule"):
        assert man.solve(0).feasible
