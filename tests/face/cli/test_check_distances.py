"""Distances along whole paths in `posewise check FILE RESULT` and `posewise solve`."""

import json
import re

import numpy as np
import pytest

import posewise as pw
from posewise.__main__ import main
from posewise.cli.path_distances import ClearanceLine
from posewise.objectives.clearance.path_clearance import PairClearance
from posewise.robots.errors import ProblemWarning

PASSING = """
scene:
  frames:
    cart: {joint: transX, limits: [[-2], [2]], q: -0.5}
    lift: {parent: cart, joint: transZ, limits: [[-2], [2]], shape: Sphere(0.1)}
    post: {shape: Sphere(0.1)}
komo:
  slices_per_phase: 4
  k_order: 1
  avoid_collisions: KEYS
objectives:
  - {control: 1}
"""
# From x = -0.5 past the post at 0: slices at x = ∓0.25 are clear of it.
LOW = np.array([[-0.25, 0.0], [0.25, 0.0], [0.4, 0.0], [0.5, 0.0]])
OVER = LOW + [[0.0, 0.25], [0.0, 0.25], [0.0, 0.0], [0.0, 0.0]]
DETOUR = np.array(
    [[-0.5, 0], [-0.25, 0], [-0.25, 0.3], [0, 0.4], [0.25, 0.3], [0.25, 0], [0.5, 0]]
)
DETOUR_TIMES = [0.0, 0.25, 0.3, 0.4, 0.45, 0.5, 1.0]


def write_rows(file, rows, times=None):
    columns = [] if times is None else [times]
    header = ",".join([*["time"] * len(columns), "cart", "lift"])
    table = np.column_stack([*columns, rows])
    np.savetxt(file, table, delimiter=",", header=header, comments="")
    return str(file)


CASES = {
    "through the post": ("{}", LOW, None, ["'lift' and 'post' come to -200.0 mm at"]),
    "over it": ("{margin: 0.04}", OVER, None, []),
    "within the margin": (
        "{margin: 0.06}",
        OVER,
        None,
        ["come to 50.0 mm at 0.375 s, expected at least 60.0 mm"],
    ),
    "allowed": ("{allow: [[lift, post, null]]}", OVER, None, []),
    "allowed too deep": (
        "{allow: [[lift, post, null]]}",
        LOW,
        None,
        ["expected at least -1.0 mm"],
    ),
    "allowed at other times": (
        "{margin: 0.06, allow: [[lift, post, [0.75, 1]]]}",
        OVER,
        None,
        ["expected at least 60.0 mm"],
    ),
    # The slices are those of the path through the post, the rows between go over it.
    "rows between slices": ("{}", DETOUR, DETOUR_TIMES, []),
    "too near between slices": (
        "{margin: 0.2}",
        DETOUR,
        DETOUR_TIMES,
        ["come to 50.2 mm at 0.252 s, expected at least 200.0 mm"],
    ),
}


@pytest.mark.long
@pytest.mark.sampled
@pytest.mark.parametrize("case", CASES)
def test_distances_on_the_whole_path(write_problem, capsys, case):
    keys, rows, times, pieces = CASES[case]
    file = write_problem(PASSING.replace("KEYS", keys))
    result = write_rows(file.parent / "a.csv", rows, times)
    report = file.parent / "report.json"
    code = main(["check", str(file), result, "--json", str(report)])
    output = capsys.readouterr().out
    assert code == bool(pieces), output
    assert all(piece in output for piece in pieces), output
    # Nothing below a path that fails sounds like success.
    assert ("certified" in output) != bool(pieces)
    sign = "-" if pieces else "+"
    assert f"{sign} distances on the whole path" in output
    names = {c["name"]: c["passed"] for c in json.loads(report.read_text())["checks"]}
    assert names["distances on the whole path"] != bool(pieces)


