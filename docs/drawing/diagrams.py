"""Diagrams of what no world shows: poses of frames, forces, shares of a batch."""

from pathlib import Path
from typing import Any

import numpy as np

import posewise as pw
from posewise.robots.visual.figures import new_figure

from .examples import PIXELS, WIDTH, new_curves, run_examples

LABEL: dict[str, Any] = dict(textcoords="offset points", fontsize=9, va="top")
"""Style of labels at some points to the right and above what they name."""
AXIS_COLORS = ("tab:red", "tab:green", "tab:blue")


def draw_frames(file: Path) -> None:
    """Draw the world, a frame, the origin of a frame in it, and the joint's motion."""
    variables = run_examples("guide/conventions")
    C, origin = variables["C"], variables["origin"]
    figure, axes = new_curves(3.0)
    world = np.array([0.0, 0, 0, 1, 0, 0, 0])
    base, link = C.pose("base"), C.pose("link")
    for pose, name in ((world, "world"), (base, "base"), (origin, ""), (link, "link")):
        draw_axes(axes, pose, name, is_pale=not name)
    for start, end, label, offset in (
        (world, base, "constant origin of base:\n(0.4, 0.1, 0.1)", (-15, -22)),
        (base, origin, "constant origin of link:\n(0.5, 0, 0.3)", (15, -6)),
    ):
        ends = project(np.stack([start[:3], end[:3]]))
        axes.annotate("", ends[1], ends[0], arrowprops=dict(arrowstyle="-|>"))
        axes.annotate(label, ends.mean(0), offset, **LABEL)
    turn = np.linspace(0, C.q[0], 30)
    arc = 0.2 * np.stack([np.cos(turn), np.sin(turn), 0 * turn], 1) + link[:3]
    axes.plot(*project(arc).T, color="tab:purple", linewidth=2)
    text = f"motion of the joint:\nhingeZ, q = {C.q[0]:.2f}"
    axes.annotate(text, project(arc[12]), (8, 0), **LABEL, color="tab:purple")
    title = "pose of link = pose of base · constant origin · motion of its joint"
    axes.set_title(title, fontsize=10)
    axes.set(aspect="equal", xlim=(-0.1, 1.3), ylim=(-0.12, 0.52))
    axes.set_axis_off()
    figure.savefig(file, dpi=PIXELS)


def draw_axes(axes: Any, pose: np.ndarray, name: str, is_pale: bool) -> None:
    """Draw the axes of a frame, and its name below."""
    R = rotation(pose[3:])
    for k, color in enumerate(AXIS_COLORS):
        ends = project(pose[:3] + np.array([[0.0], [0.2]]) * R[:, k])
        style = dict(alpha=0.35, linewidth=6) if is_pale else dict(linewidth=2.5)
        axes.plot(*ends.T, color=color, **style)
    centred: dict[str, Any] = dict(ha="center", weight="bold")
    axes.annotate(name, project(pose[:3]), (0, -8), **LABEL, **centred)


def project(points: np.ndarray) -> np.ndarray:
    """Return points (…, 3) as seen from above, in front and from the right (…, 2)."""
    elevation, azimuth = np.deg2rad([20.0, -60.0])
    right = np.array([-np.sin(azimuth), np.cos(azimuth), 0.0])
    towards = np.array([np.cos(azimuth), np.sin(azimuth), 0.0])
    up = np.cos(elevation) * np.array([0, 0, 1.0]) - np.sin(elevation) * towards
    return np.asarray(points @ np.stack([right, up], 1))


def rotation(quaternion: np.ndarray) -> np.ndarray:
    """Return the rotation matrix of a unit quaternion (w, x, y, z)."""
    w, x, y, z = quaternion
    skew = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.asarray(np.eye(3) + 2 * w * skew + 2 * skew @ skew)


