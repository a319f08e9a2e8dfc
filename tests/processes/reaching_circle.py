"""An arm that reaches points on a circle: a batch that other processes solve, too."""

import numpy as np
from jaxtyping import Float

import posewise as pw
from posewise import FS, OT


def reaching_circle(
    count: int, slices: int = 1, is_certified: bool = False
) -> tuple[pw.KOMO, pw.Objective, Float[np.ndarray, "count 3"]]:
    """Return a problem of two joints, its goal and the targets."""
    C = pw.Config()
    C.add_frame("j0", joint="hingeZ")
    C.add_frame("j1", "j0", position=[0.3, 0, 0], joint="hingeZ")
    C.add_frame("tip", "j1", position=[0.3, 0, 0], shape=pw.Sphere(0.02), contact=1)
    C.add_frame("post", position=[0.2, -0.5, 0], shape=pw.Sphere(0.1), contact=1)
    komo = pw.KOMO(C, 1, slices, min(slices - 1, 2))
    komo.add_control_objective(min(slices - 1, 2), 0.1)
    if is_certified:
        komo.avoid_collisions()
    kind = dict(scale=np.eye(3)[:2])
    goal = komo.add_objective([1.0], FS.positionDiff, ["tip", "j0"], OT.eq, **kind)
    angle = np.linspace(0.1, 2.5, count)
    targets = 0.5 * np.column_stack([np.cos(angle), np.sin(angle), 0 * angle])
    return komo, goal, targets