def test_slices_alone_are_not_certified(write_problem, capsys):
    file = write_problem(PASSING.replace("KEYS", "{between: false}"))
    result = write_rows(file.parent / "a.csv", LOW)
    assert main(["check", str(file), result]) == 0
    output = capsys.readouterr().out
    assert "whole path" not in output and "clearance" not in output


CARRIED = """
scene:
  frames:
    cart: {joint: transX, limits: [[-2], [2]], q: -0.5}
    lift: {parent: cart, joint: transZ, limits: [[-2], [2]]}
    box: {joint: free, position: [-0.4, 0, 0], shape: Sphere(0.1)}
    post: {shape: Sphere(0.1)}
komo:
  slices_per_phase: 4
  k_order: 1
  avoid_collisions: {margin: 0.01}
objectives:
  - {mode_switch: stable, frames: [lift, box], times: [0.25]}
"""


@pytest.mark.long
@pytest.mark.parametrize(("shift", "code"), [(0.0, 1), (0.3, 0)])
@pytest.mark.parametrize("is_dense", [False, True])
def test_what_is_carried_keeps_its_distance(
    write_problem, capsys, shift, code, is_dense
):
    file = write_problem(CARRIED)
    # The box is 0.1 ahead of the cart, so that its course is LOW's from -0.3 on.
    rows = np.array([[-0.5, 0], [-0.4, shift], [0.2, shift], [0.3, shift]])
    times = np.arange(1, 5) / 4
    if is_dense:
        sample_times = np.linspace(0, 1, 21)
        corners = np.vstack([[-0.5, 0], rows])
        columns = [np.interp(sample_times, [0, *times], c) for c in corners.T]
        rows, times = np.stack(columns, 1), sample_times
    result = write_rows(file.parent / "a.csv", rows, times)
    assert main(["check", str(file), result]) == code
    output = capsys.readouterr().out
    assert ("'post' and 'box' come to -200.0 mm" in output) == (code == 1), output


FAST = """
scene:
  frames:
    cart: {joint: transX, limits: [[-2], [2]], q: -0.5}
    lift: {parent: cart, joint: transZ, limits: [[-2], [2]], shape: Sphere(0.1)}
    post: {position: [0, 0, -0.21], shape: Sphere(0.1)}
komo:
  slices_per_phase: 8
  k_order: 2
  free_durations: {min: 0.5, max: 4}
  time_objective:
  motion_limits: {velocity: 1, acceleration: 5}
  avoid_collisions: {margin: 0.01}
objectives:
  - {control: 2, scale: 0.1}
  - {feature: qItself, frames: [cart], target: [0.5], times: [1.0], scale: 10}
  - {feature: qItself, order: 1, times: [1.0]}
"""


@pytest.mark.slow
def test_a_fast_motion_is_solved_and_passes(write_problem, capsys):
    file = write_problem(FAST)
    result_file, arrays = file.parent / "a.json", file.parent / "a.npz"
    outputs = ["--json", str(result_file), "--npz", str(arrays)]
    assert main(["solve", str(file), *outputs]) == 0
    output = capsys.readouterr().out
    assert re.search(r"clearance: .* mm, 'lift' and 'post' at .*; certified", output)
    data = json.loads(result_file.read_text())
    assert data["solved"] and 0.01 <= data["clearance"]["lower_bound"] <= 0.02
    # One metre at 1 m/s, with 0.2 s to reach that speed and to lose it.
    assert 1.19 < data["times"][-1] < 1.5
    for name in (result_file, arrays):
        assert main(["check", str(file), str(name)]) == 0, capsys.readouterr().out
    assert "+ durations of the phases" in capsys.readouterr().out
    path, times = np.array(data["path"]), np.array(data["times"])
    for factor, piece in (
        (0.6, "- objectives"),
        (0.2, "Phase 0 takes"),
        (None, "free durations; give as many, with their times"),
    ):
        row_times = None if factor is None else factor * times
        result = write_rows(file.parent / "b.csv", path, row_times)
        assert main(["check", str(file), result]) == 1
        assert piece in capsys.readouterr().out


