"""`posewise check FILE RESULT`: paths in files against problem files."""

import json

import numpy as np
import pytest

from posewise import Config
from posewise.__main__ import main

PROBLEM = """
scene:
  frames:
    wall: {position: [1, 0, 0], shape: "Box([0.2, 1, 1])"}
    cart: {joint: transX, limits: [[-2], [2]], shape: Sphere(0.2)}
    crane: {joint: hingeZ, position: [0, 3, 0], limits: [[-1], [1]]}
komo: {phases: 1, slices_per_phase: 4, k_order: 1, duration_per_phase: 2}
objectives:
  - {control: 1}
  - {feature: accumulatedCollisions, type: ineq}
  - {feature: qItself, frames: [cart], target: [0.6], times: [1.0], name: end}
"""
GOOD = np.array([[0.15, 0], [0.3, 0.1], [0.45, 0.1], [0.6, 0]])
CASES = {
    "good": (GOOD, 0, []),
    "not at the end": (GOOD * [0.5, 1], 1, ["- objectives", "end is violated by 0.3"]),
    "beyond a limit": (
        GOOD * [1, 11],
        1,
        ["- limits of the joints", "crane is 1.1 in configuration 1", "-1 to 1"],
    ),
    "in collision": (
        GOOD + [[0, 0], [0, 0], [0.33, 0], [0, 0]],
        1,
        [
            "- collisions",
            "'wall' and 'cart' overlap by 80.0 mm in configuration 2",
            "accumulatedCollisions() is violated by 0.08 m in slice 2",
            "nearest in slice 2: 'wall' and 'cart' (-80.0 mm)",
        ],
    ),
}


def write_json(file, path):
    file.write_text(json.dumps({"joints": ["cart", "crane"], "path": path.tolist()}))


def write_npz(file, path):
    np.savez(file, positions=path)


def write_csv(file, path):
    np.savetxt(file, path[:, ::-1], delimiter=",", header="crane,cart", comments="")


def write_plain_csv(file, path):
    np.savetxt(file, path, delimiter=",")


def write_dense_csv(file, path):
    # Straight between slices, with ten rows for each.
    row_times = np.linspace(0, 2, 41)
    corners = np.vstack([[0.0, 0.0], path])
    columns = [np.interp(row_times, np.linspace(0, 2, 5), c) for c in corners.T]
    rows = np.column_stack([row_times, *columns])
    np.savetxt(file, rows, delimiter=",", header="time,cart,crane", comments="")


WRITERS = {
    "a.json": write_json,
    "a.npz": write_npz,
    "a.csv": write_csv,
    "plain.csv": write_plain_csv,
}


@pytest.mark.sampled
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", WRITERS)
def test_paths_in_each_format(write_problem, capsys, case, name):
    path, code, pieces = CASES[case]
    file = write_problem(PROBLEM)
    result, report = file.parent / name, file.parent / "report.json"
    WRITERS[name](result, path)
    assert main(["check", str(file), str(result), "--json", str(report)]) == code
    output = capsys.readouterr()
    assert all(piece in output.out for piece in pieces), output.out
    assert output.err.endswith("not every check is passed\n") == (code == 1)
    data = json.loads(report.read_text())
    assert data["passed"] == (code == 0)
    names = {check["name"]: check["passed"] for check in data["checks"]}
    assert names["limits of the joints"] == (case != "beyond a limit")


@pytest.mark.slow
def test_what_solve_writes_passes(write_problem, capsys):
    file = write_problem(PROBLEM)
    names = [str(file.parent / name) for name in ("r.json", "r.npz", "t.csv", "t.json")]
    arguments = ["solve", str(file), "--json", names[0], "--npz", names[1]]
    assert main([*arguments, "--trajectory", names[2], "--rate", "50"]) == 0
    assert main(["solve", str(file), "--trajectory", names[3], "--rate", "50"]) == 0
    for name in names:
        assert main(["check", str(file), name]) == 0, capsys.readouterr().out


