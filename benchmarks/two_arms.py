"""Two facing Pandas carry a tray, level, from table to table: a closed chain.

    python benchmarks/two_arms.py [--tasks 20] [--starts 8] [--between 0.002]

Tasks have random sizes of the tray, distances of the bases, and places of the tray at
the start and at the end. Both hands hold it at its ends all the time, and it stays
level; a task counts if one inverse kinematics each finds hands for the start and for
the goal. Four statements of the same task: *attach* fixes the tray in the left hand and
keeps its pose in the right one by equations; *switch* attaches it by a mode switch;
*poses* and *positions* keep both hands' grasps of a free tray by equations. Prints for
each the share of paths that are certified at the first call of `solve`, the seconds,
and the largest deviation of a grasp between slices, sampled on the path.
"""

import argparse
import time
from collections.abc import Iterator

import jax

jax.config.update("jax_enable_x64", True)

import numpy as np  # noqa: E402

import posewise as pw  # noqa: E402
from posewise import FS, OT  # noqa: E402

STATEMENTS = "attach", "switch", "poses", "positions"
SIDES = "left", "right"
FORWARD = [0.5, 0.5, 0.5, 0.5]
"""Orientation of a hand that reaches along x, its fingers above and below."""
BACKWARD = [0.5, 0.5, -0.5, -0.5]
MARGIN = 0.01
HEIGHT = 0.25
"""Height of the tables [m]."""
ATTEMPTS = 400
"""Random tasks of which as many as asked for are taken (count)."""


def world(rng: np.random.Generator) -> tuple[pw.Config, np.ndarray]:
    """Return a random world, and the place of the tray at the end."""
    gap, length, width = rng.uniform([1.1, 0.35, 0.2], [1.3, 0.5, 0.3])
    C = pw.Config()
    C.load("panda", "left_", pose=[0, 0, 0, 1, 0, 0, 0])
    C.load("panda", "right_", pose=[gap, 0, 0, 0, 0, 0, 1])
    for side in SIDES:
        C.set_joint(f"{side}_panda_finger_joint1", 0.02)
        C.lock(f"{side}_panda_finger_joint1")
    for name, y in (("table", -0.35), ("other_table", 0.35)):
        C.add_frame(name, position=[gap / 2, y, HEIGHT / 2])
        C.set_shape(name, pw.Box([0.2, 0.3, HEIGHT]))
        C.set_contact(name, 1)
    x, y = gap / 2 + rng.uniform(-0.05, 0.05, 2), rng.uniform(-0.08, 0.08, 2)
    z = HEIGHT + 0.01 + MARGIN + 2e-3
    start, goal = [x[0], y[0] - 0.35, z], np.array([x[1], y[1] + 0.35, z])
    C.add_frame("tray", joint="free", pose=[*start, 1, 0, 0, 0])
    C.set_shape("tray", pw.Box([length, width, 0.02]))
    C.set_contact("tray", 1)
    ends = (("left", -1, FORWARD), ("right", 1, BACKWARD))
    for side, sign, quaternion in ends:
        place = [sign * (length / 2 - 0.01), 0, 0]
        C.add_frame(f"{side}_grip", "tray", position=place, quaternion=quaternion)
    hands = [f for f in C.frame_names if "finger" in f or f.endswith("panda_hand")]
    C.ignore_collisions("tray", hands)
    return C, goal


def held(C: pw.Config, place: np.ndarray) -> pw.Solution:
    """Return a configuration with both hands at the tray at a place."""
    komo = pw.KOMO(C)
    komo.add_control_objective(order=0, scale=0.1)
    pose = [*place, 1, 0, 0, 0]
    komo.add_objective(None, FS.pose, ["tray"], OT.eq, target=pose, scale=3)
    for side in SIDES:
        frames = [f"{side}_panda_hand_tcp", f"{side}_grip"]
        komo.add_objective(None, FS.poseLog, frames, OT.eq, scale=3)
    komo.avoid_collisions(MARGIN, self_margin=0.0)
    return komo.solve(starts=32, progress=False)


