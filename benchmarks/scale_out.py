"""One batch by one worker on one core, and by a worker on each of several cores.

    python benchmarks/scale_out.py [--problems 512] [--rounds 3] [--workers 2]

Paths of 32 slices of a Panda around a post, one start each, to targets of a seed. The
workers are spawned processes, each held to another core, that store their chunks in a
temporary folder, a new one for each round. Prints the fastest of a few warm rounds
[ms per problem], the number of feasible solutions, and the speed-up over one worker.
"""

import argparse
import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor
from multiprocessing.queues import Queue

import jax
import numpy as np

import posewise as pw
from posewise import FS, OT

SLICES = 32
CHUNKS_PER_WORKER = 8
"""Number of chunks for each worker; with fewer, one waits longer for the last."""


def paths_around_a_post(count: int) -> Callable[[Executor, str, int], np.ndarray]:
    """Return a function that solves a batch and returns which paths are feasible."""
    C = pw.load("panda")
    C.add_frame(
        "post", shape=pw.Box([0.16, 0.16, 1]), position=[0.5, 0, 0.5], contact=1
    )
    C.add_frame("goal", position=[0.4, 0.35, 0.5])
    komo = pw.KOMO(C, 1, SLICES, 2)
    komo.add_control_objective(2, 1.0)
    komo.add_objective(None, FS.accumulatedCollisions, [], OT.ineq)
    reach = komo.add_objective(
        [1.0], FS.positionDiff, ["panda_hand_tcp", "goal"], OT.eq
    )
    targets = np.random.default_rng(0).uniform(-0.1, 0.1, (count, 3))

    def solve(executor: Executor, folder: str, chunk_size: int) -> np.ndarray:
        options = dict(executor=executor, chunk_size=chunk_size, progress=False)
        return komo.solve_batch(
            {reach: targets}, checkpoint_dir=folder, **options
        ).feasible

    return solve


def hold_to_a_core(cores: Queue) -> None:
    """Hold a worker to one of the cores that are free."""
    os.sched_setaffinity(0, [cores.get()])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--problems", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    args = parser.parse_args()
    solve = paths_around_a_post(args.problems)
    chunk_size = -(-args.problems // (CHUNKS_PER_WORKER * args.workers))
    context = multiprocessing.get_context("spawn")
    cores = sorted(os.sched_getaffinity(0))
    print("| on | ms per problem | feasible | speed-up |\n|---|---|---|---|")
    alone = None
    for count in dict.fromkeys([1, args.workers]):
        free = context.Queue()
        for core in cores[:count]:
            free.put(core)
        options = dict(initializer=hold_to_a_core, initargs=(free,), mp_context=context)
        rounds = []
        with ProcessPoolExecutor(count, **options) as pool:
            # The first round compiles, or reads, the program in each worker.
            for _ in range(args.rounds + 1):
                with tempfile.TemporaryDirectory() as folder:
                    begin = time.perf_counter()
                    is_feasible = solve(pool, folder, chunk_size)
                    rounds.append(time.perf_counter() - begin)
        ms = 1e3 * min(rounds[1:]) / args.problems
        alone = alone or ms
        name = f"{count} worker{'s' if count > 1 else ''}"
        share = f"{is_feasible.sum()} of {args.problems}"
        print(f"| {name} | {ms:.2f} | {share} | {alone / ms:.2f} |", flush=True)


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    main()
