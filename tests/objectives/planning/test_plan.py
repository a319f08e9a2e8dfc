"""Planned paths: round a wall, to any configuration of a goal, or as near as can be."""

import numpy as np
import pytest
from helpers.moving_worlds import segment_points

import posewise as pw
from posewise import FS, OT, ObjectiveError, Status
from posewise.objectives.planning import rrt_connect
from posewise.objectives.planning.free_space import free_space_with
from posewise.objectives.planning.shortcuts import points_with_corners
from posewise.objectives.problem.spec import (
    initial_paths,
    mode_sequence,
    required_distances,
)
from posewise.objectives.solve import certified
from posewise.solvers.deadline import TimeLimitReached

MARGIN = 0.01


def disc(wall=(0.02, 1.0, 1.0)) -> pw.Config:
    """Return a disc of radius 0.1 m that slides in a plane, a wall, and a free ball."""
    C = pw.Config()
    limits = [[-2.0] * 2, [2.0] * 2]
    C.add_frame("disc", joint="transXY", limits=limits, q=[-0.5, 0])
    C.set_shape("disc", pw.Sphere(0.1))
    C.set_contact("disc", 1)
    C.add_frame("wall", shape=pw.Box(wall), contact=1)
    C.add_frame("ball", joint="free", pose=[0, -1.0, 0, 1, 0, 0, 0])
    C.set_shape("ball", pw.Sphere(0.1))
    C.set_contact("ball", 1)
    return C


