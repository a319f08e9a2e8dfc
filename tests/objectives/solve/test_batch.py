"""Batches: the same answers as one by one, from one program."""

import numpy as np
import pytest
from helpers.batch_problems import arm, reaching

import posewise as pw
from posewise import FS, OT
from posewise.solvers import multistart
from posewise.solvers.multistart import _advance_lanes_compiled


@pytest.mark.slow
def test_problems_and_starts_equal_single_solves():
    slices = 3
    rng = np.random.default_rng(0)
    komo, goal = reaching(slices=slices)
    angle = rng.uniform(0, 1.5, 5)
    targets = np.stack([0.9 * np.cos(angle), 0.9 * np.sin(angle), 0 * angle], -1)
    worlds = [arm(rng.uniform(0.3, 0.6, 3) * [1, 1, 0], 0.05 * k) for k in range(1, 6)]
    for k, C in enumerate(worlds):
        C.q = [0.1 * k, 0.2, -0.1]
    got = komo.solve_batch({goal: targets}, worlds, starts=3, seed=4, tolerance=1e-5)
    for target, world, sol in zip(targets, worlds, got, strict=True):
        alone, aim = reaching(world, slices)
        want = alone.solve_batch({aim: target[None]}, starts=3, seed=4, tolerance=1e-5)
        assert sol.feasible and sol.config is world
        assert sol.start == want[0].start
        np.testing.assert_allclose(sol.path, want[0].path, atol=1e-6)
        C = world.copy()
        C.q = sol.q
        np.testing.assert_allclose(C.pose("tip")[:2], target[:2], atol=1e-5)


def test_lanes_refill_and_nothing_is_compiled_again(monkeypatch):
    monkeypatch.setattr(multistart, "MAX_VARIABLES_PER_CALL", 12)  # four lanes
    komo, goal = reaching()
    rng = np.random.default_rng(1)
    sizes = []
    for count in (20, 33, 7):
        targets = np.column_stack([rng.uniform(0.5, 0.9, (count, 2)), np.zeros(count)])
        got = komo.solve_batch({goal: targets})
        assert len(got) == count
        for target, sol in zip(targets, got, strict=True):
            if sol.feasible:
                C = komo.config.copy()
                C.q = sol.q
                np.testing.assert_allclose(C.pose("tip")[:2], target[:2], atol=1e-3)
        assert np.mean([s.feasible for s in got]) > 0.8
        sizes.append(_advance_lanes_compiled.num_compilations())
    assert sizes[0] == sizes[-1]


def test_solve_all_keeps_the_order_of_the_starts():
    komo, _ = reaching()
    every = komo.solve_all(starts=6, seed=2)
    assert [s.start for s in every] == list(range(6))
    chosen = komo.solve(starts=6, seed=2)
    feasible = [s.sos for s in every if s.feasible]
    assert chosen.sos == min(feasible)


@pytest.mark.slow
def test_a_start_that_stalls_is_followed_by_a_random_one():
    """Turned by exactly half a turn from where it should point, there is no way on."""
    C = pw.Config()
    C.add_frame("needle", joint="hingeZ", limits=[[-3.5], [3.5]])
    komo = pw.KOMO(C)
    aim = komo.add_objective(None, FS.vectorX, ["needle"], OT.eq, target=[-1, 0, 0])
    komo.add_control_objective(0, 1e-3)
    (first,) = komo.solve_all()
    assert first.status is pw.Status.INFEASIBLE
    sol = komo.solve(seed=2)
    assert sol.feasible and sol.start == 1
    np.testing.assert_array_equal(komo.solve(seed=2).path, sol.path)
    targets = np.array([[1.0, 0, 0], [-1, 0, 0], [0, 1, 0], [-1, 0, 0]])
    got = komo.solve_batch({aim: targets}, seed=2)
    before = _advance_lanes_compiled.num_compilations()
    other = komo.solve_batch({aim: targets[[1, 1, 3, 0]]}, seed=2)
    assert _advance_lanes_compiled.num_compilations() == before and all(
        s.feasible for s in other
    )
    assert [s.feasible for s in got] == [True] * 4
    assert [s.start for s in got] == [0, 1, 0, 1]
    np.testing.assert_allclose(got[1].path, sol.path, atol=1e-9)


@pytest.mark.slow
def test_without_costs_the_first_feasible_start_is_enough():
    komo = pw.KOMO(arm(), 1, 1, 0)
    goal = komo.add_objective([1.0], FS.position, ["tip"], target=[0.7, 0.6, 0])
    komo.add_objective(None, FS.negDistance, ["tip", "ball"], OT.ineq)
    every = komo.solve_all(starts=6, seed=2)
    assert [s.start for s in every] == list(range(6))
    good = [s.start for s in every if s.feasible]
    some = komo.solve_all(starts=6, seed=2, max_solutions=2)
    assert [s.start for s in some] == list(range(good[1] + 1))
    first = next(s for s in every if s.feasible)
    sol = komo.solve(starts=6, seed=2)
    assert sol.start == first.start
    np.testing.assert_allclose(sol.path, first.path, atol=1e-9)
    targets = [[0.9, 0.3, 0], [0.7, 0.6, 0], [5, 0, 0], [0.2, -0.8, 0]]
    got = komo.solve_batch({goal: targets}, starts=6, seed=2)
    assert [s.feasible for s in got] == [True, True, False, True]
    assert got[1].start == first.start


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda k, g: k.solve_batch({g: np.zeros((2, 5))}), r"expected \(2, 3\)"),
        (lambda k, g: k.solve_batch({g: [[np.nan, 0, 0]]}), "finite"),
        (lambda k, g: k.solve_batch({"goal": [[0.0]]}), "what add_objective returned"),
        (lambda k, g: k.solve_batch(4), "targets is 4, expected a mapping"),
        (lambda k, g: k.solve_batch(worlds=[1]), "expected Configs"),
        (lambda k, g: k.solve_batch(worlds=[arm(), pw.Config()]), "ball|tip|moving"),
        (lambda k, g: k.solve_batch(starts=0), "starts"),
    ],
)
def test_errors_name_what_is_wrong(call, match):
    with pytest.raises((pw.ConfigError, pw.FeatureError), match=match):
        call(*reaching())


def test_no_world_no_solution():
    assert len(reaching()[0].solve_batch(worlds=[])) == 0


def test_arrays_are_those_of_the_solutions():
    komo, goal = reaching()
    targets = np.array([[0.3, 0.4, 0], [5.0, 0, 0], [0.2, -0.5, 0]])
    batch = komo.solve_batch({goal: targets}, starts=2, progress=False)
    assert len(batch) == 3 and batch[-1] is batch[2] and len(batch[1:]) == 2
    for name in ("path", "q", "feasible", "iterations"):
        each = [getattr(s, name) for s in batch]
        np.testing.assert_allclose(getattr(batch, name), each, err_msg=name)
    assert batch.status.tolist() == [int(s.status) for s in batch]
    np.testing.assert_allclose(batch.cost, [s.sos for s in batch], rtol=1e-12)
    worst = [max(s.eq, s.ineq) for s in batch]
    np.testing.assert_allclose(batch.violation, worst, rtol=1e-9, atol=1e-15)
    with pytest.raises(IndexError):
        batch[3]


def test_solutions_are_of_the_world_as_it_was():
    komo, goal = reaching()
    batch = komo.solve_batch({goal: [[0.3, 0.4, 0]]}, progress=False)
    before = komo.config.q
    komo.config.q = before + 0.3
    assert batch[0].feasible
    np.testing.assert_allclose(batch[0]._record.spec.config.q, before)
