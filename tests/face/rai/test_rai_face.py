"""`posewise.rai` against `robotic` itself, and the notebook's cells."""

import importlib.util
import json
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from helpers.rai_tutorials import GEOMETRY, SOLVES, moved_scene, plain

import posewise as pw
import posewise.rai as ry

needs_robotic = pytest.mark.skipif(
    importlib.util.find_spec("robotic") is None,
    reason="robotic, whose models and values these tests compare with, is absent",
)


@pytest.fixture(scope="module")
def theirs(tmp_path_factory) -> dict:
    """Return the results of `robotic`, computed in a separate process and folder."""
    script = Path(__file__).parents[2] / "helpers" / "rai_tutorials.py"
    run = subprocess.run(
        [sys.executable, script],
        cwd=tmp_path_factory.mktemp("robotic"),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "RESULT " in run.stdout, run.stderr[-2000:]
    return json.loads(run.stdout.rpartition("RESULT ")[2])


def compare(ours, theirs, where=""):
    """Equal words; equal numbers within 1e-6 (rai's finite Jacobians are exact)."""
    assert type(ours) is type(theirs) or np.isscalar(ours), where
    if isinstance(ours, dict):
        assert ours.keys() == theirs.keys(), where
        for key in ours:
            compare(ours[key], theirs[key], f"{where}/{key}")
    elif isinstance(ours, list) and not any(isinstance(v, str) for v in ours):
        assert np.shape(ours) == np.shape(theirs), where
        np.testing.assert_allclose(ours, theirs, atol=1e-6, err_msg=where)
    elif isinstance(ours, float):
        assert ours == pytest.approx(theirs, abs=1e-9), where
    else:
        assert ours == theirs, where


@needs_robotic
@pytest.mark.long
@pytest.mark.sampled
@pytest.mark.parametrize("snippet", GEOMETRY, ids=lambda s: s.__name__)
def test_geometry_equals_robotics(snippet, theirs):
    compare(plain(snippet(ry)), theirs[snippet.__name__])


@needs_robotic
@pytest.mark.long
@pytest.mark.sampled("inverse_kinematics")
@pytest.mark.parametrize("snippet", SOLVES, ids=lambda s: s.__name__)
def test_solutions_are_as_good_as_robotics(snippet, theirs):
    ours, rai = snippet(ry), theirs[snippet.__name__]
    assert rai["feasible"] and ours["feasible"]
    assert ours["worst"] < 1e-3
    assert ours["sos"] <= rai["sos"] * 1.01 + 1e-6
    assert (ours["x"], ours["path"]) == (rai["x"], rai["path"])


@pytest.mark.filterwarnings("ignore:updateRootObjects:posewise.ProblemWarning")
@needs_robotic
def test_a_moved_scene_is_taken_over_as_in_robotic(theirs):
    ours, rai = plain(moved_scene(ry)), theirs["moved_scene"]
    assert ours.pop("roots") == rai.pop("roots") == ["world", "box"]
    assert ours.keys() == rai.keys()
    for place in ours:
        np.testing.assert_allclose(ours[place], rai[place], atol=3e-3, err_msg=place)


CHANGES = {
    "": lambda C: C.getFrame("goal").setPosition([0, 0.2, 0.9]),
    "the shape of 'goal'": lambda C: C.getFrame("goal").setShape(ry.ST.sphere, [0.2]),
    "the contact flag of 'tip'": lambda C: C.getFrame("tip").setContact(1),
    "the mass of 'goal'": lambda C: C.getFrame("goal").setMass(2.0),
    "the parent of 'goal'": lambda C: C.attach("tip", "goal"),
    "the joint of 'j1'": lambda C: C.getFrame("j1").setJoint(ry.JT.hingeX, [-1, 1]),
    "the joint of 'j0'": lambda C: C.selectJoints(["j1", "j2"]),
    "the relative pose of 'tip'": lambda C: C.getFrame("tip").setRelativePosition(
        [0, 0, 0.4]
    ),
    "added frames 'new'": lambda C: C.addFrame("new"),
    "removed frames 'goal'": lambda C: C.delFrame("goal"),
    "the joint state": lambda C: C.setJointState([0.2, 0.4, 0.6]),
}


@pytest.mark.parametrize("difference", CHANGES)
def test_what_a_komo_does_not_take_over_is_told(difference):
    C = arm()
    C.getFrame("goal").setShape(ry.ST.sphere, [0.1]).setMass(1.0)
    komo = ry.KOMO(C, 2, 1, 1, False)
    C.getFrame("goal").setShape(ry.ST.sphere, [0.1])  # the same again
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        CHANGES[difference](C)
        komo.updateRootObjects(C)
    assert [difference in str(w.message) for w in caught] == [True] * bool(difference)


@needs_robotic
@pytest.mark.long
def test_the_notebooks_cells():
    C = ry.Config()
    C.addFile(ry.raiPath("../rai-robotModels/pr2/pr2.g"))
    C.addFile(ry.raiPath("../rai-robotModels/objects/kitchen.g"))
    assert C.view() == 0
    assert C.getJointDimension() == 25
    C.selectJointsByTag(["base"])
    C.setJointState([1.5, 1, 0])
    assert C.getJointNames() == [f"worldTranslationRotation:{i}" for i in range(3)]
    np.testing.assert_allclose(C.getFrame("base_footprint").getPosition()[:2], [1.5, 1])
    hand = C.feature(ry.FS.position, ["coll_hand_r"], order=0)
    y, J = hand.eval(C)
    assert y.shape == (3,) and J.shape == (3, 3)
    np.testing.assert_allclose(J[:2, :2], np.eye(2), atol=1e-12)
    height = C.feature(ry.FS.positionRel, ["pr2L", "pr2R"], [[0, 0, 1]], [0, 0, 0.1])
    assert height.eval(C)[0].shape == (1,)
    x_to_y = C.eval(ry.FS.scalarProductXY, ["pr2L", "pr2R"], target=[1])[0]
    assert -2 <= x_to_y[0] <= 0


@needs_robotic
@pytest.mark.long
def test_importing_the_face_leaves_robotic_alone():
    code = (
        "import sys, posewise.rai as ry; ry.raiPath('pr2/pr2.g');"
        "sys.exit('robotic' in sys.modules)"
    )
    root = Path(__file__).parents[3]
    assert subprocess.run([sys.executable, "-c", code], cwd=root).returncode == 0


def arm() -> ry.Config:
    """Three hinges above each other and a free mug."""
    C = ry.Config()
    C.addFrame("base")
    for k, parent in enumerate(("base", "j0", "j1")):
        f = C.addFrame(f"j{k}", parent).setRelativePosition([0, 0, 0.3])
        f.setJoint(ry.JT.hingeX if k else ry.JT.hingeZ, [-2, 2])
    C.addFrame("tip", "j2").setRelativePosition([0, 0.0, 0.3])
    C.addFrame("goal").setPosition([0.2, 0.2, 0.8])
    C.setJointState([0.1, 0.5, 0.5])
    return C


def reach(C) -> ry.KOMO:
    """The tip at the goal, near home."""
    komo = ry.KOMO(C, 1, 1, 0, False)
    komo.addControlObjective([], 0, 1e-1)
    komo.addObjective([], ry.FS.positionDiff, ["tip", "goal"], ry.OT.eq, [1e1])
    return komo


def test_solve_again_after_the_goal_moved():
    C = arm()
    komo = reach(C)
    start = komo.getPath()
    np.testing.assert_allclose(start[0], C.getJointState())
    assert "err" not in komo.report()["o0"]
    for goal in ([0.2, -0.3, 0.8], [0.1, -0.35, 0.9]):
        C.getFrame("goal").setPosition(goal)
        komo.updateRootObjects(C)
        ret = ry.NLP_Solver().setProblem(komo.nlp()).solve()
        assert ret.feasible and ret.done and ret.eq < 1e-2
        C.setJointState(komo.getPath()[0])
        np.testing.assert_allclose(C.getFrame("tip").getPosition(), goal, atol=1e-4)
    report = komo.report()
    assert report["totals"]["sos"] == pytest.approx(ret.sos)
    assert report["o1"]["type"] == "eq" and report["o1"]["err"] == pytest.approx(ret.eq)
    assert "feasible: 1" in str(ret)


def test_the_long_form_and_starting_points():
    C = arm()
    komo = ry.KOMO()
    with pytest.raises(pw.ObjectiveError, match="setConfig"):
        komo.getPath()
    komo.setConfig(C, True)
    komo.setTiming(2.0, 3, 5.0, 2)
    komo.addControlObjective([], 2, 1.0)
    komo.addQuaternionNorms()
    assert komo.getT() == 6 and komo.nlp().getDimension() == 18
    assert komo.nlp().getBounds().shape == (2, 18)
    komo.initWithConstant([0.1, 0.2, 0.3])
    np.testing.assert_allclose(komo.getPath(), np.tile([0.1, 0.2, 0.3], (6, 1)))
    komo.initRandom()
    first = komo.getPath()
    komo.initRandom()
    assert np.abs(komo.getPath() - first).max() > 1e-3
    ry.NLP_Solver(komo.nlp()).setInitialization(first.reshape(-1))
    np.testing.assert_allclose(komo.getPath(), first)
    assert len(komo.komo.objectives) == 1
    komo.clearObjectives()
    assert not komo.komo.objectives


def test_weights_of_joints_enter_control_costs():
    C = arm()
    C.getFrame("j1").setAttributes({"ctrl_H": 10.0})
    komo = ry.KOMO(C, 1, 1, 0, False)
    komo.addControlObjective([], 0, 0.1)
    assert komo.report()["o0"]["scale"] == [0.1, 1.0, 0.1]


def test_options_without_counterpart_warn_and_unknown_ones_raise():
    solver = ry.NLP_Solver(reach(arm()).nlp(), verbose=0)
    solver.setOptions(stopTolerance=1e-4, stopEvals=7, muInit=2.0, damping=0.1)
    assert solver.options == {
        "step_tolerance": 1e-4,
        "max_iterations": 7,
        "mu": 2.0,
        "damping": 0.1,
    }
    with pytest.warns(UserWarning, match="ignores lambdaMax, wolfe"):
        solver.setOptions(lambdaMax=10.0, wolfe=0.1)
    with pytest.raises(pw.ObjectiveError, match="did you mean 'stopTolerance'"):
        solver.setOptions(stopTolerence=1e-4)


def test_edits_of_frames():
    C = arm()
    tip = C.getFrame("tip")
    tip.setColor([1, 0, 0]).setShape(ry.ST.ssCylinder, [0.3, 0.1, 0.02])
    assert C.C.frame("tip").geometries[0].color == (1, 0, 0)
    np.testing.assert_allclose(tip.getSize(), [0.3, 0.1, 0.02])
    tip.setMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    assert tip.getShapeType() is ry.ST.mesh
    assert C.C.frame("tip").shape.mode == "convex"
    tip.setPointCloud([[0, 0, 0], [1, 1, 1]])
    assert tip.getShapeType() is ry.ST.pointCloud
    tip.setShape(ry.ST.none)
    assert tip.getShapeType() is ry.ST.none
    follower = C.addFrame("f", "base").setJoint(
        ry.JT.hingeX, mimic=C.getFrame("j1"), scale=-1.0
    )
    np.testing.assert_allclose(follower.getJointState(), [-0.5])
    follower.setJoint(ry.JT.none)
    assert follower.getJointType() is ry.JT.none
    C.selectJointsBySubtree("j1")
    assert C.getJointNames() == ["j1", "j2"]
    assert [f.name for f in C.getRoots()] == ["base", "goal"]
    assert C.getFrame("nothing", False) is None
    with pytest.warns(UserWarning, match="URDF has no locked joints"):
        assert "<robot" in C.writeURDF()


def test_relative_poses_and_names():
    C = arm()
    tip = C.getFrame("tip").setRelativeQuaternion([2.0, 0, 0, 0])
    np.testing.assert_allclose(tip.getRelativeQuaternion(), [1, 0, 0, 0], atol=1e-12)
    tip.setRelativePoseByText("t(0 .1 .2)")
    np.testing.assert_allclose(tip.getRelativePosition(), [0, 0.1, 0.2], atol=1e-12)
    assert C.getFrameDimension() == len(C.getFrameNames())
    assert len(reach(C).getFeatureNames()) == len(reach(C).nlp().getTypes())


@pytest.mark.slow
def test_helper_frames_switches_and_what_is_read_of_the_path():
    C = arm()
    C.addFrame("ball").setPosition([0.2, -0.3, 0.8])
    C.getFrame("goal").setPosition([0.1, -0.35, 0.9])
    komo = ry.KOMO(C, 2, 1, 1, False)
    komo.addControlObjective([], 1, 1e-1)
    komo.addFrameDof("hold", "tip", ry.JT.quatBall, True, "tip")
    komo.addFrameDof("there", "base", ry.JT.none, True, originFrame=C.getFrame("goal"))
    komo.addRigidSwitch(1.0, ["hold", "ball"])
    komo.addObjective([2.0], ry.FS.positionDiff, ["ball", "there"], ry.OT.eq, [1e1])
    C.setJointState([0.0, 0.4, 0.4])
    assert komo.getConfig().getJointState()[1] == 0.5  # as it was when KOMO was made
    komo.initWithWaypoints([[0.1, 0.4, 0.3], [0.2, 0.3, 0.3]])
    np.testing.assert_allclose(komo.getPath(), [[0.1, 0.4, 0.3], [0.2, 0.3, 0.3]])
    komo.initWithWaypoints([[9, 9, 9], [0.1, 0.4, 0.3], [9, 9, 9], [0, 0, 0]], 2)
    np.testing.assert_allclose(komo.getPath_qAll()[0], [0.1, 0.4, 0.3])
    before = komo.getPathFrames()
    komo.initRandom()
    assert komo.getPath().shape == (2, 3)
    komo.initOrg()
    np.testing.assert_allclose(komo.getPath()[1], [0.1, 0.5, 0.5])
    with pytest.raises(pw.ObjectiveError, match="no solution yet"):
        komo.getSubProblem(0)
    np.testing.assert_allclose(komo.getPathTau(), [1.0, 1.0])
    ret = ry.NLP_Solver(komo.nlp()).solve()
    assert ret.feasible
    names = [f.name for f in C.getFrames()]
    ball, tip, goal = (names.index(n) for n in ("ball", "tip", "goal"))
    X = komo.getPathFrames()
    assert X.shape == (2, len(names) + 2, 7) and before.shape == (2, len(names), 7)
    np.testing.assert_allclose(X[1, ball, :3], X[1, goal, :3], atol=1e-3)
    np.testing.assert_allclose(X[1, ball, :3], X[1, tip, :3], atol=1e-3)
    np.testing.assert_allclose(komo.getFrameState(0), X[0])
    sub, start, end = komo.getSubProblem(1)
    assert sub.getFrame("ball").getParent().name == "hold"
    np.testing.assert_allclose([start, end], komo.getPath(), atol=1e-9)
    errors = [o["err"] for o in komo.report().values() if "err" in o]
    assert errors == sorted(errors)
    assert list(komo.report(listObjectives=False)) == ["totals"]


@pytest.mark.parametrize(
    "call",
    [
        lambda C: reach(C).addModeSwitch([1], ry.SY.dynamic, ["tip", "goal"]),
        lambda C: reach(C).addRigidSwitch(1.0, ["tip", "goal"], False),
    ],
)
def test_what_is_not_there_says_so(call):
    with pytest.raises(pw.FeatureError, match="does not support"):
        call(arm())


@pytest.mark.parametrize(
    "call, match",
    [
        (lambda C: C.eval(ry.FS.position, ["tipp"]), "did you mean 'tip'"),
        (lambda C: C.addFrame("tip"), "exists already"),
        (lambda C: C.addFrame("x", "tip", "shape: sfere"), "sphere"),
        (lambda C: C.setJointState([1.0], ["j0", "j1"]), "have 2"),
        (lambda C: C.setFrameState(np.zeros((2, 7))), "expected .6, 7."),
        (lambda C: C.getFrame("j1").setPosition([9, 9, 9]), "misses"),
        (lambda C: C.getFrame("j1").setJoint(ry.JT.hingeX, scale=2.0), "scale is 2"),
        (lambda C: C.getFrame("tip").setShape(ry.ST.ssBox, [1, 1, 1]), "needs exactly"),
        (lambda C: C.getFrame("tip").setShape(ry.ST.mesh), "setMesh"),
        (lambda C: ry.raiPath("no/such.g"), "robotic|No file"),
        (
            lambda C: reach(C).addObjective([], ry.FS.position, ["tip"], ry.OT.f),
            "expected OT.sos",
        ),
        (lambda C: ry.NLP_Solver().solve(), "setProblem"),
    ],
)
def test_mistakes_raise_sentences(call, match):
    with pytest.raises(pw.PosewiseError, match=match):
        call(arm())
