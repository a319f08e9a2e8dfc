"""Batches in which each problem has its own initial path."""

import numpy as np
import pytest
from helpers.batch_problems import arm, reaching

import posewise as pw
from posewise import FS, OT, Status
from posewise.objectives.solve.problem_batch import make_problem_batch
from posewise.objectives.solve.start_batches import _first_paths

SLICES = 3
RNG = np.random.default_rng(3)
TARGETS = np.array([[0.7, 0.6, 0], [0.9, 0.3, 0], [0.6, 0.7, 0]])
PATHS = RNG.uniform(-1, 1, (3, SLICES, 3))
ONE_STEP = dict(max_iterations=1, progress=False)
"""Ends at the initial path, or one step away from it."""


@pytest.mark.slow
def test_each_problem_is_solved_from_its_path():
    komo, goal = reaching(slices=SLICES)
    worlds = [arm(radius=0.05 * k) for k in (1, 2, 3)]
    for k, C in enumerate(worlds):
        C.q = [0.1 * k, 0.2, -0.1]
        C.joints.set_limits("j0", [[-0.5 - 0.1 * k], [0.5 + 0.1 * k]])
    for batch_worlds in (None, worlds):
        got = komo.solve_batch(
            {goal: TARGETS}, batch_worlds, starts=2, seed=4, initial_paths=PATHS
        )
        for b, sol in enumerate(got):
            alone, aim = reaching(batch_worlds and batch_worlds[b], SLICES)
            alone.initialize(PATHS[b])
            (want,) = alone.solve_batch({aim: TARGETS[b : b + 1]}, starts=2, seed=4)
            assert (sol.start, sol.status) == (want.start, want.status)
            np.testing.assert_allclose(sol.path, want.path, atol=1e-9)


def test_only_the_first_start_begins_from_it():
    komo, goal = reaching(slices=SLICES)
    shared = make_problem_batch([komo.spec], {goal: TARGETS})
    with_paths = make_problem_batch([komo.spec], {goal: TARGETS}, list(PATHS))
    random = np.stack(_first_paths(shared, [0, 2], 7, 0, 3))
    paths = np.stack(_first_paths(with_paths, [0, 2], 7, 0, 3))
    np.testing.assert_array_equal(paths[:, 0], PATHS[[0, 2]])
    np.testing.assert_array_equal(paths[:, 1:], random[:, 1:])
    retry = np.stack(_first_paths(with_paths, [0, 2], 7, 1, 3))
    np.testing.assert_array_equal(retry, random[:, 1:])


@pytest.mark.long
@pytest.mark.parametrize(
    "paths",
    [PATHS, list(PATHS), [PATHS[0].tolist(), PATHS[1, 0], (0.1, 0.2, 0.3)]],
)
def test_paths_alone_are_problems(paths):
    komo, _ = reaching(slices=SLICES)
    got = komo.solve_batch(initial_paths=paths, **ONE_STEP)
    assert len(got) == 3
    for path, sol in zip(paths, got, strict=True):
        komo.initialize(path)
        want = komo.solve_all(**ONE_STEP)[0]
        np.testing.assert_allclose(sol.path, want.path, atol=1e-9)


@pytest.mark.slow
def test_they_are_the_user_s_coordinates_with_mode_switches():
    C = pw.Config()
    C.add_frame("cart", joint="transX", limits=[[-2.0], [2.0]])
    C.add_frame("block", position=[1.0, 0, 0], shape=pw.Box([0.1, 0.1, 0.1]))
    komo = pw.KOMO(C, 2, 2, 1)
    komo.add_control_objective(1, 0.1)
    komo.add_mode_switch([1.0], "stable", ["cart", "block"])
    goal = komo.add_objective([2.0], FS.position, ["block"], OT.eq, target=[2, 0, 0])
    paths = np.linspace(0.0, [[1.0], [0.5]], 4, axis=1)
    got = komo.solve_batch({goal: [[2, 0, 0], [1.5, 0, 0]]}, initial_paths=paths)
    for x, sol, path in zip([2.0, 1.5], got, paths, strict=True):
        assert sol.feasible and sol.world_at(-1).pose("block")[0] == pytest.approx(
            x, abs=1e-3
        )
        alone, world = komo.spec.from_path(path), sol.world_at(0)
        assert alone.initial is path and world.pose("block")[0] == pytest.approx(1)


RESAMPLED = {
    "twice as many, corners kept": ([2.0, 6.0], 4, [1.0, 2.0, 4.0, 6.0]),
    "half as many, corners dropped": ([1.0, 2.0, 4.0, 6.0], 2, [2.0, 6.0]),
    "one slice: straight to it": ([3.0], 3, [1.0, 2.0, 3.0]),
    "a corner between slices": ([3.0, 0.0], 3, [2.0, 2.0, 0.0]),
    "as many slices: as it is": ([5.0, 1.0, 2.0], 3, [5.0, 1.0, 2.0]),
    "the end of many": (np.linspace(0.1, 7.0, 70), 7, np.arange(1.0, 8.0)),
}
"""Path of one coordinate from 0, number of slices, and the path that is expected."""


