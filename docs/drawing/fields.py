"""Features and predicates as functions of where something is."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import posewise as pw
from posewise import FS, logic

from .examples import PIXELS, new_curves, run_examples

SLOPE_STYLE = dict(width=0.0025, color="0.25")


def draw_soundness(file: Path) -> None:
    """Draw violations and exact checks of a box that slides over a table's edge."""
    C = pw.Config()
    C.add_frame("table", shape=pw.Box([0.6, 0.6, 0.04]))
    box = pw.Box([0.1, 0.1, 0.1])
    C.add_frame("box", shape=box, joint="transX", position=[0, 0, 0.07])
    places = np.linspace(0.2, 0.45, 51)
    figure, axes = new_curves()
    for kind, color in ((logic.OnTopOf, "tab:blue"), (logic.InContactWith, "tab:red")):
        predicate = kind("box", "table")
        violation, holds = [], []
        for x in places:
            C.q = [x]
            violation.append(predicate.violation(C))
            holds.append(predicate.holds(C))
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
    figure.savefig(file, dpi=PIXELS)


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
    q[:, C.joints.coordinates("weight")] = np.stack([x, y], -1).reshape(-1, 2)
    values = np.asarray(jax.jit(jax.vmap(distance))(q)).reshape(x.shape)
    figure, axes = new_curves(3.8)
    levels = np.arange(-0.14, 0.22, 0.02)
    shades = axes.contourf(x, y, values, levels, cmap="RdBu_r", vmin=-0.2, vmax=0.2)
    axes.contour(x, y, values, [0.0], colors="black", linewidths=1.5)
    figure.colorbar(shades, label="distance of the centre of mass [m]")
    sole = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]]) / 2 * size[:2]
    for place, angle in feet.values():
        c, s = np.cos(angle), np.sin(angle)
        corners = sole @ [[c, s], [-s, c]] + place[:2]
        axes.fill(*corners.T, facecolor="none", edgecolor="0.2", hatch="///")
    axes.set(xlabel="x [m]", ylabel="y [m]", aspect="equal")
    figure.savefig(file, dpi=PIXELS)


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

    figure, axes = new_curves(3.6)
    x, y, places = over(121, 73)
    values = np.asarray(jax.jit(jax.vmap(distance))(places)).reshape(x.shape)
    levels = np.arange(-0.2, 0.36, 0.02)
    shades = axes.contourf(x, y, values, levels, cmap="RdBu", vmin=-0.25, vmax=0.25)
    axes.contour(x, y, values, [0.0], colors="black", linewidths=1.5)
    figure.colorbar(shades, label="signed distance [m]")
    x, y, places = over(21, 13)
    slopes = np.asarray(jax.jit(jax.vmap(jax.grad(distance)))(places))
    axes.quiver(x.ravel(), y.ravel(), *slopes.T, **SLOPE_STYLE)
    corners = [[-0.2, -0.1], [0.2, -0.1], [0.2, 0.1], [-0.2, 0.1], [-0.2, -0.1]]
    axes.plot(*np.transpose(corners), color="0.4", linestyle="--", label="the box")
    ends = 0.075 * np.array([np.cos(0.6), np.sin(0.6)]) * np.array([[-1], [1]])
    axes.plot(*(ends + [0.38, 0.2]).T, color="tab:orange", linewidth=10,
              solid_capstyle="round", label="the capsule")  # fmt: skip
    axes.set(xlabel="x [m]", ylabel="y [m]", aspect="equal")
    axes.legend(fontsize=8, loc="lower right")
    figure.savefig(file, dpi=100)


def draw_height(file: Path) -> None:
    """Draw the height of the hand over each of two joints, with exact tangents."""
    variables = run_examples("guide/features", 0, 1)
    C, height = variables["C"], variables["height"]
    value_and_slope = jax.jit(jax.value_and_grad(lambda q: height(q)[0]))
    home, (low, high) = C.q, C.limits
    figure, axes = new_curves(3.0)

    def evaluate(joint: int, angle: float) -> tuple[float, float]:
        """Return the height and its slope where one joint differs from home."""
        q = home.copy()
        q[joint] = angle
        value, gradient = value_and_slope(q)
        return float(value), float(gradient[joint])

    for joint, color in ((1, "tab:blue"), (3, "tab:orange")):
        angles = np.linspace(low[joint], high[joint], 121)
        heights = [evaluate(joint, angle)[0] for angle in angles]
        style = dict(color=color, linewidth=5, alpha=0.5)
        axes.plot(angles, heights, **style, label=f"over q[{joint}]")
        for angle in np.append(angles[10:-9:20], home[joint]):
            value, slope = evaluate(joint, angle)
            ends = np.array([-0.35, 0.35]) / np.sqrt(1 + slope**2)
            axes.plot(angle + ends, value + slope * ends, color="0.15", linewidth=1)
            at_home = angle == home[joint]
            axes.plot(angle, value, "s" if at_home else ".", color="0.15")
    axes.plot([], [], ".-", color="0.15", linewidth=1, label="tangent by jax.grad")
    axes.plot([], [], "s", color="0.15", label="at C.q")
    axes.set_xlabel("one joint [rad], the others as in C.q")
    axes.set_ylabel("height of the hand [m]")
    axes.legend(fontsize=8)
    figure.savefig(file, dpi=PIXELS)


def draw_descent(file: Path) -> None:
    """Draw a predicate's loss over the place of a mug, and a descent on it."""
    variables = run_examples("guide/learning", 0, 1)
    W, on = variables["W"], variables["on"]
    # Called many times, because programs of batches compile for longer.
    value_and_slope = jax.jit(jax.value_and_grad(variables["loss"]))
    x, z = np.meshgrid(np.linspace(0.1, 0.7, 61), np.linspace(0.72, 1.0, 29))
    values, slopes = np.zeros(x.shape), np.zeros((*x.shape, 2))
    for cell in np.ndindex(x.shape):
        q = W.q
        q[[0, 2]] = x[cell], z[cell]
        value, slope = value_and_slope(q)
        values[cell], slopes[cell] = value, slope[np.array([0, 2])]
    path = [W.q]
    for _ in range(400):
        path.append(path[-1] - 1e-3 * np.asarray(value_and_slope(path[-1])[1]))
    W.q = path[-1]
    figure, axes = new_curves(3.5)
    shades = axes.contourf(x, z, values, 16, cmap="Blues")
    figure.colorbar(shades, label="loss")
    some = (slice(2, None, 4), slice(2, None, 4))
    down = -slopes[some].reshape(-1, 2)
    axes.quiver(x[some].ravel(), z[some].ravel(), *down.T, **SLOPE_STYLE)
    steps = np.array(path)[:, [0, 2]]
    axes.plot(*steps.T, color="tab:red", label="gradient descent")
    label = f"its end: on.holds(W) is {on.holds(W)}"
    axes.plot(*steps[-1], "o", color="tab:red", label=label)
    table = [[-0.4, 0.68], [0.4, 0.68], [0.4, 0.72], [-0.4, 0.72]]
    axes.fill(*np.transpose(table), color="tab:brown", label="the table")
    axes.set(xlim=(0.1, 0.7), ylim=(0.68, 1.0), aspect="equal")
    axes.set(xlabel="x of the mug [m]", ylabel="z of the mug [m]")
    axes.legend(fontsize=8, loc="upper left")
    figure.savefig(file, dpi=PIXELS)
