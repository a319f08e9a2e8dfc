"""Small input files that failed once, beside this checkout."""

from pathlib import Path

import pytest

from helpers.oracle import SHARED


def case(name: str) -> Path:
    """Return the path of an input file; skip the test if it is missing."""
    path = SHARED / "cases" / name
    if not path.is_file():
        pytest.skip(f"the input {name} is not beside this checkout")
    return path
