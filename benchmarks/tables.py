"""Scenes that set themselves: tables, a kitchen, a shelf, a move: success and times.

    python benchmarks/tables.py [--only table counter ...] [--runs 20]

In each run all objects lie about, in any orientation, and all are placed at once by the
first call. Success: every constraint holds, predicates exactly, and nothing overlaps by
more than 1 mm. Variety: of three placements that are asked for, how many are found that
differ. Stays: nothing moves by more than 1 cm when MuJoCo lets go for two seconds.

Prints seconds of the first solve (with compilation), median and longest seconds of the
others, the success rate, the variety, and how many of the successes stay.
"""

import argparse
import time

import jax

jax.config.update("jax_enable_x64", True)

import numpy as np  # noqa: E402
from staging.packing_worlds import good, stays  # noqa: E402
from staging.table_scenes import SCENES  # noqa: E402

import posewise as pw  # noqa: E402

STARTS = 16
VARIETY = 3
MAX_SECONDS = 60


def measure(name: str, runs: int) -> str:
    seconds, success, still, variety = [], [], [], []
    for run in range(-1, runs):
        problem = SCENES[name](run + 1)

        def solve(count: int, problem=problem, run=run) -> list[pw.Placement]:
            return pw.solve_placement(
                problem.C,
                problem.constraints,
                problem.names,
                starts=STARTS,
                count=count,
                seed=run + 1,
                progress=False,
                max_time=MAX_SECONDS,
            )

        began = time.perf_counter()
        best = solve(1)[0]
        seconds.append(time.perf_counter() - began)
        best.apply(problem.C)
        success.append(best.feasible and good(problem))
        if success[-1]:
            still.append(stays(problem))
        if run >= 0 and run % 5 == 0:
            variety.append(sum(p.feasible for p in solve(VARIETY)))
    first, *warm = seconds
    return (
        f"{name:28} {first:6.1f} {np.median(warm):6.2f} {max(warm):6.2f}"
        f" {100 * np.mean(success[1:]):5.0f} % {np.mean(variety):5.1f}"
        f" {100 * np.mean(still or [0]):5.0f} %"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", default=[""])
    parser.add_argument("--runs", type=int, default=20)
    options = parser.parse_args()
    print(
        f"{'scene':28} {'first':>6} {'warm':>6} {'max':>6} {'done':>7}"
        f" {'of 3':>5} {'stays':>7}"
    )
    for name in SCENES:
        if any(part in name for part in options.only):
            print(measure(name, options.runs), flush=True)


if __name__ == "__main__":
    main()
