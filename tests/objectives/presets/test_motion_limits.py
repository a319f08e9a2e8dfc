"""Limits of velocity, acceleration and jerk, and bounds on the speed of frames."""

import numpy as np
import pytest

import posewise as pw
from posewise import FS, OT, ObjectiveError

RNG = np.random.default_rng(2)


def cart(velocity=None):
    C = pw.Config()
    C.add_frame("rail", joint="transX", limits=[[-9.0], [9.0]])
    C.add_frame("arm", "rail", joint="hingeZ", limits=[[-9.0], [9.0]])
    C.add_frame("tip", "arm", position=[0.5, 0, 0])
    return C


def between(C, limits, k_order=2, slices=24, duration=2.0, goal=(1.0, 2.0)):
    """A motion of least squared velocity to a goal, from rest to rest."""
    komo = pw.KOMO(C, 1, slices, k_order, duration)
    komo.add_control_objective(1)
    objectives = komo.add_motion_limits(**limits)
    komo.add_objective([1.0], FS.qItself, [], OT.eq, target=goal)
    rest_times = [1.0] if k_order == 2 else [1.0 - 1.5 / slices, 1.0]
    komo.add_objective(rest_times, FS.qItself, [], OT.eq, order=1)
    return komo.solve(progress=False), objectives


def rates(solution, C, order):
    """The differences of the slices, from rest on."""
    tau = solution.tau[0]
    path = np.concatenate([np.tile(C.q, (order, 1)), solution.path])
    return np.diff(path, n=order, axis=0) / tau**order


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("limits", "k_order"),
    [
        (dict(velocity=[0.8, 1.6], acceleration=4.0), 2),
        (dict(velocity=np.inf, acceleration=[1.2, 2.4]), 2),
        (dict(velocity=[0.9, np.inf], acceleration=4.0), 2),
        (dict(acceleration=3.0, jerk=[20.0, 40.0]), 3),
    ],
)
def test_limits_hold_and_are_reached(limits, k_order):
    C = cart()
    solution, objectives = between(C, limits, k_order)
    assert solution.feasible
    reached = []
    for order, (name, limit) in enumerate(
        [(n, limits.get(n, np.inf)) for n in ("velocity", "acceleration", "jerk")], 1
    ):
        limit = np.broadcast_to(limit, 2)
        if not np.isfinite(limit).any():
            continue
        ratio = np.abs(rates(solution, C, order)).max(0) / limit
        assert (ratio <= 1).all(), name
        reached.append(ratio.max())
    assert max(reached) > 0.999
    assert len(objectives) == sum(
        bool(np.isfinite(value).any()) for value in limits.values()
    )


def test_the_model_has_speed_limits():
    C = pw.load("panda")
    C.lock("panda_finger_joint1")
    komo = pw.KOMO(C, 1, 12, 1, 1.0)
    komo.add_control_objective(1)
    (objective,) = komo.add_motion_limits()
    assert objective.name == "velocity limits" and objective.type is OT.ineq
    goal = C.q + [1.6, 0.5, -1.2, 0.4, 0.3, 0.2, -0.5]
    komo.add_objective([1.0], FS.qItself, [], OT.eq, target=goal)
    solution = komo.solve(progress=False)
    assert solution.feasible
    assert (np.abs(rates(solution, C, 1)) <= C.joints.max_velocity).all()


def test_rounded_samples_keep_the_limits_where_steps_differ():
    C = cart()
    v, a = np.array([1.0, 2.0]), np.array([3.0, 5.0])
    komo = pw.KOMO(C, 3, 8, 2, [0.5, 1.5, 0.8])
    komo.add_control_objective(1)
    komo.add_motion_limits(v, a)
    komo.add_objective([3.0], FS.qItself, [], OT.eq, target=[1.6, 2.0])
    komo.add_objective([3.0], FS.qItself, [], OT.eq, order=1)
    solution = komo.solve(progress=False)
    assert solution.feasible
    got = solution.resample(0.001, rounded=True)
    assert (np.abs(got.velocities) <= v * (1 + 1e-9)).all()
    assert (np.abs(got.accelerations) <= a * (1 + 1e-9)).all()
    moved = np.diff(got.positions, axis=0) / 0.001
    assert (np.abs(moved) <= v * (1 + 1e-9)).all()
    assert (np.abs(np.diff(moved[:-1], axis=0)) / 0.001 <= a * (1 + 1e-6)).all()
    assert np.abs(got.accelerations).max(0)[0] > 0.9 * a[0]


