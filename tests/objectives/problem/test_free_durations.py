"""Durations of phases as variables."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import posewise as pw
from posewise import FS, OT, ObjectiveError, presets
from posewise.objectives.problem.spec import compile_chain, initial_paths

PANDA = np.array([2.175, 2.175, 2.175, 2.175, 2.61, 2.61, 2.61])


def fastest(distance, velocity, acceleration):
    """The time of a motion along a line, from rest to rest."""
    if distance * acceleration >= velocity**2:
        return distance / velocity + velocity / acceleration
    return 2 * np.sqrt(distance / acceleration)


def carts(n=1):
    C = pw.Config()
    for k in range(n):
        C.add_frame(f"cart{k}", joint="transX", limits=[[-9.0], [9.0]])
    return C


def racing(C, goal, slices=40, phases=1, duration=2.0, weight=0.1, **limits):
    """A motion to a goal at rest, as fast as the limits allow."""
    komo = pw.KOMO(C, phases, slices, 2, duration)
    komo.free_durations()
    komo.add_time_objective()
    komo.add_control_objective(2, weight)
    komo.add_motion_limits(**limits)
    komo.add_objective([phases], FS.qItself, [], OT.eq, target=goal)
    komo.add_objective([phases], FS.qItself, [], OT.eq, order=1)
    return komo


@pytest.mark.long
@pytest.mark.sampled
@pytest.mark.parametrize(
    ("distance", "velocity", "acceleration"),
    [(1.0, 1.0, 4.0), (1.0, np.inf, 4.0), (3.0, 0.8, 1.0), (-0.2, 2.0, 1.5)],
)
@pytest.mark.parametrize("duration", [0.7, 5.0])
def test_straight_motions_are_as_fast_as_can_be(
    distance, velocity, acceleration, duration
):
    limits = dict(velocity=velocity, acceleration=acceleration)
    komo = racing(carts(), distance, duration=duration, **limits)
    solution = komo.solve(progress=False)
    assert solution.feasible
    expected = fastest(abs(distance), velocity, acceleration)
    assert solution.times[-1] == pytest.approx(expected, rel=0.01)
    np.testing.assert_allclose(solution.tau, solution.tau[0])
    got = solution.resample(0.001, rounded=True)
    assert (np.abs(got.velocities) <= velocity).all()
    assert (np.abs(got.accelerations) <= acceleration).all()
    bent = np.diff(got.positions[:-1], n=2, axis=0) / 0.001**2
    assert (np.abs(bent) <= acceleration * (1 + 1e-6)).all()


def panda():
    C = pw.load("panda")
    C.lock("panda_finger_joint1")
    return C


@pytest.mark.slow
def test_it_is_as_fast_as_toppra_on_its_path_and_faster_than_on_others():
    pytest.importorskip("toppra", reason="retiming needs toppra")
    C = panda()
    goal = [0.8, 0.3, -0.4, -1.2, 0.5, 2.2, 0.1]
    via = [0.5, -0.4, 0.3, 0.2, 0.3]

    def demand(komo):
        komo.add_objective(
            [0.5], FS.position, "panda_hand_tcp", OT.eq, scale=10, target=via[:3]
        )

    komo = racing(C, goal, duration=3.0, acceleration=2 * PANDA)
    demand(komo)
    solution = komo.solve(progress=False)
    assert solution.feasible
    duration = solution.times[-1]
    assert duration <= 1.05 * solution.retime().duration
    got = solution.resample(0.001, rounded=True)
    assert (np.abs(got.velocities) <= PANDA).all()
    assert (np.abs(got.accelerations) <= 2 * PANDA).all()

    smooth = pw.KOMO(C, 1, 40, 2, 3.0)
    smooth.add_control_objective(2)
    smooth.add_objective([1.0], FS.qItself, [], OT.eq, target=goal)
    smooth.add_objective([1.0], FS.qItself, [], OT.eq, order=1)
    demand(smooth)
    assert duration < smooth.solve(progress=False).retime().duration


@pytest.mark.long
def test_each_phase_has_its_duration():
    C = carts()
    komo = pw.KOMO(C, 2, 20, 2, [1.0, 2.0])
    komo.free_durations(min=[0.1, 1.5], max=[4.0, 3.0])
    komo.add_time_objective()
    komo.add_control_objective(1, 0.01)
    komo.add_motion_limits(1.0, 4.0)
    for time, place in ((1.0, 1.0), (2.0, 1.2)):
        komo.add_objective([time], FS.qItself, [], OT.eq, target=place)
        komo.add_objective([time], FS.qItself, [], OT.eq, order=1)
    solution = komo.solve(progress=False)
    assert solution.feasible
    first, second = solution.times[19], solution.times[-1] - solution.times[19]
    assert first == pytest.approx(fastest(1.0, 1.0, 4.0), rel=0.02)
    assert second == pytest.approx(1.5, abs=1e-6)
    np.testing.assert_allclose(solution.tau[:20], first / 20)
    got = solution.resample(0.001, rounded=True)
    assert np.abs(got.velocities).max() <= 1 and np.abs(got.accelerations).max() <= 4


def worlds_of_features():
    """Problems whose features depend on durations in all the ways there are."""
    C = pw.Config()
    C.add_frame("base", joint="transXYPhi", q=[0.1, 0.2, 0.3])
    C.add_frame("wrist", "base", joint="quatBall", position=[0.3, 0, 0.2])
    C.add_frame("tool", "wrist", joint="hingeZ", position=[0.2, 0, 0], mass=0.5)
    C.add_frame("eye", position=[1.0, 0.5, 0.3])
    komo = pw.KOMO(C, 2, 3, 2, [0.6, 1.2])
    komo.free_durations()
    komo.add_time_objective()
    komo.add_control_objective(2, 0.3)
    komo.add_control_objective(1, 0.7)
    komo.add_motion_limits(1.0, 2.0)
    komo.add_objective(None, FS.position, "tool", OT.sos, order=1, target=0.2)
    komo.add_objective(None, FS.positionRel, ["tool", "eye"], OT.eq, order=2)
    komo.add_objective(None, FS.vectorX, "tool", OT.sos, order=2, scale=[[0, 1, 2]])
    komo.add_objective(None, FS.quaternion, "tool", OT.sos, order=1)
    komo.add_objective(None, FS.angularVel, "tool", OT.sos)
    komo.add_objective(None, FS.linangVel, "tool", OT.sos, order=2)
    komo.add_objective(None, FS.linearSpeed, "tool", OT.ineq, target=0.1)
    komo.add_objective(None, FS.angularSpeed, "tool", OT.ineq, target=0.1)
    komo.add_objective(None, FS.energy, "tool", OT.sos, order=2)
    return komo


@pytest.mark.slow
def test_jacobians_equal_differences():
    komo = worlds_of_features()
    nlp = komo.nlp()
    rng = np.random.default_rng(0)
    x = nlp.initial + rng.uniform(-0.2, 0.2, nlp.dimension)
    x[-2:] = 0.7, 1.6
    _, J = nlp.evaluate(x)
    J, h = J.toarray(), 1e-6
    for k in range(nlp.dimension):
        step = h * np.eye(nlp.dimension)[k]
        slope = (nlp.evaluate(x + step)[0] - nlp.evaluate(x - step)[0]) / (2 * h)
        np.testing.assert_allclose(J[:, k], slope, atol=2e-6 * max(1, abs(slope).max()))
    assert np.abs(J[:, -2:]).max(0).min() > 0.1


@pytest.mark.slow
def test_tangent_jacobians_equal_differences():
    spec = worlds_of_features().spec
    chain, data, _ = compile_chain(spec)
    rng = np.random.default_rng(1)
    x = initial_paths(spec, 0, 1)[0]
    step = jnp.asarray(rng.uniform(-0.2, 0.2, (6, chain.nv)))
    x = chain.retract(data, jnp.asarray(x), step)
    shared = list(chain.shared)
    x = x.at[:, -2:].set(jnp.array([0.7, 1.6]))
    assert len(shared) == 2

    values = jax.jit(lambda x: [b.y for b in chain.evaluate(data, x)])

    def rows(x):
        return np.concatenate([np.ravel(y) for y in values(x)])

    for column in shared:
        step = np.zeros((6, chain.nv))
        step[:, column] = 1e-6
        ahead = rows(chain.retract_unbounded(data, x, jnp.asarray(step)))
        behind = rows(chain.retract_unbounded(data, x, jnp.asarray(-step)))
        slope = (ahead - behind) / 2e-6
        got = [
            np.zeros(b.y.shape) if b.column is not None else b.J[..., column].sum(1)
            for b in chain.evaluate(data, x)
        ]
        got = np.concatenate([np.ravel(g) for g in got])
        np.testing.assert_allclose(got, slope, atol=3e-6 * max(1, abs(slope).max()))


@pytest.mark.slow
def test_nothing_changes_at_the_initial_durations():
    free = worlds_of_features().nlp()
    C = pw.Config()
    other = pw.KOMO(worlds_of_features().config, 2, 3, 2, [0.6, 1.2])
    for objective in worlds_of_features().objectives[1:]:
        other._append(objective)
    fixed = other.nlp()
    path = np.random.default_rng(3).uniform(-0.5, 0.5, fixed.dimension)
    phi, _ = free.evaluate(np.concatenate([path, [1.0, 1.0]]))
    np.testing.assert_allclose(phi[1:], fixed.evaluate(path)[0], atol=1e-9)
    assert phi[0] == pytest.approx(10 * 1.8) and C.nq == 0


@pytest.mark.slow
def test_random_starts_begin_with_the_same_durations():
    komo = racing(carts(2), [1.0, 0.5], acceleration=3.0)
    paths = initial_paths(komo.spec, 0, 4)
    np.testing.assert_array_equal(paths[..., -1], 1.0)
    solution = komo.solve(starts=3, progress=False)
    assert solution.times[-1] == pytest.approx(fastest(1.0, np.inf, 3.0), rel=0.02)
    assert solution.path.shape == (40, 2)
    assert solution.resample(0.1).joint_names == ("cart0", "cart1")


@pytest.mark.long
def test_bounds_of_durations_hold():
    C = carts()
    for bounds, expected in ((dict(min=1.8), 1.8), (dict(max=0.9), 0.9)):
        komo = pw.KOMO(C, 1, 10, 2, 1.0)
        komo.free_durations(**bounds)
        komo.add_time_objective(1.0)
        komo.add_control_objective(2, 1e-3 if "min" in bounds else 1.0)
        komo.add_objective([1.0], FS.qItself, [], OT.eq, target=1.0)
        solution = komo.solve(progress=False)
        assert solution.times[-1] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(min=0.0), "min is 0.0, expected seconds > 0: one number, or 2"),
        (dict(max=[1.0]), "max is .1.0., expected seconds > 0"),
        (dict(max="long"), "max is 'long'"),
        (dict(min=3.0, max=2.0), "min is .* and max .*; expected min <= max"),
    ],
)
def test_bad_durations_are_refused(arguments, message):
    komo = pw.KOMO(carts(), 2, 4, 2)
    with pytest.raises(ObjectiveError, match=message):
        komo.free_durations(**arguments)


def test_the_order_of_calls_is_told():
    komo = pw.KOMO(carts(), 1, 4, 2)
    with pytest.raises(ObjectiveError, match="call free_durations.. first"):
        komo.add_time_objective()
    komo.add_control_objective(2)
    with pytest.raises(ObjectiveError, match="call it first"):
        komo.free_durations()
    komo = pw.KOMO(carts(), 1, 4, 2)
    komo.free_durations()
    with pytest.raises(ObjectiveError, match="variables already"):
        komo.free_durations()
    with pytest.raises(ObjectiveError, match="start is at rest"):
        komo.set_start(velocity=[1.0])
    with pytest.raises(ObjectiveError, match="scale is 0"):
        komo.add_time_objective(0)


def test_starts_in_motion_are_refused():
    komo = pw.KOMO(carts(), 1, 4, 2)
    komo.set_start(velocity=[1.0])
    with pytest.raises(ObjectiveError, match="The start is in motion"):
        komo.free_durations()


def test_constraints_that_count_in_seconds_are_refused():
    C = carts()
    C.add_frame("gripper", "cart0")
    komo = pw.KOMO(C, 1, 4, 2)
    komo.free_durations()
    with pytest.raises(ObjectiveError, match="counts in seconds"):
        komo.add(presets.retract("gripper", 0.1), times=[0.5, 1.0])
    komo.add(presets.stop(), times=[1.0])


def test_targets_of_all_joints_do_not_count_helper_frames():
    komo = pw.KOMO(carts(2), 1, 2)
    komo.add_frame("helper", joint="transX")
    komo.add_objective(None, FS.qItself, [], OT.eq, target=[0.3, -0.4])
    np.testing.assert_allclose(komo.solve(progress=False).q, [0.3, -0.4], atol=1e-4)
