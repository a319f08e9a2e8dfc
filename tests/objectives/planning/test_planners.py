"""Planners that are plugged in: what they are told, and what is made of their paths."""

import sys

import numpy as np
import pytest
from helpers.interrupts import TickingClock

import posewise as pw
from posewise import FS, OT, ObjectiveError, Status
from posewise.objectives.planning import plugged_search as plugged
from posewise.objectives.planning.free_space import free_space_with
from posewise.objectives.planning.planner import PlanningTask
from posewise.objectives.planning.plugged_search import plugged_search
from posewise.objectives.problem.spec import mode_sequence, required_distances
from posewise.solvers.deadline import time_limit

START, GOAL = np.array([-0.5, 0.0]), np.array([0.5, 0.0])
AROUND = np.array([START, [-0.5, 0.9], [0.5, 0.9], GOAL])
MARGIN = 0.01


def across_a_wall(high: float = 2.0) -> pw.KOMO:
    """Return a way from one side of a wall to the other, for a disc in a plane.

    Args:
        high: end of the range of y; from 0.61 on there is a way.
    """
    C = pw.Config()
    C.add_frame("disc", joint="transXY", limits=[[-2, -0.5], [2.0, high]], q=START)
    C.set_shape("disc", pw.Sphere(0.1))
    C.set_contact("disc", 1)
    C.add_frame("wall", shape=pw.Box([0.02, 1.0, 1.0]), contact=1)
    komo = pw.KOMO(C, 1, 24, 1)
    komo.avoid_collisions(MARGIN)
    komo.add_objective([1.0], FS.qItself, ["disc"], OT.eq, target=GOAL)
    return komo


class Scripted:
    """A planner that returns what it is told to, and keeps its tasks."""

    def __init__(self, answer) -> None:
        self.answer, self.tasks = answer, []

    def plan(self, task: PlanningTask):
        self.tasks.append(task)
        return self.answer(task) if callable(self.answer) else self.answer


def search(answer, goals=GOAL[None], start=START):
    """Return what becomes of an answer, without a whole problem."""
    komo = across_a_wall()
    K = mode_sequence(komo.spec).world.tree.model.unnamed_kinematics
    (part,) = required_distances(komo.spec)
    ends = np.vstack([start, goals])
    space = free_space_with(K, part, part.required[0], ends, np.arange(2))
    planner = Scripted(answer)
    rng = np.random.default_rng(0)
    return plugged_search(planner, space, start, goals, rng), planner.tasks[0]


@pytest.mark.long
def test_a_planned_path_is_made_shorter_and_certified():
    def answer(task):
        np.testing.assert_array_equal(task.start, START)
        np.testing.assert_allclose(task.goals, GOAL[None], atol=1e-3)
        assert (task.limits[0] <= task.start).all()
        assert task.max_time == plugged.MAX_SEARCH_SECONDS
        places = np.array([START, [0.0, 0.0], [0.0, 0.9]])
        np.testing.assert_array_equal(task.are_free(places), [True, False, True])
        is_free = task.are_free_motions(AROUND[[0, 0, 1]], AROUND[[1, 3, 2]])
        np.testing.assert_array_equal(is_free, [True, False, True])
        return np.vstack([AROUND[:-1], task.goals])

    planner = Scripted(answer)
    komo = across_a_wall()
    solution = komo.plan(planner=planner, progress=False)
    assert solution.status is Status.FEASIBLE and solution.keeps_distances
    length = np.linalg.norm(np.diff(solution.path, axis=0), axis=1).sum()
    # The way by the corners of the wall, which keeps the margin.
    shortest = 2 * np.hypot(0.5, 0.5 + 0.1 + MARGIN)
    assert shortest - 0.1 < length < 1.15 * shortest
    komo.initialize(solution)
    assert komo.solve(progress=False).feasible


@pytest.mark.long
def test_a_path_through_a_wall_is_not_believed():
    planner = Scripted(lambda task: np.vstack([task.start, task.goals[0]]))
    solution = across_a_wall().plan(planner=planner, progress=False)
    assert solution.status is Status.INFEASIBLE and not solution.keeps_distances
    assert len({task.seed for task in planner.tasks}) == len(planner.tasks) > 1


@pytest.mark.long
def test_without_a_path_the_start_is_kept():
    solution = across_a_wall().plan(planner=Scripted(None), progress=False)
    assert solution.status is Status.NOT_FOUND and not solution.feasible
    np.testing.assert_array_equal(solution.path, np.tile(START, (24, 1)))


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (AROUND[:, :1], r"shape \(4, 1\), expected \(k, 2\)"),
        (AROUND[:1], "2 or more"),
        (np.where(AROUND > 0.8, np.nan, AROUND), "not finite"),
        (AROUND[1:], "begins 0.9 from the start"),
        (AROUND[:-1], "ends 0.9 from the nearest goal"),
    ],
)
def test_paths_of_another_form_are_refused(answer, words):
    with pytest.raises(ObjectiveError, match=words):
        search(answer)