def across(C: pw.Config, goals=((1.0, (0.5, 0.0)),), phases: int = 1) -> pw.KOMO:
    komo = pw.KOMO(C, phases, 24 // phases, 2)
    komo.add_control_objective(2, 0.1)
    komo.add_objective([phases], FS.qItself, [], OT.eq, order=1)
    komo.avoid_collisions(MARGIN)
    for time, goal in goals:
        komo.add_objective([time], FS.qItself, ["disc"], OT.eq, target=goal)
    return komo


def gap(komo: pw.KOMO, path: np.ndarray, half=(0.01, 0.5), radius=0.1) -> float:
    """Return the distance of the disc from the wall along its path, by formula."""
    C = komo.config
    whole = np.vstack([C.q, path])
    ends = zip(whole[:-1], whole[1:], strict=True)
    points = np.concatenate([segment_points(C, a, b, 50) for a, b in ends])[:, :2]
    outside = np.maximum(np.abs(points) - half, 0)
    return float(np.linalg.norm(outside, axis=1).min()) - radius


@pytest.mark.slow
def test_a_path_round_a_wall_is_short_and_certified():
    komo = across(disc())
    solution = komo.plan(progress=False)
    assert solution.status is Status.FEASIBLE and solution.keeps_distances
    assert gap(komo, solution.path) >= 0.9 * MARGIN
    np.testing.assert_allclose(solution.path[-1, :2], [0.5, 0.0], atol=1e-3)
    steps = np.diff(np.vstack([komo.config.q, solution.path])[:, :2], axis=0)
    # The way by the corners of the wall, which keeps the margin.
    shortest = 2 * np.hypot(0.5, 0.5 + 0.1 + MARGIN)
    assert np.linalg.norm(steps, axis=1).sum() < 1.1 * shortest
    np.testing.assert_array_equal(
        solution.path[:, 2:], np.tile(komo.config.q[2:], (24, 1))
    )
    again, other = (across(disc()).plan(seed, progress=False) for seed in (0, 1))
    np.testing.assert_array_equal(again.path, solution.path)
    assert np.abs(other.path - solution.path).max() > 1e-3
    assert solution.retime(velocity=1.0, acceleration=1.0).times[-1] > 0
    komo.initialize(solution)
    assert komo.solve(progress=False).feasible


@pytest.mark.slow
def test_waypoints_are_passed_in_turn():
    komo = across(disc(), [(1.0, (0.0, 1.0)), (2.0, (0.5, 0.0))], phases=2)
    solution = komo.plan(progress=False)
    assert solution.feasible and gap(komo, solution.path) >= 0.9 * MARGIN
    np.testing.assert_allclose(solution.path[11, :2], [0.0, 1.0], atol=1e-3)


def test_a_way_that_is_free_is_not_planned():
    komo = across(disc(wall=(0.02, 0.2, 0.2)))
    goal = np.array([0.5, 0.6])
    komo = across(disc(), [(1.0, goal)])
    path = np.tile(komo.config.q, (24, 1))
    path[:8, :2] = np.linspace([-0.5, 0], [-0.5, 0.8], 9)[1:]
    path[8:, :2] = np.linspace([-0.5, 0.8], goal, 17)[1:]
    komo.initialize(path)
    solution = komo.plan(progress=False)
    np.testing.assert_allclose(solution.path, path, atol=1e-12)
    assert solution.status is Status.FEASIBLE


@pytest.mark.long
def test_without_a_way_the_path_ends_at_the_nearest_place(monkeypatch):
    monkeypatch.setattr("posewise.objectives.solve.planned_path.MAX_ROUNDS", 20)
    C = disc()
    C.joints.set_limits("disc", [[-0.7, -0.3], [0.7, 0.3]])
    solution = across(C).plan(progress=False)
    assert solution.status is Status.NOT_FOUND and not solution.feasible
    assert "No way was found" in solution.message
    assert solution.keeps_distances and -0.4 < solution.path[-1, 0] < -0.11


@pytest.mark.slow
def test_a_plan_is_returned_where_no_start_leads_to_a_path(monkeypatch):
    def straight_again(spec, seed, start, path, goals):
        return initial_paths(spec, 0, 1)[0], False

    monkeypatch.setattr(certified, "free_start", lambda *_: None)
    monkeypatch.setattr(certified, "_next_path", straight_again)
    C = disc()
    komo = pw.KOMO(C, 1, 24, 1)
    komo.add_control_objective(1, 0.1)
    komo.avoid_collisions(MARGIN)
    komo.add_objective([1.0], FS.qItself, ["disc"], OT.eq, target=[0.5, 0.0])
    assert not komo.solve(progress=False).feasible
    solution = komo.solve(starts=2, progress=False)
    assert solution.feasible and solution.start == 2
    assert gap(komo, solution.path) >= 0.9 * MARGIN
    komo.add_objective([1.0], FS.qItself, ["disc"], OT.eq, order=1)
    assert not komo.solve(starts=2, progress=False).feasible, "it does not stop"


@pytest.mark.long
def test_a_time_limit_ends_the_search(monkeypatch):
    def late() -> None:
        raise TimeLimitReached("time limit of 1 s reached")

    monkeypatch.setattr(rrt_connect, "check_deadline", late)
    solution = across(disc()).plan(progress=False)
    assert solution.status is Status.INTERRUPTED and solution.stopped
    assert solution.keeps_distances


@pytest.mark.long
def test_any_configuration_of_a_goal_serves():
    """An arm of two links reaches a point elbow-up, where a ball is, or elbow-down."""
    C = pw.Config()
    C.add_frame("upper", joint="hingeZ", limits=[[-3.0], [3.0]])
    C.add_frame("lower", "upper", position=[1, 0, 0], joint="hingeZ")
    C.joints.set_limits("lower", [[-2.8], [2.8]])
    C.add_frame("tip", "lower", position=[1, 0, 0], shape=pw.Sphere(0.05), contact=1)
    C.add_frame("middle", "lower", position=[0.5, 0, 0])
    C.set_shape("middle", pw.Sphere(0.05))
    C.set_contact("middle", 1)
    target = np.array([1.0, 0.5, 0.0])
    distance = np.linalg.norm(target)
    lift = np.arccos(distance / 2)
    heading = np.arctan2(target[1], target[0])
    elbow = np.array([np.cos(heading + lift), np.sin(heading + lift), 0])
    blocked = (elbow + target) / 2
    C.add_frame("ball", position=blocked, shape=pw.Sphere(0.1), contact=1)
    # The state is near the blocked configuration, the other one is far.
    C.q = [heading + lift + 0.6, -2 * lift]
    komo = pw.KOMO(C, 1, 24, 1)
    komo.add_objective([1.0], FS.position, ["tip"], OT.eq, target=target, scale=10)
    komo.avoid_collisions(MARGIN)
    solution = komo.plan(progress=False)
    assert solution.feasible
    np.testing.assert_allclose(solution.path[-1], [heading - lift, 2 * lift], atol=2e-3)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda komo: None, "avoid_collisions"),
        (
            lambda komo: komo.add_mode_switch([1.0, -1], "stable", ["disc", "ball"]),
            "mode",
        ),
        (lambda komo: komo.add_contact([1.0], "disc", "ball"), "contact forces"),
        (
            lambda komo: komo.prescribe_motion(
                "ball", np.tile([0, 0, 0, 1, 0, 0, 0.0], (24, 1))
            ),
            "prescribed motions",
        ),
    ],
)
def test_problems_that_are_no_paths_of_one_mode_are_refused(change, words):
    C = disc()
    komo = pw.KOMO(C, 1, 24, 1)
    change(komo)
    if words != "avoid_collisions":
        komo.avoid_collisions()
    with pytest.raises(ObjectiveError, match=words):
        komo.plan(progress=False)