@pytest.mark.parametrize("case", RESAMPLED)
def test_a_path_of_another_number_of_slices_is_resampled(case):
    values, slices, want = RESAMPLED[case]
    C = pw.Config()
    C.add_frame("cart", joint="transX")
    komo = pw.KOMO(C, 1, slices)
    komo.initialize(np.array(values)[:, None])
    np.testing.assert_allclose(komo.initial[:, 0], want, atol=1e-12)
    assert komo.initial[-1, 0] == values[-1]


def test_resampled_rotations_turn_evenly_by_the_smaller_angle():
    C = pw.Config()
    C.add_frame("box", joint="free")
    komo = pw.KOMO(C, 1, 6)
    quarter = np.array([np.cos(np.pi / 4), 0, 0, np.sin(np.pi / 4)])
    komo.initialize([[0, 0, 3.0, *(-quarter)], [0, 0, 3.0, *(-quarter)]])
    angle = np.minimum(np.arange(1, 7) / 3, 1) * np.pi / 2
    want = np.stack([np.cos(angle / 2), np.sin(angle / 2)], -1)
    got = komo.initial[:, [3, 6]]
    np.testing.assert_allclose(np.abs(got), want, atol=1e-12)
    np.testing.assert_allclose(komo.initial[:, 2], [1, 2, 3, 3, 3, 3], atol=1e-12)


def test_paths_of_a_batch_are_resampled_from_the_start_of_their_world():
    worlds = [arm(), arm()]
    worlds[1].q = [0.4, 0.2, 0.0]
    komo, goal = reaching(slices=SLICES)
    end = np.array([[0.6, 0.3, 0.2]])
    got = komo.solve_batch(worlds=worlds, initial_paths=[end, end], **ONE_STEP)
    for C, solution in zip(worlds, got, strict=True):
        fractions = np.arange(1, SLICES + 1)[:, None] / SLICES
        want = C.q + fractions * (end - C.q)
        np.testing.assert_allclose(solution.path, want, atol=1e-9)


@pytest.mark.parametrize("shape", [(4,), (0, 3), (5, 2), (3, 5), (1, 3, 3)])
def test_other_shapes_are_no_path(shape):
    komo, _ = reaching(slices=SLICES)
    with pytest.raises(pw.ObjectiveError, match=r"expected \(3, 3\), \(3,\), or"):
        komo.initialize(np.zeros(shape))


@pytest.mark.long
def test_a_checkpoint_is_of_its_initial_paths(tmp_path):
    komo, goal = reaching(slices=SLICES)

    def run(paths):
        return komo.solve_batch(
            {goal: TARGETS}, initial_paths=paths, checkpoint_dir=tmp_path
        )

    first, again = run(PATHS), run(PATHS.tolist())
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a.path, b.path)
    for others in (PATHS[::-1], PATHS + 0.01, None):
        with pytest.raises(pw.ObjectiveError, match="other initial paths"):
            run(others)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        (dict(initial_paths=PATHS[:2]), "has 2 paths, expected 3: one for each prob"),
        (dict(initial_paths=[]), "has 0 paths, expected 3"),
        (dict(initial_paths=PATHS[..., :2]), r"\[0\] has shape \(3, 2\), expected \("),
        (dict(initial_paths=[PATHS[0], [0.1], PATHS[1]]), r"\[1\] has shape \(1,\)"),
        (dict(initial_paths=[*PATHS[:2], [0, 0, np.nan]]), r"\[2\] has NaN"),
        (dict(initial_paths=3), "initial_paths is 3, expected a list of paths"),
        (dict(initial_paths="abc"), r"initial_paths\[0\] is 'a'"),
        (dict(initial_paths=PATHS, worlds=[arm()] * 2), "expected"),
        (dict(initial_paths=PATHS, worlds=[]), "worlds is empty"),
    ],
)
def test_errors_name_what_is_wrong(options, match):
    komo, goal = reaching(slices=SLICES)
    with pytest.raises(pw.ObjectiveError, match=match):
        komo.solve_batch({goal: TARGETS}, **options)


def test_no_paths_no_solutions():
    assert len(reaching()[0].solve_batch(initial_paths=[])) == 0


def test_a_bad_path_is_bad_input_of_its_problem_alone():
    C = pw.Config()
    C.add_frame("cart", joint="transX", limits=[[-2.0], [2.0]])
    komo = pw.KOMO(C)
    komo.add_objective(None, lambda pose: 1 / pose.p[:1], ["cart"], target=[1.0])
    got = komo.solve_batch(initial_paths=[[0.0], [0.5]])
    assert [s.status is Status.BAD_INPUT for s in got] == [True, False]
    assert got[1].feasible
