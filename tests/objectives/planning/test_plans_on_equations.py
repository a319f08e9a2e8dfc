"""Paths planned where equations hold all the way, round walls that block straight ones.

A ball keeps to the surface of a globe, and a wall cuts the globe's lower part off.
"""

import time

import numpy as np
import pytest

import posewise as pw
from posewise import FS, OT
from posewise.objectives.planning.constrained_search import (
    SAME_DISTANCE,
    constrained_rrt_connect,
    shorten_on_equations,
    walks,
)
from posewise.objectives.planning.free_space import FreeSpace, free_space_with
from posewise.objectives.problem.spec import mode_sequence, required_distances
from posewise.objectives.solve import planned_path
from posewise.solvers.deadline import TimeLimitReached

RADIUS = 0.5
START, GOAL = np.array([-0.5, 0.0, 0.0]), np.array([0.5, 0.0, 0.0])


def globe(wall_height=1.0) -> pw.Config:
    C = pw.Config()
    C.add_frame("globe", shape=pw.Sphere(RADIUS - 0.1))
    C.add_frame("base", joint="transXY", limits=[[-1, -1], [1, 1]], q=START[:2])
    C.add_frame(
        "ball",
        parent="base",
        joint="transZ",
        limits=[-1, 1],
        shape=pw.Sphere(0.05),
        contact=1,
    )
    wall = pw.Box([0.05, 2, wall_height])
    C.add_frame("wall", position=[0, 0, wall_height / 2 - 0.7], shape=wall, contact=1)
    return C


def across(C: pw.Config) -> pw.KOMO:
    komo = pw.KOMO(C, 1, 24, 2)
    komo.add_control_objective(2, 0.1)
    komo.add_objective([], FS.distance, ["ball", "globe"], OT.eq, target=[-0.05])
    komo.avoid_collisions()
    komo.add_objective([1.0], FS.position, ["ball"], OT.eq, target=GOAL)
    return komo


