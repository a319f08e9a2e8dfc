"""Small reaching problems for tests of batches."""

import numpy as np

import posewise as pw
from posewise import FS, OT


def arm(ball=(0.5, 0.5, 0.0), radius=0.1) -> pw.Config:
    """Three hinges in a plane with a round obstacle."""
    C = pw.Config()
    parent = "world"
    for k in range(3):
        C.add_frame(
            f"j{k}",
            parent,
            position=[0.4 * (k > 0), 0, 0],
            joint="hingeZ",
            limits=[[-2.8], [2.8]],
        )
        parent = f"j{k}"
    C.add_frame("tip", parent, position=[0.4, 0, 0], shape=pw.Sphere(0.05))
    C.add_frame("ball", position=ball, shape=pw.Sphere(radius))
    return C


def reaching(C=None, slices=1):
    komo = pw.KOMO(C or arm(), 1, slices, min(slices - 1, 2))
    komo.add_control_objective(min(slices - 1, 2), 0.1)
    goal = komo.add_objective(
        [1.0], FS.position, ["tip"], OT.eq, scale=np.eye(3)[:2], target=[0.7, 0.6, 0]
    )
    komo.add_objective(None, FS.negDistance, ["tip", "ball"], OT.ineq)
    return komo, goal
