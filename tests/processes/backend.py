"""Solve a batch on CPUs by the methods of another backend; print the results."""

import json
import sys
from pathlib import Path

import jax
import numpy as np

sys.path[:0] = [str(Path(__file__).parents[2])]
jax.config.update("jax_enable_x64", True)
jax.config.update("jax_default_matmul_precision", "TF32_TF32_F32")  # see conftest
jax.default_backend = lambda: sys.argv[1]

import posewise as pw  # noqa: E402
from posewise import FS, OT  # noqa: E402

C = pw.load("planar3")
tip = C.frames[-1].name
C.add_frame("wand", tip, shape=pw.Capsule(0.1, 0.02), contact=-2)
C.add_frame("crate", position=[0.45, 0.55, 0], shape=pw.Box([0.1] * 3, 0.01), contact=1)
komo = pw.KOMO(C, 1, 4, 2)
komo.add_control_objective(2, 0.1)
place = dict(scale=np.eye(3)[:2], target=[0.3, 0.6, 0])
komo.add_objective([1.0], FS.position, [tip], OT.eq, **place)
komo.add_objective(None, FS.accumulatedCollisions, [], OT.ineq)
komo.add_objective(None, FS.negDistance, ["wand", "crate"], OT.ineq, target=-0.02)
solutions = komo.solve_all(starts=8, progress=False)
alone = komo.solve(progress=False)
print(
    json.dumps(
        {
            "status": [s.status.name for s in [*solutions, alone]],
            "costs": [s.sos for s in [*solutions, alone]],
            "paths": [s.path.tolist() for s in [*solutions, alone]],
        }
    )
)
