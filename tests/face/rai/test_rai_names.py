"""Names of `posewise.rai` beyond the first tutorials against `robotic` itself."""

import importlib.util
import inspect
import json
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from helpers.rai.names import SNIPPETS
from helpers.rai_tutorials import plain

import posewise as pw
import posewise.rai as ry
from posewise.rai import coverage

needs_robotic = pytest.mark.skipif(
    importlib.util.find_spec("robotic") is None,
    reason="robotic, whose models and values these tests compare with, is absent",
)


@pytest.fixture(scope="module")
def theirs(tmp_path_factory) -> dict:
    """Return the results of `robotic`, computed in a separate process and folder."""
    helpers = Path(__file__).parents[2] / "helpers"
    run = subprocess.run(
        [sys.executable, helpers / "rai" / "names.py"],
        env=os.environ | {"PYTHONPATH": str(helpers)},
        cwd=tmp_path_factory.mktemp("robotic"),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "RESULT " in run.stdout, run.stderr[-2000:]
    return json.loads(run.stdout.rpartition("RESULT ")[2])


def numbers_and_words(value):
    """Return all numbers and all words of nested lists and dictionaries."""
    if isinstance(value, dict):
        value = [part for key in value for part in (key, value[key])]
    if isinstance(value, list):
        parts = [numbers_and_words(v) for v in value]
        return [n for p in parts for n in p[0]], [w for p in parts for w in p[1]]
    return ([], [value]) if isinstance(value, str | None) else ([float(value)], [])


@needs_robotic
@pytest.mark.long
@pytest.mark.parametrize("snippet", SNIPPETS, ids=lambda s: s.__name__)
def test_results_equal_robotics(snippet, theirs):
    ours, rai = plain(snippet(ry)), theirs[snippet.__name__]
    assert rai is not None and ours.keys() == rai.keys()
    for key in ours:
        (mine, words), (numbers, rai_words) = map(
            numbers_and_words, (ours[key], rai[key])
        )
        assert words == rai_words, key
        assert len(mine) == len(numbers), key
        np.testing.assert_allclose(mine, numbers, atol=2e-6, err_msg=key)


@needs_robotic
@pytest.mark.long
def test_every_name_of_robotic_is_accounted_for():
    import rai_table
    import robotic

    assert rai_table.faults(robotic, ry, coverage) == []
    assert rai_table.recorded() == rai_table.table(robotic, ry, coverage)


RENAMED = {
    # rai calls these by a word that Python reserves.
    "Quaternion.setDiff": {"from"},
    "Quaternion.setInterpolateProper": {"from"},
    "Quaternion.setInterpolateEmbedded": {"from"},
}


@needs_robotic
@pytest.mark.long
def test_keywords_are_robotics():
    import rai_table
    import robotic

    lacking = {}
    for key, owner, is_here in rai_table.entries(robotic, ry):
        name = key.rpartition(".")[2]
        text = getattr(getattr(robotic, owner, robotic), name).__doc__ or ""
        first, *_ = text.strip().splitlines() or [""]
        line = first if owner and is_here else ""
        method = getattr(getattr(ry, owner, ry), name, None)
        if not line.startswith(f"{name}(self") or not callable(method):
            continue
        words = set(re.findall(r"(?:, )(\w+): ", line)) - RENAMED.get(key, set())
        words = {w for w in words if not re.fullmatch(r"arg\d", w)}
        parameters = inspect.signature(method).parameters
        if not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
            lacking[key] = words - {*parameters}
    assert {key: words for key, words in lacking.items() if words} == {}


def test_what_is_not_here_says_what_to_use():
    C = ry.Config()
    with pytest.raises(pw.FeatureError, match="MuJoCo"):
        ry.DataGen  # noqa: B018
    with pytest.raises(pw.FeatureError, match="KOMO.getFrameState"):
        C.setJointStateSlice([0.0], 1)
    with pytest.raises(pw.FeatureError, match="Gauss-Newton"):
        ry.NLP_Factory().getFHessian([0.0])
    assert not hasattr(C, "setJointStates") and not hasattr(ry, "BotOpp")
    assert not hasattr(ry, "DataGen")


def small_world() -> ry.Config:
    C = ry.Config()
    table = C.addFrame("table").setShape(ry.ST.ssBox, [0.5, 0.5, 0.1, 0.01])
    table.setPosition([0, 0, 1]).setColor([0.2]).setAttributes({"is_flat": True})
    arm = C.addFrame("arm", "table").setRelativePosition([0, 0, 0.1])
    arm.setJoint(ry.JT.hingeX, [-1, 1]).setJointState(0.4)
    C.addFrame("tip", "arm").setShape(ry.ST.capsule, [0.3, 0.05]).setMass(0.2)
    C.addFrame("finger", "tip").setRelativePosition([0, 0, 0.2])
    C.getFrame("finger").setJoint(ry.JT.hingeX, mimic=arm, scale=-1.0)
    return C


@pytest.mark.parametrize("suffix", ["g", "yml", "dict"])
def test_what_is_written_is_read_again(tmp_path, suffix):
    C, D = small_world(), ry.Config()
    if suffix == "dict":
        D.addDict(C.asDict())
    else:
        file = tmp_path / f"world.{suffix}"
        file.write_text(C.write() if suffix == "g" else C.asYaml(), encoding="utf-8")
        D.addFile(file)
    assert {*D.getFrameNames()} - {"arm_origin", "finger_origin"} == {
        *C.getFrameNames()
    }
    for q in ([0.4], [-0.3]):
        for config in (C, D):
            config.setJointState(q)
        for name in C.getFrameNames():
            poses = [config.getFrame(name).getPose() for config in (C, D)]
            np.testing.assert_allclose(*poses, atol=1e-9)
    assert D.getFrame("tip").getMass() == 0.2
    assert D.getFrame("table").getAttributes()["is_flat"] is True
    assert "#dofs=1" in C.report() and "limits: [-1" in C.asYaml(serial=True)


def test_views_are_silent_without_a_screen(tmp_path, monkeypatch):
    monkeypatch.setattr("posewise.rai.viewer.has_screen", lambda: False)
    C = small_world()
    assert C.view() == 0 and C.view(True, "text") == 0
    state = C.getJointState()
    C.animate()
    C.animateSpline(4)
    np.testing.assert_allclose(C.getJointState(), state)
    file = tmp_path / "world.g"
    file.write_text(C.write(), encoding="utf-8")
    D = ry.Config()
    D.watchFile(file)
    assert D.getJointNames() == C.getJointNames()
    viewer = C.viewer()
    viewer.setWindow("title", 60, 50)
    assert viewer.getRgb().shape == (50, 60, 3) and viewer.getDepth().shape == (50, 60)
    viewer.savePng(f"{tmp_path}/")
    assert (tmp_path / "0000.png").exists()
    C.writeMesh(tmp_path / "world.ply")
    assert (tmp_path / "world.ply").stat().st_size > 1000
    C.view_close()


def test_views_are_pages_where_there_is_a_screen(monkeypatch, capsys):
    shown = []
    monkeypatch.setattr("posewise.rai.viewer.has_screen", lambda: True)
    monkeypatch.setattr(
        pw.Config, "view", lambda self, *path: shown.append(path) or Page()
    )
    C = small_world()
    assert C.view(False, "a message") == 0 and C.viewer().is_open
    assert "a message" in capsys.readouterr().out
    C.animateSpline(3)
    assert [len(path) for path in shown] == [0, 1] and shown[1][0].shape == (60, 1)
    C.view_close()
    assert not C.viewer().is_open


class Page:
    def close(self):
        """Close nothing."""


def test_depths_of_a_camera_are_those_of_the_scene():
    C = ry.Config()
    C.addFrame("wall").setShape(ry.ST.box, [4, 4, 0.2]).setPosition([0, 0, 0])
    eye = C.addFrame("eye").setPosition([0.3, 0.1, 2.1]).setQuaternion([0, 1, 0, 0])
    eye.setAttributes({"focalLength": 1.0, "width": 40, "height": 30})
    camera = ry.CameraView(C)
    with pytest.raises(pw.ConfigError, match="setCamera"):
        camera.getFxycxy()
    camera.setCamera(eye)
    np.testing.assert_allclose(camera.getFxycxy(), [30, 30, 20, 15])
    rgb, depth = camera.computeImageAndDepth(C)
    assert rgb.shape == (30, 40, 3) and rgb.dtype == np.uint8
    np.testing.assert_allclose(depth, 2.0, atol=1e-6)
    points = ry.depthImage2PointCloud(depth, camera.getFxycxy())
    np.testing.assert_allclose(points[0, 0], [-20 / 15, -1, 2], atol=1e-6)
    eye.setQuaternion([1, 0, 0, 0])  # upwards, where nothing is
    assert (camera.computeImageAndDepth(C)[1] == -1).all()


def test_solves_of_python_functions():
    class Valley:
        dimension = 2
        types = (ry.OT.sos, ry.OT.sos)
        bounds = np.array([[-2.0, -1.0], [2.0, 3.0]])

        def evaluate(self, x):
            rows = np.array([x[0] - 1, 3 * (x[1] - x[0] ** 2)])
            return rows, np.array([[1.0, 0.0], [-6 * x[0], 3.0]])

    ry.rnd_seed(0)
    solver = ry.NLP_Solver().setSolver(ry.OptMethod.Newton)
    with pytest.raises(pw.ObjectiveError, match="setProblem"):
        solver.getProblem()
    solver.setPyProblem(Valley())
    with pytest.raises(pw.ObjectiveError, match="no trace"):
        solver.getTrace_x()
    for _ in range(3):
        ret = solver.solve(1)
        np.testing.assert_allclose(ret.x, [1, 1], atol=1e-3)
        assert ret.feasible and ret.every_row_holds and ret.done
    assert solver.getTrace_x().shape[1] == 2 and solver.getTrace_J().shape[1:] == (2, 2)
    assert solver.getTrace_errs().shape == (ret.evals, 4)
    assert (np.diff(solver.getTrace_best()[:, 0]) <= 0).all()
    assert not solver.getProblem().checkJacobian([0.3, 0.4], -1.0)


def test_samples_hold_the_constraints():
    nlp = ry.NLP_Factory()
    nlp.setDimension(2)
    with pytest.raises(pw.ObjectiveError, match="expected 2 each"):
        nlp.setBounds([-1], [1])
    nlp.setBounds([-2, -2], [2, 2])
    with pytest.raises(pw.ObjectiveError, match="setEvalCallback"):
        nlp.evaluate([0, 0])
    nlp.setTypes([ry.OT.eq, ry.OT.ineq])
    nlp.setEvalCallback(lambda x: (np.array([x @ x - 1.0, -x[0]]), np.zeros((1, 2))))
    with pytest.raises(pw.ObjectiveError, match="expected .2,. and .2, 2."):
        nlp.evaluate([0, 0])
    nlp.setEvalCallback(
        lambda x: (np.array([x @ x - 1.0, -x[0]]), np.array([2 * x, [-1.0, 0]]))
    )
    with pytest.raises(pw.ObjectiveError, match="has constraints"):
        nlp.eval_scalar([0.5, 0.5])
    ry.rnd_seed(0)
    sampler = ry.NLP_Sampler(nlp)
    samples = [sampler.sample() for _ in range(4)]
    points = np.array([s.x for s in samples if s.every_row_holds])
    assert len(points) >= 3
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1, atol=1e-3)
    assert np.ptp(points[:, 1]) > 0.1
    assert "1 ineq, 1 eq" in nlp.report()


