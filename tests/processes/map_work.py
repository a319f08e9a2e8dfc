"""Functions that worker processes of tests call."""

import os
import signal
from pathlib import Path

import jax
from processes.reaching_circle import reaching_circle

import posewise as pw


def square(x: int) -> int:
    """Return a square; 7 is an error."""
    if x == 7:
        raise pw.ObjectiveError(f"{x} is not for squares.")
    return x * x


def square_once_killed(x: int, marker: Path) -> int:
    """Return a square; the first process that is asked for 5 is killed."""
    if x == 5:
        try:
            marker.touch(exist_ok=False)
        except FileExistsError:
            return x * x
        os.kill(os.getpid(), signal.SIGKILL)
    return x * x


def solved_by_client(folder: Path) -> list[list[float]]:
    """Return the coordinates of a batch that this client of a folder solves."""
    komo, goal, targets = reaching_circle(40)
    options = dict(checkpoint_dir=folder, chunk_size=2, progress=False)
    with jax.enable_x64(True):
        solutions = komo.solve_batch({goal: targets}, **options)
    return solutions.q.tolist()
