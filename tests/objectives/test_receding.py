"""Problems that are solved again after the world has changed a little."""

import numpy as np
import pytest

import posewise as pw
from posewise import FS, OT


def crane() -> pw.Config:
    """Two rails and a hinge with a hand, among things that are fixed to the world."""
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
