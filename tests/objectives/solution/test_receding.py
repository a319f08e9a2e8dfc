"""Problems that are solved again after the world has changed a little."""

import numpy as np
import pytest

import posewise as pw
from posewise import FS, OT
from posewise.objectives.problem.spec import states_before
from posewise.robots.kinematics.transforms import quat_multiply


def crane() -> pw.Config:
    """Two rails and a hinge with a hand, a target and a wall."""
    C = pw.Config()
    C.add_frame("x", joint="transX", limits=[[-3.0], [3.0]])
    C.add_frame("y", "x", joint="transY", limits=[[-3.0], [3.0]])
    C.add_frame("turn", "y", joint="hingeZ", limits=[[-3.0], [3.0]])
    C.add_frame("hand", "turn", position=[0.3, 0, 0], shape=pw.Sphere(0.1), mass=1.0)
    C.add_frame("load", "hand", position=[0.2, 0, 0], shape=pw.Sphere(0.1), mass=2.0)
    C.add_frame("target", position=[0.8, 0.5, 0])
    C.add_frame("wall", position=[0.5, -0.6, 0], shape=pw.Box([0.2, 0.2, 0.2]))
    return C


def reaching(C: pw.Config, **more) -> pw.KOMO:
    komo = pw.KOMO(C, 1, 6, 2, **more)
    komo.add_control_objective(2, 0.1)
    komo.add_objective([1.0], FS.positionDiff, ["hand", "target"], OT.eq, scale=10)
    komo.add_objective(None, FS.negDistance, ["hand", "wall"], OT.ineq, scale=10)
    return komo


MOVES = {
    "target": [0.6, 0.8, 0, 1, 0, 0, 0],
    "wall": [0.5, 0.3, 0, 1, 0, 0, 0],
    "hand": [0.5, 0.1, 0, 1, 0, 0, 0],
    "load": [0.3, 0.4, 0, 1, 0, 0, 0],
    "x": [0.4, 0, 0, 1, 0, 0, 0],
}


@pytest.mark.sampled
@pytest.mark.parametrize("name", MOVES)
def test_a_frame_that_moves_is_data(name):
    C = crane()
    komo = reaching(C)
    komo.solve(progress=False)
    before = komo.spec.cache.compiled.value
    C.set_pose(name, MOVES[name])
    got = komo.solve(progress=False)
    want = reaching(C).solve(progress=False)
    assert want.feasible and got.status is want.status
    np.testing.assert_allclose(got.path, want.path, atol=1e-9)
    after = komo.spec.cache.compiled.value
    assert after.locations is before.locations and after.chain is before.chain


def test_numbers_that_depend_on_where_a_frame_is_are_made_again():
    C = crane()
    komo = pw.KOMO(C, 1, 1, 2)
    komo.add_objective(None, FS.physics, ["hand"], OT.sos)

    def centres_of_mass():
        komo.solve(progress=False)
        (batch,) = komo.spec.cache.compiled.value.data.batches
        return np.asarray(batch.params["com"])[0]

    assert centres_of_mass() == pytest.approx([0.4 / 3, 0, 0])
    C.set_pose("load", [0.1, 0.3, 0, 1, 0, 0, 0], relative_to="hand")
    assert centres_of_mass() == pytest.approx([0.2 / 3, 0.2, 0])


TIGHT = dict(
    progress=False,
    tolerance=1e-5,
    cost_tolerance=1e-12,
    kkt_tolerance=1e-7,
    inner_tolerance=1e-6,
)


@pytest.mark.parametrize("name", ["target", "wall"])
def test_a_warm_solve_reaches_the_optimum_of_a_cold_one(name):
    C = crane()
    komo = reaching(C)
    komo.initialize(komo.solve(**TIGHT))
    pose = C.pose(name)
    pose[1] += 0.01
    C.set_pose(name, pose)
    warm, cold = komo.solve(**TIGHT), reaching(C).solve(**TIGHT)
    assert warm.feasible and warm.iterations <= cold.iterations
    np.testing.assert_allclose(warm.path, cold.path, atol=1e-4)
    assert warm.sos == pytest.approx(cold.sos, rel=1e-4)
    np.testing.assert_array_equal(komo.solve(**TIGHT).path, warm.path)


def test_from_an_optimum_nothing_is_left_to_do():
    C = crane()
    komo = reaching(C)
    first = komo.solve(**TIGHT)
    komo.initialize(first)
    again = komo.solve(**TIGHT)
    assert again.iterations <= 3
    np.testing.assert_allclose(again.path, first.path, atol=1e-6)
    komo.initialize(first.path)
    assert komo.solve(**TIGHT).iterations > again.iterations


