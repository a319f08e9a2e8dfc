"""Time and memory by problem size: frames of a scene, dofs of a tree, slices of a path.

`python benchmarks/scaling.py [frames] [dofs] [slices]` prints for each size: seconds to
build, of the first solve (compilation included), of a further one [ms], and the peak of
memory. Each size runs in a separate process. The last column is the exponent with which
the time of an iteration grows from the previous size: 1 is linear.
"""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1])]

import jax  # noqa: E402
import numpy as np  # noqa: E402

import posewise as pw  # noqa: E402
from posewise import FS, OT  # noqa: E402

SIZES = {
    "frames": (100, 1000, 10000),
    "dofs": (25, 50, 100, 200),
    "slices": (30, 100, 300, 1000),
}
TIMEOUT = 500
"""Time limit of one size [s]."""


def chain(C: pw.Config, dofs: int, branch: int) -> str:
    """Add a tree of hinges, in branches of a given length; return its last frame."""
    parent = "world"
    for k in range(dofs):
        parent = "world" if k % branch == 0 else f"j{k - 1}"
        axis = ("hingeX", "hingeY", "hingeZ")[k % 3]
        C.add_frame(f"j{k}", parent, joint=axis, position=[0.1, 0.05 * (k % 2), 0])
    C.add_frame("tip", f"j{dofs - 1}", position=[0.1, 0, 0])
    return "tip"


def reaching(C: pw.Config, tip: str, slices: int) -> pw.KOMO:
    """To a point that it can reach, at little cost."""
    C.q = bent = 0.1 * np.sin(np.arange(C.nq))
    komo = pw.KOMO(C, 1, slices, min(slices - 1, 2))
    komo.add_control_objective(min(slices - 1, 2), 0.1)
    C.q = bent + 0.1 * np.cos(np.arange(C.nq))
    target = C.pose(tip)[:3]
    C.q = bent
    komo.add_objective([1.0], FS.position, [tip], OT.eq, target=target)
    return komo


def frames(n: int) -> pw.KOMO:
    """An arm among boxes that stand still."""
    C = pw.Config()
    tip = chain(C, 7, 7)
    for k in range(n):
        place = [k % 100, k // 100 % 100, 1 + k // 10000]
        C.add_frame(f"box{k}", position=place, shape=pw.Box([0.1, 0.1, 0.1]))
    return reaching(C, tip, 1)


def dofs(n: int) -> pw.KOMO:
    """A tree with branches of 20 hinges."""
    C = pw.Config()
    return reaching(C, chain(C, n, 20), 1)


def slices(n: int) -> pw.KOMO:
    """A path of an arm with 7 hinges."""
    C = pw.Config()
    return reaching(C, chain(C, 7, 7), n)


MAKE: dict[str, Callable[[int], pw.KOMO]] = {
    "frames": frames,
    "dofs": dofs,
    "slices": slices,
}


def measure(kind: str, n: int) -> dict[str, float]:
    """One size, in this process."""
    jax.config.update("jax_enable_x64", True)
    began = time.perf_counter()
    komo = MAKE[kind](n)
    built = time.perf_counter()
    solution = komo.solve(progress=False)
    first = time.perf_counter()
    warm = []
    for _ in range(5):
        begin = time.perf_counter()
        komo.solve(progress=False)
        warm.append(time.perf_counter() - begin)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "build": built - began,
        "first": first - built,
        "warm": min(warm),
        "iterations": solution.iterations,
        "feasible": solution.feasible,
        "memory": peak,
    }


def table(kind: str) -> None:
    """All sizes of a kind."""
    print(f"{kind:>8} | build s | first s |  warm ms | its |  MiB | exponent")
    before = None
    for n in SIZES[kind]:
        command = [sys.executable, __file__, kind, str(n)]
        try:
            run = subprocess.run(
                command, capture_output=True, text=True, timeout=TIMEOUT
            )
        except subprocess.TimeoutExpired:
            print(f"{n:8} | more than {TIMEOUT} s")
            continue
        if run.returncode:
            print(f"{n:8} | {run.stderr.strip().splitlines()[-1]}")
            continue
        m = json.loads(run.stdout.splitlines()[-1])
        grown = ""
        each = m["warm"] / m["iterations"]
        if before is not None:
            grown = f"{np.log(each / before[1]) / np.log(n / before[0]):8.2f}"
        before = n, each
        print(
            f"{n:8} | {m['build']:7.2f} | {m['first']:7.2f} | {1e3 * m['warm']:8.2f} |"
            f" {m['iterations']:3} | {m['memory']:4.0f} | {grown}"
            f"{'' if m['feasible'] else ' not feasible'}",
            flush=True,
        )


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[2].isdigit():
        print(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))
    else:
        for kind in sys.argv[1:] or SIZES:
            table(kind)
