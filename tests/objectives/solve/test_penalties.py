"""Success does not depend on how much motion costs."""

import numpy as np
import pytest
from helpers.oracle import komo_scenes, world

import posewise as pw
from posewise import FS, OT


def arm() -> pw.Config:
    """Three links in the plane, a ball before the target, and a brick."""
    C = pw.Config()
    C.add_frame("base", position=[0, 0, 0.1])
    parent, contacts = "base", (1, -1, -1)
    for i, (length, contact) in enumerate(zip((0.4, 0.3, 0.2), contacts, strict=True)):
        most = 2.5 if i else 2.8
        C.add_frame(f"j{i}", parent, joint="hingeZ", limits=[-most, most])
        pose = [length / 2, 0, 0, np.sqrt(0.5), 0, np.sqrt(0.5), 0]
        link = pw.Capsule(length, 0.03)
        C.add_frame(f"link{i}", f"j{i}", pose=pose, shape=link, contact=contact)
        parent = f"end{i}"
        C.add_frame(parent, f"j{i}", position=[length, 0, 0])
    ball, brick = pw.Sphere(0.08), pw.Box([0.3, 0.2, 0.2], 0.02)
    C.add_frame("ball", position=[0.35, 0.25, 0.1], shape=ball, contact=1)
    C.add_frame("brick", position=[0.1, -0.4, 0.1], shape=brick, contact=1)
    return C


def around_the_ball(q: list, cost: float, seconds: float) -> pw.KOMO:
    """From q to the target behind the ball, at rest there."""
    C = arm()
    C.q = q
    komo = pw.KOMO(C, 1, 32, 2, seconds)
    komo.add_control_objective(2, cost)
    komo.add_objective(None, FS.accumulatedCollisions, [], OT.ineq)
    komo.add_objective(None, FS.jointLimits, [], OT.ineq)
    goal = dict(scale=10 * np.eye(3)[:2], target=[0.45, 0.35, 0])
    komo.add_objective([1.0], FS.position, ["end2"], OT.eq, **goal)
    komo.add_objective([1.0], FS.qItself, [], OT.eq, order=1)
    return komo


@pytest.mark.long
@pytest.mark.sampled
@pytest.mark.parametrize(
    ("cost", "seconds", "q"),
    [
        (1.0, 1.0, [1.69, 2.12, -1.17]),
        (1.0, 1.0, [0.13, -2.06, 2.41]),
        (10.0, 1.0, [-2.71, 1.57, 2.06]),
        (10.0, 1.0, [2.09, -0.14, 2.06]),
        (1.0, 0.2, [1.69, 2.12, -1.17]),
        (1.0, 0.2, [-2.4, 0.0, 1.22]),
    ],
)
def test_a_path_that_is_clear_is_not_lost_to_its_cost(cost, seconds, q):
    komo = around_the_ball(q, cost, seconds)
    assert komo.solve(starts=8, progress=False).feasible


@pytest.mark.sampled
@pytest.mark.parametrize("cost", [0.1, 1.0, 10.0, 100.0])
def test_inverse_kinematics_succeeds_at_any_weight_of_home(cost):
    C = world(komo_scenes()["panda7"]())
    C.q = [0.0, -0.5, 0.0, -2.0, 0.0, 2.0, 0.785]
    komo = pw.KOMO(C)
    komo.add_control_objective(0, cost)
    komo.add_objective(None, FS.accumulatedCollisions, [], OT.ineq)
    komo.add_objective(None, FS.jointLimits, [], OT.ineq)
    above = dict(scale=10, target=[0, 0, 0.03])
    komo.add_objective(None, FS.positionDiff, ["gripper", "box"], OT.eq, **above)
    komo.add_objective(None, FS.vectorZ, ["gripper"], OT.eq, target=[0, 0, 1])
    komo.add_objective(None, FS.scalarProductXY, ["gripper", "box"], OT.eq)
    solutions = komo.solve_all(starts=40, progress=False)
    assert np.mean([s.feasible for s in solutions]) > 0.7


@pytest.mark.long
def test_penalties_that_a_user_chooses_stay():
    komo = around_the_ball([1.0, 0.0, 0.0], 10.0, 1.0)

    def second(**options) -> np.ndarray:
        settings = dict(starts=2, progress=False, max_iterations=5)
        return komo.solve_all(**settings, **options)[1].path

    chosen = second(mu=0.1)
    assert np.array_equal(chosen, second(mu=0.1, alternate_start_penalty_factor=1.0))
    assert not np.array_equal(chosen, second())
