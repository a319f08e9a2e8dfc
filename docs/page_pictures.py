"""Draws pictures of pages from the worlds and paths of their first examples.

`pictures.py` calls it.
"""

import re
from pathlib import Path
from typing import Any

import numpy as np

from posewise.robots.visual.figures import new_figure

GUIDE = Path(__file__).parent / "guide"


def draw_examples(folder: Path) -> None:
    """Draw a picture for each page whose first example makes one."""
    draw_activity(first_example("bddl"), folder / "bddl.png")
    draw_temperature(first_example("states"), folder / "states.png")
    draw_timing(first_example("controller"), folder / "controller.png")


def first_example(page: str) -> dict[str, Any]:
    """Run the first example of a page, and return its variables."""
    text = (GUIDE / f"{page}.md").read_text(encoding="utf-8")
    code = re.search(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    if code is None:
        raise ValueError(f"The page {page!r} has no example.")
    variables: dict[str, Any] = {}
    exec(code[1], variables)
    return variables


def draw_activity(found: dict[str, Any], file: Path) -> None:
    """Draw the scene of a BDDL problem in which its goal holds."""
    found["end"].config.picture(names=True).savefig(file, dpi=80)


def draw_temperature(found: dict[str, Any], file: Path) -> None:
    """Draw the temperature of the steak over time."""
    dt = found["dt"]
    celsius = found["history"]["steak"].temperature
    made = new_figure(6.5, 3)
    axes = made.subplots()
    axes.plot(dt * np.arange(len(celsius)), celsius, color="tab:red")
    for limit, label in ((70, "cooked from here"), (150, "burnt from here")):
        axes.axhline(limit, color="0.5", linestyle="--", linewidth=1)
        axes.text(0, limit + 2, label, fontsize=8)
    axes.set(xlabel="time [s]", ylabel="temperature of the steak [°C]")
    made.savefig(file, dpi=110)


def draw_timing(found: dict[str, Any], file: Path) -> None:
    """Draw velocities of one joint: as planned, and as fast as the limits allow."""
    solution = found["solution"]
    made = new_figure(6.5, 3)
    axes = made.subplots()
    timings = {
        "resample(0.001)": solution.resample(0.001),
        "resample(0.001, rounded=True)": solution.resample(0.001, rounded=True),
        "retime()": solution.retime(),
    }
    for label, timing in timings.items():
        joint = np.abs(timing.velocities).max(1)
        axes.plot(timing.times, joint, label=label, linewidth=1.2)
    axes.set(xlabel="time [s]", ylabel="speed of the fastest joint [rad/s]")
    axes.legend(fontsize=8)
    made.savefig(file, dpi=110)
