"""Programs on disk are found by the fingerprint of their function."""

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import jax
import numpy as np
import pytest

from posewise.compilation import cache_folder, program_cache
from posewise.compilation.plain_jit import uses_plain_jit

pytestmark = pytest.mark.skipif(uses_plain_jit(), reason="no program cache")

SCRIPT = Path(__file__).parents[1] / "processes" / "cached_programs.py"


@pytest.fixture
def folder(tmp_path):
    cache_folder.set_cache_dir(tmp_path)
    yield tmp_path
    cache_folder.set_cache_dir(None)


def test_program_is_read_from_disk_unless_broken(folder, monkeypatch):
    x = np.arange(3.0)
    run = program_cache.load_or_compile(jax.jit(lambda x: {"y": 2 * x}), "double")
    for argument in (x, x, x + 1):
        np.testing.assert_array_equal(run(argument)["y"], 2 * argument)
    (file,) = folder.iterdir()

    wrong = program_cache.load_or_compile(jax.jit(lambda x: {"y": 3 * x}), "double")
    np.testing.assert_array_equal(
        wrong(x)["y"], 2 * x
    )  # read from disk: the function is not called
    np.testing.assert_array_equal(wrong(np.arange(4.0))["y"], 3 * np.arange(4.0))
    np.testing.assert_array_equal(wrong(np.arange(3))["y"], 3 * np.arange(3))
    assert len(list(folder.iterdir())) == 3

    whole = file.read_bytes()
    for data in (b"", whole[:-99], b"not a pickle"):
        file.write_bytes(data)
        run = program_cache.load_or_compile(jax.jit(lambda x: {"y": 2 * x}), "double")
        np.testing.assert_array_equal(run(x)["y"], 2 * x)
        assert len(file.read_bytes()) > 99

    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=false")
    program_cache.load_or_compile(jax.jit(lambda x: {"y": 2 * x}), "double")(x)
    assert len(list(folder.iterdir())) == 4


SEVERAL = """
import sys
from pathlib import Path
import jax, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from posewise.compilation import cache_folder, program_cache
from posewise.compilation.synchronous_cpu import synchronous_cpu_device

cache_folder.set_cache_dir(Path(sys.argv[1]))
mesh = Mesh(np.array(jax.devices()[2:]), "d")
for place in (None, synchronous_cpu_device(), NamedSharding(mesh, PartitionSpec("d"))):
    x = jax.device_put(np.arange(4.0), place)
    fns = [lambda x: 2 * x, lambda x: 3 * x]  # the second one is read from disk
    runs = [program_cache.load_or_compile(jax.jit(fn), repr(place)) for fn in fns]
    out = [run(x) for run in runs]
    assert all(y.tolist() == [0, 2, 4, 6] for y in out), out
    assert all(y.devices() == x.devices() for y in out), out
"""


@pytest.mark.long
def test_with_several_devices(tmp_path):
    """A program runs on the devices it was compiled for, not on all devices."""
    flags = os.environ["XLA_FLAGS"] + " --xla_force_host_platform_device_count=4"
    words = [sys.executable, "-c", SEVERAL, str(tmp_path)]
    env = {**os.environ, "XLA_FLAGS": flags}
    out = subprocess.run(words, capture_output=True, text=True, env=env)
    assert not out.returncode, out.stderr[-2000:]
    assert len(list(tmp_path.glob("*.program"))) == 3


LAPACK = """
import sys
from pathlib import Path
import jax, jax.numpy as jnp, numpy as np
from posewise.compilation import cache_folder, program_cache

cache_folder.set_cache_dir(Path(sys.argv[1]))
A = np.diag([1.0, 2.0, 3.0, 4.0])
fn = jax.jit(lambda A: getattr(jnp.linalg, sys.argv[2])(A))
out = jax.tree.leaves(program_cache.load_or_compile(fn, sys.argv[2])(A))
print(float(np.sum([np.abs(a).sum() for a in out])))
"""


@pytest.mark.long
@pytest.mark.sampled
@pytest.mark.parametrize("name", ["det", "eigh"])
def test_programs_that_call_lapack_run_in_the_next_process(name, tmp_path):
    words = [sys.executable, "-c", LAPACK, str(tmp_path), name]
    runs = [subprocess.run(words, capture_output=True, text=True) for _ in range(2)]
    for run in runs:
        assert not run.returncode, run.stderr[-2000:]
    assert runs[0].stdout == runs[1].stdout
    assert len(list(tmp_path.glob("*.program"))) == 1


def test_program_runs_without_a_writable_folder(folder):
    folder.rmdir()
    run = program_cache.load_or_compile(jax.jit(lambda x: 2 * x), "double")
    assert run(np.ones(()))[()] == 2
    cache_folder.set_cache_dir(None)
    program = jax.jit(lambda x: 2 * x)
    assert program_cache.load_or_compile(program, "double").jitted is program


def solve_in_process(folder, shift):
    words = [sys.executable, str(SCRIPT), str(folder), str(shift)]
    out = subprocess.run(words, capture_output=True, text=True, env=os.environ)
    assert not out.returncode, out.stderr[-2000:]
    return json.loads(out.stdout)


@pytest.mark.slow
def test_programs_of_the_cache_of_jax_are_compiled_again(tmp_path):
    """XLA serializes a program of JAX's cache without its code."""
    first = solve_in_process(tmp_path, 0.0)
    for file in tmp_path.glob("*.program"):
        file.unlink()
    assert list(tmp_path.glob("*-cache"))
    for _ in range(2):
        again = solve_in_process(tmp_path, 0.0)
        assert [r["path"] for r in again] == [r["path"] for r in first]


@pytest.mark.slow
def test_the_next_process_compiles_nothing(tmp_path):
    run = partial(solve_in_process, tmp_path)
    first = run(0.0)
    stored = {*tmp_path.glob("*.program")}
    again, moved = run(0.0), run(0.02)
    assert stored and {*tmp_path.glob("*.program")} == stored
    assert all(r["feasible"] for r in (*first, *again, *moved))
    assert [r["path"] for r in again] == [r["path"] for r in first]
    assert moved[0]["path"] != first[0]["path"]
    assert [r["compiled"] for reports in (again, moved) for r in reports] == [0] * 4
    assert first[0]["compiled"] > 0