def test_denser_paths_are_compared_at_the_times_of_slices(write_problem, capsys):
    file = write_problem(PROBLEM)
    result = file.parent / "dense.csv"
    write_dense_csv(result, GOOD)
    assert main(["check", str(file), str(result)]) == 0
    write_dense_csv(result, CASES["in collision"][0])
    assert main(["check", str(file), str(result)]) == 1
    assert "overlap by 80.0 mm in configuration 30" in capsys.readouterr().out


ROBOT = """<robot name="r"><link name="a"/><link name="b"/>
<joint name="slow" type="prismatic"><parent link="a"/><child link="b"/>
<limit lower="-9" upper="9" effort="1" velocity="0.25"/></joint></robot>"""


@pytest.mark.parametrize(("end", "code"), [(0.32, 0), (0.4, 1)])
def test_speed_limits(write_problem, capsys, end, code):
    problem = """
    scene: {files: [slow.urdf]}
    komo: {slices_per_phase: 4, k_order: 1}
    objectives: [{control: 1}]
    """
    file = write_problem(problem)
    (file.parent / "slow.urdf").write_text(ROBOT)
    result = file.parent / "a.csv"
    result.write_text(f"time,slow\n0,0\n0.5,0.1\n1,0.2\n1.5,{end}\n")
    assert main(["check", str(file), str(result)]) == code
    output = capsys.readouterr().out
    line = "slow moves at 0.4 before 1.5 s, faster than 0.25"
    assert (line in output) == (code == 1)


def test_joints_that_the_file_lacks_stay(write_problem, capsys):
    file = write_problem(PROBLEM)
    result = file.parent / "a.csv"
    result.write_text("cart\n0.15\n0.3\n0.45\n0.6\n")
    assert main(["check", str(file), str(result)]) == 0
    assert "Not in the file, kept at the state: crane." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.txt", "0", "expected a path in a file that ends in .json, .npz, .csv"),
        ("a.csv", "cart,crne\n0,1\n", "No joint 'crne'; did you mean 'crane', 'cart'?"),
        ("a.csv", "0,1\n0\n", "rows of numbers of the same length"),
        ("a.csv", "0,nan\n", "expected a row of finite numbers"),
        ("a.csv", "0,1,2\n", "rows have 3 numbers, expected 2: values of cart, crane"),
        ("a.csv", "time,cart\n1,0\n1,0\n", "times that increase"),
        ("a.json", "{", "is no JSON"),
        ("a.json", '{"solved": true}', "has solved; expected a path under path"),
        ("a.npz", "no zip", "cannot be read as .npz"),
    ],
)
def test_files_that_do_not_fit(write_problem, capsys, name, text, message):
    file = write_problem(PROBLEM)
    result = file.parent / name
    result.write_text(text)
    assert main(["check", str(file), str(result)]) == 2
    assert message in capsys.readouterr().err


def test_a_path_of_another_length_without_times_is_not_passed(write_problem, capsys):
    file = write_problem(PROBLEM)
    result = file.parent / "a.csv"
    write_plain_csv(result, GOOD[:3])
    assert main(["check", str(file), str(result)]) == 1
    assert "has 3 configurations, the problem 4 slices" in capsys.readouterr().out


def test_carried_objects_move_along(write_problem, capsys):
    problem = """
    scene:
      frames:
        hand: {joint: transX, limits: [[-2], [2]]}
        box: {joint: free, position: [0.2, 0, 0], shape: Sphere(0.1)}
        wall: {position: [1, 0, 0], shape: "Box([0.2, 1, 1])"}
    komo: {phases: 2, slices_per_phase: 2, k_order: 1}
    objectives:
      - {mode_switch: stable, frames: [hand, box], times: [1, 2]}
      - {feature: accumulatedCollisions, type: ineq}
    """
    file = write_problem(problem)
    result = file.parent / "a.csv"
    for end, code in ((0.5, 0), (0.75, 1)):
        result.write_text(f"hand\n0\n0\n{end / 2}\n{end}\n")
        assert main(["check", str(file), str(result)]) == code
    # The box is 0.2 ahead of the hand, its radius 0.1, the wall's face at 0.9.
    assert "'box' and 'wall' overlap by 150.0 mm in configuration 3" in (
        capsys.readouterr().out
    )