@pytest.mark.slow
def test_paths_between_walls():
    C = ry.Config()
    C.addFrame("base").setPosition([0, 0, 0.5])
    ego = C.addFrame("ego", "base").setJoint(ry.JT.transXYPhi, [-1, -1, -3, 1, 1, 3])
    ego.setShape(ry.ST.ssBox, [0.05, 0.3, 0.05, 0.01]).setContact(1)
    wall = C.addFrame("wall").setPosition([0, 0, 0.5])
    wall.setShape(ry.ST.ssBox, [0.05, 0.3, 0.05, 0.01]).setContact(1)
    finder = ry.RRT_PathFinder()
    with pytest.raises(pw.ObjectiveError, match="setStartGoal"):
        finder.solve()
    finder.setProblem(C)
    finder.setStartGoal([[-0.2, 0, 0]], [[0.2, 0, 0]])
    ret = finder.setOptions(stepsize=0.2).solve(0)
    assert ret.feasible
    np.testing.assert_allclose(ret.x[[0, -1]], [[-0.2, 0, 0], [0.2, 0, 0]], atol=1e-4)
    for q in ret.x:
        C.setJointState(q)
        assert C.coll_totalViolation() < 1e-3
    path = finder.get_resampledPath(7)
    assert path.shape == (7, 3)
    finder.setStartGoal([-0.2, 0, 0], [0.0, 0, 0])
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        assert not finder.solve().feasible


