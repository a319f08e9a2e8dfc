"""A batch on some virtual devices, in a separate process, as `test_scale_out` runs it.

Arguments: the number of devices, 0 for no mesh, and a file for the results.
"""

import os
import sys
from pathlib import Path

devices, out = int(sys.argv[1]), sys.argv[2]
flag = f"--xla_force_host_platform_device_count={max(devices, 1)}"
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {flag}"
sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[1])]

import jax  # noqa: E402
import numpy as np  # noqa: E402
from processes.reaching_circle import reaching_circle  # noqa: E402

jax.config.update("jax_enable_x64", True)
komo, goal, targets = reaching_circle(10)
mesh = jax.make_mesh((devices,), ("devices",)) if devices else None
options = dict(starts=2, tolerance=1e-6, progress=False, mesh=mesh)
solutions = komo.solve_batch({goal: targets}, **options)
np.savez(out, paths=solutions.path, statuses=solutions.status)