def tasks(count: int) -> Iterator[tuple[pw.Config, np.ndarray]]:
    """Yield worlds at their start, and the place of the tray at the end."""
    yielded = 0
    for seed in range(ATTEMPTS):
        C, goal = world(np.random.default_rng(seed))
        start, end = held(C, C.pose("tray")[:3]), held(C, goal)
        if start.feasible and end.feasible:
            C.q = start.q
            yield C, goal
            yielded += 1
        if yielded == count:
            return


def carry(
    C: pw.Config,
    goal: np.ndarray,
    statement: str,
    slices: int,
    between: float | None = None,
) -> pw.KOMO:
    """Return the path problem of a task by one of the statements."""
    C = C.copy()
    if statement == "attach":
        C.attach("left_panda_hand_tcp", "tray")
    komo = pw.KOMO(C, 1, slices, 2, duration_per_phase=4.0)
    komo.add_control_objective(order=2, scale=0.1)
    by_equations = ["right"]
    if statement == "switch":
        frames = ["left_panda_hand_tcp", "tray"]
        komo.add_mode_switch([0.0, 1.0], "stable", frames)
    elif statement != "attach":
        by_equations = [*SIDES]
    for side in by_equations:
        frames = [f"{side}_panda_hand_tcp", "tray"]
        symbols = [FS.poseRel]
        if statement == "positions":
            symbols = [FS.positionRel, FS.quaternionRel]
        for symbol in symbols:
            now = C.eval(symbol, frames)[0]
            numbers = dict(target=now, scale=10, between=between)
            komo.add_objective(None, symbol, frames, OT.eq, **numbers)
    up = [0, 0, 1]
    komo.add_objective(None, FS.vectorZ, ["tray"], OT.eq, target=up)
    komo.add_objective([1.0], FS.position, ["tray"], OT.eq, target=goal, scale=10)
    komo.add_objective([1.0], FS.qItself, [], OT.eq, order=1)
    komo.avoid_collisions(MARGIN, self_margin=0.0)
    return komo


def deviation(solution: pw.Solution, begin: float) -> float:
    """Return by how much a hand leaves its grasp at most [m], sampled after a time."""
    C, worst = solution.world_at(0), 0.0
    frames = [[f"{side}_panda_hand_tcp", "tray"] for side in SIDES]
    names = solution.config.joint_names
    columns = C.joints.coordinates([name for name in names if name in C.joint_names])
    source = solution.config.joints.coordinates(
        [name for name in names if name in C.joint_names]
    )
    first: list[np.ndarray] = []
    for t in np.linspace(begin, solution.times[-1], 1000):
        q = C.q
        q[columns] = solution.at_time(t)[source]
        C.q = q
        first = first or [C.eval(FS.positionRel, pair)[0] for pair in frames]
        for pair, grasp in zip(frames, first, strict=True):
            worst = max(worst, np.linalg.norm(C.eval(FS.positionRel, pair)[0] - grasp))
    return worst


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tasks", type=int, default=20)
    parser.add_argument("--starts", type=int, default=8)
    parser.add_argument("--slices", type=int, default=16)
    parser.add_argument("--statements", nargs="+", default=[*STATEMENTS])
    parser.add_argument("--between", type=float, help="bound between slices [m]")
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    every = [*tasks(args.tasks)]
    print("| statement | certified | median s | slowest s | deviation mm |")
    print("| --- | --- | --- | --- | --- |")
    for statement in args.statements:
        seconds, deviations = [], []
        for k, (C, goal) in enumerate(every):
            komo = carry(C, goal, statement, args.slices, args.between)
            begin = time.perf_counter()
            solution = komo.solve(seed=0, starts=args.starts, progress=False)
            seconds.append(time.perf_counter() - begin)
            if solution.feasible:
                # A mode switch holds the tray from the problem's first slice on.
                deviations.append(1e3 * deviation(solution, 4.0 / args.slices))
            if args.verbose:
                print(k, solution, solution.start, f"{seconds[-1]:.1f}", flush=True)
                if not solution.feasible:
                    print(solution.report(), flush=True)
        print(
            f"| {statement} | {len(deviations)}/{len(every)}"
            f" | {np.median(seconds):.1f} | {max(seconds):.1f}"
            f" | {max(deviations, default=np.nan):.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
