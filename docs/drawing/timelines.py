"""Curves over time and over iterations, and times of solves."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import posewise as pw

from .examples import DOCS, PIXELS, new_curves, page_code, run_examples


def draw_temperature(file: Path) -> None:
    """Draw the temperature of the steak over time."""
    variables = run_examples("guide/states")
    dt = variables["dt"]
    celsius = variables["history"]["steak"].temperature
    figure, axes = new_curves()
    axes.plot(dt * np.arange(len(celsius)), celsius, color="tab:red")
    for limit, label in ((70, "cooked from here"), (150, "burnt from here")):
        axes.axhline(limit, color="0.5", linestyle="--", linewidth=1)
        axes.text(0, limit + 2, label, fontsize=8)
    axes.set(xlabel="time [s]", ylabel="temperature of the steak [°C]")
    figure.savefig(file, dpi=PIXELS)


def draw_timing(file: Path) -> None:
    """Draw velocities of one joint: as planned, and as fast as the limits allow."""
    solution = run_examples("guide/controller")["solution"]
    figure, axes = new_curves()
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
    figure.savefig(file, dpi=PIXELS)


def draw_requests(file: Path) -> None:
    """Draw the times of requests in the order of their arrival."""
    results = run_examples("guide/service")
    seconds, compiled = np.array(results["seconds"]), np.array(results["compiled"])
    figure, axes = new_curves()
    arrival = np.arange(1, len(seconds) + 1)
    for label, chosen, color in (
        ("compiled", compiled > 0, "tab:orange"),
        ("compiled nothing", compiled == 0, "tab:green"),
    ):
        axes.bar(arrival[chosen], seconds[chosen], color=color, label=label)
    axes.set(xlabel="request", ylabel="time of its plan [s]", yscale="log")
    axes.legend(fontsize=8)
    figure.savefig(file, dpi=PIXELS)


def draw_start_in_motion(file: Path) -> None:
    """Draw a path that starts in motion beside one from rest, and times of solves."""
    variables = run_examples("guide/again", 0)
    C, komo = variables["C"], variables["komo"]
    figure, (left, right) = new_curves(3.0, 2, width_ratios=(1.5, 1))
    for start, label in ((0.2, "a start at 0.2 rad/s"), (0.0, "a start at rest")):
        komo.set_start(velocity=[start, *np.zeros(C.nq - 1)])
        path = np.append(C.q[0], komo.solve().path[:, 0])
        speeds = np.append(start, np.diff(path) / komo.tau)
        # The speed between two slices, at the time in the middle of them.
        times = np.append(0.0, np.cumsum(komo.tau) - komo.tau / 2)
        left.plot(times, speeds, ".-", label=label)
    left.set(xlabel="time [s]", ylabel="velocity of the first joint [rad/s]")
    left.legend(fontsize=8)
    still = np.tile(C.q, (len(komo.tau), 1))
    last = komo.solve()
    labels = ("without\ninitialize", "after\ninitialize")
    solves: dict[str, list[pw.Solution]] = {label: [] for label in labels}
    for k in range(1, 11):
        C.set_pose("target", [0.5, 0.2 + 0.01 * k, 0.5, 1, 0, 0, 0])
        for initial, ended in zip((still, last), solves.values(), strict=True):
            komo.initialize(initial)
            ended.append(komo.solve())
        last = solves[labels[1]][-1]
    for (label, ended), color in zip(solves.items(), ("0.6", "tab:green"), strict=True):
        seconds = np.median([solution.seconds for solution in ended])
        count = np.median([solution.iterations for solution in ended])
        bar = right.bar([label], [1e3 * seconds], color=color, width=0.6)
        right.bar_label(bar, [f"{count:.0f} iterations"], fontsize=8)
    right.set_ymargin(0.15)
    right.set_ylabel("time of a solve, median of ten [ms]")
    right.set_xmargin(0.1)
    figure.savefig(file, dpi=PIXELS)


def draw_convergence(file: Path) -> None:
    """Draw violations and cost over the iterations of a solve."""
    trace = run_examples("solver")["trace"]
    figure, (left, right) = new_curves(3.0, 2)
    counts = [solution.iterations for solution in trace]
    rows = {"tip at its target, at rest": "eq", "clear of the ball": "ineq"}
    for label, kind in rows.items():
        left.plot(counts, [getattr(solution, kind) for solution in trace], label=label)
    left.axhline(trace[0].tolerance, color="0.5", linestyle="--", linewidth=1)
    left.text(0, 1.1 * trace[0].tolerance, "tolerance", fontsize=8, va="bottom")
    left.set_yscale("log")
    left.set_ylim(1e-5, 100)
    left.set(xlabel="iteration", ylabel="largest violation, scaled")
    left.legend(fontsize=8, loc="upper right")
    right.plot(counts, [solution.sos for solution in trace], color="tab:green")
    right.set(xlabel="iteration", ylabel="cost")
    figure.savefig(file, dpi=PIXELS)


def draw_compile_times(file: Path) -> None:
    """Draw how long solves take in a first process, in the next one, and after that."""
    program = page_code("guide/compilation")
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "POSEWISE_CACHE": folder}
        environment["PYTHONPATH"] = str(DOCS.parent)
        seconds = []
        for _ in range(2):
            out = subprocess.run(
                [sys.executable, "-c", program],
                env=environment,
                check=True,
                stdout=subprocess.PIPE,
                text=True,
            ).stdout
            seconds.append([float(line.split()[0]) for line in out.splitlines()])
    labels = ["first solve", "first solve of\nthe next process", "further solves"]
    values = [seconds[0][0], seconds[1][0], float(np.median(seconds[1][1:]))]
    figure, axes = new_curves(2.2)
    bars = axes.barh(labels, values, color=["tab:gray", "tab:blue", "tab:green"])
    texts = [f"{v:.1f} s" if v >= 0.1 else f"{1e3 * v:.1f} ms" for v in values]
    axes.bar_label(bars, texts, padding=4)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlim(min(values) / 2, 4 * max(values))
    axes.set_xlabel("time [s], where this page was made")
    figure.savefig(file, dpi=PIXELS)
