"""The fastest timing of a path within limits."""

import sys

import numpy as np
import pytest

import posewise as pw
from posewise import FS, OT, ObjectiveError
from posewise.objectives.solution.solution import Solution
from posewise.objectives.trajectory.retiming import import_toppra, round_corners
from posewise.objectives.trajectory.straight_path import StraightPath

pytest.importorskip("toppra", reason="retiming needs toppra")

PANDA = [2.175, 2.175, 2.175, 2.175, 2.61, 2.61, 2.61]


def along(points, C=None):
    """A solution with given slices; the first is the start."""
    points = np.array(points, float)
    if C is None:
        C = pw.Config()
        for k in range(points.shape[1]):
            C.add_frame(f"cart{k}", joint="transX", limits=[[-9.0], [9.0]])
    C.q = points[0]
    T = len(points) - 1
    return Solution(
        x=points[1:],
        status=pw.Status.CONVERGED,
        tolerance=1e-3,
        iterations=0,
        seconds=0.0,
        config=C,
        tau=np.full(T, 0.1),
    )


def check_limits(trajectory, velocity, acceleration, dt=0.001):
    """Values that the file tells, and differences as a controller computes them."""
    v, a = trajectory.velocities, trajectory.accelerations
    assert (np.abs(v) <= np.array(velocity) * (1 + 1e-6)).all()
    assert (np.abs(a) <= np.array(acceleration) * (1 + 1e-6)).all()
    # the last sample is clipped to the end, which comes within dt
    moved = np.diff(trajectory.positions, axis=0) / dt
    assert (np.abs(moved) <= np.array(velocity) * (1 + 1e-6)).all()
    bent = np.diff(moved[:-1], axis=0) / dt
    assert (np.abs(bent) <= np.array(acceleration) * (1 + 1e-4)).all()
    np.testing.assert_allclose(v[[0, -1]], 0, atol=1e-9)


@pytest.mark.parametrize(
    ("distance", "velocity", "acceleration", "duration"),
    [
        # a triangle of velocity: 2 sqrt(d / a)
        (1.0, 9.0, 4.0, 1.0),
        # a trapezoid: d / v + v / a
        (1.0, 1.0, 4.0, 1.25),
        (6.0, 2.0, 1.0, 5.0),
        # no limit of velocity
        (1.0, np.inf, 4.0, 1.0),
        (1e-3, 9.0, 4.0, 2 * np.sqrt(1e-3 / 4)),
    ],
)
@pytest.mark.parametrize("slices", [1, 7])
def test_straight_motions_are_as_fast_as_can_be(
    distance, velocity, acceleration, duration, slices
):
    line = np.linspace(0, distance, slices + 1)[:, None] * [1.0, -0.5]
    got = along(line).retime(velocity, acceleration)
    assert duration - 1e-6 <= got.duration <= 1.005 * duration + 0.001
    check_limits(got, velocity, acceleration)
    np.testing.assert_allclose(got.positions[-1], line[-1], atol=1e-9)
    np.testing.assert_allclose(got.positions[:, 1], -got.positions[:, 0] / 2, atol=1e-9)


def distance_to(path, points):
    """The distance of points from a polyline, the largest of all coordinates.

    Of coordinates, not Euclidean: the nearest point by dense sampling.
    """
    s = np.linspace(0, 1, 8000)[:, None]
    dense = np.concatenate(
        [a + s * (b - a) for a, b in zip(path[:-1], path[1:], strict=True)]
    )
    return max(np.abs(dense - p).max(1).min() for p in points)


@pytest.mark.parametrize("deviation", [1e-3, 1e-2])
@pytest.mark.parametrize("seed", range(3))
def test_corners_are_rounded_within_the_deviation(deviation, seed):
    points = np.random.default_rng(seed).uniform(-1, 1, (5, 3))
    got = along(points).retime(2.0, 5.0, deviation=deviation)
    check_limits(got, 2.0, 5.0)
    assert got.deviation <= deviation * (1 + 1e-9)
    samples = got.positions[::10]
    assert distance_to(points, samples) <= deviation + 3e-4
    assert got.deviation > 0.85 * deviation


def test_sharp_corners_take_longer():
    points = [[0, 0], [1, 0], [1, 1], [0, 1]]
    durations = [
        along(points).retime(1.0, 2.0, deviation=d).duration for d in (1e-4, 1e-2, 0.2)
    ]
    assert durations[0] > durations[1] > durations[2]
    # at most as long as with a stop at each corner
    assert durations[0] <= 3 * (1 + 0.5) + 1e-3


