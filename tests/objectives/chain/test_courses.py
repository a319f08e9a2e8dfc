"""Frames that move along a given course."""

import numpy as np
import pytest

import posewise as pw
from posewise import FS, OT
from posewise.objectives.solve.given_path import given_path_as_solution

SLICES = 6


def disc(**frame) -> pw.Config:
    """A disc that slides in a plane, and a ball, which overlaps with the floor."""
    C = pw.Config()
    C.add_frame("x", joint="transX", limits=[[-3.0], [3.0]])
    C.add_frame("disc", "x", joint="transY", limits=[[-3.0], [3.0]])
    C.set_shape("disc", pw.Sphere(0.2))
    C.add_frame("floor", position=[0, 0, -1.2], shape=pw.Box([4, 4, 1.9]), contact=1)
    C.add_frame("ball", **{"position": [1.0, 0, 0], **frame})
    C.set_shape("ball", pw.Sphere(0.3))
    C.set_contact("disc", 1)
    C.set_contact("ball", 1)
    C.add_frame("flag", "ball", position=[0, 0, 0.5])
    return C


def crossing(C: pw.Config, order: int = 2, goal: float = 2.0) -> pw.KOMO:
    komo = pw.KOMO(C, 1, SLICES, order)
    komo.add_control_objective(order, 0.1)
    komo.add_objective([1.0], FS.qItself, ["x", "disc"], OT.eq, target=[goal, 0.0])
    return komo


def rising(height: float = 2.0) -> np.ndarray:
    """Positions of a ball that moves out of the way."""
    t = np.arange(1, SLICES + 1)[:, None] / SLICES
    return np.array([1.0, 0, 0]) + t * np.array([0, height, 0])


BALLS = {
    "fixed": {},
    "on a joint": {"joint": "free"},
    "on the robot": {"parent": "x", "position": [1.0, 0, 0]},
    "turned": {"quaternion": [0.6, 0, 0, 0.8]},
}


@pytest.mark.sampled
@pytest.mark.parametrize("case", BALLS)
def test_features_and_worlds_have_the_frame_where_it_is(case):
    C = disc(**BALLS[case])
    turn = C.pose("ball")[3:]
    komo = crossing(C)
    offset = komo.add_objective([0.5], FS.positionDiff, ["disc", "flag"], OT.sos)
    komo.prescribe_motion("ball", rising())
    solution = komo.solve(progress=False)
    assert solution.feasible and solution.path.shape == (SLICES, C.nq)
    x = C.joints.coordinates(["x", "disc"])
    for t in range(SLICES):
        world = solution.world_at(t)
        np.testing.assert_allclose(world.pose("ball")[:3], rising()[t], atol=1e-9)
        np.testing.assert_allclose(world.pose("ball")[3:], turn, atol=1e-9)
        np.testing.assert_allclose(world.pose("flag")[2], 0.5, atol=1e-9)
        np.testing.assert_allclose(world.q[x], solution.path[t, x])
        np.testing.assert_allclose(world.q, solution.path[t], atol=1e-9)
    report = solution.objectives[komo.objectives.index(offset)]
    position = np.append(solution.path[2, x], 0.0)
    want = position - rising()[2] - [0, 0, 0.5]
    assert report.cost == pytest.approx(want @ want, rel=1e-6)
    np.testing.assert_array_equal(C.pose("ball")[:3], [1, 0, 0])


@pytest.mark.slow
def test_a_path_waits_for_an_obstacle_that_gives_way():
    C = disc()
    blocked = crossing(C, goal=1.0)
    blocked.add_objective(None, FS.accumulatedCollisions, [], OT.ineq)
    with pytest.warns(pw.ProblemWarning, match="target in slice 5 violates"):
        assert not blocked.solve(progress=False).feasible
    komo = crossing(C, goal=1.0)
    komo.add_objective(None, FS.accumulatedCollisions, [], OT.ineq)
    komo.prescribe_motion("ball", rising())
    solution = komo.solve(progress=False)
    assert solution.feasible
    q = solution.path[:, C.joints.coordinates(["x", "disc"])]
    gap = np.linalg.norm(q - rising()[:, :2], axis=1) - 0.5
    assert gap.min() > -2e-3
    assert np.linalg.norm(q[-1] - [1.0, 0]) < 1e-3


@pytest.mark.long
def test_velocities_begin_at_the_start_of_the_course():
    C = disc()
    komo = crossing(C, order=1)
    speed = komo.add_objective(None, FS.position, ["ball"], OT.sos, order=1)
    start = np.array([[1.0, -2.0, 0.0]])
    komo.prescribe_motion("ball", np.concatenate([start, rising()]))
    solution = komo.solve(progress=False)
    course = np.concatenate([start, rising()])
    rates = np.diff(course, axis=0) * SLICES
    report = solution.objectives[komo.objectives.index(speed)]
    assert report.cost == pytest.approx(np.sum(rates**2), rel=1e-9)


