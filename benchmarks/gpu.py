"""Large batches on whatever device JAX has: milliseconds, success and compile time.

    python benchmarks/gpu.py [--count 1000] [--scenes 256] [--rounds 3] [--single]

- targets: inverse kinematics as in `benchmarks/ik.py`, checked by the solver's rows;
- paths: random starts of the path of `benchmarks/wall.py`, at most 100 iterations;
- scenes: problems of MotionBenchMaker, or where its data are missing our own of the
  same kinds (`staging/planning_scenes.py`): paths of 32 slices from straight initial
  ones, without collisions in slices. Scenes of like obstacles are one batch, of the
  four largest kinds; problems repeat where there are too few;
- meshes: inverse kinematics without collisions of an arm with its meshes, from
  `example-robot-data`; left out where that is not installed.

Each is solved once to compile it, then a few times; the table has the median.
`--single`: in single precision. `--only targets meshes`: some of them.
"""

import argparse
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from importlib.metadata import distributions

import ik
import jax
import numpy as np
import wall
from staging import motion_planning as mbm
from staging import planning_scenes
from staging.real_robots import ROBOTS, load, random_states

import posewise as pw
from posewise import FS, OT

SCENE_SLICES = 32
MESHED = "ur5"
Solve = Callable[[], list[pw.Solution]]


def targets(count: int) -> Solve:
    """Poses of random configurations, each from up to `ik.STARTS` starts."""
    C = ik.panda()
    komo, goal = ik.reaching(C)
    poses = []
    for q in np.random.default_rng(0).uniform(*C.limits, (count, C.nq)):
        C.q = q
        poses.append(C.pose(ik.TIP))
    C.q = ik.HOME
    return lambda: komo.solve_batch({goal: poses}, starts=ik.STARTS, **ik.OPTIONS)


def paths(count: int) -> Solve:
    """Random starts of one path."""
    C = wall.world()
    start, _ = wall.ends(C)
    C.q = start.q
    komo = wall.over_the_wall(C)
    return lambda: komo.solve_all(starts=count, max_iterations=100)


def scenes(count: int) -> Solve:
    """Paths among obstacles, a batch for each kind of scene."""
    if (mbm.FOLDER / "check.py").is_file():
        problems = mbm.reference_problems("panda")
    else:
        problems = planning_scenes.own_problems(5)
    groups: dict[tuple, list[dict]] = defaultdict(list)
    for some in problems.families.values():
        for problem in some:
            key = tuple((kind, name) for name, kind, *_ in problem["obstacles"])
            groups[key].append(problem)
    drawn: list[list[dict]] = []
    for group in sorted(groups.values(), key=len, reverse=True)[:4]:
        drawn.append([group[k % len(group)] for k in range(count // 4)])
    solves = [partial(solve_scenes, problems.robot, group) for group in drawn]
    return lambda: [solution for solve in solves for solution in solve()]


def solve_scenes(robot: pw.Config, problems: list[dict]) -> list[pw.Solution]:
    """Solve problems of like obstacles in one batch."""
    worlds = [mbm.world(robot, problem) for problem in problems]
    goals = np.array([problem["goal"] for problem in problems])
    komo = pw.KOMO(worlds[0], 1, SCENE_SLICES, 2)
    komo.add_control_objective(2, 0.1)
    komo.add_objective(None, FS.jointLimits, [], OT.ineq)
    komo.avoid_collisions(between=False)
    goal = komo.add_objective([1.0], FS.qItself, [], OT.eq, target=goals[0])
    ways = [
        mbm.straight(C.q, q, SCENE_SLICES) for C, q in zip(worlds, goals, strict=True)
    ]
    return komo.solve_batch({goal: goals}, worlds, initial_paths=ways, progress=False)


def meshes(count: int) -> Solve:
    """Points that a robot with meshes reaches, without collisions of its links."""
    robot = ROBOTS[MESHED]
    C = load(robot)
    C.pairs.ignore_default()
    points = []
    for q in random_states(C, np.random.default_rng(0), count):
        C.q = q
        points.append(C.pose(robot.tip)[:3])
    C.q = C.home
    komo = pw.KOMO(C)
    komo.add_control_objective(order=0, scale=0.01)
    goal = komo.add_objective(None, FS.position, [robot.tip], OT.eq)
    komo.add_objective(None, FS.accumulatedCollisions, [], OT.ineq)
    return lambda: komo.solve_batch({goal: points}, starts=4, progress=False)


PROBLEMS = {f.__name__: f for f in (targets, paths, scenes, meshes)}


def measure(name: str, count: int, rounds: int) -> None:
    """Print the row of one problem."""
    begin = time.perf_counter()
    solve = PROBLEMS[name](count)
    prepared = time.perf_counter()
    solve()
    first = time.perf_counter() - prepared
    times = []
    for _ in range(rounds):
        again = time.perf_counter()
        solutions = solve()
        times.append(time.perf_counter() - again)
    warm, good = float(np.median(times)), np.mean([s.feasible for s in solutions])
    row = (
        f"{len(solutions)} {name}",
        f"{1e3 * warm:.0f}",
        f"{1e3 * warm / len(solutions):.3g}",
        f"{good:.1%}",
        f"{first:.1f}",
        f"{first - warm:.1f}",
        f"{prepared - begin:.1f}",
    )
    print(f"| {' | '.join(row)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--scenes", type=int, default=256, help="a multiple of 4")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--single", action="store_true")
    parser.add_argument("--only", nargs="*", choices=PROBLEMS, default=[*PROBLEMS])
    args = parser.parse_args()
    jax.config.update("jax_enable_x64", not args.single)
    # of files without their meshes, and of random states that collide
    warnings.simplefilter("ignore", UserWarning)
    pw.cache_programs(False)
    kind, precision = jax.devices()[0].device_kind, ("double", "single")[args.single]
    print(f"{kind}, {precision} precision, jax {jax.__version__}\n")
    columns = "ms", "ms each", "success", "first s", "compilation s", "preparation s"
    print(f"| problem | {' | '.join(columns)} |\n|{' --- |' * 7}")
    is_installed = any(d.name == "example-robot-data" for d in distributions())
    for name in args.only:
        if name == "meshes" and not is_installed:
            print("| meshes | example-robot-data is not installed |", flush=True)
            continue
        measure(name, args.scenes if name == "scenes" else args.count, args.rounds)


if __name__ == "__main__":
    main()
