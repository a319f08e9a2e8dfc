"""Results by `jax.jit` alone equal those of the default compilation.

The whole suite runs without work-arounds by `make test-plain-jit`.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from posewise.compilation.plain_jit import VARIABLE, PlainJit

pytestmark = pytest.mark.long

SCRIPT = Path(__file__).parents[1] / "processes" / "plain_jit.py"
CALLS = {"default": ("0",), "plain": ("1", "forbid"), "missing": ("0", "missing")}


@pytest.fixture(scope="module")
def results():
    """Return the output of each kind of process."""
    running = {}
    for name, (flag, *words) in CALLS.items():
        env = {**os.environ, VARIABLE: flag}
        command = [sys.executable, str(SCRIPT), *words]
        pipes = dict(stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
        running[name] = subprocess.Popen(command, **pipes)
    outputs = {name: process.communicate() for name, process in running.items()}
    for name, process in running.items():
        assert process.returncode == 0, outputs[name][1][-2000:]
    return {
        name: json.loads(out.splitlines()[-1]) for name, (out, _) in outputs.items()
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", ["plain", "missing"])
def test_plain_jit_gives_the_same_results(results, name):
    """Also in a version of JAX that lacks a private interface."""
    got, want = results[name], results["default"]
    assert got["plain"] and not want["plain"]
    assert got["status"] == want["status"]
    assert want["status"].count("CONVERGED") >= 4
    for a, b in zip(got["paths"], want["paths"], strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)
    np.testing.assert_allclose(got["values"], want["values"], atol=1e-9)
    np.testing.assert_allclose(got["violation"], want["violation"], atol=1e-9)


def test_plain_jit_has_the_interface_of_static_jit():
    transform = lambda run, factor: lambda x: run(x) + 1
    scaled = PlainJit(lambda factor, x: {"y": factor * x}["y"], 1, transform, True)
    x = np.arange(3.0)
    for factor in (2, 3, 2):
        out = scaled(factor, x)
        assert isinstance(out, np.ndarray)
        np.testing.assert_array_equal(out, factor * x + 1)
    assert scaled.num_compilations() == 2
    gradient = jax.grad(lambda x: jnp.sum(scaled(2, x)))(x)
    np.testing.assert_array_equal(gradient, np.full(3, 2.0))
