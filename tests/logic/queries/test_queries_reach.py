"""Reachable and Blocking: certificates, PyCRAM's scenes, and rows at shared joints."""

from functools import cache

import numpy as np
import pytest
from helpers.planar_arm import planar
from helpers.predicate_scenes import at, built_once
from helpers.worlds import plain_poses

import posewise as pw
from posewise import PosewiseError, logic
from posewise.robots.kinematics.transforms import axis_angle_to_quat, quat_multiply

TIP = "panda_hand_tcp"


@built_once
def kitchen() -> pw.Config:
    """A mobile robot at the origin, a milk, a lid that is out of the way, a floor."""
    C = pw.Config()
    C.add_frame("ground", shape=pw.Plane())
    C.load("mobile")
    C.annotations.add_agent("robot", base="base", hands=["tool"])
    milk = pw.Box([0.06, 0.06, 0.2])
    C.add_object("milk", [(milk, None)], pose=at(0.5, -0.6, 0.9), joint="free")
    C.add_object("lid", [(pw.Box([3, 1, 1]), None)], pose=at(9), joint="free")
    return C


@built_once
def panda() -> pw.Config:
    """An arm on a rotated pedestal, beside an object that must not matter."""
    C = pw.Config()
    C.load("panda", pose=at(0.3, -0.2, 0.4, 0.7))
    C.add_frame("post", pose=at(5.0), shape=pw.Box([0.1, 0.1, 2]))
    return C


@cache
def tips(count, seed=0):
    """Poses of the tip at random configurations."""
    C, rng = panda().copy(), np.random.default_rng(seed)
    poses = []
    for q in rng.uniform(*C.limits, (count, C.nq)):
        C.q = q
        poses.append(plain_poses(C)[C.index(TIP)])
    return np.array(poses)


def errors(C, q, pose):
    """Distance and angle of the tip at q from a pose, by walking frame by frame."""
    C.q = q
    tip = plain_poses(C)[C.index(TIP)]
    cosine = min(abs(float(tip[3:] @ pose[3:])), 1.0)
    return np.linalg.norm(tip[:3] - pose[:3]), 2 * np.arccos(cosine)


@pytest.mark.long
@pytest.mark.parametrize("turn", [pytest.param(None, marks=pytest.mark.slow), 1e-2])
def test_what_is_reached_has_a_certificate(turn):
    C, near = panda().copy(), tips(200)
    far = near[:20] + np.array([0, 0, 2.5, 0, 0, 0, 0])
    targets = np.concatenate([near, far])
    out = logic.reach(C, targets, "panda_link0", TIP, turn=turn, starts=12)
    assert out.reached[:200].all() and not out.reached[200:].any()
    for q, pose in zip(out.q[:200:8], near[::8], strict=True):
        assert (C.limits[0] <= q).all() and (q <= C.limits[1]).all()
        distance, angle = errors(C, q, pose)
        assert distance < 0.01 and (turn is None or angle <= turn + 1e-7)


@pytest.mark.slow
def test_reach_agrees_with_least_squares_from_many_starts():
    optimize = pytest.importorskip("scipy.optimize")
    C, rng = panda().copy(), np.random.default_rng(1)
    arm = C.joints.coordinates([f"panda_joint{i}" for i in range(1, 8)])
    targets = C.pose("panda_link0")[:3] + rng.uniform(-0.95, 0.95, (200, 3))
    out = logic.reach(C, targets, "panda_link0", TIP)
    low, high = C.limits[:, arm]
    for target, distance in zip(targets, out.distance, strict=True):

        def off(x, target=target):
            q = np.broadcast_to(C.q, (*x.shape[:-1], C.nq)).copy()
            q[..., arm] = x
            return C.forward_pass(q).frames.p[..., C.index(TIP), :] - target

        def differences(x, off=off):
            moved = np.stack([x, *(x + 1e-6 * np.eye(x.size))])
            base, *shifted = off(moved)
            return np.stack([(e - base) / 1e-6 for e in shifted], -1)

        best = np.inf
        for _ in range(12):
            start = rng.uniform(low, high)
            solved = optimize.least_squares(
                off, start, differences, bounds=(low, high), max_nfev=40
            )
            best = min(best, np.linalg.norm(solved.fun))
            if best < 0.005:
                break
        assert (distance < 0.01) == (best < 0.01) or abs(best - 0.01) < 1e-3
        assert distance < best + 5e-3


@pytest.mark.slow
def test_pycrams_scenes():
    C = kitchen().copy()
    assert logic.reachable(C, [0.5, -0.6, 0.9], "robot")
    assert not logic.reachable(C, [2, 2, 1], "robot")
    assert logic.reachable(C, "milk", "robot")
    assert not logic.reachable(C, "lid", "robot")
    assert logic.blocking(C, "milk", "robot") == []
    assert logic.blocking(C, [2, 2, 1], "robot") is None
    C.set_pose("lid", at(0.3, -0.5, 0.9))
    assert logic.blocking(C, "milk", "robot") == ["lid"]
    blocked = logic.Blocking("milk", "robot")
    assert blocked.holds(C) and not (~blocked).holds(C)
    assert "each of which touches something, such as lid" in blocked.explain(C)
    assert all("lid" in names for names in blocked.obstacles_per_solution(C))


