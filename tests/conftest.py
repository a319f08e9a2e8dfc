"""All tests run in float64, as notebooks, docs and the command line do.

Programs are compiled without XLA's costly optimisations, as far as the installed
version has flags for that: the tests run each program only a few times.

By default matrices are multiplied as TF32, which CPUs do not implement: a product
without full precision fails.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

FAST = ("--xla_backend_optimization_level=0", "--xla_cpu_use_fusion_emitters=false")


def is_accepted(*flags: str) -> bool:
    """Whether XLA accepts these flags; it ends a process that sets an unknown one."""
    code = "import jax; jax.jit(lambda x: x)(0)"
    env = {**os.environ, "XLA_FLAGS": " ".join(flags)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True)
    return done.returncode == 0


# Workers inherit the environment of the first process, so that only that one probes.
if FAST[0] not in os.environ.get("XLA_FLAGS", ""):
    chosen = os.environ.get("XLA_FLAGS", "").split()
    fast = FAST if is_accepted(*FAST) else tuple(filter(is_accepted, FAST))
    os.environ["XLA_FLAGS"] = " ".join((*chosen, *fast))

# no test reads a program that another version of it has left in the user's folder
os.environ["POSEWISE_CACHE"] = "0"

import jax  # noqa: E402
import pytest  # noqa: E402
from suite.core import CoreTimeLimit, mark_core  # noqa: E402
from suite.longest_first import LongestFirst  # noqa: E402
from suite.programs_folder import empty_if_large, programs_folder  # noqa: E402

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_default_matmul_precision", "TF32_TF32_F32")
# keyed by what XLA compiles: a program of an older source is never read
jax.config.update("jax_compilation_cache_dir", str(programs_folder()))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)

collect_ignore = ["processes"]
"""Scripts that tests run in separate processes."""

MAPS = Path("/proc/self/maps")


def pytest_configure(config):
    """Order files by their time, and limit that of cases where only core ones run."""
    if not hasattr(config, "workerinput"):
        empty_if_large()
    if config.pluginmanager.hasplugin("cacheprovider"):
        config.pluginmanager.register(LongestFirst(config))
    if config.getoption("markexpr") == "core":
        config.pluginmanager.register(CoreTimeLimit())


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark the core suite before `-m` chooses."""
    mark_core(items)


@pytest.fixture(autouse=True)
def few_programs():
    """Forgets programs before they have all of a process's maps of memory (65530)."""
    yield
    if MAPS.exists() and len(MAPS.read_bytes().splitlines()) > 40000:
        jax.clear_caches()


@pytest.fixture
def accepts_interrupts():
    """Lets SIGINT raise: a process in the background may ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
