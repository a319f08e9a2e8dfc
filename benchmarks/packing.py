"""Many objects placed at once: packing, stacking, tables: success rates and times.

    python benchmarks/packing.py [--only books tower ...] [--runs 20]

In each run the objects start somewhere above the scene, in any orientation, and all are
placed at once. Success: every predicate holds exactly, nothing overlaps by more than
1 mm. Stays, where nothing can roll: nothing moves by more than 1 cm when MuJoCo lets go
for two seconds.

Prints seconds of the first solve (with compilation), median and longest seconds of the
others, the success rate, and how many stay.
"""

import argparse
import time

import jax

jax.config.update("jax_enable_x64", True)

import numpy as np  # noqa: E402
from staging.packing_worlds import PROBLEMS, good, stays  # noqa: E402

import posewise as pw  # noqa: E402

STARTS = 16
FLAT = [name for name in PROBLEMS if not name.endswith(("on a table", "in a rack"))]
"""Problems without objects that roll."""


def measure(name: str, runs: int) -> str:
    seconds, success, still = [], [], []
    for run in range(-1, runs):
        problem = PROBLEMS[name](run + 1)
        began = time.perf_counter()
        placements = pw.solve_placement(
            problem.C,
            problem.constraints,
            problem.names,
            starts=STARTS,
            count=1,
            seed=run + 1,
            progress=False,
        )
        seconds.append(time.perf_counter() - began)
        placements[0].apply(problem.C)
        success.append(good(problem))
        still.append(success[-1] and name in FLAT and stays(problem))
    first, *warm = seconds
    line = f"{name:28} {first:6.1f} {np.median(warm):6.2f} {max(warm):6.2f}"
    shares = [success, still] if name in FLAT else [success]
    return line + "".join(f" {100 * np.mean(x[1:]):5.0f} %" for x in shares)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", default=[""])
    parser.add_argument("--runs", type=int, default=20)
    options = parser.parse_args()
    print(
        f"{'problem':28} {'first':>6} {'warm':>6} {'max':>6} {'done':>7} {'stays':>7}"
    )
    for name in PROBLEMS:
        if any(part in name for part in options.only):
            print(measure(name, options.runs), flush=True)


if __name__ == "__main__":
    main()
