"""The commands `posewise solve` and `posewise check`, and the help of all commands."""

import json
import re
import textwrap
import warnings

import numpy as np
import pytest
from helpers.problem_files import POINTING
from helpers.worlds import plain_poses

import posewise as pw
from posewise.__main__ import main, warnings_in_one_line
from posewise.cli import help_texts
from posewise.cli.motion_section import STEP_KINDS
from posewise.cli.output import GAP_OBJECTIVE
from posewise.cli.problem_file import make_placement_arguments, read_problem
from posewise.objectives.placement.placement import GAP_CONSTRAINT


def test_check_says_why_as_the_help_does(write_problem, capsys):
    file = write_problem(help_texts.PLACEMENT_FILE)
    target = file.parent / "out.json"
    assert main(["check", str(file), "--json", str(target)]) == 1
    output = capsys.readouterr()
    assert output.err == "posewise: not every predicate holds\n"
    assert textwrap.indent(output.out, "    ") in help_texts.CHECK
    data = json.loads(target.read_text())
    assert not data["holds"]
    assert [p["holds"] for p in data["predicates"]] == [False]
    file = write_problem(help_texts.PLACEMENT_FILE.replace("OnTopOf", "~OnTopOf"))
    assert main(["check", str(file)]) == 0


def test_a_configuration_is_solved_and_written(write_problem, capsys):
    file = write_problem(POINTING)
    target, arrays = file.parent / "out.json", file.parent / "out.npz"
    arguments = ["solve", str(file), "--json", str(target), "--npz", str(arrays)]
    assert main(arguments) == 0
    output = capsys.readouterr().out
    assert "CONVERGED" in output and "position(tip)" in output
    data = json.loads(target.read_text())
    assert data["solved"] and data["status"] == "CONVERGED"
    assert [o["type"] for o in data["objectives"]] == ["eq", "ineq", "ineq"]
    assert [p["holds"] for p in data["predicates"]] == [True, None]
    assert "+ InReachOfAgent('tip', 'base', reach=5)\n  Slice 0: " in output
    with np.load(arrays) as stored:
        path, joints = stored["path"], list(stored["joints"])
    np.testing.assert_array_equal(path, data["path"])
    C = read_problem(file).world
    assert joints == list(C.joint_names)
    C.q = path[0]
    tip = plain_poses(C)[C.index("tip")]
    np.testing.assert_allclose(tip[:2], [0.5, 0.6], atol=2e-4)
    file.write_text(POINTING.replace("[0.5, 0.6", "[9, 9"))
    assert main(arguments) == 1
    output = capsys.readouterr()
    assert "Violated: position(tip)" in output.out and "not solved" in output.err
    assert not json.loads(target.read_text())["solved"]


@pytest.mark.slow
def test_the_reaching_of_the_help_is_solved(write_problem, capsys):
    file = write_problem(help_texts.INVERSE_KINEMATICS_FILE)
    target = file.parent / "out.json"
    assert main(["solve", str(file), "--json", str(target)]) == 0
    assert "cost share" in capsys.readouterr().out
    C = read_problem(file).world
    C.q = json.loads(target.read_text())["path"][0]
    hand = plain_poses(C)[C.index("panda_hand_tcp")]
    np.testing.assert_allclose(hand[:3], [0.5, 0.2, 0.5], atol=2e-4)
    w, x, y, z = hand[3:]
    assert 1 - 2 * (x * x + y * y) < -0.999


@pytest.mark.slow
def test_the_placing_of_the_help_is_solved_and_checked(write_problem, capsys):
    file = write_problem(help_texts.PLACEMENT_FILE)
    target, arrays = file.parent / "out.json", file.parent / "out.npz"
    arguments = ["solve", str(file), "--json", str(target), "--npz", str(arrays)]
    assert main(arguments) == 0
    output = capsys.readouterr().out
    assert "+ OnTopOf('box', 'table')" in output
    assert f"for a gap add {GAP_OBJECTIVE}." in output and "pw." not in output
    data = json.loads(target.read_text())
    best = data["placements"][data["best"]]
    with np.load(arrays) as stored:
        np.testing.assert_array_equal(
            stored["pose of box"][data["best"]], best["poses"]["box"]
        )
    write_problem(
        help_texts.PLACEMENT_FILE.replace(
            "[0, 0, 1.2, 1, 0, 0, 0]", str(best["poses"]["box"])
        )
    )
    assert main(["check", str(file)]) == 0
    impossible = help_texts.PLACEMENT_FILE.replace(
        "box, table)", "box, table) & Under(box, table)"
    )
    assert main(["solve", str(write_problem(impossible))]) == 1
    assert "not solved" in capsys.readouterr().err