@pytest.mark.slow
def test_pycrams_rule():
    """The orientation counts; so do the target, floors, and what stands still."""
    C = kitchen().copy()
    C.set_pose("ground", at(z=0.1))
    q = axis_angle_to_quat(np.array([0, 0, 1.0]), -0.88)
    down = quat_multiply(q, axis_angle_to_quat(np.array([0, 1.0, 0]), np.pi / 2))
    pose = [*C.pose("milk")[:3], *down]
    assert logic.reachable(C, pose, "robot", legacy=True)
    assert not logic.reachable(C, "milk", "robot", legacy=True)
    assert logic.blocking(C, "milk", "robot", legacy=True) is None
    met = logic.blocking(C, "milk", "robot", grasp=down, legacy=True)
    assert "milk" in met and "ground" in met
    assert logic.blocking(C, "milk", "robot", grasp=down) == []


@pytest.mark.slow
@pytest.mark.parametrize("robot", ["odom", "world"])
def test_the_named_frame_stands_still(robot):
    assert logic.Reachable([2, 2, 1], robot, "tool").holds(kitchen())


REACHED = logic.Reachable("goal", "world", "tip")
CLEAR = ~logic.Blocking("goal", "world", "tip")


@pytest.mark.slow
def test_rows_are_those_of_the_present_state():
    """Cases that exact checks decide first."""
    C = planar()
    length, gap = C.pose("tip")[:3] - C.pose("goal")[:3], []
    np.testing.assert_allclose(
        REACHED.violation(C), np.linalg.norm(length) - 0.01, atol=2e-6
    )
    q = REACHED.certificate(C)
    for sign in (1, -1):
        C.q = q * np.array([sign, sign, sign, 1])
        assert REACHED.violation(C) <= 0
        np.testing.assert_array_equal(REACHED.certificate(C), C.q)
        gap.append(min(C.signed_distance(f"link{k}", "post")[0] for k in range(3)))
        expected = max(-gap[-1] + 1e-6, REACHED.violation(C))
        np.testing.assert_allclose(CLEAR.violation(C), expected, atol=1e-9)
        assert CLEAR.holds(C) or CLEAR.violation(C) > 0
    C.set_pose("post", at(0.7))
    assert not CLEAR.holds(C) and "such as post" in CLEAR.explain(C)


@pytest.mark.slow
def test_rows_are_solved_at_joints_that_are_shared():
    C = planar()
    komo = pw.KOMO(C)
    komo.add_control_objective(0, 1e-2)
    komo.add(REACHED & CLEAR)
    solution = komo.solve(starts=4, progress=False)
    C.q = solution.q
    assert solution.feasible
    assert REACHED.holds(C) and CLEAR.holds(C) and CLEAR.violation(C) <= 0


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda C: logic.Reachable([1, 2], "robot"), "target is .1, 2., expected"),
        (lambda C: logic.Reachable("milk", 3), "robot is 3, expected a name"),
        (lambda C: logic.Reachable("milk", "robot", tolerance=0), "tolerance is 0"),
        (lambda C: logic.Reachable("milk", "robot", turn=-1), "turn is -1"),
        (lambda C: logic.Blocking("milk", "robot", grasp=[0, 0]), "a quaternion"),
        (lambda C: logic.Blocking("milk", "robot", starts=0), "starts is 0"),
        (lambda C: logic.reachable(C, "mlk", "robot"), "did you mean 'milk'"),
        (lambda C: logic.reachable(C, "milk", "robt"), "did you mean 'robot'"),
        (lambda C: logic.reachable(C, "milk", "base"), "is no agent with one hand"),
        (lambda C: logic.reachable(C, "milk", "base", "too"), "did you mean 'tool'"),
        (lambda C: logic.reachable(C, "milk", "milk", "tool"), "is not attached to"),
        (lambda C: logic.reachable(C, "milk", "hand", "tool"), "No joint moves"),
        (lambda C: logic.reachable(C, "milk", "base", "world"), "is not attached to"),
        (lambda C: logic.reach(C, [[1, 2]], "robot"), "a target"),
        (lambda C: logic.reach(C, 3.0, "robot"), "a target"),
        (lambda C: (~logic.Reachable("milk", "robot")).violation(C), "only be checked"),
        (lambda C: logic.Blocking("milk", "robot").violation(C), "only be checked"),
    ],
)
def test_what_cannot_be(ask, message):
    with pytest.raises(PosewiseError, match=message):
        ask(kitchen())
