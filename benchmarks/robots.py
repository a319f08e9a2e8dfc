"""Robots with their meshes, beside the same robots with one capsule a link.

    python benchmarks/robots.py [--robots xarm7 so101] [--quick] [--peers PYTHON]

For each robot of `example-robot-data` (`staging/real_robots.py`): seconds to load it
(and to fit capsules); the first inverse kinematics with self-collision (the tip at a
point that it reaches, eight starts) in a new process without and with kept programs;
the median milliseconds of further targets, problem and solve, and the share reached
within 1 mm without an overlap of more than 1 mm; `C.collisions()` the first time and
further times; and paths of 32 slices from one side of three boxes on a table to the
other, four starts each: seconds of the first and milliseconds a start of further ones.
Each measurement has its own process, one after the other. What may touch is
`C.pairs.ignore_default()` (for G1 all pairs) and what touches at home, found
beforehand.

`--peers` names a Python with `mink` and `pyroki`, which then get the same targets; see
`staging/ik_peers.py`. `--quick` takes fewer samples, targets and rounds.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import jax

jax.config.update("jax_enable_x64", True)

import numpy as np  # noqa: E402
from staging import ik_peers  # noqa: E402
from staging.real_robots import (  # noqa: E402
    MODELS,
    OVERLAP,
    ROBOTS,
    Prepared,
    add_table,
    around,
    fit_capsules,
    is_reached,
    load,
    prepare,
    random_states,
    reaching,
    sides,
)

import posewise as pw  # noqa: E402

STARTS = 8
PATH_STARTS = 4
LIMIT = 900
"""Seconds after which a measurement is given up."""


def timed(run: Callable[[], object]) -> tuple[float, object]:
    """Return the seconds of a call, and its result."""
    begin = time.perf_counter()
    result = run()
    return time.perf_counter() - begin, result


def world(name: str, model: str, prepared: Prepared) -> tuple[pw.Config, float]:
    """Return a robot with what may touch, and the seconds of its loading."""
    seconds, C = timed(lambda: load(ROBOTS[name]))
    if model == "capsules":
        seconds += timed(lambda: fit_capsules(C))[0]
    prepared.exclude(C, model)
    return C, seconds


def first_ik(name: str, model: str, prepared: Prepared, rounds: int) -> dict:
    """Load and solve for one target."""
    C, load_s = world(name, model, prepared)
    komo = reaching(C, ROBOTS[name].tip, prepared.targets[0])
    seconds, _ = timed(lambda: komo.solve(starts=STARTS, progress=False))
    pairs = len(C.pairs.indices())
    return {"load s": load_s, "pairs": pairs, "first s": seconds}


def further_ik(name: str, model: str, prepared: Prepared, rounds: int) -> dict:
    """Solve for one target after the other, with kept programs."""
    first, warm, success = one_after_the_other(name, model, prepared, rounds, 0.01)
    return {"cached s": first, "warm ms": warm, "success": success}


def first_feasible(name: str, model: str, prepared: Prepared, rounds: int) -> dict:
    """Solve without the cost of leaving home: the first feasible start ends a solve."""
    first, warm, success = one_after_the_other(name, model, prepared, rounds, 0.0)
    return {"first s": first, "warm ms": warm, "success": success}


def one_after_the_other(
    name: str, model: str, prepared: Prepared, rounds: int, home_scale: float
) -> tuple[float, float, float]:
    """Return seconds of the first target, median ms of all, share of successes."""
    C, _ = world(name, model, prepared)
    tip, start = ROBOTS[name].tip, C.q
    targets = prepared.targets[:rounds]
    times, good = [], []
    for target in targets[[0, *range(len(targets))]]:
        C.q = start
        seconds, solution = timed(
            lambda t=target: reaching(C, tip, t, home_scale).solve(
                starts=STARTS, progress=False
            )
        )
        times.append(seconds)
        good.append(solution.feasible and is_reached(C, tip, solution.q, target))
    return times[0], 1e3 * float(np.median(times[1:])), float(np.mean(good[1:]))


def collisions(name: str, model: str, prepared: Prepared, rounds: int) -> dict:
    """Ask for all collisions at home, and in random states."""
    C, _ = world(name, model, prepared)
    first, _ = timed(C.collisions)
    times = []
    for q in random_states(C, np.random.default_rng(0), 3 * rounds):
        C.q = q
        times.append(timed(C.collisions)[0])
    warm = 1e3 * np.median(times[rounds:])
    return {"collisions first s": first, "collisions ms": warm}


def paths(name: str, model: str, prepared: Prepared, rounds: int) -> dict:
    """Find ways around the boxes on the table."""
    if prepared.start is None:
        return {"path first s": None, "path ms": None, "path success": None}
    C, _ = world(name, model, prepared)
    robot = ROBOTS[name]
    add_table(C, robot)
    C.q = prepared.start
    komo = around(C, robot.tip, sides(robot)[1])
    times, good = [], []
    for seed in range(max(2, rounds // 2)):
        seconds, solutions = timed(
            lambda s=seed: komo.solve_all(s, PATH_STARTS, progress=False)
        )
        times.append(seconds)
        good.append([s.feasible and is_clear(C, s.path) for s in solutions])
    return {
        "path first s": times[0],
        "path ms": 1e3 * np.median(times[1:]) / PATH_STARTS,
        "path success": np.mean(good),
    }


def is_clear(C: pw.Config, path: np.ndarray) -> bool:
    """Return whether nothing overlaps by more than 1 mm on any slice."""
    for q in path:
        C.q = q
        if C.collisions(margin=-OVERLAP):
            return False
    return True


MEASURES = {
    f.__name__: f for f in (first_ik, further_ik, collisions, paths, first_feasible)
}
OWN_MEASURES = tuple(MEASURES)[:4]
"""Names of the measurements of the table without peers."""


def in_new_process(words: list[str], cache: Path) -> dict | None:
    """Return what a process of this file prints, or None with its last words on stderr.

    Args:
        words: the arguments of the process.
        cache: folder for what posewise keeps on disk.
    """
    environment = os.environ | {"XDG_CACHE_HOME": str(cache)}
    environment.pop("POSEWISE_CACHE", None)
    try:
        run = subprocess.run(
            [sys.executable, __file__, *words],
            capture_output=True,
            text=True,
            timeout=LIMIT,
            env=environment,
        )
    except subprocess.TimeoutExpired:
        print(" ".join(words), f"took more than {LIMIT} s", file=sys.stderr)
        return None
    if run.returncode:
        print(" ".join(words), run.stderr[-1000:], file=sys.stderr)
        return None
    return json.loads(run.stdout.splitlines()[-1])


COLUMNS = {
    "pairs": "d",
    "load s": ".2f",
    "first s": ".1f",
    "cached s": ".2f",
    "warm ms": ".1f",
    "success": ".0%",
    "collisions first s": ".1f",
    "collisions ms": ".1f",
    "path first s": ".1f",
    "path ms": ".0f",
    "path success": ".0%",
}


def row(name: str, model: str, values: dict) -> str:
    """Return a line of the table."""
    cells = [
        "–" if values.get(c) is None else format(values[c], f)
        for c, f in COLUMNS.items()
    ]
    return f"| {name} | {model} | {' | '.join(cells)} |"


def measure(name: str, model: str, inputs: Path, rounds: int, *measures: str) -> dict:
    """Return figures of a robot; measurements share what posewise keeps on disk only
    where the second one asks for that.
    """
    values: dict = {}
    with tempfile.TemporaryDirectory() as folder:
        for measured in measures:
            words = ["--measure", measured, name, model, str(inputs), str(rounds)]
            shared = "ik" if measured in ("first_ik", "further_ik") else measured
            values |= in_new_process(words, Path(folder) / shared) or {}
    return values


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--robots", nargs="*", choices=ROBOTS, default=list(ROBOTS))
    parser.add_argument("--quick", action="store_true", help="fewer samples and rounds")
    parser.add_argument("--peers", type=Path, help="a Python with mink and pyroki")
    parser.add_argument("--prepare", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--measure", nargs=5, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.prepare:
        name, inputs, samples = options.prepare
        prepare(name, Path(inputs), int(samples))
        return print("{}")
    if options.measure:
        measured, name, model, inputs, rounds = options.measure
        prepared = Prepared(Path(inputs))
        values = MEASURES[measured](name, model, prepared, int(rounds))
        return print(json.dumps(values, default=float))

    rounds, samples = (3, 1000) if options.quick else (10, 10_000)
    print(f"load of the machine before: {os.getloadavg()[0]:.1f}")
    print(f"| robot | model | {' | '.join(COLUMNS)} |")
    print("| --- " * (2 + len(COLUMNS)) + "|", flush=True)
    ours: dict[str, dict] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in options.robots:
            inputs = Path(folder) / name
            inputs.mkdir()
            words = ["--prepare", name, str(inputs), str(samples)]
            if in_new_process(words, Path(folder) / "cache") is None:
                continue
            for model in MODELS:
                values = measure(name, model, inputs, rounds, *OWN_MEASURES)
                print(row(name, model, values), flush=True)
            if options.peers:
                ours[name] = measure(name, MODELS[0], inputs, rounds, "first_feasible")
        if options.peers:
            ik_peers.compare(options.peers, Path(folder), rounds, ours)
    print(f"load of the machine after: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
