"""One batch on one core, on several devices, and by several processes.

    python benchmarks/scale_out.py [--problems 64] [--rounds 3] [--cores 2]

Paths of 32 slices of a Panda around a post, one start each, to targets of a seed.
A device always has one core. Compared are one process on one core; one process with as
many virtual devices as cores; and as many processes as cores, each pinned to another
core and connected by the loopback interface. Prints the fastest of a few warm rounds
[ms per problem], the number of feasible solutions, and the speed-up over one core.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import time
from functools import partial

SLICES = 32


def work(settings: dict) -> None:
    """Solve the share of one process, and print its report on stdout."""
    flag = f"--xla_force_host_platform_device_count={settings['devices']}"
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {flag}"
    import jax
    import numpy as np

    import posewise as pw
    from posewise import FS, OT

    jax.config.update("jax_enable_x64", True)
    if settings["processes"] > 1:
        where = f"127.0.0.1:{settings['port']}", settings["processes"], settings["rank"]
        jax.distributed.initialize(*where)
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
    rng = np.random.default_rng(0)
    targets = rng.uniform(-0.1, 0.1, (settings["problems"], 3))
    count = jax.device_count()
    mesh = jax.make_mesh((count,), ("devices",)) if count > 1 else None
    solve = partial(komo.solve_batch, {reach: targets}, mesh=mesh, progress=False)
    solve()
    rounds = []
    for _ in range(settings["rounds"]):
        begin = time.perf_counter()
        solutions = solve()
        rounds.append(time.perf_counter() - begin)
    good = sum(solution.feasible for solution in solutions)
    print(json.dumps({"ms": 1e3 * min(rounds) / len(solutions), "feasible": good}))


def run(processes: int, devices: int, cores: list[list[int]], **settings: int) -> dict:
    """The report of the first of some processes, each held to some cores."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    started = []
    for rank in range(processes):
        process_settings = dict(
            processes=processes, devices=devices, port=port, rank=rank, **settings
        )
        bind_to_cores = partial(os.sched_setaffinity, 0, cores[rank])
        command = [sys.executable, __file__, "--work", json.dumps(process_settings)]
        pipe = dict(stdout=subprocess.PIPE, text=True, preexec_fn=bind_to_cores)
        started.append(subprocess.Popen(command, **pipe))
    reports = [process.communicate()[0] for process in started]
    if any(process.returncode for process in started):
        sys.exit("A process failed; see above.")
    return json.loads(reports[0].splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--problems", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cores", type=int, default=os.cpu_count())
    parser.add_argument("--work", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.work:
        return work(json.loads(args.work))
    cores = sorted(os.sched_getaffinity(0))[: args.cores]
    n, settings = len(cores), dict(problems=args.problems, rounds=args.rounds)
    layouts = {
        "one core": (1, 1, [cores[:1]]),
        f"{n} devices": (1, n, [cores]),
        f"{n} processes": (n, 1, [[core] for core in cores]),
    }
    print("| on | ms per problem | feasible | speed-up |\n|---|---|---|---|")
    alone = None
    for name, layout in layouts.items():
        report = run(*layout, **settings)
        alone = alone or report["ms"]
        share = f"{report['feasible']} of {args.problems}"
        gain = alone / report["ms"]
        print(f"| {name} | {report['ms']:.2f} | {share} | {gain:.2f} |", flush=True)
    return None


if __name__ == "__main__":
    main()
