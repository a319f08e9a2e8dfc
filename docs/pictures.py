"""Draws the pictures of the pages: the demo, a relaxation, and distances.

Run `python docs/pictures.py build/pictures`.
"""

import sys
from pathlib import Path

import jax

jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from page_pictures import draw_examples  # noqa: E402

import posewise as pw  # noqa: E402
from posewise import FS, logic  # noqa: E402
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


def draw_balance(file: Path) -> None:
    """Draw how far a weight is from the support polygon of two feet, from above."""
    C = pw.Config()
    C.add_frame("body", joint="free")
    feet = {"left": ([0, 0.15, 0], 0.2), "right": ([0.1, -0.1, 0], -0.3)}
    size = np.array([0.25, 0.09, 0.02])
    for name, (place, angle) in feet.items():
        turn = [np.cos(angle / 2), 0, 0, np.sin(angle / 2)]
        C.add_frame(name, "body", position=place, quaternion=turn, shape=pw.Box(size),
                    mass=1e-6)  # fmt: skip
    C.add_frame("weight", "body", joint="transXY", mass=10.0)
    distance = C.feature(FS.supportPolygon, [*feet]).function(C)
    x, y = np.meshgrid(np.linspace(-0.3, 0.4, 141), np.linspace(-0.25, 0.3, 111))
    q = np.tile(C.q, (x.size, 1))
    q[:, C.coordinates("weight")] = np.stack([x, y], -1).reshape(-1, 2)
    values = np.asarray(jax.jit(jax.vmap(distance))(q)).reshape(x.shape)
    made = new_figure(6.5, 3.8)
    axes = made.subplots()
    levels = np.arange(-0.14, 0.22, 0.02)
    shades = axes.contourf(x, y, values, levels, cmap="RdBu_r", vmin=-0.2, vmax=0.2)
    axes.contour(x, y, values, [0.0], colors="black", linewidths=1.5)
    made.colorbar(shades, label="distance of the centre of mass [m]")
    sole = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]]) / 2 * size[:2]
    for place, angle in feet.values():
        c, s = np.cos(angle), np.sin(angle)
        corners = sole @ [[c, s], [-s, c]] + place[:2]
        axes.fill(*corners.T, facecolor="none", edgecolor="0.2", hatch="///")
    axes.set(xlabel="x [m]", ylabel="y [m]", aspect="equal")
    made.savefig(file, dpi=110)


def draw_distances(file: Path) -> None:
    """Draw the signed distance of a capsule from a box, and its gradient."""
    C = pw.Config()
    C.add_frame("box", shape=pw.Box([0.4, 0.2, 0.2]))
    lying = [0, 0, 0, np.sqrt(0.5), 0, np.sqrt(0.5), 0]  # along x
    turn = [np.cos(0.3), 0, 0, np.sin(0.3)]
    C.add_frame("slide_x", joint="transX")
    C.add_frame("slide_y", "slide_x", joint="transY")
    shape = [(pw.Capsule(0.15, 0.03), lying)]
    C.add_frame("capsule", "slide_y", quaternion=turn, shape=shape)
    minus = C.feature(FS.distance, ["capsule", "box"]).function(C)

    def distance(q: jax.Array) -> jax.Array:
        return -minus(q)[0]

    def over(n: int, m: int) -> tuple[np.ndarray, np.ndarray, jax.Array]:
        x, y = np.meshgrid(np.linspace(-0.5, 0.5, n), np.linspace(-0.3, 0.3, m))
        return x, y, jnp.stack([x, y], -1).reshape(-1, 2)

    made = new_figure(6.5, 3.6)
    axes = made.subplots()
    x, y, places = over(121, 73)
    values = np.asarray(jax.jit(jax.vmap(distance))(places)).reshape(x.shape)
    levels = np.arange(-0.2, 0.36, 0.02)
    shades = axes.contourf(x, y, values, levels, cmap="RdBu", vmin=-0.25, vmax=0.25)
    axes.contour(x, y, values, [0.0], colors="black", linewidths=1.5)
    made.colorbar(shades, label="signed distance [m]")
    x, y, places = over(21, 13)
    slopes = np.asarray(jax.jit(jax.vmap(jax.grad(distance)))(places))
    axes.quiver(x.ravel(), y.ravel(), *slopes.T, width=0.0025, color="0.25")
    corners = [[-0.2, -0.1], [0.2, -0.1], [0.2, 0.1], [-0.2, 0.1], [-0.2, -0.1]]
    axes.plot(*np.transpose(corners), color="0.4", linestyle="--", label="the box")
    ends = 0.075 * np.array([np.cos(0.6), np.sin(0.6)]) * np.array([[-1], [1]])
    axes.plot(*(ends + [0.38, 0.2]).T, color="tab:orange", linewidth=10,
              solid_capstyle="round", label="the capsule")  # fmt: skip
    axes.set(xlabel="x [m]", ylabel="y [m]", aspect="equal")
    axes.legend(fontsize=8, loc="lower right")
    made.savefig(file, dpi=100)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    if not run(folder):
        sys.exit("not every problem of the demo was solved")
    draw_soundness(folder / "soundness.png")
    draw_balance(folder / "balance.png")
    draw_distances(folder / "distances.png")
    draw_examples(folder)
