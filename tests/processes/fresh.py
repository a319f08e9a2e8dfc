"""Import, load and solve; print changes of global state, and a hash of the result."""

import hashlib
import json
import locale
import logging
import os
import random
import signal
import sys
import threading
import time
import warnings
from pathlib import Path

import jax
import numpy as np

sys.path[:0] = [str(Path(__file__).parents[2])]
jax.config.update("jax_enable_x64", True)
jax.numpy.zeros(1).block_until_ready()


def state() -> dict[str, object]:
    """Return the state of the whole process, by name."""
    return {
        "configuration of JAX": {k: repr(v) for k, v in jax.config.values.items()},
        "environment": dict(os.environ),
        "random numbers of numpy": repr(np.random.get_state()),
        "random numbers of Python": random.getstate(),
        "errors of numpy": np.geterr(),
        "printing of numpy": np.get_printoptions(),
        "warnings": [repr(f) for f in warnings.filters],
        "threads": sorted(t.name for t in threading.enumerate()),
        "signals": {s: repr(signal.getsignal(s)) for s in signal.valid_signals()},
        "hooks": repr((sys.excepthook, sys.displayhook, threading.excepthook)),
        "logging": repr((logging.root.handlers, logging.root.level)),
        "recursion": sys.getrecursionlimit(),
        "locale": locale.setlocale(locale.LC_ALL),
        "folder": os.getcwd(),
    }


before = state()
import posewise as pw  # noqa: E402
from posewise import FS, OT  # noqa: E402

imported = state()
C = pw.load("planar3")
C.add_frame("ball", position=[0.5, 0.5, 0], shape=pw.Sphere(0.1))
tip = C.frames[-2].name
C.add_frame("wand", tip, shape=pw.Sphere(0.02))
komo = pw.KOMO(C, 1, 3, 1)
komo.add_control_objective(1, 0.1)
place = dict(scale=np.eye(3)[:2], target=[0.4, 0.5, 0])
goal = komo.add_objective([1.0], FS.position, [tip], OT.eq, **place)
solutions = [*komo.solve_all(starts=4, seed=5)]
solutions += komo.solve_batch({goal: [[0.3, 0.5, 0], [0.5, 0.3, 0]]}, starts=2, seed=6)
near = C.eval(FS.distance, ["wand", "ball"])
# The thread that watches long steps ends a moment after the last of them.
end = time.monotonic() + 10
while threading.active_count() > 1 and time.monotonic() < end:
    time.sleep(0.05)
solved = state()
bits = hashlib.sha256(near[0].tobytes() + near[1].tobytes())
for s in solutions:
    bits.update(np.ascontiguousarray(s.path).tobytes())
    bits.update(repr((s.status, s.iterations, s.sos, s.eq, s.start)).encode())
changed = {
    when: [k for k in before if before[k] != now[k]]
    for when, now in (("import", imported), ("solving", solved))
}
print(json.dumps({"changed": changed, "bits": bits.hexdigest()}))
