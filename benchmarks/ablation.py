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
from collections.abc import Mapping
from types import ModuleType
from typing import Any, NamedTuple

import jax

jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

from posewise.objectives.solve import settings  # noqa: E402
from posewise.solvers import (  # noqa: E402
    Options,
    globalization,
    iteration,
    quadratic_model,
    residuals,
    schedule,
    termination,
)


class Replacement(NamedTuple):
    """A value that stands for a name of a module while a mechanism is left out."""

    module: ModuleType
    name: str
    value: Any

    def apply(self) -> None:
        """Set the value; an AttributeError if the module has no such name."""
        getattr(self.module, self.name)
        setattr(self.module, self.name, self.value)


def judge_without_correction(*args: Any) -> Any:
    """Judge a trial point as the solver does, and never ask for a corrected model."""
    verdict = globalization.judge(*args)
    return verdict._replace(is_corrected=jnp.zeros((), bool))


MECHANISMS: Mapping[str, Replacement] = {
    "active-set passes": Replacement(quadratic_model, "MAX_PASSES", 1),
    "corrections": Replacement(iteration, "judge", judge_without_correction),
    "steering": Replacement(schedule, "MAX_TRADE", np.inf),
    "row scaling": Replacement(residuals, "MAX_ROW_GRADIENT", 1e12),
    "early ends": Replacement(termination, "MAX_VIOLATION_RATIO", -1.0),
    "early ends of paths": Replacement(
        settings, "PATH_OPTIONS", settings.PathOptions(Options.early_exit_factor)
    ),
    "first penalties": Replacement(settings, "initial_penalties", lambda spec: {}),
    "stall window": Replacement(termination, "STALL_WINDOW", 10**6),
    "patience near the optimum": Replacement(termination, "NEAR_OPTIMUM_RESIDUAL", 0.0),
}
"""Changes that leave one mechanism out each, by its name."""
ALL = "nothing"
"""Name of the run that leaves nothing out."""


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
        if args.without != ALL:
            MECHANISMS[args.without].apply()
        return print(json.dumps(measure()))
    base: dict[str, list[float]] = {}
    for name in dict.fromkeys([ALL, *(args.only or MECHANISMS)]):
        with tempfile.TemporaryDirectory() as folder:
            # programs on disk do not know of the change
            environment = os.environ | {"POSEWISE_CACHE": folder}
            words = [sys.executable, __file__, "--without", name]
            out = subprocess.run(
                words, check=True, stdout=subprocess.PIPE, env=environment
            ).stdout
        table = json.loads(out.splitlines()[-1])
        base = base or table
        if name == ALL:
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
