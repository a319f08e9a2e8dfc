"""Problem sets on which mechanisms of the solver are judged.

Random problems are stated plainly: a path to a place or pose among obstacles, from one
random state to another that is clear of them.
"""

import importlib.util
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

import posewise as pw
from posewise import FS, OT, Status

from . import motion_planning as mbm
from .statements import PROBLEMS, initial, own_starts

SHARED = Path(__file__).resolve().parents[2].parent / "shared"
TESTS = Path(__file__).resolve().parents[2] / "tests"


class Outcome(NamedTuple):
    """Success and effort of one solve."""

    success: bool
    iterations: int
    ms: float
    """Time of the processor."""


def solve(komo: pw.KOMO, repeats: int = 1) -> tuple[pw.Solution, Outcome]:
    """Solve from one start, with the fastest of some repeats."""
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        solution = komo.solve(progress=False)
        times.append(1e3 * (time.process_time() - begin))
    good = max(solution.eq, solution.ineq) < 1e-3
    return solution, Outcome(good, solution.iterations, min(times))


def reference_problems() -> Iterator[tuple[str, Outcome]]:
    """The ten problems of `komo.py`, from their own starts."""
    sys.path.insert(0, str(SHARED / "oracle/komo"))
    import scenes

    recorded_starts = json.loads((SHARED / "oracle/komo/x0.json").read_text())
    starts = recorded_starts | own_starts(scenes)
    for make in PROBLEMS:
        name = make.__name__
        komo = make(scenes)
        komo.solve(progress=False)
        for x in starts[name][:20]:
            komo.initialize(initial(name, komo, x))
            yield name, solve(komo, repeats=3)[1]


def planar_paths(count: int = 100) -> Iterator[tuple[str, Outcome]]:
    """Four links in a plane among three balls, 16 slices, from seed 1."""
    rng = np.random.default_rng(1)
    world = pw.Config()
    along_x = [0.15, 0, 0, np.sqrt(0.5), 0, np.sqrt(0.5), 0]
    for k in range(4):
        parent = f"j{k - 1}" if k else "world"
        place = [0.3 if k else 0.0, 0, 0]
        limits = [[-2.5], [2.5]]
        world.add_frame(f"j{k}", parent, joint="hingeZ", limits=limits, position=place)
        link = pw.Capsule(0.24, 0.03)
        world.add_frame(f"l{k}", f"j{k}", shape=link, pose=along_x, contact=1)
    world.add_frame("tip", "j3", position=[0.3, 0, 0])
    for ball in range(3):
        world.add_frame(f"ball{ball}", shape=pw.Sphere(0.12), contact=1)
    for k in range(4):
        for other in range(k + 1, 4):
            world.ignore_collisions(f"l{k}", f"l{other}")
    for _ in range(count):
        C = world.copy()
        while True:
            for ball in range(3):
                angle, r = rng.uniform(-np.pi, np.pi), rng.uniform(0.5, 1.1)
                place = [r * np.cos(angle), r * np.sin(angle), 0, 1, 0, 0, 0]
                C.set_pose(f"ball{ball}", place)
            start, end = rng.uniform(-2, 2, (2, 4))
            if is_clear(C, end, 0.01) and is_clear(C, start, 0.01):
                break
        C.q = end
        goal = C.pose("tip")[:3]
        C.q = start
        komo = pw.KOMO(C, 1, 16, 2)
        basics(komo, 2)
        flat = np.eye(3)[:2]
        komo.add_objective([1.0], FS.position, ["tip"], OT.eq, scale=flat, target=goal)
        yield "planar paths", solve(komo)[1]


def panda_problems(count: int = 60) -> Iterator[tuple[str, Outcome]]:
    """A Panda among four boxes: poses, and paths of 24 slices to them, from seed 2."""
    rng = np.random.default_rng(2)
    world = pw.load("panda")
    world.lock("panda_finger_joint1")
    for box in range(4):
        world.add_frame(f"box{box}", shape=pw.Box([0.15, 0.15, 0.3]), contact=1)
    for _ in range(count):
        C = world.copy()
        while True:
            for box in range(4):
                angle, r = rng.uniform(-np.pi, np.pi), rng.uniform(0.4, 0.8)
                place = [r * np.cos(angle), r * np.sin(angle), rng.uniform(0.1, 0.8)]
                C.set_pose(f"box{box}", [*place, 1, 0, 0, 0])
            start, end = rng.uniform(*C.limits, (2, 7))
            if is_clear(C, start, 0.005) and is_clear(C, end, 0.005):
                break
        C.q = end
        goal = C.pose("panda_hand")
        C.q = start
        for name, slices in (("Panda poses", 1), ("Panda paths", 24)):
            komo = pw.KOMO(C, 1, slices, 2) if slices > 1 else pw.KOMO(C)
            basics(komo, 2 if slices > 1 else 0)
            komo.add_objective([1.0], FS.pose, ["panda_hand"], OT.eq, target=goal)
            yield name, solve(komo)[1]


def motion_planning(every: int = 7) -> Iterator[tuple[str, Outcome]]:
    """Every seventh of MotionBenchMaker's; then from the path found with mu=1e4."""
    check = mbm.load_check()
    joints = check.joints("panda")
    judge, base = check.Robot("panda", joints), mbm.robot("panda", joints)
    for problems in check.problems("panda").values():
        for problem in problems[::every]:
            ends = np.stack([problem["start"], problem["goal"]])
            if min(map(np.min, judge.clearance(ends, problem["obstacles"]))) < 0:
                continue
            komo = mbm.motion(mbm.world(base, problem), problem["goal"], 64)
            yield "planning", solve(komo)[1]
            clear = komo.solve(progress=False, mu=1e4)
            if clear.feasible:
                komo.initialize(clear.path)
                yield "from a clear path", solve(komo)[1]


def random_trees(count: int = 24) -> Iterator[tuple[str, Outcome]]:
    """The random problems of the tests: a success is what they expect of the kind."""
    path = TESTS / "objectives/test_fuzz.py"
    sys.path.insert(0, str(TESTS))
    spec = importlib.util.spec_from_file_location("test_fuzz", path)
    assert spec is not None and spec.loader is not None
    fuzz = importlib.util.module_from_spec(spec)
    sys.modules["test_fuzz"] = fuzz
    spec.loader.exec_module(fuzz)
    for family in fuzz.FAMILIES:
        for k in range(count):
            kind = fuzz.KINDS[k % len(fuzz.KINDS)]
            if kind == "any":
                continue
            komo = fuzz.draw(family, kind, np.random.default_rng([family.seed, k]))
            begin = time.process_time()
            solution = komo.solve(starts=4, seed=k, progress=False)
            ms = 1e3 * (time.process_time() - begin)
            expected = solution.feasible
            if kind == "contradictory":
                expected = solution.status is Status.INFEASIBLE
            yield f"random, {kind}", Outcome(expected, solution.iterations, ms)


def basics(komo: pw.KOMO, order: int) -> None:
    """Add what all problems have: control costs, limits and collisions."""
    komo.add_control_objective(order, 0.1)
    komo.add_objective(None, FS.jointLimits, [], OT.ineq)
    komo.add_objective(None, FS.accumulatedCollisions, [], OT.ineq)


def is_clear(C: pw.Config, q: np.ndarray, distance: float) -> bool:
    """Return whether all pairs are farther apart than a distance [m]."""
    C.q = q
    return all(d > distance for *_, d in C.collisions(margin=0.05))


SETS = reference_problems, planar_paths, panda_problems, motion_planning, random_trees