def test_the_path_ends_at_the_goal_that_is_reached():
    goals = np.array([GOAL, [0.5, 0.9]])
    result, task = search(AROUND[:3].tolist(), goals)
    assert result.missing == 0 and not result.is_stopped
    np.testing.assert_array_equal(result.corners, AROUND[:3])
    assert 1 <= task.seed < 2**31


def test_a_start_beside_its_limits_is_told_within_them():
    start = START - [0.0, 0.6]
    result, task = search(lambda task: np.vstack([task.start, AROUND[1:]]), start=start)
    np.testing.assert_array_equal(task.start, [-0.5, -0.5])
    np.testing.assert_array_equal(result.corners[0], start)


def test_a_planner_is_told_its_time():
    with time_limit(7.0):
        _, task = search(AROUND)
    assert 0 < task.max_time < 7.0
    _, task = search(AROUND)
    assert task.max_time == plugged.MAX_SEARCH_SECONDS


def search_for_ever(task, clock):
    while True:
        task.are_free(task.goals)


def search_for_its_time(task, clock):
    clock.seconds += task.max_time


@pytest.mark.long
@pytest.mark.parametrize("answer", [search_for_ever, search_for_its_time])
def test_a_time_limit_ends_the_search(answer, monkeypatch):
    monkeypatch.setattr(plugged, "MAX_SEARCH_SECONDS", 1000.0)
    clock = TickingClock(monkeypatch)
    planner = Scripted(lambda task: answer(task, clock))
    solution = across_a_wall().plan(planner=planner, progress=False, max_time=300)
    assert solution.status is Status.TIME_LIMIT and solution.stopped
    assert "Time limit of 300 s" in solution.message
    assert not solution.feasible and len(planner.tasks) == 1


def interrupt(task):
    raise KeyboardInterrupt


@pytest.mark.long
def test_an_interrupt_ends_the_search():
    solution = across_a_wall().plan(planner=Scripted(interrupt), progress=False)
    assert solution.status is Status.INTERRUPTED and solution.stopped


@pytest.mark.parametrize(
    ("planner", "words"),
    [
        ("omple", "No planner 'omple'; did you mean 'ompl'"),
        ("x", "there are: 'rrt-connect', 'ompl'"),
        (3, r"planner is 3, expected one of the names .* method plan\(task\)"),
        (Scripted, "expected one of the names"),
    ],
)
def test_what_is_no_planner_is_refused(planner, words):
    with pytest.raises(ObjectiveError, match=words):
        across_a_wall().plan(planner=planner, progress=False)


def test_equations_on_the_way_are_refused():
    komo = across_a_wall()
    komo.add_objective([0.0, 1.0], FS.qItself, ["disc"], OT.eq, scale=[[0, 1.0]])
    with pytest.raises(ObjectiveError, match="several slices: leave `planner` out"):
        komo.plan(planner=Scripted(AROUND), progress=False)


def test_without_ompl_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ompl", None)
    with pytest.raises(ImportError, match=r"pip install \"posewise\[ompl\]\""):
        across_a_wall().plan(planner="ompl", progress=False)


@pytest.mark.long
def test_ompl_finds_a_way():
    pytest.importorskip("ompl.geometric", reason="needs the extra `ompl`")
    solution, again, other = (
        across_a_wall().plan(seed, planner="ompl", progress=False) for seed in (0, 0, 1)
    )
    assert solution.status is Status.FEASIBLE and solution.keeps_distances
    np.testing.assert_allclose(solution.path[-1], GOAL, atol=1e-3)
    np.testing.assert_array_equal(again.path, solution.path)
    assert np.abs(other.path - solution.path).max() > 1e-3


@pytest.mark.long
def test_ompl_says_that_it_finds_none(capfd, monkeypatch):
    pytest.importorskip("ompl.geometric", reason="needs the extra `ompl`")
    komo = across_a_wall(high=0.3)
    monkeypatch.setattr(plugged, "MAX_SEARCH_SECONDS", 0.5)
    solution = komo.plan(planner="ompl", progress=False)
    assert solution.status is Status.NOT_FOUND and not solution.feasible
    solution = komo.plan(planner="ompl", progress=False, max_time=0.3)
    assert solution.status is Status.TIME_LIMIT and solution.stopped
    assert capfd.readouterr().out == ""
