"""Paths of an arm that bring a state about, against the same paths without the state.

    python benchmarks/path_states.py [--slices 16] [--starts 1 8] [--rounds 5]

A Panda holds an object beside a post and moves it aside, free of collisions in slices
and between them; with a state it is cooked, frozen, soaked, cut or wiped on the way.
*First*: seconds of the first solve of a process with an empty folder of programs,
first without the state, so that what both need is compiled there. *ms*: the
median of further solves, each of a new problem. *Ratio*: over the path without.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

import jax

jax.config.update("jax_enable_x64", True)

import numpy as np  # noqa: E402

import posewise as pw  # noqa: E402
from posewise import FS, logic  # noqa: E402

UPRIGHT = [1.0, 0, 0, 0]
HELD = {
    "cooked": {"cookable": {}},
    "frozen": {"freezable": {"freeze_temperature": 0.0}},
    "soaked": {"soakable": {"w_soaked": 2}},
    "sliced": {"slicer": {}},
    "wiped": {"cleaningTool": {}},
}
STATES = {
    "cooked": logic.Cooked("held"),
    "frozen": logic.Eventually(logic.Frozen("held")),
    "soaked": logic.Soaked("held"),
    "sliced": logic.Sliced("loaf"),
    "wiped": ~logic.Dusty("plate"),
}
STEPS = {"soaked": 0.2, "sliced": 0.2, "wiped": 0.2}
"""Time from slice to slice [s]; else 0.5."""


def kitchen(state: str) -> pw.Config:
    """A Panda between a stove, a fridge, a tap, a loaf and a dusty plate."""
    C = pw.load("panda")
    near = {"heating_rate": 0.1, "distance_threshold": 0.2}
    plate = [(pw.Box([0.2, 0.2, 0.02]), None)]
    hot = {"heatSource": {"temperature": 500, **near}}
    cold = {"coldSource": {"temperature": -40, **near}}
    C.add_object("stove", plate, pose=[0.5, 0.4, 0.2, *UPRIGHT], abilities=hot)
    C.add_object("fridge", plate, pose=[0.5, -0.4, 0.2, *UPRIGHT], abilities=cold)
    tap = [(pw.Box([0.04, 0.04, 0.04]), None)]
    C.add_object(
        "tap", tap, pose=[0.4, 0.4, 0.7, *UPRIGHT], abilities={"waterSource": {}}
    )
    C.add_frame("post", shape=pw.Box([0.05, 0.05, 0.8]), position=[0.6, 0.1, 0.4])
    loaf = [(pw.Box([0.1, 0.1, 0.1]), None)]
    C.add_object(
        "loaf", loaf, pose=[0.4, -0.35, 0.1, *UPRIGHT], abilities={"sliceable": {}}
    )
    pose = [0.45, 0.3, 0.05, *UPRIGHT]
    C.add_object("plate", plate, pose=pose, abilities={"dustyable": {}})
    spots = np.array([[x, y, 0.01] for x in (-0.02, 0.02) for y in (-0.02, 0.02)])
    dust = pw.Particles(spots, np.ones(4, bool))
    C.annotations.set_state("plate", dust=dust)
    tool = [(pw.Box([0.08, 0.08, 0.02]), [0, 0, 0.06, *UPRIGHT])]
    C.add_object("held", tool, parent="panda_hand_tcp", abilities=HELD.get(state, {}))
    return C


def problem(C: pw.Config, state: str, step: float, slices: int) -> pw.KOMO:
    """The path aside, on which the state comes about unless it is "none"."""
    komo = pw.KOMO(C, 1, slices, 2, step * slices)
    komo.add_control_objective(2, 0.1)
    komo.add_objective([1], FS.position, "held", target=[0.45, -0.15, 0.5], scale=10)
    komo.avoid_collisions()
    if state != "none":
        komo.add(STATES[state])
    return komo


def measured(
    C: pw.Config, state: str, step: float, slices: int, starts: int, rounds: int
) -> tuple[float, float, pw.Solution]:
    """The first and the median further solve [s], and a solution."""
    seconds = []
    for _ in range(rounds + 1):
        komo = problem(C, state, step, slices)
        began = time.perf_counter()
        solution = komo.solve(starts=starts, progress=False)
        seconds.append(time.perf_counter() - began)
    return seconds[0], statistics.median(seconds[1:]), solution


def compare(state: str, slices: int, starts: int, rounds: int) -> None:
    """Print a row of the table."""
    C, step = kitchen(state), STEPS.get(state, 0.5)
    without = measured(C, "none", step, slices, starts, rounds)
    with_state = measured(C, state, step, slices, starts, rounds)
    first, again = with_state[0] / without[0], with_state[1] / without[1]
    print(
        f"| {state} | {slices} | {starts} | {without[0]:.1f} | {with_state[0]:.1f} |"
        f" {first:.1f} | {1e3 * without[1]:.0f} | {1e3 * with_state[1]:.0f} |"
        f" {again:.1f} | {with_state[2].status.name} |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="*", default=[*STATES], choices=[*STATES])
    parser.add_argument("--slices", type=int, nargs="*", default=[16])
    parser.add_argument("--starts", type=int, nargs="*", default=[1, 8])
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    every = [
        (s, n, k)
        for s in arguments.only
        for n in arguments.slices
        for k in arguments.starts
    ]
    if len(every) == 1:
        return compare(*every[0], arguments.rounds)
    print(
        "| state | slices | starts | first s without | first s | ratio |"
        " ms without | ms | ratio | status |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
        flush=True,
    )
    for state, slices, starts in every:
        chosen = ["--only", state, "--slices", str(slices), "--starts", str(starts)]
        options = [*chosen, "--rounds", str(arguments.rounds)]
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "POSEWISE_CACHE": folder}
            command = [sys.executable, __file__, *options]
            subprocess.run(command, check=True, env=environment)


if __name__ == "__main__":
    main()
