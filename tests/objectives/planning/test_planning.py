"""Detours: planned paths round obstacles, as initial paths."""

import numpy as np
import pytest
from helpers.moving_worlds import segment_points

import posewise as pw
from posewise import FS, OT
from posewise.objectives.planning import detours
from posewise.objectives.planning.free_space import SPACING
from posewise.objectives.planning.planned_starts import free_start, planned_path
from posewise.objectives.planning.rrt_connect import MAX_ROUNDS, SearchResult
from posewise.objectives.problem.spec import initial_paths, mode_sequence
from posewise.objectives.solve import certified

RANGE = 2.0
SLICES = 24


def disc() -> pw.Config:
    """A disc that slides in a plane, a wall with two ends, a free ball, and a lid."""
    C = pw.Config()
    limits = [[-RANGE] * 2, [RANGE] * 2]
    C.add_frame("disc", joint="transXY", limits=limits, q=[-0.5, 0])
    C.set_shape("disc", pw.Sphere(0.1))
    C.set_contact("disc", 1)
    C.add_frame("wall", position=[0, 0, 0], shape=pw.Box([0.02, 1, 1]), contact=1)
    C.add_frame("ball", joint="free", pose=[0, -1.0, 0, 1, 0, 0, 0])
    C.set_shape("ball", pw.Sphere(0.1))
    C.set_contact("ball", 1)
    C.add_frame("lid", joint="quatBall")
    return C


def across(goal=(0.5, 0.0), slices=SLICES) -> pw.KOMO:
    C = disc()
    komo = pw.KOMO(C, 1, slices, 1)
    komo.add_control_objective(1, 0.1)
    komo.avoid_collisions(0.01)
    komo.add_objective([1.0], FS.qItself, ["disc"], OT.eq, target=goal)
    path = np.linspace(C.q, [*goal, *C.q[2:]], slices + 1)[1:]
    komo.initialize(path)
    return komo


def planned(
    komo: pw.KOMO, seed: int = 0, max_rounds: int = MAX_ROUNDS
) -> np.ndarray | None:
    path = initial_paths(komo.spec, 0, 1)[0]
    return planned_path(komo.spec, path, seed, max_rounds)


def gap(path: np.ndarray) -> float:
    """Return the distance of the disc from the wall along its corners."""
    C = disc()
    whole = np.vstack([C.q, path])
    ends = zip(whole[:-1], whole[1:], strict=True)
    points = np.concatenate([segment_points(C, a, b, 50) for a, b in ends])[:, :2]
    outside = np.maximum(np.abs(points) - [0.01, 0.5], 0)
    return float(np.linalg.norm(outside, axis=1).min()) - 0.1


@pytest.mark.long
def test_a_detour_leads_round_the_wall():
    path = planned(across())
    assert path.shape == (SLICES, disc().nq)
    np.testing.assert_allclose(path[-1, :2], [0.5, 0.0], atol=1e-9)
    # Corners are cut by the slices, the solver goes on from there.
    assert gap(path) > -0.05 and np.abs(path[:, 1]).max() > 0.5
    steps = np.linalg.norm(np.diff(np.vstack([disc().q, path])[:, :2], axis=0), axis=1)
    assert steps.max() < 1.5 * steps.mean(), "evenly spread"
    assert steps.sum() < 3.0, "made shorter"


