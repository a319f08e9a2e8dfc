"""A problem is of the world as it is when it is solved, whatever it was before."""

import numpy as np
import pytest

import posewise as pw
from posewise import FS, OT


def world() -> pw.Config:
    C = pw.Config()
    C.add_frame("arm", joint="transXYPhi", limits=[[-2, -2, -3], [2, 2, 3]])
    C.add_frame("tip", "arm", position=[0.3, 0, 0.1], shape=pw.Sphere(0.05))
    C.add_object("table", [pw.Box([0.6, 0.6, 0.1])], pose=[1, 0, 0, 1, 0, 0, 0])
    C.add_object("mug", [pw.Cylinder(0.1, 0.04)], pose=[1, 0, 0.2, 1, 0, 0, 0])
    C.detach("mug")
    return C


def problem(C) -> pw.KOMO:
    komo = pw.KOMO(C, 1, 2, 1)
    komo.add_control_objective(0, 0.1)
    komo.add_control_objective(1, 0.1)
    komo.add_objective([1.0], FS.positionDiff, ["tip", "mug"], OT.eq)
    komo.add_objective(None, FS.distance, ["mug", "table"], OT.ineq)
    return komo


CHANGES = {
    "joint state": lambda C: setattr(C, "q", C.q + 0.1 * (np.arange(C.nq) < 3)),
    "home": lambda C: setattr(C, "home", C.home + 0.1 * (np.arange(C.nq) < 3)),
    "limits": lambda C: C.joints.set_limits("arm", [[-1, -2, -3], [2, 2, 1]]),
    "pose": lambda C: C.set_pose("table", [1.1, 0.1, 0.1, 1, 0, 0, 0]),
    "relative pose": lambda C: C.set_pose("tip", [0, 0.2, 0, 1, 0, 0, 0], "arm"),
    "shape": lambda C: C.set_shape("table", pw.Box([0.7, 0.5, 0.2])),
    "kind of shape": lambda C: C.set_shape("mug", pw.Box([0.1, 0.1, 0.1])),
    "attachment": lambda C: C.attach("arm", "table"),
    "another frame": lambda C: C.add_frame("new", joint="hingeX", shape=pw.Sphere(0.1)),
}


@pytest.mark.long
@pytest.mark.sampled
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_counts_in_a_problem_that_was_made_before(change):
    C, D = world(), world()
    old = problem(C)
    before = old.nlp()
    CHANGES[change](C), CHANGES[change](D)
    now, new = old.nlp(), problem(D).nlp()
    np.testing.assert_array_equal(now.bounds, new.bounds)
    np.testing.assert_array_equal(now.initial, new.initial)
    x = new.initial + 0.1 * np.sin(np.arange(new.dimension))
    np.testing.assert_allclose(now.values(x)[0], new.values(x)[0], atol=1e-12)
    if change not in ("limits", "attachment"):
        is_longer = now.dimension != before.dimension
        assert is_longer or not np.allclose(now.values(x)[0], before.values(x)[0])
