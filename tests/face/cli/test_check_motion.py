"""`posewise check` and `view` of motions of steps, and of paths that carry objects."""

import numpy as np
import pytest

from posewise.__main__ import main
from posewise.cli.problem_file import read_problem
from posewise.cli.view import _load_solution

MOTION = """
scene:
  frames:
    gantry: {joint: trans3, limits: [[-0.6, -0.6, 0], [0.6, 0.6, 0.6]], q: [0, 0, 0.5]}
    hand: {parent: gantry, joint: hingeZ, limits: [[-3.2], [3.2]],
           shape: "Box([0.05, 0.15, 0.04])"}
    left: {parent: hand, joint: prismatic, axis: [0, 1, 0], limits: [[0], [0.04]],
           q: 0.04, position: [0, 0.005, -0.055], shape: "Box([0.02, 0.01, 0.05])"}
    right: {parent: hand, joint: prismatic, axis: [0, -1, 0], limits: [[0], [0.04]],
            mimic: left, position: [0, -0.005, -0.055],
            shape: "Box([0.02, 0.01, 0.05])"}
  objects:
    table: {parts: ["Box([1.2, 1.2, 0.02])"], pose: [0, 0, -0.01, 1, 0, 0, 0]}
    high: {parts: ["Box([0.2, 0.2, 0.2])"], pose: [-0.3, 0, 0.1, 1, 0, 0, 0]}
    block: {parts: ["Box([0.08, 0.05, 0.1])"], joint: free,
            pose: [0, 0.2, 0.05002, 1, 0, 0, 0]}
motion:
  robot: gantry
  steps:
    - {pick: block}
    - {place: block, predicate: "OnTopOf(block, high)"}
"""
HEADER = [
    "time", "gantry:0", "gantry:1", "gantry:2", "left", "block:0", "block:1", "block:2"
]  # fmt: skip
# The hand grasps 7 cm above the table, lifts, carries, lowers by 3 cm, and lets go.
GOOD = np.array([
    [0, 0.0, 0.0, 0.50, 0.040, 0.0, 0.2, 0.05002],
    [1, 0.0, 0.2, 0.50, 0.040, 0.0, 0.2, 0.05002],
    [2, 0.0, 0.2, 0.15, 0.040, 0.0, 0.2, 0.05002],
    [3, 0.0, 0.2, 0.15, 0.025, 0.0, 0.2, 0.05002],
    [4, 0.0, 0.2, 0.38, 0.025, 0.0, 0.2, 0.28002],
    [5, -0.3, 0.0, 0.38, 0.025, -0.3, 0.0, 0.28002],
    [6, -0.3, 0.0, 0.35002, 0.025, -0.3, 0.0, 0.25004],
    [7, -0.3, 0.0, 0.35002, 0.040, -0.3, 0.0, 0.25004],
    [8, -0.3, 0.0, 0.50, 0.040, -0.3, 0.0, 0.25004],
])  # fmt: skip


def changed(rows, columns, value):
    path = GOOD.copy()
    path[rows, columns] = value
    return path


BLOCK = slice(5, 8)
CASES = {
    "good": (GOOD, []),
    "left behind": (changed(slice(4, 9), BLOCK, GOOD[0, BLOCK]), ["- OnTopOf"]),
    "beyond a limit": (
        changed(1, 1, 0.7),
        ["- limits of the joints", "gantry:0 is 0.7 in configuration 1"],
    ),
    "by itself": (
        changed(slice(0, 3), 5, [0.0, 0.02, 0.0]),
        ["'block' moves between configurations 0 and 1, but no hand moves with it"],
    ),
    "out of the hand": (
        changed(5, 7, 0.29),
        ["'block' moves between configurations 4 and 5, but no hand moves with it"],
    ),
    "not grasped": (
        changed(slice(3, 6), 4, 0.04),
        ["'block' moves with 'hand' from configuration 3 on, but touches nothing"],
    ),
    "through the shelf": (
        changed(slice(4, 6), (3, 7), (0.28, 0.18002)),
        ["'high' and 'block' come to -70.0 mm", "expected at least -1.0 mm"],
    ),
}


