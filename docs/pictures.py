"""Draws the pictures of the pages: the demo's, and those of PICTURES.

Run `python docs/pictures.py build/pictures`.
"""

import sys
from collections.abc import Callable
from pathlib import Path

import jax

jax.config.update("jax_enable_x64", True)

from drawing import diagrams, fields, scenes, timelines  # noqa: E402

from posewise.demo import run  # noqa: E402

PICTURES: dict[str, Callable[[Path], None]] = {
    "again": timelines.draw_start_in_motion,
    "balance": fields.draw_balance,
    "batches": scenes.draw_batch,
    "bddl": scenes.draw_activity,
    "command_line": scenes.draw_command_line,
    "compilation": timelines.draw_compile_times,
    "contacts": diagrams.draw_forces,
    "controller": timelines.draw_timing,
    "conventions": diagrams.draw_frames,
    "distances": fields.draw_distances,
    "features": fields.draw_height,
    "grasping": scenes.draw_pick_and_place,
    "learning": fields.draw_descent,
    "loading": scenes.draw_models,
    "motions": scenes.draw_plan,
    "scale": diagrams.draw_shares,
    "solver": timelines.draw_convergence,
    "soundness": fields.draw_soundness,
    "states": timelines.draw_temperature,
    "viewing": scenes.draw_view,
}
"""Functions that draw pictures, by the names of their files without the suffix."""

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    if not run(folder):
        sys.exit("not every problem of the demo was solved")
    for name, draw in PICTURES.items():
        draw(folder / f"{name}.png")
