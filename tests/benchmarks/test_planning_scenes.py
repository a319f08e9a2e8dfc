"""Motion-planning problems of the benchmark: drawn by seed, solved, checked densely."""

import numpy as np
import pytest


@pytest.fixture(scope="module")
def staging(benchmarks_folder):
    import staging.motion_planning
    import staging.planning_scenes

    return staging


@pytest.fixture(scope="module")
def scenes(staging):
    return staging.planning_scenes


def test_scenes_follow_from_the_seed(scenes):
    for draw in scenes.FAMILIES.values():
        one, same, other = (draw(np.random.default_rng(k)) for k in (1, 1, 2))
        assert one.reaches == same.reaches != other.reaches
        assert [o[:2] for o in one.obstacles] == [o[:2] for o in other.obstacles]


def test_a_turned_scene_keeps_its_distances(scenes):
    scene = scenes.FAMILIES["cage"](np.random.default_rng(0))
    turned = scenes.turned(scene, np.pi / 2)
    for before, after in zip(scene.obstacles, turned.obstacles, strict=True):
        x, y, z = before[3][:3]
        np.testing.assert_allclose(after[3][:3], [-y, x, z], atol=1e-12)
        np.testing.assert_allclose(after[3][3:], [0.5**0.5, 0, 0, 0.5**0.5])
    np.testing.assert_allclose(turned.reaches[0].direction, [0, 1, 0], atol=1e-12)


@pytest.mark.slow
def test_feasible_paths_are_valid_by_dense_sampling(staging):
    planning = staging.motion_planning
    problems = staging.planning_scenes.own_problems(count=1)
    feasible = []
    for (problem,) in problems.families.values():
        C = planning.world(problems.robot, problem)
        komo = planning.motion(C, problem["goal"], 32)
        solution = komo.solve(starts=4, progress=False)
        feasible.append(solution.feasible)
        valid = problems.is_valid(problem, solution.path)
        assert valid or not solution.feasible, solution.report()
    assert sum(feasible) >= 6
