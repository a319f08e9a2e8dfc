"""Starts that lead to goals: an arm whose elbow is on the wrong side, and a tray."""

import numpy as np
import pytest

import posewise as pw
from posewise import FS, OT
from posewise.objectives.problem.spec import compile_chain, initial_paths
from posewise.objectives.solve import certified, goal_starts
from posewise.objectives.solve.settings import make_settings

GOAL = [1.2, -0.8, 0]


def arm() -> pw.Config:
    """Return an arm of two links with its elbow up, which reaches down elbow-down."""
    C = pw.Config()
    C.add_frame("upper", joint="hingeZ", limits=[[-1.3], [3.0]])
    C.add_frame("lower", "upper", position=[1, 0, 0], joint="hingeZ")
    C.joints.set_limits("lower", [[-2.5], [2.5]])
    C.add_frame("tip", "lower", position=[1, 0, 0], shape=pw.Sphere(0.05), contact=1)
    C.add_frame("ball", position=[-3, 0, 0], shape=pw.Sphere(0.1), contact=1)
    C.q = [2.0, -1.0]
    return C


def reaching(C: pw.Config, goals=((1.0, GOAL),), avoid: bool = False) -> pw.KOMO:
    komo = pw.KOMO(C, len(goals), 8, 1)
    komo.add_control_objective(1, 0.1)
    for time, goal in goals:
        komo.add_objective([time], FS.position, ["tip"], OT.eq, target=goal, scale=10)
    if avoid:
        komo.avoid_collisions()
    return komo


def paths_of(komo: pw.KOMO) -> list[np.ndarray]:
    settings = make_settings(komo.spec, 1e-3, False, {})
    compiled = compile_chain(komo.spec)
    x = initial_paths(komo.spec, 0, 1)[0]
    return goal_starts.goal_paths(komo.spec, compiled, x, settings, lambda _: None)


def tip(q: np.ndarray) -> np.ndarray:
    return np.stack([np.cos(q[0]) + np.cos(q.sum()), np.sin(q[0]) + np.sin(q.sum())])


@pytest.mark.slow
def test_paths_end_where_the_goal_is_met():
    komo = reaching(arm())
    paths = paths_of(komo)
    assert 1 <= len(paths) <= goal_starts.GOAL_SEARCH.candidates
    low, high = komo.config.limits
    for path in paths:
        assert path.shape == (8, 2)
        np.testing.assert_allclose(tip(path[-1]), GOAL[:2], atol=1e-3)
        assert (path[-1] >= low - 1e-9).all() and (path[-1] <= high + 1e-9).all()
        steps = np.diff(np.vstack([komo.config.q, path]), axis=0)
        np.testing.assert_allclose(steps, np.tile(steps[0], (8, 1)), atol=1e-9)
    ends = np.array([path[-1] for path in paths])
    assert len(ends) == len(np.unique(np.round(ends, 2), axis=0)), "each once"


def test_paths_pass_one_goal_after_the_other():
    goals = ((1.0, [1.2, 0.8, 0]), (2.0, GOAL))
    for path in paths_of(reaching(arm(), goals)):
        np.testing.assert_allclose(tip(path[7]), goals[0][1][:2], atol=1e-3)
        np.testing.assert_allclose(tip(path[15]), GOAL[:2], atol=1e-3)


@pytest.mark.parametrize(
    "goals", [((1.0, [3.0, 0, 0]),), ((0.5, [3, 0, 0]), (1.0, GOAL))]
)
def test_no_path_leads_to_what_is_out_of_reach(goals):
    assert not paths_of(reaching(arm(), goals))


@pytest.mark.slow
def test_a_second_start_reaches_what_the_first_misses(monkeypatch):
    """From the initial path given, the arm ends at the limit of its shoulder."""
    C = arm()
    C.joints.set_limits("upper", [[-0.3], [3.0]])
    komo = reaching(C, avoid=True)
    calls = []
    every = goal_starts.goal_paths

    def spy(*arguments):
        calls.append(every(*arguments))
        return [*calls[-1]]

    monkeypatch.setattr("posewise.objectives.solve.certified.goal_paths", spy)
    komo.initialize(np.linspace(C.q, [-0.3, 1.5], 9)[1:] * [1, -1])
    solution = komo.solve(progress=False)
    assert solution.feasible, solution.report()
    if solution.start:
        assert len(calls) == 1 and calls[0]


@pytest.mark.slow
def test_starts_that_lead_to_goals_keep_them_by_a_large_penalty(monkeypatch):
    komo, penalties = reaching(arm(), avoid=True), []
    settings = make_settings(komo.spec, 1e-3, False, {}, starts=12)

    def misses(spec, compiled, path, options, *arguments):
        """End where the solve began, far from the goal."""
        penalties.append(options.mu)
        result = solve_certified(spec, compiled, path, options, *arguments)
        y = np.full_like(np.asarray(result.result.y), 1.0)
        return result._replace(result=result.result._replace(y=y))

    solve_certified = certified.solve_certified
    monkeypatch.setattr(certified, "solve_certified", misses)
    compiled, goals = compile_chain(komo.spec), len(paths_of(komo))
    ends = certified.solve_in_sequence(
        komo.spec, compiled, settings, goals + 3, lambda _: None
    )
    assert len(list(ends)) == goals + 3
    small, large = (settings.initial_penalty(k) for k in range(2))
    assert large > small and penalties[0] == small
    assert penalties[1 : goals + 1] == [large] * goals


@pytest.mark.slow
def test_shared_coordinates_are_kept():
    """A stick in the hand from the first slice on, whose end has the goal."""
    C = arm()
    C.add_frame("stick", joint="free", pose=[*C.pose("tip")[:3], 1, 0, 0, 0])
    C.set_shape("stick", pw.Sphere(0.01))
    C.add_frame("end", "stick", position=[0.1, 0, 0])
    komo = pw.KOMO(C, 1, 6, 1)
    komo.add_control_objective(1, 0.1)
    komo.add_mode_switch([0.0, 1.0], "stable", ["tip", "stick"])
    komo.add_objective([1.0], FS.position, ["end"], OT.eq, target=GOAL, scale=10)
    x = initial_paths(komo.spec, 0, 1)[0]
    paths = paths_of(komo)
    assert paths
    for path in paths:
        moved = np.abs(path - x).max(0) > 1e-9
        assert moved.sum() <= 2, "only the arm"
