"""Differences to a target and to home are modulo full turns of endless joints."""

import jax
import numpy as np
import pytest

import posewise as pw
from posewise import FS, OT, presets

URDF = """<robot name="r">
<link name="base"/><link name="arm"/><link name="tip"/><link name="pad"/>
<joint name="spin" type="continuous"><parent link="base"/><child link="arm"/>
  <axis xyz="0 0 1"/></joint>
<joint name="bend" type="revolute"><parent link="arm"/><child link="tip"/>
  <origin xyz="1 0 0"/><axis xyz="0 0 1"/>
  <limit lower="-4" upper="4" effort="1" velocity="1"/></joint>
<joint name="slide" type="prismatic"><parent link="tip"/><child link="pad"/>
  <axis xyz="1 0 0"/><limit lower="-9" upper="9" effort="1" velocity="1"/></joint>
</robot>"""
TURN = 2 * np.pi


@pytest.fixture
def C():
    C = pw.Config()
    C.add_text(URDF)
    return C


def hinge(**options) -> pw.Config:
    C = pw.Config()
    C.add_frame("a", joint="hingeZ", **options)
    return C


def with_follower(joint: str, multiplier: float) -> pw.Config:
    C = hinge()
    C.add_frame("b", "a", joint=joint, mimic="a", multiplier=multiplier)
    return C


def unlimited_mjcf(limit: str = "") -> pw.Config:
    C = pw.Config()
    C.add_text(
        f"<mujoco><worldbody><body><joint name='j' {limit}/>"
        "<geom size='.1'/></body></worldbody></mujoco>"
    )
    return C


PERIODS = {
    "hinge without limits": (hinge, [TURN]),
    "hinge with limits": (lambda: hinge(limits=[[-9], [9]]), [np.inf]),
    "one limit": (lambda: hinge(limits=[[-9], [np.inf]]), [np.inf]),
    "follower at a whole number of turns": (
        lambda: with_follower("hingeX", -3.0),
        [TURN],
    ),
    "follower at half the speed": (lambda: with_follower("hingeX", 0.5), [2 * TURN]),
    "follower at another ratio": (lambda: with_follower("hingeX", 1.3), [np.inf]),
    "screw": (lambda: with_follower("transX", 0.1), [np.inf]),
    "follower that stands": (lambda: with_follower("transX", 0.0), [TURN]),
    "MJCF hinge": (unlimited_mjcf, [TURN]),
    "MJCF hinge with a range": (lambda: unlimited_mjcf("range='-90 90'"), [np.inf]),
}


@pytest.mark.parametrize("case", PERIODS)
def test_period_of_a_coordinate(case):
    make, expected = PERIODS[case]
    np.testing.assert_allclose(make().joints.periods, expected)


def test_poses_repeat_with_the_period():
    for case, (make, _) in PERIODS.items():
        C = make()
        if np.isfinite(C.joints.periods[0]):
            C.q = [0.3]
            before = C.forward_pass().frames
            C.q = [0.3 + C.joints.periods[0]]
            for old, new in zip(before, C.forward_pass().frames, strict=True):
                np.testing.assert_allclose(new, old, atol=1e-12, err_msg=case)


def test_heading_of_a_base_and_slides_and_quaternions():
    C = pw.Config()
    C.add_frame("base", joint="transXYPhi")
    C.add_frame("ball", joint="free")
    np.testing.assert_allclose(C.joints.periods, [np.inf, np.inf, TURN, *[np.inf] * 7])


@pytest.mark.parametrize(
    ("q", "target", "expected"),
    [
        (3.1, -3.1, 6.2 - TURN),
        (-3.1, 3.1, TURN - 6.2),
        (0.5, 0.2, 0.3),
        (20.0, 0.0, 20.0 - 3 * TURN),
        (0.2, 0.2 + 5 * TURN, 0.0),
    ],
)
def test_difference_to_a_target(C, q, target, expected):
    C.q = [q, 3.1, 8.0]
    y, J = C.eval(FS.qItself, target=[target, -0.9, 1.0])
    np.testing.assert_allclose(y, [expected, 4.0, 7.0], atol=1e-12)
    np.testing.assert_array_equal(J, np.eye(3))
    y, J = C.eval(FS.qHome, ["spin"], target=target, scale=2)
    np.testing.assert_allclose(y, [2 * expected], atol=1e-12)
    np.testing.assert_allclose(C.eval(FS.qItself)[0], C.q)