def test_pulls_of_objectives_balance():
    C = small_world()
    C.addFrame("goal").setPosition([0, -0.1, 1.25])
    komo = ry.KOMO(C, 1, 1, 0, False)
    komo.addControlObjective([], 0, 1.0)
    pair = ["finger", "goal"]
    komo.addObjective([], ry.FS.positionDiff, pair, ry.OT.eq, [[0, 1e1, 0]])
    solver = ry.NLP_Solver(komo.nlp(), verbose=0)
    with pytest.raises(pw.ObjectiveError, match="solve"):
        solver.reportLagrangeGradients()
    solver.solve()
    report = solver.reportLagrangeGradients(komo.getFeatureNames())
    cost, constraint = report.values()
    assert {cost["type"], constraint["type"]} == {"sos", "eq"}
    assert cost["grad"] == pytest.approx(constraint["grad"], rel=1e-6)
    traces = komo.info_objectiveErrorTraces()
    assert traces.shape == (1, 2) and len(komo.info_objectiveNames()) == 2
    assert komo.info_sliceErrors(0, traces).startswith("t:0 #0")
    assert komo.info_sliceCollisions(0, 0.0) == ""
    assert komo.nlp().as_KOMO() is komo
    place = komo.getFrame("finger", 1.0).getPosition()
    assert place[1] == pytest.approx(-0.1, abs=1e-3)


