"""`Simulator` against mechanics, and what it refuses."""

import builtins
from dataclasses import astuple, replace

import numpy as np
import pytest
from helpers.worlds import TYPES, random_pose, random_q

import posewise as pw
from posewise.robots.kinematics.joint_types import JOINT_TYPES

pytest.importorskip("mujoco")

G = 9.81


def advance(S: pw.Simulator, steps: int, target=None, rate=None) -> None:
    for _ in range(steps):
        S.step(0.01, target, rate)


def slider() -> pw.Config:
    """A mass of 2 kg on a vertical rail, and a wall above it."""
    C = pw.Config()
    C.add_frame(
        "cart", joint="transZ", q=[0.1], limits=[[0.0], [1.0]], mass=2.0,
        shape=pw.Box([0.1, 0.1, 0.1]), contact=1,
    )  # fmt: skip
    C.add_frame("wall", position=[0, 0, 0.6], shape=pw.Box([1, 1, 0.1]), contact=1)
    return C


def test_bodies_move_as_thrown():
    """A parabola, and an even rotation of a ball, from a given state."""
    C = pw.Config()
    C.add_frame("base", position=[1, 2, 3], quaternion=[0.6, 0, 0.8, 0])
    for name, parent in (("root", "world"), ("below", "base")):
        C.add_frame(
            name, parent, joint="free", position=[0, 0.5, 2],
            shape=pw.Sphere(0.1), mass=0.7,
        )  # fmt: skip
    S, linear, angular = pw.Simulator(C), np.array([1.0, -2, 3]), np.array([2.0, 1, -1])
    rate = np.zeros(14)
    # dq/dt = (0, ω) q / 2 of the quaternion (1, 0, 0, 0)
    rate[:7] = [*linear, 0, *angular / 2]
    start = C.pose("root"), C.pose("below")
    S.state = replace(S.state, rate=rate)
    np.testing.assert_allclose(S.rate, rate, atol=1e-8)
    advance(S, 50)
    t = 0.5
    assert S.time == pytest.approx(t)
    fallen = np.array([0, 0, -G * t * t / 2])
    thrown = start[0][:3] + linear * t + fallen
    np.testing.assert_allclose(S.pose("root")[:3], thrown, atol=6e-3)
    np.testing.assert_allclose(S.pose("below")[:3], start[1][:3] + fallen, atol=6e-3)
    expected = np.stack([linear - [0, 0, G * t], angular])
    np.testing.assert_allclose(S.velocity("root"), expected, atol=1e-6)
    half = t * np.linalg.norm(angular) / 2
    assert abs(S.pose("root")[3]) == pytest.approx(abs(np.cos(half)), abs=1e-6)
    C.q = S.q
    np.testing.assert_allclose(C.pose("below"), S.pose("below"), atol=1e-9)


def test_a_motor_answers_a_step_as_a_damped_spring():
    """m q'' = k (1/2 - q) - d q' from rest at 0.1: the weight does not count."""
    k, d, m = 50.0, 4.0, 2.0
    S = pw.Simulator(slider(), stiffness=k, damping=d)
    decay, omega = d / (2 * m), np.sqrt(k / m - (d / (2 * m)) ** 2)
    for t in 0.05 * np.arange(1, 9):
        S.step(0.05, [0.3])
        wave = np.cos(omega * t) + decay / omega * np.sin(omega * t)
        expected = 0.3 - 0.2 * np.exp(-decay * t) * wave
        assert S.q[0] == pytest.approx(expected, abs=2e-3)


def test_motors_follow_a_rate_without_lag():
    S, speed = pw.Simulator(slider()), 0.1
    advance(S, 100, rate=[speed])
    assert S.target[0] == pytest.approx(0.2)
    assert S.q[0] == pytest.approx(0.2, abs=1e-3)
    assert S.rate[0] == pytest.approx(speed, rel=1e-2)
    for k in range(1, 101):
        S.step(0.01, [0.2 + 0.01 * speed * k])
    # without a rate they lag by damping / stiffness, and targets jump ahead
    lag = 0.1 - 0.01 / 2
    assert S.target[0] - S.q[0] == pytest.approx(lag * speed, rel=0.05)


@pytest.mark.parametrize("kind", TYPES)
def test_every_joint_reaches_its_target(kind):
    rng = np.random.default_rng(0)
    C, axis = pw.Config(), [0.6, 0, 0.8] if JOINT_TYPES[kind].needs_axis else None
    X = random_pose(rng)
    C.add_frame("base", position=X[:3], quaternion=X[3:])
    C.add_frame("link", "base", joint=kind, axis=axis)
    C.add_frame("bob", "link", position=[0.1, 0.2, 0.1], mass=0.5)
    start, (target,) = C.pose("bob"), random_q(C, rng, 1)
    S = pw.Simulator(C)
    advance(S, 200, target)
    C.q = target
    if kind in ("free", "floating"):  # without a motor
        assert S.pose("bob")[2] < start[2] - 10
    else:
        np.testing.assert_allclose(S.pose("bob")[:3], C.pose("bob")[:3], atol=1e-3)


def test_followers_follow_and_locked_joints_stay():
    C = slider()
    C.add_frame("other", joint="transX", mimic="cart", multiplier=-2.0, mass=0.1)
    C.add_frame("locked", joint="transY", q=[0.4], mass=1.0)
    C.lock("locked")
    S = pw.Simulator(C)
    advance(S, 100, [0.3])
    assert S.q == pytest.approx([0.3], abs=1e-3)
    assert S.pose("other")[0] == pytest.approx(-0.6, abs=5e-3)
    assert S.pose("locked")[1] == 0.4


