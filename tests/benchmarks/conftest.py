"""The folder of benchmarks, from which their parts can be imported."""

import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def benchmarks_folder():
    """Let imports find what lies beside the benchmarks."""
    sys.path.insert(0, str(BENCHMARKS))
    yield BENCHMARKS
    sys.path.remove(str(BENCHMARKS))
