"""Paths of MotionBenchMaker's problems: feasible, valid between slices, milliseconds.

    python benchmarks/mbm.py [--robot panda] [--slices 64] [--starts 4] [--every 1]

Problems and the check are the reference data's: *feasible* is what posewise says of
its slices, *valid* what the check says of straight motion between them. The initial
path is straight. `--every 5` takes every fifth problem. `--valid-start`: the initial
path is a found valid one, so that nothing has to be found.
"""

import argparse
import sys
import time
from collections import defaultdict
from pathlib import Path

import jax

jax.config.update("jax_enable_x64", True)

import numpy as np  # noqa: E402
from staging import motion_planning as mbm  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--robot", default="panda", choices=["panda", "ur5"])
    parser.add_argument("--slices", type=int, default=64)
    parser.add_argument("--starts", type=int, default=4)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--valid-start", action="store_true")
    parser.add_argument("--oracle", type=Path, default=mbm.FOLDER)
    args = parser.parse_args()
    if not (args.oracle / "check.py").is_file():
        sys.exit(f"No reference data in {args.oracle}: give --oracle FOLDER.")
    check = mbm.load_check(args.oracle)
    joints = check.joints(args.robot)
    judge = check.Robot(args.robot, joints)
    base = mbm.robot(args.robot, joints, args.oracle)
    print(f"{'set':18s} count feasible  valid   median ms  mean ms  passes")
    rows = defaultdict(list)
    for name, problems in check.problems(args.robot).items():
        for problem in problems[:: args.every]:
            ends = np.stack([problem["start"], problem["goal"]])
            if min(map(np.min, judge.clearance(ends, problem["obstacles"]))) < 0:
                continue
            C = mbm.world(base, problem)
            komo = mbm.motion(C, problem["goal"], args.slices)
            if args.valid_start:
                found = komo.solve(starts=args.starts, progress=False, mu=1e4)
                if not check.valid(judge, problem, found.path):
                    continue
                komo.initialize(found.path)
            starts = 1 if args.valid_start else args.starts
            begin = time.perf_counter()
            solution = komo.solve(starts=starts, progress=False)
            seconds = time.perf_counter() - begin
            valid = check.valid(judge, problem, solution.path)
            row = solution.feasible, valid, 1e3 * seconds, solution.iterations
            rows[name].append(row)
        if rows[name]:
            print(line(name, rows[name]), flush=True)
    print(line("all", [row for some in rows.values() for row in some]))


def line(name: str, rows: list) -> str:
    """Return a line of the table."""
    feasible, valid, ms, passes = np.array(rows, float).T
    return (
        f"{name:18s} {len(rows):5d} {100 * feasible.mean():6.1f} %"
        f" {100 * valid.mean():6.1f} %"
        f" {np.median(ms):9.1f} {ms.mean():8.1f} {np.median(passes):7.0f}"
    )


if __name__ == "__main__":
    main()