def panda(slices=32):
    C = pw.load("panda")
    C.lock("panda_finger_joint1")
    komo = pw.KOMO(C, 1, slices, 2, 2.0)
    komo.add_control_objective(2)
    goal = [0.8, 0.3, -0.4, -1.2, 0.5, 2.2, 0.1]
    komo.add_objective([1.0], FS.qItself, [], OT.eq, target=goal)
    via = [0.0, 0.9, 0.5, -1.9, -0.3, 2.4, 0.9]
    komo.add_objective([0.5], FS.qItself, [], OT.eq, target=via)
    komo.add_objective([1.0], FS.qItself, [], OT.eq, order=1)
    return komo.solve(progress=False), C


def test_limits_of_the_robot_are_the_default():
    solution, C = panda()
    got = solution.retime()
    check_limits(got, PANDA, 2 * np.array(PANDA))
    assert got.joint_names == C.joint_names
    ratio = np.abs(got.velocities) / PANDA, np.abs(got.accelerations) / PANDA / 2
    # some limit is active almost always
    assert np.mean(np.maximum(*(r.max(1) for r in ratio)) > 0.97) > 0.95
    np.testing.assert_allclose(got.positions[0], C.q)
    np.testing.assert_allclose(got.positions[-1], solution.q, atol=1e-9)


def test_it_is_as_fast_as_a_spline_through_the_slices():
    import toppra

    solution, C = panda()
    v, a = np.array(PANDA), np.array(PANDA) * 3
    points = np.concatenate([C.q[None], solution.path])
    spline = toppra.SplineInterpolator(np.linspace(0, 1, len(points)), points)
    limits = [
        toppra.constraint.JointVelocityConstraint(np.stack([-v, v], 1)),
        toppra.constraint.JointAccelerationConstraint(np.stack([-a, a], 1)),
    ]
    grid = np.linspace(0, 1, 600)
    algorithm = toppra.algorithm.TOPPRA(limits, spline, gridpoints=grid)
    other = algorithm.compute_trajectory().duration
    assert solution.retime(v, a).duration <= 1.02 * other


def test_rotations_follow():
    C = pw.Config()
    C.add_frame("cart", joint="transX")
    C.add_frame("table", "cart", joint="quatBall")
    angle = np.linspace(0, 1.5, 9) / 2
    path = np.zeros((9, 5))
    path[:, 0], path[:, 1], path[:, 4] = 2 * angle, np.cos(angle), np.sin(angle)
    got = along(path, C).retime([1.0, *[np.inf] * 4], 2.0)
    np.testing.assert_allclose(np.linalg.norm(got.positions[:, 1:], axis=1), 1)
    turned = 2 * np.arctan2(got.positions[:, 4], got.positions[:, 1])
    np.testing.assert_allclose(turned, got.positions[:, 0], atol=1e-3)
    h = 0.001
    slope = (got.positions[2:-1] - got.positions[:-3]) / (2 * h)
    np.testing.assert_allclose(got.velocities[1:-2], slope, atol=1e-2)


def test_waiting_and_noise_take_no_time():
    points = np.repeat([[0.0, 0.0], [1.0, 0.5]], 5, axis=0)
    points += np.random.default_rng(0).uniform(-1e-9, 1e-9, points.shape)
    got = along(points).retime(1.0, 4.0)
    assert got.duration == pytest.approx(1.25, abs=2e-3)
    still = along(np.zeros((4, 2))).retime(1.0, 1.0)
    assert still.duration == 0 and still.positions.shape == (1, 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(velocity=0.0), "velocity is 0.0, expected one number > 0, or 2"),
        (dict(velocity=[1.0, -1.0]), "velocity is"),
        (dict(velocity=[1.0] * 3), "velocity is"),
        (dict(velocity="fast"), "velocity is 'fast'"),
        (dict(acceleration=np.nan), "acceleration is nan"),
        (dict(velocity=1.0, deviation=0.0), "deviation is 0.0, expected a distance"),
        (dict(velocity=1.0, dt=0.0), "dt is 0.0"),
        (dict(), "No coordinate that moves has a limit .such as 'cart0'"),
        (dict(velocity=[np.inf, 1.0]), "No coordinate that moves"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    line = np.linspace(0, 1, 5)[:, None] * [1.0, 0.0]
    with pytest.raises(ObjectiveError, match=message):
        along(line).retime(**arguments)


def test_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "toppra", None)
    with pytest.raises(ImportError, match=r"posewise\[retime\]"):
        along([[0.0], [1.0]]).retime(1.0, 1.0)