@pytest.mark.parametrize("slices", [1, 2, 4, 6])
def test_a_shifted_solve_reaches_the_optimum_of_a_cold_one(slices):
    C = crane()
    C.q = [-0.5, -0.4, 0.2]
    komo = reaching(C)
    komo.set_start(velocity=[0.3, 0.5, 0.0])
    states = np.concatenate([C.q[None], komo.solve(**TIGHT).path])
    komo.shift(slices)
    np.testing.assert_array_equal(C.q, states[slices])
    remaining = states[slices + 1 :]
    np.testing.assert_array_equal(komo.initial[: len(remaining)], remaining)
    assert (komo.initial[len(remaining) :] == states[-1]).all()
    warm = komo.solve(**TIGHT)
    anew = reaching(C)
    anew.set_start(previous=states[slices - 1])
    cold = anew.solve(**TIGHT)
    assert warm.feasible
    np.testing.assert_allclose(warm.path, cold.path, atol=1e-4)
    assert warm.sos == pytest.approx(cold.sos, rel=1e-4)


@pytest.mark.slow
def test_multipliers_move_with_their_slices():
    C = crane()
    komo = reaching(C)
    (_, goal, distance) = komo.objectives
    komo.add_objective([0.5], FS.position, ["hand"], OT.eq, scale=[[0, 1, 0]])
    solution = komo.solve(progress=False)
    record = solution.warm_start().record

    def multipliers(vector, objective):
        i = komo.objectives.index(objective)
        rows = [vector[part.positions] for part in record.locations[i]]
        return np.concatenate(rows)

    old = np.asarray(record.multipliers)
    assert np.abs(multipliers(old, goal)).max() > 0
    compiled = komo.spec.cache.compiled.value
    for k in (0, 1, 4):
        new = solution.warm_start(k).multipliers(komo.spec, compiled)
        for objective in komo.objectives:
            was, now = multipliers(old, objective), multipliers(new, objective)
            then = np.minimum(np.arange(len(was)) + k, len(was) - 1)
            np.testing.assert_array_equal(now, was[then])
    other = reaching(C)
    other._append(distance)
    other.solve(progress=False)
    new = solution.warm_start().multipliers(other.spec, other.spec.cache.compiled.value)
    parts = other.spec.cache.compiled.value.locations
    want = multipliers(old, distance)
    np.testing.assert_array_equal(new[parts[-1][0].positions], want)
    assert not new[parts[1][0].positions].any()


def test_an_infeasible_solution_gives_its_path_alone():
    C = crane()
    C.set_pose("target", [9.0, 0, 0, 1, 0, 0, 0])
    komo = reaching(C)
    first_steps = komo.solve(progress=False, max_iterations=2)
    solution = komo.solve(progress=False)
    assert not solution.feasible
    warm = solution.warm_start()
    compiled = komo.spec.cache.compiled.value
    assert warm.multipliers(komo.spec, compiled) is None and warm.penalty(0.1) == 0.1
    assert first_steps.warm_start().multipliers(komo.spec, compiled) is not None
    C.set_pose("target", MOVES["target"])
    komo.initialize(solution)
    assert komo.solve(progress=False).feasible


def test_a_solution_of_another_number_of_slices_gives_its_path():
    C = crane()
    coarse = reaching(C).solve(progress=False)
    fine = pw.KOMO(C, 1, 12, 2)
    for objective in reaching(C).objectives:
        kind, symbol = objective.type, objective.feature.symbol
        if kind is not OT.sos:
            fine.add_objective([1.0], symbol, objective.feature.frames, kind)
    fine.initialize(coarse)
    np.testing.assert_allclose(fine.initial[1::2], coarse.path, atol=1e-12)
    assert fine.solve(progress=False).feasible


def cart(slices: int, duration: float = 2.0) -> pw.KOMO:
    """A cart that has to rest at 1 after some seconds, with least acceleration."""
    C = pw.Config()
    C.add_frame("cart", joint="transX")
    komo = pw.KOMO(C, 1, slices, 2, duration)
    komo.add_control_objective(2)
    komo.add_objective([1.0], FS.qItself, [], OT.eq, target=[1.0])
    komo.add_objective([1.0], FS.qItself, [], OT.eq, order=1)
    return komo


@pytest.mark.long
def test_a_start_in_motion_is_the_cubic_of_least_acceleration():
    duration, v, errors = 2.0, 0.7, []
    for slices in (20, 80):
        komo = cart(slices, duration)
        komo.set_start(velocity=[v])
        solution = komo.solve(**TIGHT)
        t = np.arange(1, slices + 1) * duration / slices
        # q(0) = 0, q'(0) = v, q(T) = 1, q'(T) = 0
        a = (3 - 2 * v * duration) / duration**2
        b = (v * duration - 2) / duration**3
        errors.append(np.abs(solution.path[:, 0] - (v * t + a * t**2 + b * t**3)).max())
    assert errors[0] < 0.05 and errors[1] < errors[0] / 3.5