@pytest.mark.long
def test_rotations_follow_the_course():
    C = disc()
    angle = np.linspace(0, 2 * np.pi, SLICES + 1)
    turns = np.stack([np.cos(angle / 2), 0 * angle, 0 * angle, np.sin(angle / 2)], -1)
    # The other sign is the same rotation.
    turns[::2] *= -1
    poses = np.concatenate([np.tile([1.0, 0, 0], (SLICES + 1, 1)), turns], 1)
    komo = crossing(C, order=1)
    spin = komo.add_objective(None, FS.angularVel, ["ball"], OT.sos)
    komo.prescribe_motion("ball", poses)
    solution = komo.solve(progress=False)
    cost = solution.objectives[komo.objectives.index(spin)].cost
    assert cost == pytest.approx(SLICES * (2 * np.pi) ** 2, rel=0.2)
    for t in range(SLICES):
        axis = C.eval(FS.vectorX, ["ball"])[0] * 0
        axis[:2] = np.cos(angle[t + 1]), np.sin(angle[t + 1])
        got, _ = solution.world_at(t).eval(FS.vectorX, ["ball"])
        np.testing.assert_allclose(got, axis, atol=1e-9)


@pytest.mark.long
def test_a_course_is_data():
    C = disc()
    komo = crossing(C)
    komo.add_objective(None, FS.negDistance, ["disc", "ball"], OT.ineq)
    komo.prescribe_motion("ball", rising())
    komo.solve(progress=False)
    before = komo.spec.cache.compiled.value
    komo.prescribe_motion("ball", rising(-2.0))
    C.set_pose("ball", [1.0, 0.1, 0, 1, 0, 0, 0])
    solution = komo.solve(progress=False)
    after = komo.spec.cache.compiled.value
    assert after.locations is before.locations and after.chain is before.chain
    assert solution.world_at(-1).pose("ball")[1] == pytest.approx(-2.0)


@pytest.mark.long
def test_shifts_move_on_along_the_course():
    C = disc()
    komo = crossing(C)
    komo.prescribe_motion("ball", rising())
    komo.solve(progress=False)
    komo.shift(2)
    np.testing.assert_allclose(C.pose("ball")[:3], rising()[1])
    solution = komo.solve(progress=False)
    np.testing.assert_allclose(solution.world_at(0).pose("ball")[:3], rising()[2])
    np.testing.assert_allclose(solution.world_at(-1).pose("ball")[:3], rising()[-1])


@pytest.mark.long
def test_starts_batches_and_other_solvers_keep_to_the_course():
    C = disc()
    komo = crossing(C)
    komo.prescribe_motion("ball", rising())
    every = [*komo.solve_all(starts=3, progress=False), *komo.solve_batch(worlds=[C])]
    for solution in every:
        assert solution.world_at(-1).pose("ball")[1] == pytest.approx(2.0)
    nlp = komo.nlp()
    low, high = nlp.bounds
    fixed = low == high
    assert fixed.sum() == 7 * SLICES
    np.testing.assert_array_equal(nlp.initial[fixed], low[fixed])


BAD = {
    "shape": (dict(poses=np.zeros((SLICES, 4))), r"shape \(6, 4\), expected \(6, 7\)"),
    "number": (dict(poses=np.zeros((2, 3))), r"shape \(2, 3\), expected \(6, 7\)"),
    "NaN": (dict(poses=np.full((SLICES, 3), np.nan)), r"poses: nan at index \[0, 0\]"),
    "words": (dict(poses="up"), "poses is 'up'"),
    "quaternion": (dict(poses=np.zeros((SLICES, 7))), "zero quaternion"),
    "frame": (dict(frame="bal"), "ball"),
    "world": (dict(frame="world"), "world"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_courses_are_refused(case):
    options, match = BAD[case]
    with pytest.raises((pw.ObjectiveError, pw.ConfigError), match=match):
        crossing(disc()).prescribe_motion(
            **{"frame": "ball", "poses": rising()} | options
        )


def test_a_frame_has_a_course_or_a_mode_switch():
    komo = crossing(disc())
    komo.prescribe_motion("ball", rising())
    with pytest.raises(pw.ObjectiveError, match="both a course and a mode switch"):
        komo.add_mode_switch([0.5], "stable", ["disc", "ball"])
    other = crossing(disc())
    other.add_mode_switch([0.5], "stable", ["disc", "ball"])
    with pytest.raises(pw.ObjectiveError, match="both a course and a mode switch"):
        other.prescribe_motion("ball", rising())


def test_the_frame_moves_straight_from_its_start_between_slices():
    C = disc(joint="free")
    komo = crossing(C)
    start = np.array([[1.0, -2.0, 0.0]])
    course = np.concatenate([start, rising()])
    komo.prescribe_motion("ball", course)
    first = komo.solve(progress=False)
    for k in (0, 3):
        q = first.at_time((k + 0.5) / SLICES)[C.joints.coordinates("ball")]
        middle = (course[k] + course[k + 1]) / 2
        np.testing.assert_allclose(q[:3], middle, atol=1e-9)
    assert komo.solve(progress=False).sub_problem(0)[0].pose("ball")[1] == -2.0


@pytest.mark.long
def test_given_paths_are_judged_along_the_course():
    komo = crossing(disc())
    komo.add_objective(None, FS.positionDiff, ["disc", "ball"], OT.sos)
    komo.prescribe_motion("ball", rising())
    solution = komo.solve(progress=False)
    judged = given_path_as_solution(komo.spec, solution.path, 1e-3)
    assert judged.sos == pytest.approx(solution.sos, rel=1e-9)
