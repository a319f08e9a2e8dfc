"""Large batches on whatever device JAX has: milliseconds and success.

    python benchmarks/gpu.py [--count 1000] [--rounds 3] [--single]

Targets of inverse kinematics as in `benchmarks/ik.py`, checked by the solver's own
rows; and random starts of the path of `benchmarks/wall.py`. Each is solved once to
compile it, then a few times; the median is printed. `--single`: in single precision.
"""

import argparse
import time
from collections.abc import Callable

import ik
import jax
import numpy as np
import wall

import posewise as pw


def targets(count: int) -> Callable[[], list[pw.Solution]]:
    """Poses of random configurations, each from up to `ik.STARTS` starts."""
    C = ik.panda()
    komo, goal = ik.reaching(C)
    poses = []
    for q in np.random.default_rng(0).uniform(*C.limits, (count, C.nq)):
        C.q = q
        poses.append(C.pose(ik.TIP))
    C.q = ik.HOME
    return lambda: komo.solve_batch({goal: poses}, starts=ik.STARTS, **ik.OPTIONS)


def paths(count: int) -> Callable[[], list[pw.Solution]]:
    """Random starts of one path."""
    C = wall.world()
    start, _ = wall.ends(C)
    C.q = start.q
    komo = wall.over_the_wall(C)
    return lambda: komo.solve_all(starts=count, max_iterations=100)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--single", action="store_true")
    args = parser.parse_args()
    jax.config.update("jax_enable_x64", not args.single)
    device = jax.devices()[0]
    print(f"{device.device_kind}, {'single' if args.single else 'double'} precision")
    for problem in (targets, paths):
        solve = problem(args.count)
        begin = time.perf_counter()
        solve()
        first = time.perf_counter() - begin
        times = []
        for _ in range(args.rounds):
            begin = time.perf_counter()
            found = solve()
            times.append(time.perf_counter() - begin)
        warm, good = np.median(times), np.mean([s.feasible for s in found])
        print(
            f"{args.count} {problem.__name__}: {1e3 * warm:.1f} ms, success {good:.1%},"
            f" compilation {first - warm:.1f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
