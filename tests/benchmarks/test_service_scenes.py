"""Requests to a planning service: drawn by seed, and checked without posewise."""

import numpy as np
import pytest

import posewise as pw
from posewise.features.pairs import tables
from posewise.robots.contact import body_table
from posewise.robots.kinematics import forward

pytest.importorskip("pinocchio")
pytest.importorskip("coal")
IDENTITY = np.array([1.0, 0, 0, 0])


@pytest.fixture(scope="module")
def staging(benchmarks_folder):
    import staging.independent_check
    import staging.service_programs
    import staging.service_requests
    import staging.service_robots
    import staging.service_scenes

    return staging


@pytest.fixture(scope="module")
def panda(staging):
    robot = staging.service_robots.panda()
    judge = staging.independent_check.Judge(robot.world, robot.description, robot.tip)
    return robot, judge


@pytest.mark.parametrize("name", ["panda", "mobile"])
def test_the_judge_knows_where_the_tip_is(staging, name):
    robot = staging.service_robots.SERVICE_ROBOTS[name]()
    judge = staging.independent_check.Judge(robot.world, robot.description, robot.tip)
    C = robot.world.copy()
    for q in np.random.default_rng(0).uniform(robot.low, robot.high, (5, C.nq)):
        C.q = q
        np.testing.assert_allclose(judge.tip_at(q), C.pose(robot.tip)[:3], atol=1e-12)


def test_scenes_follow_from_the_seed(staging, panda):
    draw = staging.service_scenes.draw_scene
    one, same, other = (draw(*panda, np.random.default_rng(k)) for k in (1, 1, 2))
    np.testing.assert_array_equal(one.target, same.target)
    assert not np.allclose(one.target, other.target)
    for a, b in zip(one.obstacles, same.obstacles, strict=True):
        assert type(a.shape) is type(b.shape)
        np.testing.assert_array_equal(a.pose, b.pose)


def test_starts_are_free_and_infeasible_goals_are_inside_of_an_obstacle(staging, panda):
    robot, judge = panda
    scenes = [
        staging.service_scenes.draw_scene(robot, judge, np.random.default_rng([0, k]))
        for k in range(4)
    ]
    assert {scene.is_feasible for scene in scenes} == {True, False}
    for scene in scenes:
        distances = judge.clearances([robot.world.q], scene.obstacles)
        assert (distances >= 0.03 - 1e-6).all()
        if not scene.is_feasible:
            last = scene.obstacles[-1].pose[:3]
            assert np.linalg.norm(scene.target - last) < 0.04


def test_distances_are_those_of_the_shapes(staging, panda):
    robot, judge = panda
    tip = judge.tip_at(robot.world.q)
    far = tip + [0.5, 0.0, 0.0]
    Obstacle = staging.independent_check.Obstacle
    pose = np.array([*far, *IDENTITY])
    points = [[x, y, z] for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.1, 0.1)]
    box = Obstacle(pw.Box([0.2, 0.2, 0.2]), pose)
    hull = Obstacle(pw.Convex(points), pose)
    of_box, of_hull = judge.clearances([robot.world.q], [box, hull])
    assert of_box == pytest.approx(of_hull, abs=1e-5)
    ground = Obstacle(pw.Plane(), np.array([0, 0, -1.0, *IDENTITY]))
    floor = Obstacle(pw.Box([9, 9, 1]), np.array([0, 0, -1.5, *IDENTITY]))
    of_ground, of_floor = judge.clearances([robot.world.q], [ground, floor])
    assert of_ground == pytest.approx(of_floor, abs=1e-5)


FAULTS = {
    "none": (lambda q, goal: np.linspace(q, goal, 50), None, ""),
    "an obstacle": (lambda q, goal: np.linspace(q, goal, 50), 0.0, "motion at"),
    "another end": (lambda q, goal: np.linspace(q, goal, 50)[:40], None, "target"),
    "another start": (lambda q, goal: np.linspace(q, goal, 50)[5:], None, "start"),
    "limits": (
        lambda q, goal: np.vstack([q, q + [9.0, *np.zeros(6)], goal]),
        None,
        "limits",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_of_motions_are_told(staging, panda, tmp_path, name):
    robot, judge = panda
    motion, height, words = FAULTS[name]
    start, Obstacle = robot.world.q, staging.independent_check.Obstacle
    goal = start + [0.6, 0, 0, 0, 0, 0, 0]
    target = judge.tip_at(goal)
    obstacles = []
    if height is not None:
        obstacles = [Obstacle(pw.Sphere(0.1), np.array([*target, *IDENTITY]))]
    scene = staging.service_scenes.Scene(obstacles, target, True)
    played = motion(start, goal)
    file = tmp_path / "motion.npz"
    np.savez(file, joint_names=robot.world.joint_names, positions=played)
    path = np.linspace(start, goal, 33)
    sentences = staging.service_requests.faults(judge, scene, path, file)
    assert any(words in fault for fault in sentences) if words else sentences == []


def test_tables_of_a_program_for_one_scene_have_exactly_its_size(staging, monkeypatch):
    for module in (tables, body_table, forward):  # restored after the test
        monkeypatch.setattr(module, "capacity_class", module.capacity_class)
    C = pw.Config()
    for k in range(5):
        C.add_frame(f"ball {k}", position=[k, 0, 0], shape=pw.Sphere(0.1))
    frames = [*C.frames]
    pairs = np.array([[0, k] for k in range(1, 5)])

    def sizes() -> tuple[int, int]:
        """Return the numbers of places for bodies and for pairs of frames."""
        table = tables.table_of_frames(frames, pairs, np.full(4, 0.01))
        arrays = table.arrays(object(), 1)[1]
        return len(arrays["body_frame"]), len(arrays["margin"])

    assert sizes() == (16, 4)
    staging.service_programs.exact_capacities()
    assert sizes() == (5, 4)
