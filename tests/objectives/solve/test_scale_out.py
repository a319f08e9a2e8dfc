"""Batches on several devices: the same answers as on one."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import posewise as pw

SCRIPT = Path(__file__).parents[2] / "processes" / "devices.py"


def run(out: Path, devices: int) -> dict[str, np.ndarray]:
    """Return the results of a process with some devices."""
    env = {**os.environ, "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, str(SCRIPT), str(devices), str(out)]
    subprocess.run(command, env=env, check=True, timeout=400)
    return dict(np.load(out))


@pytest.mark.slow
def test_eight_devices_give_the_same_answers(tmp_path):
    one, eight = run(tmp_path / "one.npz", 0), run(tmp_path / "eight.npz", 8)
    assert (one["statuses"] == pw.Status.CONVERGED).all()
    np.testing.assert_array_equal(eight["statuses"], one["statuses"])
    np.testing.assert_allclose(eight["paths"], one["paths"], atol=2e-5)