@pytest.mark.long
def test_detours_are_deterministic_by_seed():
    first, again, other = (planned(across(), seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 1e-3


@pytest.mark.long
def test_nothing_is_planned_where_the_way_is_free_or_shut():
    free = across(goal=(-0.5, 0.5))
    assert planned(free) is None
    shut = across()
    C = shut.config
    C.set_shape("wall", pw.Box([0.02, 10, 1]))
    C.joints.set_limits("disc", [[-0.6, -0.1], [0.6, 0.1]])
    assert planned(shut, max_rounds=30) is None


@pytest.mark.long
def test_what_a_path_does_not_move_stays():
    path = planned(across())
    C = disc()
    unmoved = C.joints.coordinates(["ball", "lid"])
    np.testing.assert_array_equal(path[:, unmoved], np.tile(C.q[unmoved], (SLICES, 1)))


@pytest.mark.long
def test_motions_end_before_the_first_blocked_place(monkeypatch):
    """The disc, of radius 0.1 m, keeps 0.01 m from a wall of half 0.01 by 0.5 m."""
    spaces = []

    def keep(space, start, *_):
        spaces.append(space)
        return SearchResult(start[None], 1.0)

    monkeypatch.setattr(detours, "rrt_connect", keep)
    assert planned(across()) is None
    (space,) = spaces
    rng = np.random.default_rng(0)
    start, goal = (space.sample(disc().q, 200, rng) for _ in range(2))
    for row, (a, b) in enumerate(zip(start, goal, strict=True)):
        parts = max(int(np.ceil(np.abs(b - a).max() / SPACING)), 1)
        states = a + np.arange(1, parts + 1)[:, None] / parts * (b - a)
        outside = np.maximum(np.abs(states[:, :2]) - [0.01, 0.5], 0)
        ball = np.linalg.norm(states[:, :3] - [0, -1.0, 0], axis=1)
        gaps = np.minimum(np.linalg.norm(outside, axis=1) - 0.1, ball - 0.2)
        blocked = np.append(np.flatnonzero(gaps < 0.01), parts)[0]
        assert space.reachable(a[None], b[None])[0] == blocked / parts, row
    ends = zip(start, goal, strict=True)
    together = space.reachable(start, goal)
    assert 0.2 < (together < 1).mean() < 0.8
    one_by_one = [space.reachable(a[None], b[None])[0] for a, b in ends]
    np.testing.assert_array_equal(together, one_by_one)


@pytest.mark.slow
def test_waypoints_are_kept():
    komo = across()
    waypoint = [-0.2, -0.3]
    komo.add_objective([0.5], FS.qItself, ["disc"], OT.eq, target=waypoint)
    middle = SLICES // 2 - 1
    path = np.array(initial_paths(komo.spec, 0, 1)[0])
    path[: middle + 1, :2] = np.linspace([-0.5, 0], waypoint, middle + 2)[1:]
    path[middle:, :2] = np.linspace(waypoint, [0.5, 0], SLICES - middle)
    detour = planned_path(komo.spec, path, 0)
    np.testing.assert_allclose(detour[middle, :2], waypoint, atol=1e-9)
    # The first half is free as it was.
    np.testing.assert_array_equal(detour[: middle + 1], path[: middle + 1])
    solution = komo.solve(progress=False)
    assert solution.feasible
    np.testing.assert_allclose(solution.path[middle, :2], waypoint, atol=1e-3)


@pytest.mark.long
def test_shared_coordinates_of_attachments_stay():
    C = disc()
    C.add_frame("tray", position=[0.5, 0, -0.2], shape=pw.Box([0.4, 0.4, 0.1]))
    komo = pw.KOMO(C, 2, SLICES // 2, 1)
    komo.add_control_objective(1, 0.1)
    komo.avoid_collisions(allow=[("tray", "ball", None)])
    komo.add_mode_switch([1.0], "stableOn", ["tray", "ball"])
    komo.add_objective([2.0], FS.qItself, ["disc"], OT.eq, target=[0.5, 0.0])
    world = mode_sequence(komo.spec).world
    path = np.array(initial_paths(komo.spec, 0, 1)[0])
    disc_columns = world.joints.coordinates(["disc"])
    # Where the mode begins, in slice 11, the disc has passed the wall.
    path[:8, disc_columns] = np.linspace([-0.5, 0], [0.5, 0], 9)[1:]
    path[8:, disc_columns] = [0.5, 0]
    detour = planned_path(komo.spec, path, 0)
    others = np.setdiff1d(np.arange(world.nq), disc_columns)
    np.testing.assert_array_equal(detour[:, others], path[:, others])
    assert np.abs(detour[:, disc_columns[1]]).max() > 0.5


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_solves_begin_with_detours_where_a_straight_path_collides(seed):
    solution = across().solve(seed=seed, progress=False)
    assert solution.feasible and solution.start == 0
    assert gap(solution.path) >= 0.01
    again = across().solve(seed=seed, progress=False)
    np.testing.assert_array_equal(solution.path, again.path)


@pytest.mark.long
def test_an_initial_path_that_passes_on_one_side_is_kept():
    komo = across()
    path = np.array(initial_paths(komo.spec, 0, 1)[0])
    assert free_start(komo.spec, path, 0) is not None
    path[:, 1] = 0.4 * np.sin(np.linspace(0, np.pi, SLICES + 1)[1:])
    assert planned(komo) is not None and free_start(komo.spec, path, 0) is None
    path[:] = komo.config.q
    assert free_start(komo.spec, path, 0) is None


@pytest.mark.long
def test_detours_are_looked_for_after_a_solve_that_failed(monkeypatch):
    monkeypatch.setattr(certified, "free_start", lambda *_: None)
    solution = across().solve(progress=False, starts=4)
    assert solution.feasible and solution.start == 1
    assert gap(solution.path) >= 0.01
