"""The folder in which tests keep compiled programs from one run to the next."""

import hashlib
import os
import platform
import shutil
import sys
from pathlib import Path

import jaxlib

FOLDER = Path(__file__).parents[2] / "build/test-programs"
MAX_BYTES = 1 << 30
"""Size above which the folder is emptied [bytes]."""


def programs_folder() -> Path:
    """Return the folder for this Python, these versions of JAX, flags and processor."""
    parts = (
        *(sys.version, jaxlib.__version__, platform.machine()),
        *(os.environ.get("XLA_FLAGS", ""), _processor()),
    )
    folder = FOLDER / hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def empty_if_large() -> None:
    """Remove the programs of all versions when they take too much room."""
    sizes = (file.stat().st_size for file in FOLDER.rglob("*") if file.is_file())
    if sum(sizes) > MAX_BYTES:
        shutil.rmtree(FOLDER, ignore_errors=True)


def _processor() -> str:
    """Return the model of the processor and what it can do, as far as Linux tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor()
    parts = {s for s in lines if s.startswith(("model name", "flags"))}
    return "\n".join(sorted(parts))