def test_feasible_is_rais_rule():
    C = small_world()
    C.addFrame("goal").setPosition([0.05, 0.0, 1.3])
    komo = ry.KOMO(C, 1, 1, 0, False)
    komo.addControlObjective([], 0, 1e-2)
    komo.addObjective([], ry.FS.positionDiff, ["tip", "goal"], ry.OT.eq, [[0.5, 0, 0]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ret = ry.NLP_Solver(komo.nlp(), verbose=0).solve()
    assert ret.eq == pytest.approx(0.025) and ret.feasible
    assert not ret.every_row_holds and not ret.solution.feasible
    assert list(ret.dict()) == "evals time done feasible f sos ineq eq".split()


def test_parameters_and_seeds():
    ry.params_clear()
    ry.params_add({"noInteractivity": True, "rrt/stepsize": 0.1})
    assert ry.get_params() == {"noInteractivity": True, "rrt/stepsize": 0.1}
    ry.params_print()
    C = small_world()
    states = []
    for _ in range(2):
        ry.rnd_seed(3)
        C.setRandom()
        states.append(C.getJointState())
    np.testing.assert_array_equal(*states)
    assert -1 <= states[0][0] <= 1 and ry.version()
    ry.params_clear()
    assert ry.params_get() == {}


def test_frames_are_renamed_and_compared():
    C = small_world()
    tip = C.getFrame("tip")
    assert tip == C.getFrame("tip") and tip != C.getFrame("arm") and tip != "tip"
    tip.name = "end"
    assert C.getFrame("end") == tip and "tip" not in C.getFrameNames()
    assert {C.getFrame("end"): 1}[tip] == 1


def test_greys_stay_greys():
    C = small_world()
    table = C.getFrame("table").setShape(ry.ST.box, [1, 1, 0.1])
    assert C.C.frame("table").geometries[0].color == (0.2, 0.2, 0.2)
    assert table.getAttributes()["color"] == [0.2]
    with pytest.raises(pw.FeatureError, match="convex parts"):
        table.setMesh(np.eye(3), [[0, 1, 2]], cvxParts=[0])
    table.setPointCloud([[0, 0, 0], [np.nan, 0, 0]])
    assert len(table.getMeshPoints()) == 1


def test_splines_say_what_does_not_fit():
    S = ry.BSpline()
    with pytest.raises(pw.ObjectiveError, match="no control points"):
        S.eval([0.0])
    S.setKnots(2, np.linspace(0, 1, 4))
    with pytest.raises(pw.ObjectiveError, match="expected 6 in all"):
        S.setCtrlPoints(np.zeros((3, 2)))


@pytest.mark.parametrize("name", ry.get_NLP_Problem_names())
def test_slopes_of_toy_problems_are_those_of_differences(name):
    nlp = ry.make_NLP_Problem(name)
    x = 0.7 * np.sin(np.arange(nlp.dimension) + 0.3)
    assert nlp.checkJacobian(x, 1e-5)


def test_random_toy_problems_are_as_told():
    C = ry.make_NLP_Problem("square.3").evaluate(np.zeros(3))[1]
    np.testing.assert_allclose(C @ C.T, np.diag([1, 10, 100]), atol=1e-9)
    phi, _ = ry.make_NLP_Problem("LinearProgram").evaluate(np.zeros(2))
    assert len(phi) == 16 and phi[0] == 0 and phi[1:].max() < -0.2
    assert ry.NLP_Solver(ry.make_NLP_Problem("LinearProgram")).solve().feasible
    with pytest.raises(pw.PosewiseError, match="no 'IK'.*Rosenbrock.*NLP_Factory"):
        ry.make_NLP_Problem("IK")


def test_what_rai_takes_silently_is_warned_of():
    C = ry.Config()
    box = C.addFrame("box").setShape(ry.ST.box, [0.1, 0.2, 0.3])
    with pytest.warns(UserWarning, match=r"got \[255, 0, 64\], expected.*0 to 1"):
        box.setColor([255, 0, 64])
    with pytest.warns(UserWarning, match="returns None: No frame 'bix'.*'box'"):
        assert C.getFrame("bix") is None
    assert C.C.frame("box").geometries[0].color[:3] == (1, 0, 1)


@pytest.mark.parametrize("count", [0, 3])
def test_variables_of_another_number_are_refused(count):
    with pytest.raises(pw.ObjectiveError, match=f"x has {count} numbers, expected 2"):
        ry.make_NLP_Problem("Rosenbrock.2").evaluate(np.zeros(count))
