"""A batch in a separate process, as `test_scale_out` starts it.

Arguments: a JSON object with `devices` (virtual ones, on this process), `processes`,
`rank`, `port`, `mesh` (whether to use one), `checkpoint_dir` (or null), sizes of the
problem, and `out` (a file for paths).
"""

import json
import os
import sys
from pathlib import Path

settings = json.loads(sys.argv[1])
flag = f"--xla_force_host_platform_device_count={settings['devices']}"
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {flag}"
sys.path[:0] = [str(Path(__file__).parents[2])]

import jax  # noqa: E402
import numpy as np  # noqa: E402

import posewise as pw  # noqa: E402
from posewise import FS, OT  # noqa: E402

jax.config.update("jax_enable_x64", True)
if settings["processes"] > 1:
    where = f"127.0.0.1:{settings['port']}", settings["processes"], settings["rank"]
    jax.distributed.initialize(*where)

C = pw.Config()
parent = "world"
for k in range(settings["joints"]):
    C.add_frame(f"j{k}", parent, position=[0.3 * (k > 0), 0, 0], joint="hingeZ")
    parent = f"j{k}"
C.add_frame("tip", parent, position=[0.3, 0, 0])
slices = settings["slices"]
komo = pw.KOMO(C, 1, slices, min(slices - 1, 2))
komo.add_control_objective(min(slices - 1, 2), 0.1)
kind = dict(scale=np.eye(3)[:2])
goal = komo.add_objective([1.0], FS.positionDiff, ["tip", "j0"], OT.eq, **kind)
angle = np.linspace(0.1, 2.5, settings["problems"])
targets = 0.5 * np.column_stack([np.cos(angle), np.sin(angle), 0 * angle])
if settings["rank"] == settings.get("strange"):
    targets += 0.01
mesh = jax.make_mesh((jax.device_count(),), ("devices",)) if settings["mesh"] else None


options = dict(
    mesh=mesh, checkpoint_dir=settings["checkpoint_dir"], chunk_size=4, progress=False
)
solutions = komo.solve_batch({goal: targets}, starts=2, tolerance=1e-6, **options)
paths, statuses = zip(*((s.path, int(s.status)) for s in solutions), strict=True)
np.savez(settings["out"], paths=paths, statuses=statuses)