SLOW = """<robot name="r"><link name="a"/><link name="b"/>
<joint name="slow" type="prismatic"><parent link="a"/><child link="b"/>
<limit lower="-9" upper="9" effort="1" velocity="0.25"/></joint></robot>"""
SLOWLY = """
scene: {files: [slow.urdf]}
komo: {slices_per_phase: 4, k_order: 1, duration_per_phase: 8}
objectives:
  - {control: 1}
  - {feature: qItself, target: [0.5], times: [1.0], scale: 10}
"""


def test_a_trajectory_as_fast_as_the_limits_allow(write_problem, capsys):
    pytest.importorskip("toppra", reason="retiming needs toppra")
    file = write_problem(SLOWLY)
    (file.parent / "slow.urdf").write_text(SLOW)
    assert main(["solve", str(file), "--retime"]) == 2
    assert "give its file: --trajectory" in capsys.readouterr().err
    target = file.parent / "fast.csv"
    arguments = ["solve", str(file), "--trajectory", str(target), "--rate", "100"]
    assert main([*arguments, "--retime"]) == 0
    fast = pw.Trajectory.load(target)
    # Half a second to reach 0.25 m/s and half to lose it, in between 0.375 m.
    np.testing.assert_allclose(fast.times[-1], 2.5, atol=0.02)
    np.testing.assert_allclose(fast.positions[-1], 0.5, atol=1e-3)
    assert main(arguments) == 0
    np.testing.assert_allclose(pw.Trajectory.load(target).times[-1], 8.0)
    assert main([*arguments, "--rounded"]) == 0
    rounded = pw.Trajectory.load(target)
    steps = np.diff(rounded.velocities[:, 0])
    assert np.abs(steps).max() < 0.05 * np.abs(rounded.velocities).max()
    assert main([*arguments, "--rounded", "--retime"]) == 2
    assert "exclude each other" in capsys.readouterr().err


def test_an_interrupt_without_a_result_is_a_sentence(
    write_problem, capsys, monkeypatch
):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("posewise.__main__.prepare_jax", interrupted)
    assert main(["solve", str(write_problem(SLOWLY))]) == 130
    assert "interrupted before there was a result" in capsys.readouterr().err


STUCK = """
scene:
  frames:
    cart: {joint: transX, limits: [[-2], [0.3]], q: -0.5, shape: Sphere(0.1)}
    post: {position: [0, 1, 0], shape: Sphere(0.1)}
komo: {slices_per_phase: 2, k_order: 1, avoid_collisions: {}}
objectives:
  - {control: 1}
  - {feature: qItself, target: [0.4], times: [1.0], scale: 10}
"""


@pytest.mark.slow
def test_a_solve_that_fails_is_not_told_certified(write_problem, capsys):
    file = write_problem(STUCK)
    with pytest.warns(ProblemWarning, match="outside of the limits: cart is 0.4 m"):
        assert main(["solve", str(file)]) == 1
    output = capsys.readouterr().out
    assert "certified" not in output and "clearance" not in output
    assert "This path is not a solution. On it no pair comes within" in output


def pair(a, b, bound):
    return PairClearance((a, b), bound, bound, 1.234, 3)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (ClearanceLine(0.02, None, ()), "clearance: more than 20 mm, certified"),
        (
            ClearanceLine(0.02, pair("a", "b", 0.005), (pair("c", "d", 0.0),)),
            "clearance: 5.0 mm, 'a' and 'b' at 1.23 s; certified 5.0 mm; may"
            " touch: 'c' and 'd' (0.0 mm)",
        ),
        (
            ClearanceLine(0.02, None, (), False),
            "This path is not a solution. On it no pair comes within 20 mm",
        ),
        (
            ClearanceLine(0.02, pair("a", "b", 0.005), (), False),
            "This path is not a solution. On it nearest are 'a' and 'b' at 1.23 s, 5.0"
            " mm apart",
        ),
    ],
)
def test_the_line_of_a_clearance(line, text):
    assert str(line) == text
