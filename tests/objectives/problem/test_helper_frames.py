"""Helper frames of a problem, and phases of a solution as separate problems."""

import numpy as np
import pytest
from helpers.mode_worlds import kitchen, pick_and_place, relative

import posewise as pw
from posewise import FS, OT, presets
from posewise.objectives.problem.spec import initial_paths, mode_sequence


@pytest.mark.slow
def test_a_stable_helper_has_one_value_and_only_the_problem_has_it():
    """Held anywhere on a circle around the box, and put anywhere on the tray."""
    komo = pw.KOMO(kitchen(), 2, 1, 1)
    reach = [[-0.1, -0.1, -4], [0.1, 0.1, 4]]
    spot = dict(position=[0, 0, 0.07], joint="transXYPhi", limits=reach)
    komo.add_frame("spot", "tray", **spot)
    komo.add_frame("side", "box", joint="hingeZ")
    komo.add_frame("handle", "side", position=[0.2, 0, 0])
    komo.add_control_objective(1, 0.1)
    komo.add_objective([], FS.positionDiff, ["wrist", "handle"], OT.eq)
    komo.add_mode_switch([1.0, 2.0], "stable", ["wrist", "box"])
    komo.add_mode_switch([2.0], "rigid", ["spot", "box"])
    komo.add_objective([2.0], FS.vectorX, ["box"], OT.eq, target=[0, 1, 0])
    sol = komo.solve()
    assert sol.feasible, sol.report()
    assert sol.path.shape == (2, komo.config.nq)
    assert "handle" not in [f.name for f in komo.config.frames]
    places = [relative(sol.world_at(t), "box", "handle")[:, 0] for t in range(2)]
    np.testing.assert_allclose(places[0], places[1], atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(places[0]), 0.2, atol=1e-12)
    for t in range(2):
        C = sol.world_at(t)
        off = C.pose("wrist")[:3] - C.pose("handle")[:3]
        np.testing.assert_allclose(off, 0, atol=1e-3)
    for t in (2, -3, 0.5, "last"):
        with pytest.raises(pw.ObjectiveError, match="t is .*, expected a slice from 0"):
            sol.world_at(t)
    end = sol.world_at(1)
    assert end.frames[end.frame("box").parent].name == "spot"
    np.testing.assert_allclose(end.pose("box"), end.pose("spot"), atol=1e-9)
    np.testing.assert_allclose(end.pose("box")[2], 0.54, atol=1e-9)
    assert np.abs(end.pose("box")[:2] - [0.5, 0]).max() < 0.1 + 1e-9
    np.testing.assert_allclose(relative(end, "tray", "box")[:, 1], [0, 1, 0], atol=1e-3)
    C = komo.config.copy()
    C.q = sol.path[0]
    np.testing.assert_allclose(
        C.pose("wrist"), sol.world_at(0).pose("wrist"), atol=1e-12
    )


@pytest.mark.sampled
@pytest.mark.parametrize("stable", [True, False])
def test_a_helper_that_is_not_stable_moves_by_slices(stable):
    C = kitchen()
    komo = pw.KOMO(C, 1, 3, 1)
    komo.add_frame("guide", joint="transX", stable=stable, limits=[[-1.5], [1.5]])
    komo.add_control_objective(1, 0.1)
    komo.add_objective([], FS.positionRel, ["hand", "guide"], OT.eq, scale=[[1, 0, 0]])
    komo.add_objective([1.0], FS.qItself, ["hand"], OT.eq, target=[0.6, 0, 1])
    paths = initial_paths(komo.spec, 0, 3)
    column = mode_sequence(komo.spec).world.joints.coordinates("guide")
    assert (np.ptp(paths[:, :, column], axis=1) < 1e-12).all() == stable
    sol = komo.solve()
    x = [sol.world_at(t).pose("guide")[0] for t in range(3)]
    np.testing.assert_allclose(x, sol.path[:, 0], atol=1e-3)
    assert (np.ptp(x) < 1e-9) == stable
    np.testing.assert_allclose(x[-1], 0.6, atol=1e-3)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda k: k.add_frame("box", "hand"), "'box' exists"),
        (lambda k: k.add_frame("goal", "hant"), "'hand'"),
        (lambda k: k.add_frame("goal", joint="hingQ"), "'hingQ'"),
        (lambda k: k.add_frame("a") or k.add_frame("a"), "'a' exists"),
    ],
)
def test_errors_name_what_is_wrong(call, match):
    komo = pw.KOMO(kitchen(), 2, 1, 1)
    with pytest.raises(pw.ConfigError, match=match):
        call(komo)
    assert len(komo.helpers) < 2


@pytest.fixture(scope="module")
def waypoints() -> pw.Solution:
    sol = pick_and_place("free").solve()
    assert sol.feasible
    return sol


@pytest.mark.slow
def test_motions_between_waypoints(waypoints):
    grasp = relative(waypoints.world_at(0), "wrist", "box")
    start = waypoints.config.q
    for phase, carried in enumerate((False, True)):
        komo = presets.sub_motion(waypoints, phase, slices=6, collisions=False)
        C = komo.config
        assert C.joint_names == ("hand", "wrist")
        np.testing.assert_allclose(C.q, start[-7:], atol=1e-12)
        sol = komo.solve()
        assert sol.feasible, sol.report()
        start = waypoints.path[phase]
        np.testing.assert_allclose(sol.q, start[-7:], atol=1e-3)
        np.testing.assert_allclose(sol.path[-2], sol.path[-1], atol=1e-3)  # at rest
        for t in range(6):
            box = relative(sol.world_at(t), "wrist", "box")
            assert (np.abs(box - grasp).max() < 1e-9) == carried
        want = waypoints.world_at(phase).pose("box")[:3]
        np.testing.assert_allclose(sol.world_at(-1).pose("box")[:3], want, atol=1e-2)


def test_the_world_may_change_after_the_solve(waypoints):
    before = waypoints.sub_problem(0)[0].q
    q = waypoints.config.q
    try:
        waypoints.config.q = q + np.r_[np.zeros(7), 0.1 * np.ones(3), np.zeros(4)]
        np.testing.assert_array_equal(waypoints.sub_problem(0)[0].q, before)
    finally:
        waypoints.config.q = q


@pytest.mark.slow
def test_helpers_stand_still_in_a_phase():
    komo = pw.KOMO(kitchen(), 2, 1, 1)
    komo.add_frame("goal", joint="transX", limits=[[0.2], [1.0]])
    komo.add_control_objective(1, 0.1)
    across = dict(scale=[[1, 0, 0]])
    komo.add_objective([1.0], FS.positionDiff, ["hand", "goal"], OT.eq, **across)
    sol = komo.solve()
    C, end = sol.sub_problem(1)
    assert C.joint_names == ("hand", "wrist")
    np.testing.assert_allclose(C.pose("goal")[0], 0.2, atol=1e-6)
    np.testing.assert_allclose(end, sol.path[1], atol=1e-12)


@pytest.mark.sampled
@pytest.mark.parametrize("phase", [-1, 2, 0.5, "one"])
def test_phases_that_do_not_exist(waypoints, phase):
    with pytest.raises(pw.ObjectiveError, match="phase is .*, expected 0 to 1"):
        waypoints.sub_problem(phase)


def test_a_switch_inside_a_phase():
    komo = pw.KOMO(kitchen(), 1, 3, 1)
    komo.add_control_objective(1)
    komo.add_mode_switch([2 / 3], "stable", ["wrist", "box"])
    with pytest.raises(pw.ObjectiveError, match="mode switch at slice 1"):
        komo.solve(max_iterations=1).sub_problem(0)
