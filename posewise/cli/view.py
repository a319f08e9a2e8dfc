"""`posewise view`: worlds and solutions, in the browser or as a page."""

import webbrowser
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from time import sleep

import numpy as np
from jaxtyping import Float

from posewise.objectives.problem.spec import mode_sequence
from posewise.objectives.solve.alternatives import resolve_alternatives
from posewise.robots.config import Config
from posewise.robots.errors import LoadError
from posewise.robots.loaders.dispatch import Packages
from posewise.robots.visual.viewer import Animation, View, path_animation

from .commands import check_output_paths
from .file_slices import find_slices
from .path_distances import played_file
from .path_file import PathFile, read_path_file
from .placement_check import best_placement
from .problem_file import ProblemFile, make_path_problem, read_problem

PAGE_SUFFIXES = (".html", ".htm")
MIN_PAUSE = 0.04
"""Least time between two rows that are shown [s]: 25 pictures per second."""
DEFAULT_PAUSE = 0.1
"""Time between rows of files without times [s]."""


def run_view(options: Namespace) -> bool:
    """Show the world of a problem or model, and a solution, until interrupted.

    Raises:
        PosewiseError: for invalid files.
        ImportError: without viser, or pyyaml for a problem file.
    """
    file, solution, page = options.file, options.solution, options.html
    check_output_paths(page)
    if file.suffix.lower() in PAGE_SUFFIXES:
        _open_page(file, solution, page)
        return True
    C, problem = _load_world(file, dict(options.package))
    animation = None if solution is None else _load_solution(C, problem, solution)
    shown = C if animation is None else animation.world(0)
    with View(shown, animation, browser=page is None) as view:
        if page is not None:
            print(f"written: {view.save(page)}")
        else:
            print(f"{view.url} shows {file}; Ctrl-C ends it.", flush=True)
            _wait_for_interrupt()
    return True


def _load_world(file: Path, packages: Packages) -> tuple[Config, ProblemFile | None]:
    """Return the world of a problem file (.yaml), with it, or of a model file."""
    if file.suffix.lower() == ".yaml":
        problem = read_problem(file, packages)
        return problem.world, problem
    if not file.is_file():
        raise LoadError(
            f"{str(file)!r} is not a file; expected a problem (.yaml), a model (.urdf,"
            " .xml, .g, .yml) or a page (.html)."
        )
    C = Config()
    C.add_file(file, packages=packages)
    return C, None


def _load_solution(
    C: Config, problem: ProblemFile | None, file: Path
) -> Animation | None:
    """Return the path in a file; None if it has poses, in which the world is put."""
    poses = best_placement(file)
    if poses is not None:
        for name, pose in poses.items():
            C.set_pose(name, pose)
        return None
    loaded = read_path_file(file, C)
    path, times = loaded.path, loaded.times
    if problem is not None and problem.has_path and loaded.absent:
        path, times = _with_carried(problem, loaded)
    if times is None:
        return path_animation(C, path, DEFAULT_PAUSE)
    shown = _rows_apart(times)
    pauses = np.diff(times[shown])
    # The last row is shown as long as the one before; slices begin one step late.
    last = pauses[-1] if len(pauses) else max(times[-1], MIN_PAUSE)
    animation = path_animation(C, path[shown], DEFAULT_PAUSE)
    return replace(animation, pauses=np.append(pauses, last))


def _rows_apart(times: Float[np.ndarray, " n"]) -> list[int]:
    """Return the rows to show: those far enough apart, and the last."""
    shown = [0]
    for k, time in enumerate(times):
        if time - times[shown[-1]] >= MIN_PAUSE * (1 - 1e-6):
            shown.append(k)
    last = len(times) - 1
    return shown if shown[-1] == last else [*shown, last]


def _with_carried(
    problem: ProblemFile, loaded: PathFile
) -> tuple[Float[np.ndarray, "n nq"], Float[np.ndarray, " n"] | None]:
    """Return a path and its times, with carried objects that the file lacks."""
    spec = resolve_alternatives(make_path_problem(problem)[0].spec)[0]
    file_slices = find_slices(loaded, spec)
    if isinstance(file_slices, str) or not spec.switches:
        return loaded.path, loaded.times
    if loaded.times is not None:
        shown = _rows_apart(loaded.times)
        loaded = loaded.at_rows(shown)
        file_slices = replace(file_slices, row_times=file_slices.row_times[shown])
    modes = mode_sequence(spec)
    x = modes.without_jumps(np.array(modes.from_base(file_slices.path)))
    played = played_file(spec, loaded, file_slices, x)
    return played.whole_path(), played.times


def _open_page(file: Path, solution: Path | None, page: Path | None) -> None:
    if solution is not None or page is not None:
        raise LoadError(
            f"{str(file)!r} is a page already; leave out the solution and --html."
        )
    if not file.is_file():
        raise LoadError(f"{str(file)!r} is not a file; expected an existing page.")
    address = file.resolve().as_uri()
    if not webbrowser.open(address):
        print(f"No browser was found; open {address} in a browser.")


def _wait_for_interrupt() -> None:
    """Wait until the user interrupts."""
    try:
        while True:
            sleep(1.0)
    except KeyboardInterrupt:
        print()
