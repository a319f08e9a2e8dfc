"""`posewise view`: worlds and solutions, in the browser or as a page."""

import webbrowser
from argparse import Namespace
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np

from posewise.robots.config import Config
from posewise.robots.errors import LoadError
from posewise.robots.loaders.dispatch import Packages
from posewise.robots.validation import number
from posewise.robots.visual.viewer import View, path_animation

from .commands import check_output_paths
from .problem_file import read_problem
from .result_files import read_arrays

PAGE_SUFFIXES = (".html", ".htm")


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
    C = _load_world(file, dict(options.package))
    animation = None
    if solution is not None:
        C, path, dt = _load_solution(C, solution)
        animation = None if path is None else path_animation(C, path, dt)
    shown = C if animation is None else animation.world(0)
    with View(shown, animation, browser=page is None) as view:
        if page is not None:
            print(f"written: {view.save(page)}")
        else:
            print(f"{view.url} shows {file}; Ctrl-C ends it.", flush=True)
            _wait_for_interrupt()
    return True


def _load_world(file: Path, packages: Packages) -> Config:
    """Return the world of a problem file (.yaml) or of a model file."""
    if file.suffix.lower() == ".yaml":
        return read_problem(file, packages).world
    if not file.is_file():
        raise LoadError(
            f"{str(file)!r} is not a file; expected a problem (.yaml), a model (.urdf,"
            " .xml, .g, .yml) or a page (.html)."
        )
    C = Config()
    C.add_file(file, packages=packages)
    return C


def _load_solution(C: Config, file: Path) -> tuple[Config, Any, float]:
    """Return the world at a solution, its path or None, and the time step [s]."""
    arrays = read_arrays(file)
    if "path" in arrays and "times" in arrays:
        joints = arrays.get("joints", np.array(C.joint_names)).tolist()
        if joints != list(C.joint_names):
            raise LoadError(
                f"{file} has a path of the joints {', '.join(joints)}, but the world"
                f" has {', '.join(C.joint_names) or 'none'}; pass the problem of this"
                " solution."
            )
        return C, arrays["path"], _time_step(file, arrays["times"])
    prefix = "pose of "
    poses = {
        k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)
    }
    if not poses or "solved" not in arrays:
        raise LoadError(
            f"{file} has {', '.join(arrays) or 'nothing'}, expected the path or the"
            " poses that `posewise solve FILE --npz` writes."
        )
    best = int(np.argmax(arrays["solved"]))
    for name, candidates in poses.items():
        C.set_pose(name, candidates[best])
    return C, None, 0.0


def _time_step(file: Path, times: np.ndarray) -> float:
    """Return the time between slices [s]."""
    last = np.ravel(times)[-1] if np.size(times) else np.nan
    label, expected = f"the last of the times in {file}", "a time > 0 (seconds)"
    return number(label, last, expected, lambda t: t > 0) / np.size(times)


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
