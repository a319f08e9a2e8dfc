"""The library is a guest: what is global stays as it was, and bits are repeated."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

SCRIPT = Path(__file__).parents[1] / "processes" / "fresh.py"


@pytest.fixture(scope="module")
def reports():
    """Return the output of two processes with different hash seeds of Python."""
    running = []
    for seed in "12":
        env = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, str(SCRIPT)]
        pipes = dict(stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        running.append(subprocess.Popen(command, env=env, **pipes))
    outputs = [process.communicate() for process in running]
    assert [p.returncode for p in running] == [0, 0], outputs
    return [json.loads(out.splitlines()[-1]) for out, _ in outputs]


def test_nothing_global_changes(reports):
    for report in reports:
        assert report["changed"] == {"import": [], "solving": []}


def test_the_same_seed_gives_the_same_bits(reports):
    assert reports[0]["bits"] == reports[1]["bits"]