def onto_globe(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest points of the surface, and that all are on it."""
    length = np.linalg.norm(q, axis=1, keepdims=True)
    return RADIUS * q / length, np.ones(len(q), bool)


@pytest.fixture(scope="module")
def space() -> FreeSpace:
    spec = across(globe()).spec
    (part,) = required_distances(spec)
    K = mode_sequence(spec).world.tree.model.unnamed_kinematics
    ends = np.stack([START, GOAL])
    return free_space_with(K, part, part.required.min(0), ends, np.arange(3))


def gap(q: np.ndarray) -> np.ndarray:
    """Return the distance of the ball from the wall, by boxes."""
    outside = np.abs(q - [0, 0, -0.2]) - [0.025, 1, 0.5]
    return np.linalg.norm(np.maximum(outside, 0), axis=-1) - 0.05


@pytest.mark.long
def test_walks_keep_to_equations_and_end_before_a_wall(space):
    over = np.array([0.0, 0.0, RADIUS])
    low, behind = RADIUS * np.array([[-0.6, 0.8, 0], [0.6, 0.8, 0]])
    blocked, free, whole = walks(
        *(space, onto_globe, np.array([START, START, low])),
        np.array([behind, over, over]),
    )
    assert not blocked.arrives and free.arrives and whole.arrives
    for walk in (blocked, free, whole):
        radius = np.linalg.norm(walk.points, axis=1)
        np.testing.assert_allclose(radius, RADIUS, atol=1e-12)
        assert gap(walk.points).min() >= 0
    np.testing.assert_array_equal(free.points[-1], over)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_a_search_on_equations_finds_the_way_over_a_wall(space, seed):
    rng = np.random.default_rng(seed)
    # The second goal is within the wall: only the first is reached.
    goals = np.array([GOAL, [0.0, -RADIUS, 0.0]])
    plan = constrained_rrt_connect(space, onto_globe, START, goals, rng, 60)
    assert plan.missing == 0
    short = shorten_on_equations(space, onto_globe, plan.corners, rng, 8)
    for points in (plan.corners, short):
        np.testing.assert_array_equal(points[[0, -1]], [START, GOAL])
        np.testing.assert_allclose(
            np.linalg.norm(points, axis=1), RADIUS, atol=SAME_DISTANCE
        )
        parts = np.linspace(0, 1, 30)[:, None, None]
        motion = points[:-1] + parts * (points[1:] - points[:-1])
        assert gap(motion.reshape(-1, 3)).min() > -1e-3

    def length(points):
        return np.linalg.norm(np.diff(points, axis=0), axis=1).sum()

    assert length(short) <= length(plan.corners)
    # Over the wall's corner the shortest way is about a half circle.
    assert length(short) < 1.25 * np.pi * RADIUS


@pytest.mark.long
def test_a_start_beside_equations_is_led_onto_them(space):
    rng = np.random.default_rng(0)
    beside = 1.2 * START
    plan = constrained_rrt_connect(space, onto_globe, beside, GOAL[None], rng, 60)
    assert plan.missing == 0
    np.testing.assert_array_equal(plan.corners[[0, -1]], [beside, GOAL])
    np.testing.assert_allclose(plan.corners[1], START, atol=1e-12)


@pytest.mark.long
def test_a_search_on_equations_tells_how_near_it_came(space):
    rng = np.random.default_rng(0)

    def on_one_side(q):
        ends, is_met = onto_globe(q)
        return ends, is_met & (ends[:, 0] < 0)

    plan = constrained_rrt_connect(space, on_one_side, START, GOAL[None], rng, 5)
    assert 0 < plan.missing <= 1.5 * RADIUS and not plan.is_stopped
    assert (plan.corners[:, 0] < 0).all()


@pytest.mark.parametrize(
    "starts",
    [
        pytest.param(None, marks=pytest.mark.slow),
        pytest.param(4, marks=pytest.mark.slow),
    ],
)
def test_plans_and_last_resorts_keep_equations_in_all_slices(starts):
    komo = across(globe())
    if starts is None:
        solution = komo.plan(progress=False)
    else:
        solution = komo.solve(starts=starts, progress=False)
    assert solution.feasible
    radius = np.linalg.norm(solution.path, axis=1)
    np.testing.assert_allclose(radius, RADIUS, atol=1.1e-3)
    whole = np.vstack([START, solution.path])
    parts = np.linspace(0, 1, 50)[:, None, None]
    motion = whole[:-1] + parts * (whole[1:] - whole[:-1])
    assert gap(motion.reshape(-1, 3)).min() >= -1e-6


@pytest.mark.slow
def test_bounds_on_the_way_are_kept_too():
    komo = pw.KOMO(globe(), 1, 24, 2)
    komo.avoid_collisions()
    komo.add_objective([1.0], FS.position, ["ball"], OT.eq, target=GOAL)
    # Over the wall, where the direct way is round its corner at 0.3 m.
    komo.add_objective(
        [], FS.position, ["ball"], OT.ineq, scale=[[0, 0, 1]], target=[0, 0, 0.45]
    )
    solution = komo.plan(progress=False)
    assert solution.feasible and (solution.path[:, 2] <= 0.45 + 1e-3).all()
    assert solution.path[:, 2].max() > 0.35


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.2, 0.5, 0.8, 1.1])
def test_what_was_planned_by_a_time_limit_is_returned(seconds):
    komo = across(globe())
    assert komo.plan(progress=False).feasible  # all is compiled
    began = time.perf_counter()
    solution = komo.plan(progress=False, max_time=seconds)
    assert time.perf_counter() - began < seconds + 1.0
    assert solution.status.name in ("FEASIBLE", "TIME_LIMIT", "INTERRUPTED")
    if not solution.feasible:  # the way to the nearest place, on the globe
        radius = np.linalg.norm(solution.path, axis=1)
        np.testing.assert_allclose(radius, RADIUS, atol=1.1e-3)


@pytest.mark.long
@pytest.mark.parametrize("error", [KeyboardInterrupt, TimeLimitReached])
def test_an_interrupt_while_a_path_is_made_shorter_keeps_it(monkeypatch, error):
    def interrupted(*_):
        raise error

    monkeypatch.setattr(planned_path, "shorten_on_equations", interrupted)
    solution = across(globe()).plan(progress=False)
    assert solution.path[-1, 0] > 0.49
    np.testing.assert_allclose(
        np.linalg.norm(solution.path, axis=1), RADIUS, atol=1.1e-3
    )


@pytest.mark.slow
def test_a_way_that_is_shut_on_equations_is_not_found():
    solution = across(globe(wall_height=2.0)).plan(progress=False, max_time=60.0)
    assert not solution.feasible and solution.status.name == "NOT_FOUND"
    assert (solution.path[:, 0] < 0).all()