def test_a_start_in_motion_is_the_least_squares_path_of_its_differences():
    slices, duration, v = 9, 2.0, -0.4
    komo = cart(slices, duration)
    komo.config.q = [0.3]
    komo.set_start(velocity=[v])
    tau = duration / slices
    before = [0.3 - v * tau, 0.3]
    # Second differences of (before, path), with the last two values known.
    D = np.diff(np.eye(slices + 2), 2, axis=0)
    known = [0, 1, slices, slices + 1]
    values = np.array([*before, 1.0, 1.0])
    free, *_ = np.linalg.lstsq(D[:, 2:slices], -D[:, known] @ values, rcond=None)
    got = komo.solve(**TIGHT).path[:, 0]
    np.testing.assert_allclose(got, [*free, 1.0, 1.0], atol=1e-6)


def test_a_velocity_turns_quaternions():
    C = pw.Config()
    C.add_frame("box", joint="free")
    C.set_pose("box", [1, 2, 3, 0.5, 0.5, 0.5, 0.5])
    komo = pw.KOMO(C, 1, 4, 2, 2.0)
    komo.add_control_objective(2)
    velocity = np.array([0.1, -0.2, 0.3, 0.0, 0.0, np.pi])
    komo.set_start(velocity=velocity)
    before, now = states_before(komo.spec)
    np.testing.assert_array_equal(now, C.q)
    np.testing.assert_allclose(before[:3], C.q[:3] - 0.5 * velocity[:3])
    back = [np.cos(np.pi / 4), 0, 0, -np.sin(np.pi / 4)]
    np.testing.assert_allclose(before[3:], quat_multiply(C.q[3:], np.array(back)))
    komo.set_start(previous=before)
    np.testing.assert_allclose(komo.spec.start_velocity, velocity, atol=1e-9)
    komo.set_start()
    np.testing.assert_array_equal(states_before(komo.spec), [C.q, C.q])


def test_the_velocity_of_the_start_is_data():
    komo = cart(6)
    komo.solve(progress=False)
    before = komo.spec.cache.compiled.value
    komo.set_start(velocity=[0.5])
    komo.solve(progress=False)
    assert komo.spec.cache.compiled.value.locations is before.locations


BAD_STARTS = {
    "both": (dict(velocity=[1.0], previous=[0.0]), "expected one of them"),
    "shape": (dict(velocity=[1.0, 2.0]), r"velocity has shape \(2,\), expected \(1,\)"),
    "NaN": (dict(velocity=[np.nan]), "finite"),
    "words": (dict(previous="fast"), "previous is 'fast'"),
    "previous": (dict(previous=[[0.0]]), r"previous has shape \(1, 1\)"),
}


@pytest.mark.parametrize("case", BAD_STARTS)
def test_bad_starts_are_refused(case):
    start, match = BAD_STARTS[case]
    with pytest.raises(pw.ObjectiveError, match=match):
        cart(3).set_start(**start)


def test_what_cannot_be_used_is_refused():
    C = pw.Config()
    C.add_frame("cart", joint="transX")
    komo = pw.KOMO(C, 1, 3, 1)
    with pytest.raises(pw.ObjectiveError, match="has k_order 1, so that no objective"):
        komo.set_start(velocity=[1.0])
    komo.add_control_objective(1)
    with pytest.raises(pw.ObjectiveError, match="there is none since the last shift"):
        komo.shift()
    komo.solve(progress=False)
    for bad in (0, 4, 1.5):
        with pytest.raises(pw.ObjectiveError, match="slices is .*, expected an int"):
            komo.shift(bad)
    komo.shift(3)
    with pytest.raises(pw.ObjectiveError, match="solve first"):
        komo.shift()


@pytest.mark.slow
def test_shifts_past_a_mode_switch_are_refused():
    C = pw.Config()
    C.add_frame("cart", joint="transX", limits=[[-2.0], [2.0]])
    C.add_frame("block", position=[1.0, 0, 0], shape=pw.Box([0.1, 0.1, 0.1]))
    komo = pw.KOMO(C, 2, 3, 1)
    komo.add_control_objective(1, 0.1)
    komo.add_mode_switch([1.0], "stable", ["cart", "block"])
    komo.add_objective([2.0], FS.position, ["block"], OT.eq, target=[1.5, 0, 0])
    first = komo.solve(progress=False)
    komo.shift(1)
    assert C.q == pytest.approx(first.path[0])
    again = komo.solve(progress=False)
    assert again.feasible and again.world_at(-1).pose("block")[0] == pytest.approx(1.5)
    with pytest.raises(pw.ObjectiveError, match="'block' is attached to 'cart', in sl"):
        komo.shift(3)
