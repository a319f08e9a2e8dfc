"""MotionBenchMaker's problems: certified paths, an independent check, milliseconds.

    python benchmarks/mbm.py [--robot ur5] [--slices 64] [--starts 8] [--every 4]

Each problem asks for a path between two configurations among boxes and capsules, from a
straight initial path; see `staging/motion_planning.py`. *Feasible* is what posewise
says: limits, goal, and certified distances in slices and between them. *Valid* is what
the check of the reference data says of straight motion between slices, *wrong* what is
feasible but not valid. Milliseconds are of one core (CPU time, median and 90 %) and of
the wall, of the call of `solve`. The first problem of a family is solved once before,
untimed, because another structure of world is compiled. *Length* is of feasible paths,
in joint coordinates [rad]; *seconds* is their duration after `retime`.

*Planned* and the five columns after it are of `KOMO.plan`, without optimizing, by the
planner of `--planner`, such as `ompl`.

rai (`robotic`, where installed) solves the same problems in turns: KOMO, one start, 32
slices, where there are no meshes. *Ratio*: its median over ours. rai 0.4.2 measures no
depth once the core of a shape, of a sphere its centre, is inside another one: it then
ends early, infeasible.

`--every 4` takes every fourth problem, `--families cage box` those of some families.
Without the reference data, and with `--own`, problems are drawn for our Panda
(`staging/planning_scenes.py`), `--count` of a family, among which is a window 3 cm
wider than the hand; the check is by our own exact distances at 0.01 rad.
"""

import argparse
import importlib.util
import os
import time
import warnings
from pathlib import Path
from typing import NamedTuple, get_args

import jax

jax.config.update("jax_enable_x64", True)

import numpy as np  # noqa: E402
from staging import motion_planning as mbm  # noqa: E402
from staging import planning_scenes  # noqa: E402

import posewise as pw  # noqa: E402
from posewise.objectives.planning.planner import PlannerName  # noqa: E402

PLANNERS = get_args(PlannerName)
RAI_SLICES = 32
HEADER = (
    "| problems | count | feasible | valid | wrong | ms | 90 % | wall ms | length"
    " | seconds | planned | valid | wrong | ms | 90 % | length"
    " | rai feasible | rai valid | rai ms | ratio |"
)


class Run(NamedTuple):
    """One problem: how it ended, and the time that it took."""

    feasible: float
    valid: float
    ms: float
    wall: float
    length: float
    seconds: float
    planned: float
    plan_valid: float
    plan_ms: float
    plan_length: float
    rai_feasible: float
    rai_valid: float
    rai_ms: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--robot", default="panda", choices=["panda", "ur5", "fetch"])
    parser.add_argument("--slices", type=int, default=64)
    parser.add_argument("--starts", type=int, default=8)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--oracle", type=Path, default=mbm.FOLDER)
    parser.add_argument("--own", action="store_true")
    parser.add_argument("--planner", default="rrt-connect", choices=PLANNERS)
    parser.add_argument("--families", nargs="*", default=[])
    parser.add_argument("--count", type=int, default=20)
    args = parser.parse_args()
    warnings.simplefilter("ignore")  # of files without their meshes
    if args.own or not (args.oracle / "check.py").is_file():
        print("Problems of our own, for our Panda:")
        names = args.families or planning_scenes.FAMILIES
        problems = planning_scenes.own_problems(args.count, names=names)
    else:
        problems = mbm.reference_problems(args.robot, args.oracle)
    print(HEADER, "| --- " * HEADER.count(" | ") + "| --- |", sep="\n")
    runs = []
    for family, some in problems.families.items():
        if args.families and family not in args.families:
            continue
        settings = args.slices, args.starts, args.planner
        run(problems, some[0], *settings)  # compiles
        family_runs = [
            run(problems, problem, *settings) for problem in some[:: args.every]
        ]
        print(line(family, family_runs), flush=True)
        runs += family_runs
    print(line("all", runs))
    print(f"load {os.getloadavg()[0]:.0f}")


def run(
    problems: mbm.ProblemSet,
    problem: dict,
    slices: int,
    starts: int,
    planner: PlannerName,
) -> Run:
    """Solve a problem by posewise, and by rai where that is installed."""
    C = mbm.world(problems.robot, problem)
    komo = mbm.motion(C, problem["goal"], slices)
    begin = time.perf_counter(), time.process_time()
    solution = komo.solve(starts=starts, progress=False)
    wall, ms = time.perf_counter() - begin[0], time.process_time() - begin[1]
    seconds = np.nan
    if solution.feasible and importlib.util.find_spec("toppra"):
        seconds = solution.retime().times[-1]
    begin_plan = time.process_time()
    komo = mbm.motion(C, problem["goal"], slices)
    plan = komo.plan(planner=planner, progress=False)
    plan_ms = 1e3 * (time.process_time() - begin_plan)
    peer = np.nan, np.nan, np.nan
    has_meshes = any(kind == "mesh" for _, kind, *_ in problem["obstacles"])
    if importlib.util.find_spec("robotic") and not has_meshes:
        from staging import rai_motion

        rai_run = rai_motion.solve(C, problem["goal"], RAI_SLICES)
        peer = rai_run.is_feasible, problems.is_valid(problem, rai_run.path), rai_run.ms
    valid = problems.is_valid(problem, solution.path)
    return Run(
        *(solution.feasible, valid, 1e3 * ms, 1e3 * wall),
        *(length_of(problem, solution), seconds),
        *(plan.feasible, problems.is_valid(problem, plan.path), plan_ms),
        length_of(problem, plan),
        *peer,
    )


def length_of(problem: dict, solution: pw.Solution) -> float:
    """Return the length of a feasible path in joint coordinates [rad], else NaN."""
    if not solution.feasible:
        return np.nan
    whole = np.vstack([problem["start"], solution.path])
    return float(np.linalg.norm(np.diff(whole, axis=0), axis=1).sum())


def line(name: str, runs: list[Run]) -> str:
    """Return a line of the table."""
    of = Run(*np.array(runs, float).T)
    wrong = int(((of.feasible == 1) & (of.valid == 0)).sum())
    plan_wrong = int(((of.planned == 1) & (of.plan_valid == 0)).sum())
    ms, rai_ms = np.median(of.ms), np.median(of.rai_ms)
    cells = [
        f"{name} | {len(runs)} | {100 * of.feasible.mean():.1f} %",
        f"{100 * of.valid.mean():.1f} % | {wrong} | {ms:.0f}",
        f"{np.quantile(of.ms, 0.9):.0f} | {np.median(of.wall):.0f}",
        f"{np.nanmedian(of.length):.1f} | {np.nanmedian(of.seconds):.2f}",
        f"{100 * of.planned.mean():.1f} % | {100 * of.plan_valid.mean():.1f} %",
        f"{plan_wrong} | {np.median(of.plan_ms):.0f}",
        f"{np.quantile(of.plan_ms, 0.9):.0f} | {np.nanmedian(of.plan_length):.1f}",
        f"{100 * of.rai_feasible.mean():.0f} % | {100 * of.rai_valid.mean():.0f} %",
        f"{rai_ms:.0f} | {rai_ms / ms:.1f}",
    ]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