@pytest.mark.slow
def test_the_grasping_of_the_help_is_solved(write_problem, capsys):
    file = write_problem(help_texts.GRASP_FILE)
    arrays = file.parent / "out.npz"
    assert main(["solve", str(file), "--npz", str(arrays)]) == 0
    with np.load(arrays) as stored:
        path = stored["path"]
    C = read_problem(file).world
    C.q = path[-1]
    offset = C.pose("hand")[:3] - C.pose("mug")[:3]
    np.testing.assert_allclose(offset[:2], 0, atol=2e-4)
    assert abs(offset[2]) < 0.0301


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["solve", "nowhere.yaml"], "nowhere.yaml cannot be read"),
        (["check", "."], "cannot be read"),
        (["solve", "FILE", "--json", "no/such/folder.json"], "cannot be written"),
        (["solve", "FILE", "--npz", "."], "cannot be written"),
        (["solve", "FILE", "--npz", "x.foo"], "--npz is 'x.foo', expected a name that"),
        (["solve", "FILE", "--json", "x"], "expected a name that ends in .json"),
        (["check", "FILE", "--json", "x.npz"], "expected a name that ends in .json"),
        (["bddl", "sweep", "--json", "x.txt"], "expected a name that ends in .json"),
        (["solve", "FILE", "--srdf", "r.srdf"], "file: robot.urdf, srdf: robot.srdf"),
        (["solve", "FILE", "--robot", "r.urdf"], "`scene: {files: [robot.urdf]}`"),
        (["check", "FILE", "--request", "r.yaml"], "in its objectives"),
        (["bddl", "nowhere.bddl"], "nowhere.bddl cannot be read"),
        (["bddl", "(define)"], "cannot be read"),
    ],
)
def test_bad_arguments(write_problem, capsys, arguments, problem):
    file = str(write_problem(help_texts.INVERSE_KINEMATICS_FILE))
    assert main([file if a == "FILE" else a for a in arguments]) == 2
    assert problem in capsys.readouterr().err


@pytest.mark.parametrize("command", ["demo", "solve", "check", "view", "bddl", "bench"])
def test_help_teaches_by_an_example(command, capsys):
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    output = capsys.readouterr().out
    assert f"posewise {command} " in output.partition("options:")[2]


MOVING = """\
scene:
  models: [planar3]
komo: {slices_per_phase: 4, k_order: 1, duration_per_phase: 2.0}
objectives:
  - {feature: position, frames: tip, target: [0.5, 0.6, 0], times: [1]}
"""


@pytest.mark.sampled
@pytest.mark.parametrize("suffix", ["csv", "npz", "json"])
def test_a_path_is_written_over_time(write_problem, suffix, capsys):
    file = write_problem(MOVING)
    target = file.parent / f"motion.{suffix}"
    arguments = ["solve", str(file), "--trajectory", str(target), "--rate", "50"]
    assert main(arguments) == 0
    written = pw.Trajectory.load(target)
    np.testing.assert_allclose(written.times, np.arange(101) / 50, atol=1e-9)
    C = read_problem(file).world
    np.testing.assert_allclose(written.positions[0], C.q, atol=1e-9)
    C.q = written.positions[-1]
    tip = plain_poses(C)[C.index("tip")]
    np.testing.assert_allclose(tip[:2], [0.5, 0.6], atol=2e-4)


def test_trajectories_of_other_files_are_refused(write_problem, capsys):
    file = write_problem(MOVING)
    assert main(["solve", str(file), "--trajectory", "motion.txt"]) == 2
    assert "ends in .csv, .npz, .json" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["solve", str(file), "--trajectory", "motion.csv", "--rate", "0"])
    assert "expected a number > 0" in capsys.readouterr().err
    placement = write_problem(help_texts.PLACEMENT_FILE)
    target = file.parent / "motion.csv"
    assert main(["solve", str(placement), "--trajectory", str(target)]) == 2
    assert "needs the key komo" in capsys.readouterr().err


@pytest.mark.parametrize("suffix", ["json", "npz"])
def test_placements_of_a_result_are_checked_again(suffix, write_problem, capsys):
    file = write_problem(help_texts.PLACEMENT_FILE)
    result = file.parent / f"out.{suffix}"
    upright, tilted = [0.2, 0, 0.8, 1, 0, 0, 0], [0.2, 0, 0.75, 0.8, 0.6, 0, 0]
    for pose, expected in ((upright, 0), (tilted, 1)):
        if suffix == "json":
            result.write_text(json.dumps({"placements": [{"poses": {"box": pose}}]}))
        else:
            np.savez(result, **{"pose of box": np.array([pose])})
        assert main(["check", str(file), str(result)]) == expected
        out = capsys.readouterr().out
        assert f"{1 - expected} of 1 placements pass every check." in out
    assert "'table' and 'box' overlap by" in out
    result.write_text("{}") if suffix == "json" else np.savez(result, a=np.zeros(1))
    assert main(["check", str(file), str(result)]) == 2
    assert "has no placements" in capsys.readouterr().err


