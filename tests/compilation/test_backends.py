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
    # The script changes the name of the backend, which programs on disk do not have.
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
    # Around a minimum both end at different points, and from some starts at others.
    apart = np.abs(np.subtract(ours["paths"], theirs["paths"])).max((1, 2))
    assert np.sum(apart < 5e-3) >= 6, apart
    np.testing.assert_allclose(min(ours["costs"]), min(theirs["costs"]), rtol=1e-3)
