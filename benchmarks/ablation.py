"""Mechanisms of the solver, each left out: success, iterations and time.

    python benchmarks/ablation.py [--only corrections steering ...]

A process for each mechanism solves the problem sets of `staging/solver_problems.py`,
which need the reference data. Each cell: success in percent, mean iterations, and the
median time as a multiple of that with all mechanisms (of the processor, so that a busy
machine matters less). It takes about five minutes for each mechanism.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

import jax

jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

import posewise.objectives.solve.multistart as multistart  # noqa: E402
from posewise.solvers import (  # noqa: E402
    globalization,
    iteration,
    quadratic_model,
    residuals,
    schedule,
    termination,
)


def constant(module: Any, name: str, value: Any) -> Callable[[], None]:
    """Return a function that replaces a constant or function of a module."""
    return lambda: setattr(module, name, value)


def without_corrections() -> None:
    judge = globalization.judge

    def judge_only(*args: Any) -> Any:
        verdict = judge(*args)
        return verdict._replace(is_corrected=jnp.zeros((), bool))

    iteration.judge = judge_only


MECHANISMS: Mapping[str, Callable[[], None]] = {
    "all": lambda: None,
    "active-set passes": constant(quadratic_model, "MAX_PASSES", 1),
    "corrections": without_corrections,
    "steering": constant(schedule, "MAX_TRADE", np.inf),
    "row scaling": constant(residuals, "MAX_ROW_GRADIENT", 1e12),
    "early ends": constant(termination, "MAX_VIOLATION_RATIO", -1.0),
    "early ends of paths": constant(multistart, "PATH_OPTIONS", {}),
    "first penalties": constant(multistart, "initial_penalties", lambda spec: {}),
    "stall window": constant(termination, "STALL_WINDOW", 10**6),
    "patience near the optimum": constant(termination, "NEAR_OPTIMUM", 0.0),
}


def measure() -> dict[str, list[float]]:
    """Return success, mean iterations and median time of each set."""
    from staging.solver_problems import SETS

    rows = defaultdict(list)
    for problems in SETS:
        for name, outcome in problems():
            rows[name].append(outcome)
    table = {}
    for name, outcomes in rows.items():
        success, iterations, ms = np.array(outcomes, float).T
        table[name] = [100 * success.mean(), iterations.mean(), float(np.median(ms))]
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="*", choices=list(MECHANISMS))
    parser.add_argument("--without", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.without:
        MECHANISMS[args.without]()
        return print(json.dumps(measure()))
    base: dict[str, list[float]] = {}
    for name in dict.fromkeys(["all", *(args.only or MECHANISMS)]):
        with tempfile.TemporaryDirectory() as folder:
            # programs on disk do not know of the change
            environment = os.environ | {"POSEWISE_CACHE": folder}
            words = [sys.executable, __file__, "--without", name]
            out = subprocess.run(
                words, check=True, stdout=subprocess.PIPE, env=environment
            ).stdout
        table = json.loads(out.splitlines()[-1])
        base = base or table
        if name == "all":
            print("| without |", " | ".join(table), "|")
            print("| --- |", " | ".join("---" for _ in table), "|")
        cells = [
            f"{success:.0f} % {iterations:.0f} × {ms / base[key][2]:.2f}"
            for key, (success, iterations, ms) in table.items()
        ]
        print(f"| {name} |", " | ".join(cells), "|", flush=True)
    return None


if __name__ == "__main__":
    main()