def write(file, path, header=HEADER):
    np.savetxt(file, path, delimiter=",", header=",".join(header), comments="")
    return str(file)


@pytest.mark.sampled
@pytest.mark.parametrize("case", CASES)
def test_motions(write_problem, capsys, case):
    path, pieces = CASES[case]
    file = write_problem(MOTION)
    code = main(["check", str(file), write(file.parent / "a.csv", path)])
    output = capsys.readouterr().out
    assert code == bool(pieces), output
    assert all(piece in output for piece in pieces), output
    assert ("+ OnTopOf('block', 'high')" in output) == ("- OnTopOf" not in pieces)


def test_a_file_of_the_robot_alone_tells_no_effect(write_problem, capsys):
    file = write_problem(MOTION)
    target = write(file.parent / "a.csv", GOOD[:, :5], HEADER[:5])
    assert main(["check", str(file), target]) == 0
    output = capsys.readouterr().out
    reason = "  The file does not tell where block is;"
    assert f"? objects, collisions and effects\n{reason}" in output
    assert "All that was checked holds; not checked: objects, collisions" in output


@pytest.mark.slow
def test_a_planned_motion_is_written_checked_and_shown(write_problem, capsys):
    file = write_problem(MOTION)
    names = ["a.json", "a.npz", "a.csv"]
    json, npz, csv = (str(file.parent / name) for name in names)
    arguments = ["--json", json, "--npz", npz, "--trajectory", csv, "--rate", "100"]
    assert main(["solve", str(file), *arguments]) == 0
    for target in (json, npz, csv):
        assert main(["check", str(file), target]) == 0, capsys.readouterr().out
        output = capsys.readouterr().out
        assert "+ objects move with hands\n+ collisions on the whole path" in output
        problem = read_problem(file)
        shown = _load_solution(problem.world, problem, file.parent / target)
        last = shown.world(len(shown.pauses) - 1)
        # The block stands on the shelf of 20 cm.
        np.testing.assert_allclose(last.pose("block")[2], 0.25, atol=1e-3)
        # Slices may be farther apart; samples are thinned out to 25 per second.
        assert shown.pauses[:-2].min() >= 0.0399 or target != csv
        heights = [shown.world(t).pose("block")[2] for t in range(len(shown.pauses))]
        assert max(heights) > 0.26
    page = file.parent / "a.html"
    pytest.importorskip("viser", reason="the viewer needs the extra viz")
    assert main(["view", str(file), csv, "--html", str(page)]) == 0


CARRIED = """
scene:
  frames:
    hand: {joint: transX, limits: [[-2], [2]]}
    box: {joint: free, position: [0.2, 0, 0], shape: Sphere(0.1)}
komo: {phases: 2, slices_per_phase: 2, k_order: 1}
objectives:
  - {mode_switch: stable, frames: [hand, box], times: [1, 2]}
"""


def test_objects_that_a_file_lacks_are_shown_where_they_are_carried(write_problem):
    file = write_problem(CARRIED)
    target = file.parent / "a.csv"
    target.write_text("time,hand\n0,0\n1,0.1\n2,0.9\n")
    problem = read_problem(file)
    shown = _load_solution(problem.world, problem, target)
    poses = [
        (shown.world(t).pose("hand")[0], shown.world(t).pose("box")[0])
        for t in range(len(shown.pauses))
    ]
    # The box is taken at 1 s, 0.1 ahead of the hand.
    expected = [(0, 0.2), (0.05, 0.2), (0.1, 0.2), (0.5, 0.6), (0.9, 1.0)]
    np.testing.assert_allclose(poses, expected, atol=1e-6)
    np.testing.assert_allclose(shown.pauses, 0.5)
