"""A planning service: random scenes, from their arrival to a saved motion.

    python benchmarks/service.py [--count 100] [--robots panda] [--seed 0] [--again 10]
        [--repeat 3]

A request is a scene of 1 to 16 obstacles (boxes, cylinders, capsules, spheres, hulls,
at times a ground plane) and a target of the gripper. It copies the robot's world, adds
the obstacles, makes a path problem of 32 slices at a margin of 1 cm, solves it from
four starts, retimes the path and saves the motion; its wall time is all of that. Scenes
are drawn beforehand, and of each it is known whether it is feasible
(`staging/service_scenes.py`). Each robot has its own process, which begins without any
compiled program.

*Warm* are feasible requests for which XLA compiled nothing. Infeasible ones are apart:
all ways to meet them are tried before they are told as such. *Valid* is what pinocchio
and coal say of the path and of the motion in the file (`staging/independent_check.py`),
*wrong* what is feasible but not valid. Memory is the resident one after the 20th and
the last request. Requests that compiled, failed, or took more than six times the median
of warm ones are listed below the table.

Of some requests that compiled nothing there are two ratios. `--again` is their number
for that of the whole request to solving its problem again. `--repeat` is their number
for that of the whole request to the same one by programs made for its scene alone,
which another process compiles (`staging/service_programs.py`).

Needs `pin` (pinocchio and coal), and for the UR5 `example-robot-data`.
"""

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import jax

jax.config.update("jax_enable_x64", True)

import numpy as np  # noqa: E402
from staging.service_robots import SERVICE_ROBOTS  # noqa: E402

EARLY = 20
"""Number of requests after which memory is compared (count)."""
SLOW = 6
"""Ratio to the median from which a request is listed."""
HEADER = (
    "| robot | requests | first s | warm median s | 95 % s | longest s"
    " | infeasible: median s | longest s | that compiled | last of them"
    " | MiB after 20 | MiB at the end"
    " | feasible solved | infeasible told | valid | wrong | request / repeated solve"
    " | request / by its program |"
)