def test_rounding_reaches_to_the_middle_of_a_step_at_most():
    points = np.array([[0.0, 0], [1, 0], [1.2, 0.2], [1.2, 2]])
    path = StraightPath(np.arange(4.0), points)
    rounded, knots = round_corners(path, 10.0)
    np.testing.assert_allclose(knots, rounded.times)
    step = rounded.times[1]
    assert rounded.times[-1] == pytest.approx(1.0 + 0.2 + 1.8)
    np.testing.assert_allclose(rounded.reach, [step / 2] * 2)
    ends = rounded.joints_of_pieces
    assert (np.diff(ends) >= 0).all() and ends[-1] == pytest.approx(3.0)


@pytest.mark.parametrize("spare", [1e-3, 1e-4, 1e-6, 1e-9])
def test_short_straight_pieces_between_corners_do_not_slow_a_path(spare):
    """Parabolas that bend alternately begin almost where others end."""

    def duration(spare):
        # A twentieth of the deviation is spent on knots that are left out.
        turn = 8 * 0.0019 * (1 + spare)
        steps = 0.1 + turn / 2 * np.array([1, -1] * 6)
        path = along(np.concatenate([[0], np.cumsum(steps)])[:, None])
        trajectory = path.retime(9.0, 4.0)
        check_limits(trajectory, 9.0, 4.0)
        return trajectory.duration

    assert duration(spare) == pytest.approx(duration(0.01), rel=0.02)


@pytest.mark.parametrize("acceleration", [1e3, 1e5, np.inf])
def test_turning_points_do_not_slow_a_path_without_limits_of_acceleration(acceleration):
    points = [0, -0.7, -0.6, -0.6, 0.2, -0.05, -1.0, 0.9, 1.9, 1.3]
    got = along(np.array(points)[:, None]).retime(2.8, acceleration)
    least = np.abs(np.diff(points)).sum() / 2.8
    assert 0.97 * least < got.duration < 1.03 * least
    assert np.abs(got.velocities).max() <= 2.8 * (1 + 1e-6)


@pytest.mark.sampled
@pytest.mark.parametrize("limits", [{}, {"velocity": 3.0}, {"acceleration": 30.0}])
def test_limits_of_the_problem_count_unless_others_are_given(limits):
    C = pw.Config()
    C.add_frame("cart", joint="transX", limits=[[-9.0], [9.0]])
    C.add_frame("pan", "cart", joint="hingeZ", limits=[[-9.0], [9.0]])
    komo = pw.KOMO(C, 1, 16, 2, duration_per_phase=20.0)
    komo.add_control_objective(2)
    komo.add_motion_limits([1.0, 2.0], [4.0, np.inf])
    komo.add_objective([1.0], FS.qItself, [], OT.eq, target=[6.0, 1.0])
    fast = komo.solve(progress=False).retime(**limits)
    velocity = limits.get("velocity", [1.0, 2.0])
    acceleration = limits.get("acceleration", [4.0, 4.0])
    check_limits(fast, velocity, acceleration)
    top = np.abs(fast.velocities).max(0)[0]
    assert top == pytest.approx(limits.get("velocity", 1.0), rel=0.01)


def cart_of_urdf(limit: str) -> pw.Config:
    """A cart whose file, of URDF 1.2, limits its velocity and more."""
    C = pw.Config()
    C.add_text(
        '<robot name="r" version="1.2"><link name="a"/><link name="b"/><joint name="j"'
        ' type="prismatic"><parent link="a"/><child link="b"/><limit lower="-9"'
        f' upper="9" velocity="4" effort="1" {limit}/></joint></robot>'
    )
    return C


def test_limits_of_acceleration_of_the_model_are_kept():
    C = cart_of_urdf('acceleration="4" deceleration="1"')
    fast = along([[0.0], [1.0]], C).retime()
    # a triangle of velocity, as in the cases above
    assert fast.times[-1] == pytest.approx(2.0, abs=2e-3)
    check_limits(fast, [4.0], [1.0])


def test_limits_of_jerk_are_said_to_be_exceeded():
    solution = along([[0.0], [1.0]], cart_of_urdf('jerk="9"'))
    with pytest.warns(pw.ProblemWarning, match=r"limits the jerk of j \(9\)"):
        solution.retime()


def test_warnings_of_the_sources_of_toppra_are_no_users_business(tmp_path, monkeypatch):
    for name in ("__init__", "algorithm", "constraint"):
        file = tmp_path / "toppra" / f"{name}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text('"a \\s"\n')
    for name in [n for n in sys.modules if n.partition(".")[0] == "toppra"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.warns((SyntaxWarning, DeprecationWarning), match="invalid escape"):
        compile((tmp_path / "toppra/algorithm.py").read_text(), "name", "exec")
    assert import_toppra().__file__ == str(tmp_path / "toppra" / "__init__.py")
    for name in [n for n in sys.modules if n.partition(".")[0] == "toppra"]:
        monkeypatch.delitem(sys.modules, name)