@pytest.mark.long
def test_where_nothing_collides_the_way_is_straight():
    C = pw.Config()
    C.add_frame("slider", joint="transXY", limits=[[-1, -1], [1, 1]])
    komo = pw.KOMO(C, 1, 8, 1)
    komo.avoid_collisions()
    komo.add_objective([1.0], FS.qItself, ["slider"], OT.eq, target=[0.4, 0.8])
    solution = komo.plan(progress=False)
    assert solution.status is Status.FEASIBLE
    straight = np.arange(1, 9)[:, None] / 8 * np.array([0.4, 0.8])
    np.testing.assert_allclose(solution.path, straight, atol=1e-4)


def test_a_plan_needs_a_goal():
    komo = pw.KOMO(disc(), 1, 8, 1)
    komo.avoid_collisions()
    with pytest.raises(ObjectiveError, match="leads to goals"):
        komo.plan(progress=False)


def test_a_start_in_degrees_is_not_planned_from():
    C = disc()
    C.q = [-50.0, *C.q[1:]]
    with pytest.warns(pw.ProblemWarning), pytest.raises(ObjectiveError, match="far"):
        across(C).plan(progress=False)


@pytest.mark.long
def test_no_time_gives_the_initial_path_and_says_so():
    solution = across(disc()).plan(progress=False, max_time=1e-6)
    assert solution.status is Status.TIME_LIMIT and "Time limit" in solution.message


def test_corners_are_among_the_points():
    komo = across(disc())
    K, q = mode_sequence(komo.spec).world.tree.model.unnamed_kinematics, disc().q
    (part,) = required_distances(komo.spec)
    space = free_space_with(K, part, part.required[0], q[None], np.arange(2))
    corners = np.tile(q, (4, 1))
    corners[:, :2] = [[0, 0], [1, 0], [1, 0.2], [0, 0.2]]
    points = points_with_corners(space, corners, 12)
    assert len(points) == 12
    for corner in corners:
        assert np.abs(points - corner).max(1).min() < 1e-12
    steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    assert steps.max() <= 0.2 + 1e-12 and steps.min() > 0.1
    assert len(points_with_corners(space, corners, 3)) == 3


@pytest.mark.slow
def test_a_base_without_limits_drives_round_a_wall_and_objects_stay():
    C = disc()
    C.joints.set_limits("disc", [[-np.inf] * 2, [np.inf] * 2])
    C.add_frame("puck", joint="transXY", q=[0.5, 0.8])
    C.set_shape("puck", pw.Sphere(0.05))
    C.set_contact("puck", 1)
    komo = across(C)
    solution = komo.plan(progress=False)
    assert solution.feasible and gap(komo, solution.path) >= 0.9 * MARGIN
    puck = C.joints.coordinates(["puck"])
    np.testing.assert_allclose(
        solution.path[:, puck], np.tile([0.5, 0.8], (24, 1)), atol=1e-6
    )


@pytest.mark.long
def test_a_wall_that_hides_between_places_is_seen_by_the_next_attempt():
    C = disc(wall=(0.004, 1.0, 1.0))
    C.set_shape("disc", pw.Sphere(0.004))
    komo = across(C)
    komo.initialize(np.linspace(C.q, [0.5, 0, *C.q[2:]], 25)[1:])
    assert komo.config.q[0] < 0
    solution = komo.plan(progress=False)
    assert solution.feasible and solution.keeps_distances
    assert gap(komo, solution.path, (0.002, 0.5), 0.004) >= 0.9 * MARGIN
