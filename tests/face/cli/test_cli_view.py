"""The command `posewise view`."""

import json

import numpy as np
import pytest

from posewise.__main__ import main
from posewise.cli.problem_file import (
    read_problem,
)

SLIDING = """\
scene:
  models: [planar3]
  objects: {ball: {parts: [Sphere(0.1)], joint: free, position: [0, 0, 1]}}
komo: {phases: 1, slices_per_phase: 3}
"""


@pytest.fixture
def solution_files(write_problem):
    """Return a problem file beside arrays as `solve --npz` writes them."""
    file = write_problem(SLIDING)
    C = read_problem(file).world
    path = np.repeat([C.q], 3, 0)
    path[:, 0] = [0.0, 0.5, 1.0]
    joints = np.array(C.joint_names)
    times = np.array([0.5, 1.0, 1.5])
    np.savez(file.parent / "path.npz", path=path, times=times, joints=joints)
    poses = np.array([[0, 0, 2.0, 1, 0, 0, 0], [0, 0, 3.0, 1, 0, 0, 0]])
    arrays = {"pose of ball": poses, "solved": np.array([False, True])}
    np.savez(file.parent / "poses.npz", cost=np.zeros(2), **arrays)
    np.savez(file.parent / "other.npz", a=np.zeros(1))
    np.savez(file.parent / "late.npz", path=path, times=np.zeros(3), joints=joints)
    np.savez(file.parent / "alien.npz", path=path, times=times, joints=["x"])
    (file.parent / "no.npz").write_text("PK")
    return file


@pytest.mark.parametrize("solved", [[], ["path.npz"], ["poses.npz"]])
def test_view_writes_a_page_and_ends(solution_files, capsys, solved):
    pytest.importorskip("viser", reason="the viewer needs the extra viz")
    page = solution_files.parent / "out.html"
    solution = [str(solution_files.parent / name) for name in solved]
    assert main(["view", str(solution_files), *solution, "--html", str(page)]) == 0
    assert capsys.readouterr().out == f"written: {page}\n"
    assert "__VISER_EMBED_DATA__" in page.read_text()


def test_what_view_shows(solution_files):
    from posewise.cli.view import _load_solution

    def world():
        return read_problem(solution_files).world

    shown = _load_solution(world(), None, solution_files.parent / "path.npz")
    np.testing.assert_allclose(
        [shown.world(k).joints.value("joint1")[0] for k in range(3)], [0, 0.5, 1]
    )
    np.testing.assert_allclose(shown.pauses, 0.5)
    C = world()
    assert _load_solution(C, None, solution_files.parent / "poses.npz") is None
    assert C.pose("ball")[2] == 3.0


def test_placements_in_json_are_shown(solution_files):
    from posewise.cli.view import _load_solution

    C, file = read_problem(solution_files).world, solution_files.parent / "a.json"
    poses = [[0, 0, z, 1, 0, 0, 0] for z in (2.0, 3.0)]
    placements = [
        {"solved": solved, "poses": {"ball": pose}}
        for solved, pose in zip((False, True), poses, strict=True)
    ]
    file.write_text(json.dumps({"placements": placements}))
    assert _load_solution(C, None, file) is None
    assert C.pose("ball")[2] == 3.0


def test_view_of_a_model_runs_until_interrupted(solution_files, capsys, monkeypatch):
    pytest.importorskip("viser", reason="the viewer needs the extra viz")
    monkeypatch.setattr(
        "posewise.robots.visual.viewer.view.open_page", lambda url: None
    )

    def interrupt(seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr("posewise.cli.view.sleep", interrupt)
    assert main(["view", str(solution_files.parent / "robot.urdf")]) == 0
    assert "http://127.0.0.1:" in capsys.readouterr().out


def test_view_opens_a_page(solution_files, capsys, monkeypatch):
    page = solution_files.parent / "page.html"
    page.write_text("<html>")
    monkeypatch.setattr("webbrowser.open", lambda url: False)
    assert main(["view", str(page)]) == 0
    assert page.as_uri() in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["nowhere.yaml"], "nowhere.yaml cannot be read"),
        (["nowhere.urdf"], "'nowhere.urdf' is not a file; expected a problem"),
        (["nowhere.html"], "is not a file"),
        (["robot.urdf", "--html", "no/such/x.html"], "cannot be written"),
        (["robot.urdf", "--html", "x.png"], "expected a name like 'x.html'"),
        (["robot.urdf", "no.npz"], "no.npz cannot be read as .npz"),
        (["robot.urdf", "nowhere.npz"], "nowhere.npz cannot be read as .npz"),
        (["robot.urdf", "path.npz"], "No joint"),
        (["problem.yaml", "alien.npz"], "alien.npz: No joint 'x'"),
        (["problem.yaml", "late.npz"], "expected 3 times that increase"),
        (["problem.yaml", "other.npz"], "has a; expected a path under"),
        (["robot.urdf", "poses.npz"], "No frame 'ball'"),
    ],
)
def test_bad_arguments_of_view(solution_files, capsys, monkeypatch, arguments, problem):
    pytest.importorskip("viser", reason="the viewer needs the extra viz")
    monkeypatch.chdir(solution_files.parent)
    if "--html" not in arguments:
        page = [] if arguments == ["nowhere.html"] else ["--html", "x.html"]
        arguments = [*arguments, *page]
    assert main(["view", *arguments]) == 2
    assert problem in capsys.readouterr().err