def test_objectives_of_placements_are_evaluated(write_problem, capsys):
    up = "objectives:\n  - {feature: vectorZ, frames: [box], target: [0, 0, 1]}\n"
    file = write_problem(help_texts.PLACEMENT_FILE + up)
    result = file.parent / "out.json"
    lying = [0.2, 0, 0.77, np.sqrt(0.5), np.sqrt(0.5), 0, 0]
    result.write_text(json.dumps({"placements": [{"poses": {"box": lying}}]}))
    assert main(["check", str(file), str(result)]) == 1
    assert "vectorZ(box) is violated by 1 (scaled)" in capsys.readouterr().out


def test_models_are_listed(capsys):
    assert main(["models"]) == 0
    assert "panda " in capsys.readouterr().out


def test_models_in_packages_with_fitted_collisions(tmp_path, write_problem):
    trimesh = pytest.importorskip("trimesh")
    trimesh.creation.cylinder(radius=0.05, height=0.4).export(tmp_path / "m.obj")
    mesh = '<geometry><mesh filename="m.obj"/></geometry>'
    link = f'<link name="a"><collision>{mesh}</collision></link>'
    (tmp_path / "m.urdf").write_text(f'<robot name="r">{link}</robot>')
    fit = "  fit_collisions: {primitives: capsules}\n"
    file = write_problem(f"scene:\n  files: ['package://parts/m.urdf']\n{fit}")
    C = read_problem(file, {"parts": tmp_path}).world
    assert isinstance(C.frame("a").shape, pw.Capsule)
    file = write_problem(f"scene:\n  files: ['{tmp_path}/m.urdf']\n")
    assert isinstance(read_problem(file).world.frame("a").shape, pw.Mesh)


@pytest.mark.parametrize(
    "steps, text",
    [
        ("[{pik: mug}]", "expected a mapping with one of the keys pick, place"),
        ("[{pick: mug, hold: Upright(mug)}]", "pick and hold"),
        ("[{place: mug}]", "no key 'predicate'"),
        ("[{pick: mgu}]", "did you mean 'mug'"),
    ],
)
def test_mistakes_in_steps(steps, text, write_problem, capsys):
    scene = "scene:\n  models: [panda, mug]\n"
    robot = f"motion:\n  robot: panda_link0\n  steps: {steps}\n"
    assert main(["solve", str(write_problem(scene + robot))]) == 2
    assert text in capsys.readouterr().err


UNSOLVED = MOVING.replace("[0.5, 0.6, 0]", "[9, 9, 0]")


@pytest.mark.filterwarnings("default::posewise.ProblemWarning")
def test_an_unsolved_path_is_told_in_one_line(write_problem, capsys):
    file = write_problem(UNSOLVED)
    target = file.parent / "motion.csv"
    assert main(["solve", str(file), "--trajectory", str(target)]) == 1
    lines = capsys.readouterr().err.splitlines()
    sentence = f"posewise: {target} holds an unsolved path; a controller should not"
    assert sum(line.startswith(sentence) for line in lines) == 1
    assert not [line for line in lines if ".py:" in line]
    assert all(line.startswith("posewise: ") for line in lines)
    assert not [line for line in lines if "is not feasible" in line]


def test_warnings_are_sentences_without_source_lines():
    before = warnings.formatwarning
    with warnings_in_one_line():
        text = warnings.formatwarning("Two\n lines.", UserWarning, "a.py", 7)
    assert text == "posewise: Two lines.\n"
    assert warnings.formatwarning is before


def test_the_gap_of_a_placement_is_told_in_yaml(write_problem):
    report = f"Objects may overlap; for a gap add {GAP_CONSTRAINT}."
    text = report.replace(GAP_CONSTRAINT, GAP_OBJECTIVE)
    assert "pw." not in text
    objective = GAP_OBJECTIVE.partition("}")[0].replace("a, b", "box, table")
    objective = objective.replace("-gap", "-0.01")
    file = write_problem(f"{help_texts.PLACEMENT_FILE}objectives:\n  - {objective}}}\n")
    arguments = make_placement_arguments(read_problem(file))
    (feature, kind), _ = arguments["constraints"]
    assert kind is pw.OT.ineq
    np.testing.assert_allclose(feature.target, -0.01)


def test_the_help_lists_all_steps():
    (line,) = re.findall(r"steps \(([^)]*)\)", help_texts.SOLVE)
    for step in STEP_KINDS:
        assert step in line, line


@pytest.mark.long
def test_a_path_problem_is_prepared(write_problem, capsys):
    file = write_problem(POINTING)
    assert main(["prepare", str(file), "--bodies", "1"]) == 0
    output = capsys.readouterr()
    assert "with 1 bodies around the robot" in output.err
    assert output.out.startswith(("Compiled for", "The cache of programs is off"))


@pytest.mark.parametrize(
    "text, arguments, words",
    [
        (help_texts.PLACEMENT_FILE, [], "Only paths are prepared"),
        (POINTING, ["--bodies", "-1"], "bodies is -1, expected integers >= 0"),
    ],
)
def test_what_cannot_be_prepared_is_told(write_problem, capsys, text, arguments, words):
    file = write_problem(text)
    assert main(["prepare", str(file), *arguments]) == 2
    assert words in capsys.readouterr().err
