"""Solves again after a small change, from the last solution: milliseconds of a cycle.

    python benchmarks/receding.py [--only free mbm] [--problems 3] [--cycles 20]

A cycle moves a frame by 1 cm, back and forth, and solves again with
`komo.initialize(solution)`; its time is that of all calls. *free*: a Panda's path of 16
slices to a target, at rest at the end, no collisions. *shift*: the same with
`komo.shift(1)` instead, towards a target that stays. *mbm*: scenes of the reference
data, the hand at a target pose, without collisions in slices; the target moves, or the
obstacles in turn. Two lines each: with default options, and with `cost_tolerance=1e-3`
and `kkt_tolerance=0.1`, which are enough for a path of which only the next slices are
played. Prints median and 90th percentile of a cycle, evaluated points of a solve,
share of feasible solves, and the mean cost relative to cold solves.
"""

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import jax

jax.config.update("jax_enable_x64", True)

import numpy as np  # noqa: E402
from staging import motion_planning as mbm  # noqa: E402

import posewise as pw  # noqa: E402
from posewise import FS, OT  # noqa: E402

ROUGH = dict(cost_tolerance=1e-3, kkt_tolerance=0.1)
STEP = 0.01
"""By how much a frame moves from cycle to cycle [m]."""


class Cycle(NamedTuple):
    """A solve after a change, and a cold one of the same problem."""

    ms: float
    points: int
    feasible: bool
    cost_ratio: float


def reaching() -> pw.KOMO:
    """Return a Panda's path to a target, at rest at its end."""
    C = pw.load("panda")
    C.lock("panda_finger_joint1")
    C.add_frame("target", position=[0.5, 0.2, 0.5])
    komo = pw.KOMO(C, 1, 16, 2, 2.0)
    komo.add_control_objective(2, 0.1)
    hand = ["panda_hand_tcp", "target"]
    komo.add_objective([1.0], FS.positionDiff, hand, OT.eq, scale=10)
    komo.add_objective([1.0], FS.qItself, [], OT.eq, order=1)
    return komo


def among_obstacles(base: pw.Config, problem: dict, slices: int) -> pw.KOMO:
    """Return the path problem of a scene, to the pose of its goal."""
    C, goal = mbm.world(base, problem), np.array(problem["goal"])
    at_goal, hand = C.copy(), "panda_hand"
    at_goal.q = goal
    C.add_frame("target", pose=at_goal.pose(hand))
    komo = pw.KOMO(C, 1, slices, 2)
    komo.add_control_objective(2, 0.1)
    komo.add_objective(None, FS.accumulatedCollisions, [], OT.ineq, margin=mbm.MARGIN)
    komo.add_objective([1.0], FS.poseDiff, [hand, "target"], OT.eq, scale=10)
    komo.initialize(mbm.straight(C.q, goal, slices))
    return komo


def cycles(
    komo: pw.KOMO, frames: list[str], count: int, axis: int, options: dict
) -> Iterator[Cycle]:
    """Yield cycles in which frames move in turn."""
    C = komo.config
    solution = komo.solve(progress=False)
    if not solution.feasible:
        return
    initial, start = komo.initial, {name: C.pose(name) for name in frames}
    for k in range(count + 2):
        name = frames[k // 2 % len(frames)]
        pose = start[name].copy()
        pose[axis] += STEP * (k % 2 == 0)
        begin = time.perf_counter()
        C.set_pose(name, pose)
        komo.initialize(solution)
        solution = komo.solve(progress=False, **options)
        ms = 1e3 * (time.perf_counter() - begin)
        komo.initialize(initial)
        cold = komo.solve(progress=False)
        if k >= 2:
            ratio = solution.sos / cold.sos if cold.feasible else np.nan
            yield Cycle(ms, solution.iterations, solution.feasible, ratio)


def shifts(komo: pw.KOMO, count: int, options: dict) -> Iterator[Cycle]:
    """Yield cycles of receding horizon."""
    solution = komo.solve(progress=False)
    for k in range(count + 2):
        begin = time.perf_counter()
        komo.shift(1)
        solution = komo.solve(progress=False, **options)
        ms = 1e3 * (time.perf_counter() - begin)
        if k >= 2:
            yield Cycle(ms, solution.iterations, solution.feasible, np.nan)


def report(name: str, measured_cycles: list[Cycle]) -> None:
    """Print a line of the table."""
    if not measured_cycles:
        print(f"{name:34s} no feasible solution to begin with")
        return
    ms, points, feasible, ratio = np.array(measured_cycles, float).T
    low, high = np.quantile(ms, [0.5, 0.9])
    known = ratio[np.isfinite(ratio)]
    cost = f"{np.median(known):8.3f}" if len(known) else "       -"
    print(
        f"{name:34s} {len(ms):5d} {low:8.2f} {high:8.2f} {np.median(points):7.0f}"
        f" {100 * feasible.mean():7.1f} % {cost}",
        flush=True,
    )


def both(name: str, run: Callable[[dict], list[Cycle]]) -> None:
    """Print the lines of a problem with default and with rough options."""
    report(name, run({}))
    report(f"{name}, rough", run(ROUGH))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="+", default=["free", "mbm"])
    parser.add_argument("--problems", type=int, default=3)
    parser.add_argument("--cycles", type=int, default=20)
    parser.add_argument("--slices", type=int, nargs="+", default=[16, 32])
    parser.add_argument("--oracle", type=Path, default=mbm.FOLDER)
    args = parser.parse_args()
    n = args.cycles
    head = "cycles   median      p90  points  feasible     cost"
    print(f"{'':34s} {head}")
    if "free" in args.only:
        both("free", lambda o: [*cycles(reaching(), ["target"], 5 * n, 1, o)])
        both("shift", lambda o: [*shifts(reaching(), n, o)])
    if "mbm" not in args.only:
        return
    if not (args.oracle / "check.py").is_file():
        sys.exit(f"No reference data in {args.oracle}: give --oracle FOLDER.")
    check = mbm.load_check(args.oracle)
    with warnings.catch_warnings():
        # The reference data names meshes that it does not contain.
        warnings.simplefilter("ignore")
        base = mbm.robot("panda", check.joints("panda"), args.oracle)
    sets = check.problems("panda")
    for slices in args.slices:
        for moved in ("target", "obstacles"):
            every: dict[str, list[Cycle]] = {"": [], ", rough": []}
            for problem in [p for s in sets.values() for p in s[: args.problems]]:
                for label, options in (("", {}), (", rough", ROUGH)):
                    komo = among_obstacles(base, problem, slices)
                    names = [f"obstacle_{o[0]}" for o in problem["obstacles"]]
                    frames = ["target"] if moved == "target" else names
                    every[label] += cycles(komo, frames, n, 2, options)
            for label, measured_cycles in every.items():
                report(f"mbm, {slices} slices, {moved} move{label}", measured_cycles)


if __name__ == "__main__":
    main()
