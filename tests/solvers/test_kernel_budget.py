"""Kernels in an iteration on a GPU, for which programs are compiled without one."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
BUDGETS = {"targets": (100, 0), "paths": (540, 1)}
"""Largest numbers of kernels and of waits of the host, in each iteration."""


@pytest.mark.slow
@pytest.mark.skipif(
    not find_spec("jax_cuda12_plugin"), reason="jax-cuda12-plugin is not installed"
)
@pytest.mark.parametrize("name", BUDGETS)
def test_iterations_keep_to_their_budget(name) -> None:
    command = [sys.executable, str(BENCHMARKS / "kernels.py"), "--only", name, "--json"]
    env = {**os.environ, "PYTHONPATH": str(BENCHMARKS.parent)}
    run = subprocess.run(command, capture_output=True, text=True, env=env, check=True)
    counts = json.loads(run.stdout.splitlines()[-1])[name]
    kernels, waits = BUDGETS[name]
    assert counts["kernels"] <= kernels
    assert counts["calls"] == 0
    assert counts["waits"] <= waits
