"""Batches solved by the methods for accelerators end where those for CPUs do."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parents[1] / "processes" / "backend.py"


def test_backends_agree():
    # The script changes a constant, which programs on disk would not have.
    env = {**os.environ, "JAX_PLATFORMS": "cpu", "POSEWISE_CACHE": "0"}
    pipes = dict(stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
    running = [
        subprocess.Popen([sys.executable, str(SCRIPT), name], **pipes)
        for name in ("cpu", "gpu")
    ]
    outputs = [process.communicate() for process in running]
    assert [p.returncode for p in running] == [0, 0], outputs
    ours, theirs = (json.loads(out.splitlines()[-1]) for out, _ in outputs)
    assert ours["status"] == theirs["status"]
    assert ours["status"].count("CONVERGED") >= 6
    # The same minima, as near as a converged path is to one: the methods end at
    # different points around it.
    np.testing.assert_allclose(ours["paths"], theirs["paths"], atol=5e-3)
