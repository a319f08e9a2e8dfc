"""One chunk, solved by a worker of an executor: any process that sees the folder."""

import traceback
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Any

import jax

from posewise.solvers.deadline import no_time_limit
from posewise.solvers.memo import Memo

from .folder import ChunkFolder
from .interrupts import ignored_in_workers

_WORK: Memo[Callable[[range], Any]] = Memo(2)
"""Functions of chunks, each read once in a process."""
_SOLVING = Lock()
"""Held while a chunk is solved: a solve uses all cores, and state of its problem."""


def solve_chunk(
    folder: str, name: str, start: int, stop: int, x64: bool
) -> Exception | None:
    """Solve a chunk, unless its file is there, and store its results.

    Args:
        folder: that of the chunks.
        name: of the work in it, see `ChunkFolder.write_work`.
        start: first problem of the chunk.
        stop: problem after its last one.
        x64: whether JAX computes in float64.

    Returns:
        An error of the work. One that is raised instead is of the worker.
    """
    chunks, chunk = ChunkFolder(Path(folder)), range(start, stop)
    with _SOLVING, ignored_in_workers(), no_time_limit(), jax.enable_x64(x64):
        if chunks.has(chunk):
            return None
        try:
            work = _WORK.get((name, x64), lambda: chunks.read_work(name))
            chunks.write(chunk, work(chunk))
        except Exception as error:
            error.add_note(f"In a worker:\n{traceback.format_exc()}")
            return error
    return None
