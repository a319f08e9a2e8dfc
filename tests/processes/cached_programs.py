"""Solve with a program cache; print the results and the number of compilations."""

import json
import sys
from pathlib import Path

import jax
import jax.monitoring

sys.path[:0] = [str(Path(__file__).parents[2])]
jax.config.update("jax_enable_x64", True)
compiled = []
jax.monitoring.register_event_duration_secs_listener(
    lambda name, seconds, **_: compiled.append(name)
)

import posewise as pw  # noqa: E402
from posewise import FS, OT  # noqa: E402

pw.cache_programs(sys.argv[1])
shift = float(sys.argv[2])
C = pw.load("planar3")
C.add_frame("post", shape=pw.Cylinder(0.4, 0.1), position=[0.5, 0.5, 0], contact=1)
path = pw.KOMO(C, 1, 8, 2)
path.add_control_objective(2, 0.1)
path.add_objective(None, FS.accumulatedCollisions, [], OT.ineq)
place = [0.5 + shift, 0.2, 0]
path.add_objective([1.0], FS.position, ["tip"], OT.eq, target=place)
with_function = pw.KOMO(C)
squared = pw.Feature(lambda pose: (pose.p @ pose.p)[None], ["tip"], target=0.4)
with_function.add_objective(None, squared, type=OT.eq)
reports = []
for komo in (path, with_function):
    compiled.clear()
    solution = komo.solve()
    batch = komo.solve(starts=3)
    count = sum("backend_compile" in name for name in compiled)
    reports.append(
        {
            "feasible": solution.feasible and batch.feasible,
            "path": [solution.path.tolist(), batch.path.tolist()],
            "compiled": count,
        }
    )
print(json.dumps(reports))