@dataclass
class Record:
    """The requests to one robot, and how they ended."""

    seconds: list[float] = field(default_factory=list)
    compiled: list[int] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    """Resident memory after each request [MiB]."""
    feasible: list[bool] = field(default_factory=list)
    solved: list[bool] = field(default_factory=list)
    faults: list[list[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    repeated: list[float] = field(default_factory=list)
    """Ratios of requests to solves of their problems again."""
    alone: list[float] = field(default_factory=list)
    """Ratios of requests to the same by programs that are made for them."""

    def line(self, name: str) -> str:
        """Return a line of the table."""
        seconds, compiled = np.array(self.seconds), np.array(self.compiled)
        feasible, solved = np.array(self.feasible), np.array(self.solved)
        warm, refused = (
            seconds[(compiled == 0) & chosen] for chosen in (feasible, ~feasible)
        )
        wrong = sum(map(bool, self.faults))
        early = self.memory[min(EARLY, len(self.memory)) - 1]
        last = f"{np.flatnonzero(compiled)[-1] + 1}" if compiled.any() else "–"
        cells = [
            f"{name} | {len(seconds)} | {seconds[0]:.1f}",
            f"{quantiles(warm, 0.5, 0.95, 1)} | {quantiles(refused, 0.5, 1)}",
            f"{(compiled > 0).sum()} | {last} | {early:.0f} | {self.memory[-1]:.0f}",
            f"{(solved & feasible).sum()}/{feasible.sum()}",
            f"{(~solved & ~feasible).sum()}/{(~feasible).sum()}",
            f"{solved.sum() - wrong}/{solved.sum()} | {wrong}",
            f"{spread(self.repeated)} | {spread(self.alone)}",
        ]
        return f"| {' | '.join(cells)} |"

    def remarkable(self) -> list[int]:
        """Return the requests that compiled, failed or took long."""
        rows = zip(self.seconds, self.compiled, self.feasible, strict=True)
        warm = [s for s, n, is_feasible in rows if is_feasible and not n]
        limit = SLOW * float(np.median(warm)) if warm else np.inf
        return [
            k
            for k, seconds in enumerate(self.seconds)
            if self.compiled[k]
            or self.faults[k]
            or self.solved[k] != self.feasible[k]
            or seconds > limit
        ]


def quantiles(seconds: np.ndarray, *levels: float) -> str:
    """Return quantiles of some times as cells of a table."""
    texts = [f"{np.quantile(seconds, q):.2f}" if len(seconds) else "–" for q in levels]
    return " | ".join(texts)


def spread(ratios: list[float]) -> str:
    """Return the median and the largest of some ratios as a cell of a table."""
    if not ratios:
        return "–"
    return f"{np.median(ratios):.2f}, at most {max(ratios):.2f}"


def resident() -> float:
    """Return the resident memory of this process [MiB]."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def spaced(count: int, chosen: int) -> set[int]:
    """Return the numbers of some requests of all, without the first fifth."""
    return {*np.linspace(count / 5, count - 1, chosen).astype(int).tolist()}


def serve(name: str, count: int, seed: int, again: int, repeat: int) -> Record:
    """Answer random requests to a robot, one after the other.

    Args:
        name: one of `SERVICE_ROBOTS`.
        count: number of requests.
        seed: of the scenes.
        again: number of problems that are solved a second time.
        repeat: number of scenes that programs are made for.
    """
    from staging.independent_check import Judge
    from staging.service_programs import seconds_by_its_program
    from staging.service_requests import (
        CompilationCounter,
        answer,
        faults,
        repeated_seconds,
    )
    from staging.service_scenes import draw_scene

    robot = SERVICE_ROBOTS[name]()
    judge = Judge(robot.world, robot.description, robot.tip)
    solved_again, repeated = spaced(count, again), spaced(count, repeat)
    record, counter = Record(), CompilationCounter()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "motion.npz"
        for k in range(count):
            scene = draw_scene(robot, judge, np.random.default_rng([seed, k]))
            reply = answer(robot, scene, file, counter)
            solution = reply.solution
            faults_of_motion: list[str] = []
            if solution.feasible:
                path = np.vstack([robot.world.q, solution.path])
                faults_of_motion = faults(judge, scene, path, file)
            record.seconds.append(reply.seconds)
            record.compiled.append(reply.compiled)
            record.memory.append(resident())
            record.feasible.append(scene.is_feasible)
            record.solved.append(bool(solution.feasible))
            record.faults.append(faults_of_motion)
            kinds = ", ".join(type(o.shape).__name__ for o in scene.obstacles)
            stages = ", ".join(f"{n} {s:.2f}" for n, s in reply.stages.items())
            note = (
                f"{k + 1}: {reply.seconds:.2f} s ({stages}), compiled {reply.compiled}"
                f" in {solution.compile_seconds:.1f} s, {solution.status},"
                f" {'feasible' if scene.is_feasible else 'infeasible'} by construction,"
                f" {'; '.join(faults_of_motion) or 'no fault'};"
                f" {len(scene.obstacles)}: {kinds}"
            )
            record.notes.append(note)
            print(note, file=sys.stderr, flush=True)
            if k in solved_again and not reply.compiled:
                record.repeated.append(reply.seconds / repeated_seconds(reply.komo))
            if k in repeated and not reply.compiled:
                least = seconds_by_its_program(name, seed, k)
                record.alone.append(reply.seconds / least)
                print(f"{k + 1}: {least:.2f} s by its program", file=sys.stderr)
    return record


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=100, help="requests to a robot")
    parser.add_argument("--robots", nargs="*", choices=SERVICE_ROBOTS)
    parser.add_argument("--seed", type=int, default=0, help="of the scenes")
    parser.add_argument("--again", type=int, default=10, help="problems solved twice")
    parser.add_argument("--repeat", type=int, default=3, help="scenes solved alone")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not importlib.util.find_spec("pinocchio"):
        sys.exit("The check needs pinocchio and coal: `pip install pin`.")
    chosen = ("count", "seed", "again", "repeat")
    numbers = [getattr(options, option) for option in chosen]
    if options.here:
        (name,) = options.robots
        record = serve(name, *numbers)
        print(record.line(name))
        for k in record.remarkable():
            print(f"    {record.notes[k]}")
        return
    print(f"load of the machine before: {os.getloadavg()[0]:.1f}")
    print(HEADER, "| --- " * HEADER.count(" | ") + "| --- |", sep="\n", flush=True)
    for name in options.robots or SERVICE_ROBOTS:
        words = ["--here", "--robots", name]
        for option, number in zip(chosen, numbers, strict=True):
            words += [f"--{option}", str(number)]
        with tempfile.TemporaryDirectory() as folder:
            environment = os.environ | {"POSEWISE_CACHE": folder}
            began = time.perf_counter()
            command = [sys.executable, __file__, *words]
            run = subprocess.run(
                command, env=environment, stdout=subprocess.PIPE, text=True
            )
        minutes = (time.perf_counter() - began) / 60
        print(run.stdout or f"| {name} | skipped: see stderr |", end="", flush=True)
        print(f"    {name}: {minutes:.0f} min", file=sys.stderr)
    print(f"load of the machine after: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