@pytest.mark.long
@pytest.mark.parametrize("target", [3.1 - np.pi, 3.1 + np.pi, 3.1 + 3 * np.pi])
def test_the_cut_is_finite_and_has_a_slope(C, target):
    C.q = [3.1, 0, 0]
    feature = pw.Feature(FS.qItself, ["spin"], target=target, scale=3)
    y, J = feature.eval(C)
    assert abs(y[0]) == pytest.approx(3 * np.pi)
    f = feature.function(C)
    for derivative in (J, jax.jacfwd(f)(C.q), jax.jacrev(f)(C.q)):
        np.testing.assert_allclose(derivative, [[3.0, 0, 0]])
    np.testing.assert_allclose(f(C.q), y)


def test_differences_between_slices_are_not_modulo(C):
    y, _ = pw.Feature(FS.qItself, ["spin"], order=1).eval(C, [[-3, 0, 0], [3, 0, 0]])
    np.testing.assert_allclose(y, [6.0])
    y, _ = pw.Feature(FS.qHome, ["spin"], order=1).eval(C, [[-3, 0, 0], [3, 0, 0]])
    np.testing.assert_allclose(y, [6.0])


def travel(solution, start):
    return np.abs(np.diff(np.vstack([start, solution.path]), axis=0)).sum(0)


@pytest.mark.sampled
@pytest.mark.parametrize("bend", [3.1, 0.0])
def test_point_to_point_takes_the_shorter_way(C, bend):
    C.q = start = np.array([3.1, bend, 0.0])
    solution = presets.setup_point_to_point(C, [-3.1, -bend, 0.5], 8).solve()
    assert solution.feasible
    expected = [TURN - 6.2, 2 * bend, 0.5]
    np.testing.assert_allclose(travel(solution, start), expected, atol=1e-3)
    np.testing.assert_allclose(solution.q[0], TURN - 3.1, atol=1e-3)


@pytest.mark.sampled
@pytest.mark.parametrize("symbol", [FS.qItself, FS.qHome])
@pytest.mark.parametrize("scale", [10.0, [10.0, 0, 0], [[0.0, 0, 7], [10, 0, 0]]])
def test_targets_of_own_problems(C, symbol, scale):
    C.q = start = np.array([3.1, 0.0, 0.0])
    komo = pw.KOMO(C, 1, 4, 1)
    komo.add_control_objective(order=1)
    komo.add_objective([1.0], symbol, [], OT.eq, target=[-3.1, 0, 0], scale=scale)
    solution = komo.solve()
    assert solution.feasible
    np.testing.assert_allclose(travel(solution, start), [TURN - 6.2, 0, 0], atol=1e-3)


def test_home_costs_pull_the_shorter_way():
    C = hinge(q=-3.1)
    C.q = [3.1]
    komo = pw.KOMO(C)
    komo.add_control_objective(order=0)
    np.testing.assert_allclose(komo.solve().q, [TURN - 3.1], atol=1e-4)


@pytest.mark.sampled
@pytest.mark.parametrize("start", [0.2, 3.0])
def test_inequalities_count_turns(start):
    C = hinge()
    C.q = [start]
    komo = pw.KOMO(C)
    komo.add_control_objective(order=0)
    komo.add_objective([], FS.qItself, [], OT.ineq, target=[TURN], scale=-1)
    np.testing.assert_allclose(komo.solve().q, [TURN], atol=1e-3)


def test_a_feature_alone_does_not_count_turns():
    C = hinge(q=0.4)
    komo = pw.KOMO(C)
    komo.add_control_objective(order=0)
    bound = komo.add_objective([], FS.qItself, [], OT.ineq, target=[TURN])
    solution = komo.solve()
    report = next(r for r in solution.objectives if r.objective is bound)
    np.testing.assert_allclose(report.values, [[0.4 - TURN]], atol=1e-6)
    np.testing.assert_allclose(bound.feature.eval(C, solution.q)[0], [0.4], atol=1e-6)


@pytest.mark.slow
def test_batches_and_functions_of_targets(C):
    C.q = [3.1, 0.0, 0.0]
    komo = pw.KOMO(C, 1, 2, 1)
    komo.add_control_objective(order=1)
    end = komo.add_objective([1.0], FS.qItself, [], OT.eq, target=[0, 0, 0])
    targets = np.array([[-3.1, 0.1, 0], [9.0, 0.2, 0]])
    ends = [s.q[0] for s in komo.solve_batch({end: targets})]
    np.testing.assert_allclose(ends, [TURN - 3.1, 9.0 - TURN], atol=1e-3)
    assert komo.function(end)(targets[0])[-1, 0] == pytest.approx(TURN - 3.1, abs=1e-3)
