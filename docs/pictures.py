"""Draws the pictures of the pages: those of the demo, and one of a relaxation.

Run `python docs/pictures.py build/pictures`.
"""

import sys
from pathlib import Path

import jax

jax.config.update("jax_enable_x64", True)

import numpy as np  # noqa: E402

import posewise as pw  # noqa: E402
from posewise import logic  # noqa: E402
from posewise.demo import run  # noqa: E402
from posewise.robots.visual.figures import new_figure  # noqa: E402


def draw_soundness(file: Path) -> None:
    """Draw violations and exact checks of a box that slides over a table's edge."""
    C = pw.Config()
    C.add_frame("table", shape=pw.Box([0.6, 0.6, 0.04]))
    slides = dict(joint="transX", position=[0, 0, 0.07])
    C.add_frame("box", shape=pw.Box([0.1, 0.1, 0.1]), **slides)
    places = np.linspace(0.2, 0.45, 51)
    made = new_figure(6.5, 3)
    axes = made.subplots()
    for kind, color in ((logic.OnTopOf, "tab:blue"), (logic.InContactWith, "tab:red")):
        asked = kind("box", "table")
        violation, holds = [], []
        for x in places:
            C.q = [x]
            violation.append(asked.violation(C))
            holds.append(asked.holds(C))
        name = kind.__name__
        axes.plot(places, violation, color=color, label=f"violation of {name}")
        true = places[holds]
        low = -0.02 if kind is logic.OnTopOf else -0.03
        axes.plot(true, np.full(len(true), low), color=color, linewidth=6, alpha=0.4,
                  solid_capstyle="butt", label=f"{name} holds exactly")  # fmt: skip
    axes.axhline(0, color="0.5", linewidth=0.8)
    axes.set_xlabel("middle of the box [m]; the table ends at 0.3")
    axes.set_ylabel("violation [m]")
    axes.legend(fontsize=8)
    made.savefig(file, dpi=110)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    if not run(folder):
        sys.exit("not every problem of the demo was solved")
    draw_soundness(folder / "soundness.png")
