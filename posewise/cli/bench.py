"""`posewise bench`: timing of standard problems, and of the repository's benchmarks."""

import os
import platform
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path

import jax
import numpy as np

from posewise.demo import (
    Scene,
    inverse_kinematics,
    load_robot,
    placement,
    placement_world,
    reaching_path,
)
from posewise.objectives import KOMO
from posewise.robots.errors import LoadError, unknown_name

BENCHMARKS_DIR = Path(__file__).resolve().parents[2] / "benchmarks"
NUM_WARM_SOLVES = 10
"""Number of timed solves of each problem after the first (count).

Each has another random start. More solves take longer and give a steadier median.
"""
TABLE_HEADER = ("problem", "first s", "ms", "success")


def standard_problems() -> dict[str, Callable[[], KOMO]]:
    """Return functions that make the demo's problems, which need no files."""

    def arm() -> Scene:
        return load_robot(None, None, 0)

    return {
        "inverse kinematics, camera": lambda: inverse_kinematics(arm()),
        "path, 32 slices": lambda: reaching_path(arm()),
        "placement on a region": lambda: placement(placement_world()),
    }


def run_bench(options: Namespace) -> bool:
    """Time standard problems, or run benchmarks of the repository by name.

    Raises:
        PosewiseError: for unknown names, and without a repository.
    """
    if not options.names:
        print(timing_table(standard_problems(), NUM_WARM_SOLVES))
        return True
    scripts = [_find_script(name) for name in options.names]
    return all([_run_script(script) for script in scripts])


def timing_table(problems: dict[str, Callable[[], KOMO]], rounds: int) -> str:
    """Return a table of first solves [s], median later solves [ms] and success rates.

    Args:
        problems: function that makes each problem, by name.
        rounds: number of later solves of each problem.
    """
    rows = [TABLE_HEADER]
    for name, make in problems.items():
        start = time.perf_counter()
        komo = make()
        komo.solve(0)
        first = time.perf_counter() - start
        solutions = [komo.solve(seed, 2) for seed in range(rounds)]
        ms = 1e3 * np.median([s.seconds for s in solutions])
        success = np.mean([s.feasible for s in solutions])
        rows.append((name, f"{first:.1f}", f"{ms:.1f}", f"{success:.0%}"))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return f"{_describe_machine()}\n\n" + "\n".join(
        _format_row(row, widths) for row in rows
    )


def _format_row(row: Sequence[str], widths: Sequence[int]) -> str:
    name, *numbers = row
    cells = [name.ljust(widths[0])]
    cells += [n.rjust(w) for n, w in zip(numbers, widths[1:], strict=True)]
    return "  ".join(cells)


def _describe_machine() -> str:
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return (
        f"{os.cpu_count()} cores ({platform.machine()}){load}, Python"
        f" {platform.python_version()}, jax {jax.__version__} on"
        f" {jax.default_backend()}, float64"
    )


def _find_script(name: str) -> Path:
    if not BENCHMARKS_DIR.is_dir():
        raise LoadError(
            f"{name!r} is a benchmark of the repository, which is not installed here;"
            " without names `posewise bench` times standard problems."
        )
    names = sorted(file.stem for file in BENCHMARKS_DIR.glob("*.py"))
    if name not in names:
        raise LoadError(unknown_name("benchmark", name, names))
    return BENCHMARKS_DIR / f"{name}.py"


def _run_script(script: Path) -> bool:
    print(f"benchmarks/{script.name}", flush=True)
    run = subprocess.run(
        [sys.executable, script], cwd=BENCHMARKS_DIR.parent, check=False
    )
    return run.returncode == 0
