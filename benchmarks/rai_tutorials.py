"""rai's own tutorials, cell by cell, by `robotic` and by `posewise.rai`.

    git clone https://github.com/MarcToussaint/rai-tutorials
    python benchmarks/rai_tutorials.py rai-tutorials [--only komo_1] [--seconds 60]

Each notebook runs in a process and a copy of the folder for each of the two, with the
same seeds, without sleeping, and goes on after a cell that fails. What ends the process
ends the notebook. robotic opens windows: without a screen it gets one of `xvfb-run`,
and without that its calls of viewers fail. Cells of BotOp and PhysX are counted apart.

Prints, for each notebook: cells, how many ran in each, how many of those that ran in
both give equal numbers (to 1e-6), near ones (to 2 %) and others, and the seconds of
both. Then each cell that differs, with the largest difference. Numbers are all that a
cell prints, its last expression, and its variables.
"""

import argparse
from pathlib import Path

from staging.tutorial_runs import MODULES, Cell, Run, read_cells, run_cells
from staging.tutorial_values import difference

ENGINES = {
    "BotOp": ("BotOp", "bot.", "del bot"),
    "PhysX": ("Simulation", "S.step", "S.get", "S.set", "move_a_bit", "env.", "env)"),
}
"""Words by which a cell is known to need an engine: posewise takes MuJoCo in place of
PhysX, and drives no real robot."""


def engine(cell: Cell) -> str:
    """Return the engine that a cell needs, or no letter."""
    code = "\n".join(line.split("#")[0] for line in cell.source.splitlines())
    return next(
        (n for n, words in ENGINES.items() if any(w in code for w in words)), ""
    )


def sentences(cells: list[Cell], rai: list[Run], ours: list[Run]) -> list[str]:
    """Return a line for each cell that differs."""
    lines = []
    for cell, theirs, mine in zip(cells, rai, ours, strict=True):
        tag = f"  [{cell.index}] {engine(cell)}".rstrip()
        if theirs.error and mine.error:
            lines.append(f"{tag} fails in both. rai: {theirs.error}")
        elif theirs.error:
            lines.append(f"{tag} runs in posewise only. rai: {theirs.error}")
        elif mine.error:
            lines.append(f"{tag} runs in rai only. posewise: {mine.error}")
        elif (change := difference(theirs.values, mine.values)).size:
            word = "near" if change.is_near else "differs"
            lines.append(f"{tag} {word}: {change.text}")
    return lines


def row(name: str, cells: list[Cell], rai: list[Run], ours: list[Run]) -> str:
    """Return the line of a notebook in the table."""
    apart = sum(bool(engine(c)) for c in cells)
    differences = [
        difference(a.values, b.values)
        for a, b in zip(rai, ours, strict=True)
        if not a.error and not b.error
    ]
    equal = sum(not d.size for d in differences)
    near = sum(bool(d.size) and d.is_near for d in differences)
    counts = (sum(not run.error for run in runs) for runs in (rai, ours))
    seconds = (sum(run.seconds for run in runs) for runs in (rai, ours))
    numbers = (len(cells), apart, *counts, equal, near, len(differences) - equal - near)
    return (
        f"{name:24}"
        + "".join(f"{n:9d}" for n in numbers)
        + "".join(f"{s:9.1f}" for s in seconds)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="clone of rai-tutorials")
    parser.add_argument("--only", nargs="+", default=[""])
    parser.add_argument("--seconds", type=float, default=60.0, help="for each cell")
    options = parser.parse_args()
    files = [*sorted(options.folder.glob("*.ipynb"))]
    files += sorted(options.folder.glob("demos/*.py"))
    heads = "cells engine rai posewise equal near other rai/s ours/s".split()
    print(f"{'notebook':24}" + "".join(f"{h:>9}" for h in heads), flush=True)
    details = []
    for file in files:
        if not any(part in file.name for part in options.only):
            continue
        cells = read_cells(file)
        rai, ours = (
            run_cells(options.folder, file, cells, module, options.seconds)
            for module in MODULES
        )
        print(row(file.stem, cells, rai, ours), flush=True)
        details += [f"\n{file.name}", *sentences(cells, rai, ours)]
    print("\n".join(details))


if __name__ == "__main__":
    main()
