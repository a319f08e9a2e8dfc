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
from posewise.robots.visual.drawing import draw_skeleton, fit_axes, new_axes
from posewise.robots.visual.drawn_scene import drawn_scene
from posewise.robots.visual.eyes import fit_eye
from posewise.robots.visual.film import DEFAULT_VIEW, film_strip
from posewise.robots.visual.viewer.clearance_curve import nearest_pair

from .examples import DOCS, run_examples

PIXELS = 80
"""Pixels per inch of worlds; shading makes their files larger than those of curves."""


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
    """Draw the arm at all targets, coloured by the iterations that each took."""
    variables = run_examples("guide/batches")
    C, solutions, targets = variables["C"], variables["solutions"], variables["targets"]
    figure, axes = new_axes(size=(6.5, 4.5))
    for solution in solutions:
        draw_skeleton(axes, C, solution.q, "panda_hand_tcp", (0.3, 0.35, 0.45, 0.12))
    counts = [solution.iterations for solution in solutions]
    dots = axes.scatter(*targets.T, c=counts, s=28, alpha=1, depthshade=False, zorder=9)
    figure.colorbar(dots, label="iterations", shrink=0.7)
    fit_axes(axes, np.append(targets, [[-0.1, -0.3, 0], [0, 0.3, 0.8]], axis=0), 0.0)
    size = [
        np.ptp(limits) for limits in (axes.get_xlim(), axes.get_ylim(), axes.get_zlim())
    ]
    axes.set_box_aspect(size, zoom=1.15)
    axes.view_init(15, -60)
    axes.set_axis_off()
    save(figure, file, 110)


def draw_command_line(file: Path) -> None:
    """Draw a problem file as it is and solved, with what the commands print."""
    text = (DOCS / "command_line.md").read_text(encoding="utf-8")
    code = text.split("```yaml\n")[1].split("```")[0]
    with tempfile.TemporaryDirectory() as folder:
        problem, result = Path(folder) / "place.yaml", Path(folder) / "place.npz"
        problem.write_text(code, encoding="utf-8")
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
    """Draw the start, and the world at the end of each phase."""
    variables = run_examples("guide/grasping", 0, 2)
    worlds = [variables["W"], *(variables["waypoints"].world_at(t) for t in (0, 1))]
    titles = ["start", "end of phase 1", "end of phase 2"]
    save(film_strip(worlds, titles), file)


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
    variables = run_examples("guide/viewing")
    C, figure = variables["C"], variables["figure"]
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