@pytest.mark.slow
def test_scenes_of_moveit(write_problem, tmp_path, capsys):
    scene = {
        "world": {
            "collision_objects": [
                {
                    "id": "post",
                    "primitives": [{"type": "sphere", "dimensions": [0.1]}],
                    "primitive_poses": [{"position": [9, 9, 9]}],
                }
            ]
        }
    }
    write_problem(PROBLEM)
    (tmp_path / "scene.json").write_text(json.dumps(scene))
    C = Config()
    C.add_file(tmp_path / "robot.urdf")
    goal = [{"joint_name": name, "position": 0.2} for name in C.joint_names]
    request = {"goal_constraints": [{"joint_constraints": goal}]}
    (tmp_path / "request.json").write_text(json.dumps(request))
    files = [str(tmp_path / "scene.json"), "--robot", str(tmp_path / "robot.urdf")]
    files += ["--request", str(tmp_path / "request.json")]
    result = str(tmp_path / "path.json")
    assert main(["solve", *files, "--json", result]) == 0
    assert main(["check", files[0], result, *files[1:]]) == 0
    path = json.loads((tmp_path / "path.json").read_text())["path"]
    np.testing.assert_allclose(path[-1], 0.2, atol=1e-3)
    capsys.readouterr()
    assert main(["solve", files[0]]) == 2
    assert "--robot robot.urdf" in capsys.readouterr().err


@pytest.mark.sampled
@pytest.mark.parametrize("depth, code", [(2e-5, 0), (2e-3, 1)])
@pytest.mark.parametrize("where", ["start", "goal"])
def test_starts_and_goals_inside_of_a_margin(
    write_problem, tmp_path, capsys, where, depth, code
):
    """A little is let pass, as of an inverse kinematics at the same margin."""
    near = -0.1 - 0.005 + depth
    first, last = (near, -0.8) if where == "start" else (-0.8, near)
    file = write_problem(f"""
scene:
  frames:
    wall: {{position: [0.5, 0, 0], shape: "Box([1, 4, 1])"}}
    disc: {{joint: transX, q: {first}, limits: [[-2], [2]], shape: Sphere(0.1)}}
komo:
  slices_per_phase: 4
  k_order: 1
  avoid_collisions: {{margin: 0.005}}
objectives:
  - {{control: 1}}
""")
    path = tmp_path / "path.json"
    values = np.linspace(first, last, 5)[1:, None].tolist()
    path.write_text(json.dumps({"joints": ["disc"], "path": values}))
    assert main(["check", str(file), str(path)]) == code
    out = capsys.readouterr().out
    message = "come to 3.0 mm at 0 s" if where == "start" else "come to 3.0 mm at 1 s"
    assert (message in out) == bool(code), out


@pytest.mark.parametrize("bound, code", [(0.06, 0), (0.01, 1)])
def test_bounds_between_slices(write_problem, tmp_path, capsys, bound, code):
    """A tip passes 5 cm above a line that it is below in all slices."""
    file = write_problem(f"""
scene:
  frames:
    link: {{joint: hingeZ, q: {np.pi / 2 + 0.4}}}
    tip: {{parent: link, position: [1, 0, 0]}}
komo: {{slices_per_phase: 2, k_order: 1}}
objectives:
  - {{feature: position, frames: [tip], type: ineq, name: low, scale: [[0, 1, 0]],
     target: [0, 0.95, 0], between: {bound}}}
""")
    path = tmp_path / "path.json"
    values = [[np.pi / 2 - 0.4]] * 2
    path.write_text(json.dumps({"joints": ["link"], "path": values}))
    assert main(["check", str(file), str(path)]) == code
    out = capsys.readouterr().out
    assert "objectives between slices" in out
    assert ("low deviates by 0.05 before 0.5 s, expected at most 0.01" in out) == code
