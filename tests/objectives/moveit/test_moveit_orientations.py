"""Orientation constraints, against what MoveIt's `OrientationConstraint` decides."""

import json

import numpy as np
import pytest
from helpers.cases import case
from helpers.planning_texts import load_problem, orientation_excess, world_of
from scipy.spatial.transform import Rotation

import posewise as pw
from posewise import OT
from posewise.robots.kinematics.transforms import quat_to_matrix

TOLERANCE = 1e-3
"""Excess of feasible rows [rad]."""


def constraint_of(desired, tolerances, parameterization=None, **more):
    message = {
        "link_name": "hand",
        "orientation": dict(zip("xyzw", desired.as_quat().tolist(), strict=True)),
        **more,
    }
    for axis, tolerance in zip("xyz", tolerances, strict=True):
        message[f"absolute_{axis}_axis_tolerance"] = float(tolerance)
    if parameterization is not None:
        message["parameterization"] = parameterization
    return message


def excess(problem, features) -> float:
    """Return the largest violation of rows in the state of a world."""
    worst = [0.0]
    for feature, kind in features:
        y, _ = feature.eval(problem.world)
        worst += [*(np.abs(y) if kind is OT.eq else y)]
    return max(worst)


TOLERANCES = {
    "equal": (0.5, 0.5, 0.5),
    "different": (0.3, 0.7, 1.2),
    "large": (2.5, 1.2, 2.9),
    "free z": (0.4, 0.3, np.pi),
    "free x": (3.2, 0.4, 0.2),
    "free y": (0.5, 2.0, 0.8),
    "free but x": (0.2, 7, 7),
    "exact x": (1e-3, 0.3, 0.4),
    "exact": (1.5e-3, 1e-3, 5e-4),
    "negative": (-0.4, 0.5, -0.6),
}


@pytest.fixture
def floating():
    C = pw.Config()
    C.add_frame("table", position=[1, 2, 3], quaternion=[0.5, 0.5, 0.5, -0.5])
    C.add_frame("hand", joint="free")
    return C


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("name", "parameterization"),
    [("equal", None), *((name, k) for name in TOLERANCES for k in (0, 1))],
)
def test_what_is_admitted(tmp_path, floating, name, parameterization):
    rng = np.random.default_rng([*name.encode()])
    desired = Rotation.random(random_state=rng)
    tolerances = TOLERANCES[name]
    constraint = constraint_of(desired, tolerances, parameterization)
    constraint["header"] = {"frame_id": "table"}
    request = {"goal_constraints": [{"orientation_constraints": [constraint]}]}
    problem = load_problem(tmp_path, world_of(), request, floating)
    table = Rotation.from_matrix(quat_to_matrix(problem.world.pose("table")[3:]))
    limits, verdicts = np.abs(tolerances), set()
    for k in range(60):
        # Angles on both sides of each tolerance, and any rotation.
        angles = rng.uniform(-1.6, 1.6, 3) * np.minimum(limits, np.pi)
        turn = Rotation.from_rotvec(desired.inv().apply(angles))
        if parameterization != 1:
            turn = Rotation.from_euler("XYZ", angles)
        turn = [turn, Rotation.random(random_state=rng), Rotation.identity()][k % 3]
        current = table * desired * turn
        x, y, z, w = current.as_quat()
        problem.world.set_pose("hand", [0.3, -0.2, 0.1, w, x, y, z])
        truth = orientation_excess(table * desired, current, limits, parameterization)
        if parameterization == 1:
            truth = orientation_excess(desired, desired * turn, limits, 1)
        rows = excess(problem, problem.goals[0].features)
        verdicts.add(truth <= 0)
        if rows <= TOLERANCE:
            assert truth <= 1e-9, (k, rows, truth)
        # The interior is admitted, up to the tolerance on either side.
        if truth < -2 * TOLERANCE:
            assert rows <= TOLERANCE, (k, rows, truth)
    assert True in verdicts


@pytest.mark.parametrize("pitch", [np.pi / 2, -np.pi / 2])
def test_where_euler_angles_are_not_unique(tmp_path, floating, pitch):
    # MoveIt takes the only angle that is unique for both of the others.
    constraint = constraint_of(Rotation.identity(), (0.5, 2.0, 0.3))
    request = {"goal_constraints": [{"orientation_constraints": [constraint]}]}
    problem = load_problem(tmp_path, world_of(), request, floating)
    for roll, admitted in ((0.2, True), (0.4, False), (-0.6, False)):
        x, y, z, w = Rotation.from_euler("XYZ", [roll, pitch, 0]).as_quat()
        problem.world.set_pose("hand", [0, 0, 0, w, x, y, z])
        rows = excess(problem, problem.goals[0].features)
        assert np.isfinite(rows) and (rows <= TOLERANCE) == admitted


def test_quaternions_that_moveit_refuses_to_normalise(tmp_path, floating):
    constraint = constraint_of(Rotation.identity(), (0.1, 0.1, 0.1))
    constraint["orientation"] = {"x": 2.0, "w": 2.0}
    request = {"goal_constraints": [{"orientation_constraints": [constraint]}]}
    with pytest.warns(UserWarning, match=r"orientation, a quaternion of norm 2\.83"):
        problem = load_problem(tmp_path, world_of(), request, floating)
    assert excess(problem, problem.goals[0].features) <= TOLERANCE


def test_frames_of_headers(tmp_path, floating):
    turn = {"translation": {}, "rotation": {"z": np.sqrt(0.5), "w": np.sqrt(0.5)}}
    frames = [{"child_frame_id": "room", "transform": turn}]
    scene = world_of(fixed_frame_transforms=frames)
    constraint = constraint_of(Rotation.identity(), (0.1, 0.1, 0.1))
    constraint["header"] = {"frame_id": "room"}
    request = {"goal_constraints": [{"orientation_constraints": [constraint]}]}
    problem = load_problem(tmp_path, scene, request, floating)
    problem.world.set_pose("hand", [0, 0, 0, np.sqrt(0.5), 0, 0, np.sqrt(0.5)])
    assert excess(problem, problem.goals[0].features) <= TOLERANCE
    constraint["header"] = {"frame_id": "nowhere"}
    with pytest.warns(UserWarning, match="unknown frame 'nowhere'"):
        load_problem(tmp_path, world_of(), request, floating)


@pytest.mark.long
@pytest.mark.sampled
@pytest.mark.parametrize("on_path", [False, True])
def test_solutions_of_a_report(tmp_path, on_path):
    request = json.loads(case("moveit_ori_request.json").read_text())
    (goal,) = request["goal_constraints"]
    if on_path:
        request = {
            "goal_constraints": [
                {"joint_constraints": [{"joint_name": "j2", "position": 0.3}]}
            ],
            "path_constraints": goal,
        }
    file = tmp_path / "request.json"
    file.write_text(json.dumps(request))
    robot = case("moveit_ori.urdf")
    problem = pw.load_moveit(case("moveit_ori_scene.json"), file, robot)
    problem.world.q = [2.0, 1.0, -0.5] if not on_path else [0.45, 0.4, 0.49]
    solution = problem.komo(6).solve()
    assert solution.feasible, solution.report()
    for t in range(6) if on_path else [5]:
        # The joints are the Euler angles.
        assert np.abs(solution.path[t]).max() <= 0.5 + 1e-9
