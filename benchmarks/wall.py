"""The Panda reaches over a wall: milliseconds, success, penetration between slices.

    python benchmarks/wall.py [--runs 10]

PyRoki's example 07 with 25 slices: the hand points down on one side of a wall and must
do so on the other side, at rest, with small accelerations. Pose, rest and collisions
(among links, with wall and ground) are hard constraints. The joint paths that a run
begins with are straight lines to the goal's inverse kinematics, with a little noise;
none of them is free of collisions. The solution is checked in many more places than it
has slices: less than 2 mm apart, measured at the hand.
"""

import argparse
import os
import time
from typing import NamedTuple

import jax

jax.config.update("jax_enable_x64", True)

import numpy as np  # noqa: E402

import posewise as pw  # noqa: E402
from posewise import FS, OT  # noqa: E402

HAND = "panda_hand"
SLICES, SECONDS = 25, 2.0
DOWN = [0.0, 0.0, 1.0, 0.0]
START, GOAL = [0.5, -0.3, 0.2, *DOWN], [0.5, 0.3, 0.2, *DOWN]
MARGIN = 0.02
"""Least clearance in slices, so that there is no contact between them [m]."""
SPACING = 2e-3
"""Largest distance, at the hand, between configurations that are checked [m]."""


def world() -> pw.Config:
    """Return the arm, the ground and the wall."""
    C = pw.load("panda")
    C.lock("panda_finger_joint1")
    C.add_frame("ground", shape=pw.Plane(), contact=1)
    wall = pw.Box([0.4, 0.1, 0.4])
    C.add_frame("wall", position=[0.5, 0, 0.2], shape=wall, contact=1)
    C.q = [0.0, -0.5, 0.0, -2.0, 0.0, 2.0, 0.785]
    return C


def ends(C: pw.Config) -> list[pw.Solution]:
    """Inverse kinematics of start and goal, clear of everything."""
    komo = pw.KOMO(C)
    komo.add_control_objective(0, 0.1)
    komo.add_objective(None, FS.accumulatedCollisions, [], OT.ineq, margin=MARGIN)
    hand = komo.add_objective(None, FS.pose, [HAND], OT.eq)
    return komo.solve_batch({hand: [START, GOAL]}, starts=8)


def over_the_wall(C: pw.Config) -> pw.KOMO:
    """The path problem, from the state of C."""
    komo = pw.KOMO(C, 1, SLICES, 2, SECONDS)
    komo.add_control_objective(2, 0.01)
    komo.add_objective([1.0], FS.pose, [HAND], OT.eq, target=GOAL)
    komo.add_objective([1.0], FS.qItself, [], OT.eq, order=1, scale=0.1)
    komo.add_objective(None, FS.accumulatedCollisions, [], OT.ineq, margin=MARGIN)
    return komo


class Nearest(NamedTuple):
    """The least distance along a path."""

    distance: float
    pair: tuple[str, str]


def nearest(C: pw.Config, path: np.ndarray) -> Nearest:
    """On straight lines between slices, in places less than `SPACING` apart."""
    C = C.copy()
    least = Nearest(np.inf, ("", ""))
    for a, b in zip(path[:-1], path[1:], strict=True):
        hand = []
        for q in (a, b):
            C.q = q
            hand.append(C.pose(HAND)[:3])
        pieces = int(np.linalg.norm(hand[1] - hand[0]) / SPACING) + 2
        for share in np.linspace(0, 1, pieces, endpoint=False):
            C.q = a + share * (b - a)
            for first, second, distance in C.collisions(margin=2 * MARGIN)[:1]:
                least = min(least, Nearest(distance, (first, second)))
    return least


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=10)
    args = parser.parse_args()
    print(f"load of the machine before: {os.getloadavg()[0]:.1f}")

    C = world()
    begin = time.perf_counter()
    start, goal = ends(C)
    first = time.perf_counter() - begin
    begin = time.perf_counter()
    ends(C)
    again = time.perf_counter() - begin
    print(f"both ends: {1e3 * again:.0f} ms; compilation {first - again:.1f} s")

    C.q = start.q
    komo = over_the_wall(C)
    line = start.q + np.linspace(0, 1, SLICES + 1)[1:, None] * (goal.q - start.q)
    rng = np.random.default_rng(0)
    print(
        f"{'run':>3s} {'ms':>8s} {'of cores':>9s} {'steps':>5s} {'cost':>9s}  nearest"
    )
    rounds = []
    for run in range(args.runs):
        komo.initialize(np.clip(line + 0.02 * rng.normal(size=line.shape), *C.limits))
        if run == 0:
            begin = time.perf_counter()
            komo.solve()
            first = time.perf_counter() - begin
        wall, cores = time.perf_counter(), time.process_time()
        solution = komo.solve()
        wall, cores = time.perf_counter() - wall, time.process_time() - cores
        least = nearest(C, np.vstack([start.q, solution.path]))
        rounds.append((wall, cores, solution.feasible, least.distance))
        print(
            f"{run:3d} {1e3 * wall:8.1f} {1e3 * cores:9.1f} {solution.iterations:5d}"
            f" {solution.sos:9.2e}  {1e3 * least.distance:+.1f} mm"
            f" {' - '.join(least.pair)} {'' if solution.feasible else 'FAILED'}",
            flush=True,
        )
    wall, cores, good, distance = np.array(rounds).T
    print(
        f"median {1e3 * np.median(wall):.1f} ms, {1e3 * np.median(cores):.1f} of cores"
    )
    print(
        f"compilation {first - wall[0]:.1f} s; success {good.sum():.0f} / {len(good)}"
    )
    print(f"nearest of all: {1e3 * distance[good > 0].min(initial=np.inf):+.1f} mm")


if __name__ == "__main__":
    main()
