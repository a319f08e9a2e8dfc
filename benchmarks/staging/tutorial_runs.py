"""Runs of a notebook's cells in a process that may end."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

MODULES = ("robotic", "posewise.rai")

START_SECONDS = 60.0
"""Time for imports, and for a cell to hear that its time is up [s]; more waits longer
for a process that hangs."""

IMPORTS = (
    (r"^(\s*)import robotic as ", r"\1import posewise.rai as "),
    (r"^(\s*)import robotic\s*$", r"\1import posewise.rai as robotic"),
    (r"^(\s*)from robotic( |\.)", r"\1from posewise.rai\2"),
)


@dataclass(frozen=True)
class Cell:
    """Code of a notebook by the number of its cell among those of code."""

    index: int
    source: str


@dataclass(frozen=True)
class Run:
    """Outcome of a cell: its numbers by name, or the error that it ended with."""

    seconds: float = 0.0
    error: str = ""
    values: dict = field(default_factory=dict)


def read_cells(file: Path) -> list[Cell]:
    """Return the cells of a notebook that have code; a script is one cell."""
    if file.suffix == ".py":
        return [Cell(0, file.read_text(encoding="utf-8"))]
    notebook = json.loads(file.read_text(encoding="utf-8"))
    sources = ["".join(c["source"]) for c in notebook["cells"] if _is_code(c)]
    return [Cell(i, _without_magic(source)) for i, source in enumerate(sources)]


def run_cells(
    folder: Path, file: Path, cells: list[Cell], module: str, seconds: float
) -> list[Run]:
    """Return the outcome of each cell with one of the modules.

    Args:
        folder: the clone, which is copied.
        file: the notebook in it.
        cells: its cells.
        module: one of `MODULES`.
        seconds: time for each cell.
    """
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "tutorials"
        ignored = shutil.ignore_patterns(".git")
        shutil.copytree(folder, copy, ignore=ignored, ignore_dangling_symlinks=True)
        if models := importlib.util.find_spec("robotic"):
            # Some files name rai's models by their place beside the tutorials.
            name = "rai-robotModels"
            (Path(scratch) / name).symlink_to(Path(models.origin or "").parent / name)
        for script in copy.rglob("*.py"):
            text = script.read_text(encoding="utf-8")
            script.write_text(_with_module(text, module), encoding="utf-8")
        place = copy / file.relative_to(folder).parent
        with (place / "rai.cfg").open("a", encoding="utf-8") as cfg:
            cfg.write("\nnoInteractivity: true\nbot/blockRealRobot: true\n")
        sources = [_with_module(c.source, module) for c in cells]
        (place / "cells.json").write_text(json.dumps(sources), encoding="utf-8")
        limit = START_SECONDS + len(cells) * (seconds + 1.0)
        _run_process(place, module, seconds, limit)
        return _read_runs(place / "runs.jsonl", len(cells))


def _run_process(place: Path, module: str, seconds: float, limit: float) -> None:
    worker = Path(__file__).with_name("tutorial_worker.py")
    command = [sys.executable, str(worker), str(seconds)]
    environment = {k: v for k, v in os.environ.items() if k != "MPLBACKEND"}
    environment["MPLBACKEND"] = "agg"
    if module == "robotic":
        if "DISPLAY" not in environment and shutil.which("xvfb-run"):
            command = ["xvfb-run", "-a", *command]
    else:
        environment.pop("DISPLAY", None)
    with (place / "log.txt").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=place, stdout=log, stderr=log, env=environment
        )
        try:
            process.wait(limit)
        except subprocess.TimeoutExpired:
            process.terminate()
            process.wait()


def _read_runs(file: Path, count: int) -> list[Run]:
    """Return the outcomes; the worker writes a line as it begins and ends a cell."""
    runs: dict[int, Run] = {}
    began = -1
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
        entry = json.loads(line)
        if "values" in entry:
            runs[began] = Run(entry["seconds"], entry["error"], entry["values"])
        else:
            began = entry["begin"]
    missing = {began: "ends or blocks the process"} if began not in runs else {}
    return [
        runs.get(i) or Run(error=missing.get(i, "not reached: the process ended"))
        for i in range(count)
    ]


def _with_module(source: str, module: str) -> str:
    if module != "robotic":
        for pattern, replacement in IMPORTS:
            source = re.sub(pattern, replacement, source, flags=re.MULTILINE)
    return source


def _is_code(cell: dict) -> bool:
    return cell["cell_type"] == "code" and bool("".join(cell["source"]).strip())


def _without_magic(source: str) -> str:
    lines = source.splitlines()
    return "\n".join("" if line.startswith(("%", "!")) else line for line in lines)
