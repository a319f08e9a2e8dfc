"""Worlds as the library draws them: scenes, films, and what one overlay adds."""

import tempfile
import textwrap
from contextlib import redirect_stdout
from dataclasses import replace
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import numpy as np

import posewise as pw
from posewise.__main__ import main
from posewise.cli.problem_file import read_problem
from posewise.robots.geometry.shapes import Shape
from posewise.robots.visual.drawn_scene import drawn_scene
from posewise.robots.visual.film import DEFAULT_VIEW, film_strip
from posewise.robots.visual.rendering import fit_eye
from posewise.robots.visual.viewer.clearance_curve import nearest_pair

from .examples import DOCS, run_examples

PIXELS = 80
"""Pixels per inch of worlds; shading makes their files larger than those of curves."""

PALE = (0.8, 0.82, 0.85, 0.45)
"""Colour of robots that must not hide what is behind them, RGBA."""


def save(figure: Any, file: Path, pixels: int = PIXELS) -> None:
    """Save a figure in a palette of 256 colours, a third of the size."""
    from PIL import Image

    stream = BytesIO()
    figure.savefig(stream, dpi=pixels)
    Image.open(stream).convert("RGB").quantize(256).save(file, optimize=True)


def draw_activity(file: Path) -> None:
    """Draw the scene of a BDDL problem in which its goal holds."""
    end = run_examples("guide/bddl")["end"]
    save(end.config.picture(names=True), file)


def draw_batch(file: Path) -> None:
    """Draw targets coloured by iterations, and the arm at some of them."""
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    found = run_examples("guide/batches")
    solutions, targets = found["solutions"], found["targets"]
    counts = np.array([solution.iterations for solution in solutions])
    scale = ScalarMappable(Normalize(counts.min(), counts.max()), colormaps["viridis"])
    C = pw.Config()
    for k, (target, color) in enumerate(
        zip(targets, scale.to_rgba(counts), strict=True)
    ):
        shape = pw.Sphere(0.012)
        C.add_frame(f"target{k}", position=target, shape=shape, color=color)
    for k in np.argsort(targets[:, 1])[[2, 60, 95]]:
        C.load("panda", prefix=f"{k}/")
        C.lock(f"{k}/panda_finger_joint1")
        for name in C.frame_names:
            if name.startswith(f"{k}/"):
                shapes = C.frame(name).geometries
                shapes = tuple(replace(g, color=PALE) for g in shapes)
                C.replace_frame(name, geometries=shapes)
        C.q = np.append(C.q[: -solutions[k].q.size], solutions[k].q)
    figure = C.picture(view=(20.0, -60.0))
    figure.colorbar(scale, ax=figure.axes, label="iterations", shrink=0.6)
    save(figure, file, 110)


def draw_command_line(file: Path) -> None:
    """Draw a problem file as it is and solved, with what the commands print."""
    text = (DOCS / "command_line.md").read_text(encoding="utf-8")
    code = text.split("```yaml\n")[1].split("```")[0]
    with tempfile.TemporaryDirectory() as folder:
        problem, result = Path(folder) / "place.yaml", Path(folder) / "place.npz"
        problem.write_text(code)
        checked = command_output(["check", str(problem)])
        solved = command_output(["solve", str(problem), "--npz", str(result)])
        before = read_problem(problem).world
        after = before.copy()
        after.set_pose("box", np.load(result)["pose of box"][0])
    titles = [f"$ posewise check place.yaml\n{checked}"]
    titles += [f"$ posewise solve place.yaml\n{solved}"]
    figure = film_strip([before, after], titles)
    figure.set_size_inches(6.6, 3.7)
    for axes, title in zip(figure.axes, titles, strict=True):
        axes.set_title(title, family="monospace", loc="left", fontsize=7, color="0.1")
    save(figure, file, 110)


def command_output(arguments: list[str]) -> str:
    """Return what a command of posewise prints about predicates, in short lines."""
    with redirect_stdout(StringIO()) as out:
        main(arguments)
    lines = out.getvalue().splitlines()
    # Tables are too wide for a picture.
    verdicts = [line for line in lines if line[:2] in ("+ ", "- ", "  ")]
    short = [textwrap.wrap(line, 46, subsequent_indent="  ") for line in verdicts]
    return "\n".join(line for part in short for line in part)


def draw_pick_and_place(file: Path) -> None:
    """Draw the start, the grasp, and the motion that carries the mug."""
    found = run_examples("guide/grasping", 0, 1, 2, 3)
    carried = found["motion"].solve()
    worlds = [found["W"], found["waypoints"].world_at(0)]
    worlds += [carried.world_at(t) for t in (8, -1)]
    titles = ["start", "grasp", "on the way", "at its place"]
    save(film_strip(worlds, titles), file, 100)


def draw_plan(file: Path) -> None:
    """Draw the film of a planned motion."""
    save(run_examples("guide/motions")["plan"].film(), file)


def draw_models(file: Path) -> None:
    """Draw what the file of a robot shows, and what collides."""
    C = run_examples("guide/loading", 1)["C"]
    collides = C.copy()
    for name in C.frame_names:
        shapes = [g for g in C.frame(name).geometries if g.collision]
        shapes = [replace(g, visual=True, shape=hull(g.shape)) for g in shapes]
        collides.replace_frame(name, geometries=tuple(shapes))
    save(film_strip([C, collides], ["what is drawn", "what collides"]), file, 100)


def hull(shape: Shape) -> Shape:
    """Return the convex hull of a mesh, which collides for it, or another shape."""
    return pw.Mesh(shape.mesh.convex_hull) if isinstance(shape, pw.Mesh) else shape


def draw_view(file: Path) -> None:
    """Draw a world with names, and the overlay that shows its clearance."""
    found = run_examples("guide/viewing")
    C, figure = found["C"], found["figure"]
    nearest = nearest_pair(C)
    if nearest is None:
        raise ValueError("No pair can collide in the world of guide/viewing.md.")
    (axes,) = figure.axes
    (image,) = axes.images
    shape = image.get_array().shape[:2]
    eye = fit_eye(drawn_scene(C, C.frame_names).points, DEFAULT_VIEW, shape)
    contact = nearest.contact
    ends, _ = eye.project(np.stack([contact.point_a, contact.point_b]))
    axes.plot(*ends.T, "o-", color="tab:red", linewidth=2, markersize=3)
    text = f"{1e3 * contact.distance:.0f} mm\n{' and '.join(nearest.frames)}"
    place = dict(xytext=(0.6, 0.9), textcoords="axes fraction", color="tab:red")
    arrow = dict(arrowstyle="-", color="tab:red", linewidth=0.6)
    axes.annotate(text, ends.mean(0), **place, fontsize=9, arrowprops=arrow)
    save(figure, file, 110)
