"""Draws the pictures of the pages: the demo's, and those of PICTURES.

Run `python docs/pictures.py build/pictures`.
"""

import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import jax

jax.config.update("jax_enable_x64", True)

from drawing import diagrams, fields, scenes, timelines  # noqa: E402

from posewise.demo import run  # noqa: E402

PROCESSES = 2
"""Number of processes, which compile at the same time."""
PICTURES: dict[str, Callable[[Path], None]] = {
    # the longest ones first, so that no process waits for them at the end
    "motions": scenes.draw_plan,
    "compilation": timelines.draw_compile_times,
    "learning": fields.draw_descent,
    "again": timelines.draw_start_in_motion,
    "balance": fields.draw_balance,
    "batches": scenes.draw_batch,
    "bddl": scenes.draw_activity,
    "command_line": scenes.draw_command_line,
    "contacts": diagrams.draw_forces,
    "controller": timelines.draw_timing,
    "conventions": diagrams.draw_frames,
    "distances": fields.draw_distances,
    "features": fields.draw_height,
    "grasping": scenes.draw_pick_and_place,
    "loading": scenes.draw_models,
    "scale": diagrams.draw_chunks,
    "service": timelines.draw_requests,
    "solver": timelines.draw_convergence,
    "soundness": fields.draw_soundness,
    "states": timelines.draw_temperature,
    "viewing": scenes.draw_view,
}
"""Functions that draw pictures, by the names of their files without the suffix."""


def draw(folder: Path, name: str) -> None:
    """Draw one picture."""
    PICTURES[name](folder / f"{name}.png")


def draw_demo(folder: Path) -> None:
    """Draw the pictures of `posewise demo`.

    Raises:
        RuntimeError: if it does not solve all of its problems.
    """
    if not run(folder):
        raise RuntimeError("Not every problem of the demo was solved.")


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(PROCESSES, get_context("spawn")) as pool:
        demo = pool.submit(draw_demo, folder)
        list(pool.map(partial(draw, folder), PICTURES))
        demo.result()