def test_a_joint_moves_until_it_rests():
    S = pw.Simulator(slider())
    assert not S.joint_rests("cart")
    S.move_joint("cart", 0.3, speed=0.5)
    advance(S, 20)
    assert not S.joint_rests("cart") and 0.1 < S.target[0] < 0.3
    advance(S, 60)
    assert S.joint_rests("cart") and S.q[0] == pytest.approx(0.3, abs=1e-3)
    S.move_joint("cart", 2.0, speed=0.5)  # beyond the limit, and the wall
    advance(S, 300)
    assert S.target[0] == pytest.approx(1.0) and S.joint_rests("cart")
    assert S.q[0] == pytest.approx(0.5, abs=2e-3)
    (pushed,) = {(t.a, t.b) for t in S.contacts()}
    assert set(pushed) == {"cart", "wall"}
    force = sum(abs(t.force[2]) for t in S.contacts())
    assert force == pytest.approx(1000 * (1.0 - 0.5), rel=1e-2)
    S.state = S.state
    assert not S.joint_rests("cart")


def test_a_state_goes_on_alike():
    C = slider()
    C.add_frame("ball", joint="free", position=[2, 0, 1], shape=pw.Sphere(0.1))
    S = pw.Simulator(C)
    target = [0.4, *np.zeros(7)]  # those of the ball do not count
    advance(S, 13, target)
    state = S.state
    advance(S, 20)
    after = S.state
    S.state = state
    advance(S, 20)
    for name in ("time", "q", "rate", "target"):
        got, expected = (getattr(s, name) for s in (S.state, after))
        np.testing.assert_allclose(got, expected, atol=1e-7)
    S.time = 2.0
    assert S.time == 2.0


def test_an_attached_body_moves_with_the_hand():
    """A world in the state of a simulation, in which the hand holds the body."""
    C = slider()
    C.remove("wall")
    C.add_frame("box", joint="free", position=[0, 0, 0.2], shape=pw.Box([0.1] * 3))
    S = pw.Simulator(C)
    advance(S, 5)
    C.q = S.q
    C.attach("cart", "box")
    S = pw.Simulator(C)
    offset = S.pose("box") - S.pose("cart")
    advance(S, 100, [0.7])
    assert S.q == pytest.approx([0.7], abs=2e-3)
    np.testing.assert_allclose(S.pose("box") - S.pose("cart"), offset, atol=1e-9)


def test_kinematic_simulations_move_joints_only():
    C = slider()
    C.add_frame("ball", joint="free", position=[2, 0, 1], shape=pw.Sphere(0.1))
    S = pw.Simulator(C, kinematic=True)
    S.step(0.1, [0.9, *C.q[1:]], [-1.0, *np.zeros(7)])
    assert S.q[0] == pytest.approx(0.8) and S.time == pytest.approx(0.1)
    np.testing.assert_array_equal(S.q[1:], C.q[1:])


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda S: S.step(0), "seconds is 0, expected a time > 0"),
        (lambda S: S.step(0.1, [1, 2]), "target has shape \\(2,\\), expected 1 finite"),
        (lambda S: S.step(0.1, [np.nan]), "target\\[0\\] is nan, expected 1 finite"),
        (lambda S: S.step(0.1, rate=["fast"]), "rate is .* expected 1 finite numbers"),
        (lambda S: S.pose("card"), "did you mean 'cart'"),
        (lambda S: S.velocity("world"), "name a frame"),
        (lambda S: S.move_joint("card", 0, 1), "'card'"),
        (lambda S: S.joint_rests("card"), "'card'"),
        (lambda S: S.joint_rests(3), "joint 3"),
        (lambda S: setattr(S, "state", S.q), "state is ndarray, expected a Simulator"),
        (lambda S: S.move_joint("other", 0, 1), "mimics another joint"),
        (lambda S: S.move_joint("cart", 0, 0), "speed is 0, expected a speed > 0"),
        (lambda S: S.move_joint("cart", np.inf, 1), "position is inf"),
        (lambda S: pw.Simulator(S.C, stiffness=-1), "stiffness is -1, expected >= 0"),
        (lambda S: setattr(S, "time", "now"), "time is 'now'"),
        (lambda S: S.step(0.1, [1e18]), "unstable"),
    ],
)
def test_mistakes_are_told(ask, message):
    C = slider()
    C.add_frame("other", joint="transX", mimic="cart", mass=1.0)
    with pytest.raises(pw.PosewiseError, match=message):
        ask(pw.Simulator(C))


def test_a_state_that_is_refused_changes_nothing():
    S = pw.Simulator(slider())
    S.step(0.1, [0.3])
    before = S.state
    with pytest.raises(pw.ConfigError, match="time is nan"):
        S.state = replace(before, time=np.nan, q=[0.2], target=[0.2])
    for now, then in zip(astuple(S.state), astuple(before), strict=True):
        np.testing.assert_array_equal(now, then)


def test_quaternions_have_a_length():
    C = pw.Config()
    C.add_frame("link", joint="quatBall", mass=1.0, com=[0.1, 0, 0])
    with pytest.raises(pw.ConfigError, match="quaternion of length 0 at 0"):
        pw.Simulator(C).step(0.1, np.zeros(4))


def test_without_mujoco_the_extra_is_named(monkeypatch):
    real = builtins.__import__

    def missing(name, *arguments):
        if name == "mujoco":
            raise ImportError(name)
        return real(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(ImportError, match=r"simulation needs .*posewise\[mujoco\]"):
        pw.Simulator(slider())
