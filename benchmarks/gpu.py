"""Large batches on whatever device JAX has: milliseconds, success and compile time.

    python benchmarks/gpu.py [--count 1000] [--scenes 256] [--rounds 3]
        [--precision single] [--only targets paths ...]

- targets: inverse kinematics as in `benchmarks/ik.py`, checked by the solver's rows;
- self_targets: the same, free of collisions of the arm with itself;
- paths: random starts of the path of `benchmarks/wall.py`, at most 100 iterations;
- scenes: problems of MotionBenchMaker, or where its data are missing our own of the
  same kinds (`staging/planning_scenes.py`): paths of 32 slices from straight initial
  ones, without collisions in slices. Scenes of like obstacles are one batch, of the
  four largest kinds; problems repeat where there are too few;
- certified: the same, free of collisions between slices, too, with a certificate;
- placements: starts of a mug that is put beside a bowl on a table;
- gradients: of solutions by their targets, implicitly; success: they are finite;
- meshes: inverse kinematics without collisions of an arm with its meshes, from
  `example-robot-data`;
- kinematics: poses of all frames of the arm;
- pyroki_targets, mjx_kinematics: the same by PyRoki (`almond-pyroki`; eight seeds each,
  success within 1 mm and 0.01 rad) and by MJX (`mujoco-mjx`).

Each is solved once to compile it, then a few times; the table has the median, in double
and in single precision, each in another process. What needs a library that is not
installed is left out, with a line that says so.
"""

import argparse
import subprocess
import sys
import time
import warnings

import jax
import numpy as np
from staging.batch_peers import PEERS
from staging.batch_problems import PROBLEMS

import posewise as pw

ALL = PROBLEMS | PEERS
COLUMNS = (
    "problem",
    "precision",
    "ms",
    "ms each",
    "success",
    "first s",
    "compilation s",
    "preparation s",
    "device",
    "jax",
)


def measure(name: str, precision: str, count: int, rounds: int) -> None:
    """Print the row of one problem."""
    begin = time.perf_counter()
    try:
        solve = ALL[name](count)
    except ImportError as error:
        print(f"| {name} | {error} |", flush=True)
        return
    prepared = time.perf_counter()
    solve()
    first = time.perf_counter() - prepared
    times = []
    for _ in range(rounds):
        again = time.perf_counter()
        good = solve()
        times.append(time.perf_counter() - again)
    warm = float(np.median(times))
    row = (
        f"{len(good)} {name}",
        precision,
        f"{1e3 * warm:.3g}",
        f"{1e3 * warm / len(good):.3g}",
        f"{np.mean(good):.1%}",
        f"{first:.1f}",
        f"{first - warm:.1f}",
        f"{prepared - begin:.1f}",
        jax.devices()[0].device_kind,
        jax.__version__,
    )
    print(f"| {' | '.join(row)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--scenes", type=int, default=256, help="a multiple of 4")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--precision", choices=["double", "single"])
    parser.add_argument("--only", nargs="*", choices=ALL, default=[*ALL])
    args = parser.parse_args()
    if args.precision:
        # of files without their meshes, of random states that collide, and of float32
        warnings.simplefilter("ignore", UserWarning)
        jax.config.update("jax_enable_x64", args.precision == "double")
        pw.cache_programs(False)
        for name in args.only:
            count = args.scenes if name in ("scenes", "certified") else args.count
            measure(name, args.precision, count, args.rounds)
        return
    # This process starts no device: memory of a GPU belongs to one process at a time.
    print(f"| {' | '.join(COLUMNS)} |\n|{' --- |' * len(COLUMNS)}", flush=True)
    sizes = [
        f"--{name}={getattr(args, name)}" for name in ("count", "scenes", "rounds")
    ]
    for name in args.only:
        for precision in ("double", "single"):
            row = [f"--precision={precision}", "--only", name]
            subprocess.run([sys.executable, __file__, *sizes, *row], check=False)


if __name__ == "__main__":
    main()