def test_quaternions_and_unnamed_joints_are_not_limited():
    C = cart()
    C.add_frame("ball", joint="quatBall")
    komo = pw.KOMO(C, 1, 4, 2)
    velocity, acceleration = komo.add_motion_limits(1.0, 2.0, joints="arm")
    assert velocity.feature.frames == acceleration.feature.frames == ("arm",)
    (velocity,) = komo.add_motion_limits([1.0, np.inf, 1.0, 1.0, 1.0, 1.0])
    assert velocity.feature.frames == ("rail",)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(), "No limit of rail, arm is known: the model has no speed limits"),
        (dict(velocity=0.0), "velocity is 0.0, expected one number > 0, or 2: rail"),
        (dict(velocity=[1.0]), "velocity is"),
        (dict(acceleration="hard"), "acceleration is 'hard'"),
        (dict(velocity=1.0, jerk=-1.0), "jerk is -1.0"),
        (dict(velocity=1.0, scale=0.0), "scale is 0.0"),
        (dict(velocity=1.0, times=[7.0]), "velocity limits: times .7.0. select no"),
        (dict(velocity=1.0, jerk=1.0), "jerk limits: order 3 exceeds.*k_order=3"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    komo = pw.KOMO(cart(), 1, 4, 2)
    with pytest.raises(ObjectiveError, match=message):
        komo.add_motion_limits(**arguments)
    assert komo.objectives == ()
    with pytest.raises(pw.ConfigError, match="elbow"):
        komo.add_motion_limits(1.0, joints=["elbow"])


def test_an_order_without_rows_is_refused():
    C = cart()
    komo = pw.KOMO(C, 1, 4, 3)
    with pytest.raises(pw.FeatureError, match="expected 0 or 1 or 2"):
        komo.add_objective(None, FS.position, "tip", OT.sos, order=3)
    with pytest.raises(ObjectiveError, match="k_order is 4, expected 0, 1, 2 or 3"):
        pw.KOMO(C, 1, 4, 4)


def spinning(axis, speed, tau=0.25):
    """Two slices of a free frame that turns with a constant speed [rad/s]."""
    C = pw.Config()
    C.add_frame("tool", joint="free")
    half = speed * tau / 2
    old = np.array([0.1, 0.2, 0.3, 1.0, 0, 0, 0])
    new = np.array([0.4, 0.2, 0.7, np.cos(half), *(np.sin(half) * np.array(axis))])
    return C, np.stack([old, new])


@pytest.mark.parametrize("speed", [0.0, 1e-9, 0.3, 4.0, 12.0])
def test_speeds_are_lengths_of_velocities(speed):
    C, q = spinning([0.6, 0.0, -0.8], speed)
    y, J = C.feature(FS.angularSpeed, "tool").eval(C, q, tau=0.25)
    assert y == pytest.approx([speed], abs=1e-12) and np.isfinite(J).all()
    y, _ = C.feature(FS.linearSpeed, "tool").eval(C, q, tau=0.25)
    assert y == pytest.approx([0.5 / 0.25])
    y, J = C.feature(FS.linearSpeed, "tool").eval(C, q[[0, 0]], tau=0.25)
    assert y == 0 and not J.any()


@pytest.mark.parametrize(
    ("symbol", "order"),
    [(FS.velocityBounds, 1), (FS.accelerationBounds, 2), (FS.jerkBounds, 3)],
)
def test_bounds_are_exact_for_polynomials(symbol, order):
    """Differences of a polynomial of the same degree are its derivative."""
    C, tau = cart(), 0.2
    t = tau * np.arange(order + 1)
    factors, limits = np.array([1.5, -2.0]), np.array([0.3, 7.0])
    q = t[:, None] ** order * factors
    y, J = C.feature(symbol, [], limits=limits).eval(C, q, tau=tau)
    rate = [1, 2, 6][order - 1] * factors
    excess = np.stack([-rate - limits, rate - limits], 1).ravel()
    np.testing.assert_allclose(y, excess * tau**order, atol=1e-12)
    np.testing.assert_allclose(J[1::2], -J[::2], atol=1e-12)
    with pytest.raises(pw.FeatureError, match="limits has 3 numbers, expected 1 or 2"):
        C.feature(symbol, [], limits=[1, 2, 3]).eval(C, q, tau=tau)
    with pytest.raises(pw.FeatureError, match="limits is"):
        C.feature(symbol, [], limits=[np.nan, 1])


@pytest.mark.long
def test_the_speed_of_a_tool_is_bounded():
    C = cart()
    komo = pw.KOMO(C, 1, 24, 2, 4.0)
    komo.add_control_objective(2)
    komo.add_objective(None, FS.linearSpeed, "tip", OT.ineq, target=0.22, scale=10)
    komo.add_objective(None, FS.angularSpeed, "tip", OT.ineq, target=0.7, scale=10)
    komo.add_objective([1.0], FS.qItself, [], OT.eq, target=[1.0, 2.0])
    solution = komo.solve(progress=False)
    assert solution.feasible
    tips = [solution.world_at(t).pose("tip")[:3] for t in range(24)]
    tips = np.array([C.pose("tip")[:3], *tips])
    speeds = np.linalg.norm(np.diff(tips, axis=0), axis=1) / solution.tau
    assert 0.21 < speeds.max() < 0.2202
    turns = np.abs(rates(solution, C, 1)[:, 1])
    assert 0.65 < turns.max() < 0.7002
