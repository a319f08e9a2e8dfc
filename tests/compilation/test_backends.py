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
    env = {**os.environ, "JAX_PLATFORMS": "cpu"}
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
    np.testing.assert_allclose(ours["paths"], theirs["paths"], atol=1e-6)
