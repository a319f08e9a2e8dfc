"""A service that plans: random scenes, from arrival to a saved, certified motion.

    python benchmarks/service.py [--robots panda mobile] [--count 100] [--seed 0]

Each request brings a scene of 1 to 16 obstacles of all kinds and a goal for the tip of
a robot; see `staging/service_scenes.py`. Its time is that of the wall from the scene's
arrival: the obstacles are added to a copy of the robot's world, a path of 32 slices is
solved with `avoid_collisions`, retimed and saved. *Compiled* counts the requests during
which any program was compiled, and names the last of them; times are of all others.
*Repeated* is the median ratio to the same request once more, with all programs and the
chain of its objectives at hand. *Wrong* are motions that coal finds nearer than the
margin's tolerance allows, of those that were checked.
"""

import argparse
import tempfile
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import jax

jax.config.update("jax_enable_x64", True)

import numpy as np  # noqa: E402
from staging.coal_check import least_distance  # noqa: E402
from staging.service_scenes import (  # noqa: E402
    SERVICES,
    Request,
    Service,
    draw_request,
)

import posewise as pw  # noqa: E402
from posewise import FS, OT  # noqa: E402

MARGIN = 0.01
"""Distance that paths keep [m]."""
TOLERATED = 2e-3
"""Distance by which coal may find a path nearer than the margin [m]: the tolerance of
margins, and that of coal."""
WARM_UP = 10
"""Number of requests that may compile (count)."""

compilations: list[float] = []
jax.monitoring.register_event_duration_secs_listener(
    lambda event, seconds, **_: (
        compilations.append(seconds)
        if event.endswith("backend_compile_duration")
        else 0
    )
)


class Answer(NamedTuple):
    """The outcome of a request."""

    seconds: float
    compiled: int
    """Number of programs that were compiled."""
    solution: pw.Solution
    world: pw.Config


def answer(service: Service, request: Request, folder: str) -> Answer:
    """Plan a motion, and save it if there is one."""
    began, before = time.perf_counter(), len(compilations)
    C = service.robot.copy()
    for name, shape, pose in request.obstacles:
        C.add_frame(name, pose=pose, shape=shape)
    komo = pw.KOMO(C, 1, 32, 2)
    komo.add_control_objective(2, 0.1)
    komo.avoid_collisions(MARGIN)
    goal = dict(scale=[10.0], target=request.goal)
    komo.add_objective([1.0], FS.position, [service.tip], OT.eq, **goal)
    komo.add_objective([1.0], FS.qItself, [], OT.eq, order=1)
    solution = komo.solve(starts=4, progress=False)
    if solution.feasible:
        solution.retime(0.5, 2.0).save(Path(folder, "motion.csv"))
    seconds = time.perf_counter() - began
    return Answer(seconds, len(compilations) - before, solution, C)


def memory() -> float:
    """Return the memory of this process [MiB]."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 2**20


def serve(name: str, count: int, seed: int, checked: int) -> str:
    """Answer random requests; return a row of the table."""
    service, rng = SERVICES[name](), np.random.default_rng(seed)
    times, ratios, compiled, sizes = [], [], [], []
    solved = feasible = refused = infeasible = wrong = checks = 0
    with tempfile.TemporaryDirectory() as folder:
        for k in range(count):
            request = draw_request(service, rng)
            result = answer(service, request, folder)
            if result.compiled:
                compiled.append(k)
            else:
                times.append(result.seconds)
                ratios.append(result.seconds / answer(service, request, folder).seconds)
            sizes.append(memory())
            is_found = result.solution.feasible
            feasible, infeasible = (
                feasible + request.is_feasible,
                infeasible + (not request.is_feasible),
            )
            solved += request.is_feasible and is_found
            refused += not request.is_feasible and not is_found
            if is_found and checks < checked:
                checks += 1
                start = result.world.q[None]
                path = np.concatenate([start, result.solution.path])
                wrong += least_distance(result.world, path) < MARGIN - TOLERATED
    first, last = compiled[:1], compiled[-1:]
    late = sum(k >= WARM_UP for k in compiled)
    return (
        f"| {name} | {count} | {solved} of {feasible} | {refused} of {infeasible} |"
        f" {wrong} of {checks} | {np.median(times):.2f} |"
        f" {np.quantile(times, 0.95):.2f} | {max(times):.2f} |"
        f" {np.median(ratios):.2f} |"
        f" {len(compiled)}, {late} after {WARM_UP}, {first}-{last} |"
        f" {sizes[min(19, count - 1)]:.0f}, {sizes[-1]:.0f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--robots", nargs="*", default=["panda"], choices=SERVICES)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--checked", type=int, default=20)
    args = parser.parse_args()
    print(
        "| robot | requests | solved | told infeasible | wrong | median s | 95 % s"
        " | longest s | repeated | compiled | MiB after 20, at the end |"
    )
    print("|" + " --- |" * 11, flush=True)
    for name in args.robots:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            print(serve(name, args.count, args.seed, args.checked), flush=True)


if __name__ == "__main__":
    main()
