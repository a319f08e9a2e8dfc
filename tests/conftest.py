"""All tests run in float64, as notebooks, docs and the command line do.

Programs are compiled without XLA's costly optimisations: the tests run each of them a
few times only.

By default matrices are multiplied as TF32, of which CPUs know nothing: a product that
is not made `precise` fails.
"""

import os
import signal
from pathlib import Path

FAST = "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {FAST}".strip()

import jax  # noqa: E402
import pytest  # noqa: E402

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_default_matmul_precision", "TF32_TF32_F32")

collect_ignore = [
    f"helpers/{name}_process.py"
    for name in ("backend", "cached_programs", "distributed", "fresh")
]
"""Scripts that tests run in processes of their own."""

MAPS = Path("/proc/self/maps")


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
