"""Files of many problems, and their shares in job arrays."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from helpers.problem_files import scene_file

from posewise.__main__ import main

ANGLES = np.linspace(0.3, 1.2, 7)
POINTS = 0.6 * np.column_stack([np.cos(ANGLES), np.sin(ANGLES)])
MANY = scene_file(
    """\
komo: {starts: 2}
objectives:
  - {control: 0, scale: 0.1}
  - {feature: position, frames: [tip], scale: [[1, 0, 0], [0, 1, 0]],
     targets: TARGETS}
"""
)
CHUNKS = [(0, 2), (2, 4), (4, 7)]
"""Problems of three shares."""


def run(*arguments):
    return main(["solve", *map(str, arguments)])


def chunks(folder):
    names = [file.stem.split("-")[1:] for file in folder.glob("chunk-*")]
    return sorted(tuple(map(int, name)) for name in names)


@pytest.fixture
def file(write_problem):
    """Return a file of seven problems, whose targets are in another file."""
    file = write_problem(MANY.replace("TARGETS", "points.csv"), "many.yaml")
    rows = np.column_stack([POINTS, np.zeros(len(POINTS))])
    np.savetxt(file.parent / "points.csv", rows, delimiter=",")
    np.save(file.parent / "points.npy", rows)
    return file


def tips(file, arrays):
    from posewise.cli.problem_file import read_problem

    C = read_problem(file).world
    with np.load(arrays) as stored:
        assert stored["solved"].all() and set(stored["status"]) == {"CONVERGED"}
        paths = stored["path"]
        assert stored["times"].shape == paths.shape[:2] == (len(POINTS), 1)
    points = []
    for C.q in paths[:, -1]:
        points.append(C.pose("tip")[:2])
    return np.array(points)


def test_targets_in_the_file_and_beside_it(file, write_problem, tmp_path, capsys):
    rows = str([[*map(float, point), 0.0] for point in POINTS])
    for targets in (rows, "points.csv", "points.npy"):
        again = write_problem(MANY.replace("TARGETS", targets))
        assert (
            run(again, "--npz", tmp_path / "o.npz", "--json", tmp_path / "o.json") == 0
        )
        assert "7 of 7 problems are solved." in capsys.readouterr().out
        np.testing.assert_allclose(tips(again, tmp_path / "o.npz"), POINTS, atol=2e-3)
        data = json.loads((tmp_path / "o.json").read_text())
        assert data["solved"] is True and np.shape(data["path"]) == (7, 1, 3)


@pytest.mark.long
def test_each_share_stores_its_own_problems(file, tmp_path, capsys):
    folder = tmp_path / "out"
    for k, done in ((3, CHUNKS[2:]), (1, [CHUNKS[0], CHUNKS[2]])):
        assert run(file, "--checkpoint", folder, "--share", f"{k}/3") == 0
        assert chunks(folder) == done
    assert "2 of its 2 problems are stored, 2 feasible" in capsys.readouterr().out
    # What no share has stored is solved now.
    assert run(file, "--checkpoint", folder, "--npz", tmp_path / "o.npz") == 0
    assert chunks(folder)[-1] == CHUNKS[2] and len(chunks(folder)) == 3
    np.testing.assert_allclose(tips(file, tmp_path / "o.npz"), POINTS, atol=2e-3)


@pytest.mark.parametrize("share", ["1/20", "1/1000000000000"])
def test_more_shares_than_problems(share, file, tmp_path, capsys):
    assert run(file, "--checkpoint", tmp_path / "out", "--share", share) == 0
    assert "0 of its 0 problems" in capsys.readouterr().out


def test_problems_out_of_reach_are_named(write_problem, capsys):
    far = "[[0.5, 0.2, 0], [9, 9, 0], [0.4, 0.3, 0]]"
    assert run(write_problem(MANY.replace("TARGETS", far))) == 1
    text = "2 of 3 problems are solved. Not solved, counted from 0: 1."
    assert text in capsys.readouterr().out


@pytest.mark.slow
def test_shares_of_processes_that_run_at_once(file, tmp_path, capsys):
    folder, environment = tmp_path / "out", {**os.environ, "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-m", "posewise", "solve", str(file)]
    command += ["--checkpoint", str(folder), "--share"]
    running = [
        subprocess.Popen([*command, f"{k}/3"], env=environment) for k in (1, 2, 3)
    ]
    assert [process.wait(300) for process in running] == [0, 0, 0]
    assert chunks(folder) == CHUNKS
    assert run(file, "--checkpoint", folder, "--npz", tmp_path / "o.npz") == 0
    assert chunks(folder) == CHUNKS
    np.testing.assert_allclose(tips(file, tmp_path / "o.npz"), POINTS, atol=2e-3)


@pytest.mark.parametrize("share", ["0/3", "4/3", "3", "a/b", "1/0", "-1/3", "1/2/3"])
def test_a_share_is_k_of_n(file, share, capsys):
    with pytest.raises(SystemExit) as exit_code:
        run(file, "--checkpoint", "out", f"--share={share}")
    assert exit_code.value.code == 2
    assert "expected K/N with 1 <= K <= N" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--share", "1/2"], "--share needs a folder that all processes see"),
        (["--checkpoint", "FILE"], "cannot be used"),
        (["--checkpoint", ""], "checkpoint_dir is ''"),
        (["--checkpoint", "o", "--share", "1/2", "--npz", "a.npz"], "--npz has the"),
        (["--trajectory", "a.csv"], "--trajectory is for one problem"),
        (["--picture", "a.png"], "--picture is for one problem"),
    ],
)
def test_options_that_do_not_fit_are_sentences(file, options, problem, capsys):
    assert run(file, *[file if o == "FILE" else o for o in options]) == 2
    assert problem in capsys.readouterr().err


@pytest.mark.parametrize(
    ("targets", "problem"),
    [
        ("[]", "has shape (0,), expected numbers, a row (D) for each problem"),
        ("null", "expected numbers, a row (D) for each problem"),
        ("[[1, 2], [3]]", "expected numbers, a row (D) for each problem"),
        ("[[1, .inf, 0]]", "targets"),
        ("[[1, 2]]", "2"),
        ("points.txt", "points.txt"),
        ("robot.urdf", "no .csv or .npy file"),
        ("words.csv", "cannot be read"),
        ("../points.csv", "outside of the problem file's folder"),
        ("[[1, 2, 0]], target: [1, 2, 0]", "has target and targets"),
    ],
)
def test_targets_that_do_not_fit_are_sentences(
    write_problem, tmp_path, targets, problem, capsys
):
    (tmp_path / "words.csv").write_text("a,b,c\n")
    assert run(write_problem(MANY.replace("TARGETS", targets))) == 2
    assert problem in capsys.readouterr().err


def test_other_commands_say_that_there_are_many(file, write_problem, tmp_path, capsys):
    result = tmp_path / "o.npz"
    assert run(file, "--npz", result) == 0
    assert main(["check", str(file), str(result)]) == 2
    assert "a file of many problems" in capsys.readouterr().err
    assert main(["check", str(file)]) == 0
    single = write_problem(MANY.replace("targets: TARGETS", "target: [0.5, 0.2, 0]"))
    assert run(single, "--checkpoint", tmp_path / "out") == 2
    assert "give an objective of a path or a configuration" in capsys.readouterr().err