def draw_forces(file: Path) -> None:
    """Draw a brick on three slopes, with its weight and its contact force."""
    variables = run_examples("guide/contacts", 0, 1)
    figure, panels = new_curves(2.9, 3, sharex=True, sharey=True)
    for axes, (degrees, solution) in zip(
        panels, variables["tilted"].items(), strict=True
    ):
        world, (contact,) = solution.world_at(-1), solution.forces()
        draw_side(axes, world, "desk", "0.8")
        draw_side(axes, world, "brick", "tab:orange")
        scale, weight = 0.035, 0.5 * 9.81
        point, middle = contact.point[[0, 2]], world.pose("brick")[[0, 2]]
        normal = np.arctan2(*rotation(world.pose("desk")[3:])[[2, 0], 2])
        edges = normal + np.arctan(0.4) * np.array([1, -1])
        cone = 0.24 * np.stack([np.cos(edges), np.sin(edges)], 1)
        corners = np.stack([point, *(point + cone)])
        axes.fill(*corners.T, color="tab:green", alpha=0.3, label="friction cone")
        for start, force, color, label in (
            (middle, [0, -weight], "tab:blue", "weight"),
            (point, contact.force[[0, 2]], "tab:red", "contact force"),
        ):
            style = dict(color=color, width=0.006, length_includes_head=True, zorder=4)
            axes.arrow(*start, *(scale * np.array(force)), **style, head_width=0.025)
            axes.plot([], [], color=color, linewidth=3, label=label)
        axes.plot(*point, "o", color="black", markersize=4, zorder=5)
        axes.set_title(f"{degrees}°: {solution.status.name}", fontsize=10)
        axes.set(xlim=(-0.17, 0.25), ylim=(-0.13, 0.27), aspect="equal")
        axes.set_xlabel("x [m]")
    panels[0].set_ylabel("z [m]")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=8)
    figure.savefig(file, dpi=PIXELS)


def draw_side(axes: Any, world: pw.Config, name: str, color: str) -> None:
    """Draw a box as seen along the y axis."""
    shape = world.frame(name).shape
    if not isinstance(shape, pw.Box):
        raise ValueError(f"{name} has the shape {shape}, expected a Box.")
    half = np.asarray(shape.size)[[0, 2]] / 2
    pose = world.pose(name)
    corners = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]]) * half
    turn = rotation(pose[3:])[np.ix_([0, 2], [0, 2])]
    corners = corners @ turn.T + pose[[0, 2]]
    axes.fill(*corners.T, facecolor=color, edgecolor="0.3", linewidth=0.8)


def draw_chunks(file: Path) -> None:
    """Draw the chunks of a batch on three workers, one of which dies, and its files."""
    count, workers, death = 12, 3, 2.6
    durations = np.random.default_rng(3).uniform(0.8, 1.4, count)
    waiting, free_at = list(range(count)), dict.fromkeys(range(workers), 0.0)
    figure = new_figure(WIDTH, 3.6)
    axes, below = figure.subplots(2, sharex=True, height_ratios=(3, 2))
    stored = []
    while waiting:
        worker = min(free_at, key=lambda k: free_at[k])
        chunk, begin = waiting.pop(0), free_at[worker]
        end = begin + durations[chunk]
        dies = worker == 1 and begin < death < end
        if dies:
            # Its chunk is given to another worker.
            end = death
            waiting.append(chunk)
            del free_at[worker]
        else:
            free_at[worker] = end
            stored.append(end)
        color = "tab:red" if dies else "tab:blue"
        bar = dict(color=color, alpha=0.4, edgecolor="0.2", height=0.8)
        axes.barh(-worker, end - begin, left=begin, **bar)
        text = f"{chunk + 1} ✗" if dies else f"{chunk + 1}"
        axes.text((begin + end) / 2, -worker, text, ha="center", va="center")
    times = [0.0, *sorted(stored)]
    below.step(times, np.arange(count + 1), where="post", color="tab:green")
    below.set(ylabel="files", ylim=(0, count + 1), xlabel="time", xticks=[])
    axes.set_yticks([-k for k in range(workers)])
    axes.set_yticklabels([f"worker {k + 1}" for k in range(workers)])
    axes.text(death + 0.1, -1, "a worker dies", color="tab:red", va="center")
    figure.savefig(file, dpi=PIXELS)
