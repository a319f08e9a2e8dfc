"""Placements that predicates ask for: how many are found, and how fast.

    python benchmarks/placement.py [--only InsideOf crate ...] [--runs 50]

First each geometric predicate alone: an object up to 2 m away, in any orientation, is
to be placed. Then the cases that iGibson's sampler is known for, re-staged with
primitives: thin floors, tight fits, large plates, a slope, a neighbour. Success: every
predicate holds exactly, nothing overlaps by more than 1 mm, and in the cases the item
is held from below: lowered by 2 mm it overlaps by more than 1 mm.

Prints seconds of the first solve (with compilation), median milliseconds of a warm one
and of the cores' time, the share of successes, and seconds per success.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass

import jax

jax.config.update("jax_enable_x64", True)

import numpy as np  # noqa: E402

import posewise as pw  # noqa: E402
from posewise import logic  # noqa: E402
from posewise.robots.transforms import axis_angle  # noqa: E402

STARTS = 128
Part = tuple[pw.robots.shapes.Shape, np.ndarray]


def at(x=0.0, y=0.0, z=0.0, turn=0.0, axis=(0.0, 0, 1)) -> np.ndarray:
    return np.array([x, y, z, *axis_angle(np.array(axis), turn)])


# -- things ----------------------------------------------------------------------------


def open_box(width: float, depth: float, height: float, floor: float) -> list[Part]:
    wall = 0.01
    side, front = (width - wall) / 2, (depth - wall) / 2
    parts = [(pw.Box([width, depth, floor]), at(z=floor / 2))]
    for s in (-1, 1):
        parts += [
            (pw.Box([wall, depth, height]), at(s * side, z=height / 2)),
            (pw.Box([width, wall, height]), at(0, s * front, height / 2)),
        ]
    return parts


def table() -> list[Part]:
    legs = [
        (pw.Box([0.04, 0.04, 0.66]), at(x, y, 0.33))
        for x in (-0.45, 0.45)
        for y in (-0.25, 0.25)
    ]
    return [(pw.Box([1.0, 0.6, 0.04]), at(z=0.68)), *legs]


def round_vessel(
    low: float, high: float, height: float, floor: float, wall: float
) -> list[Part]:
    """A floor with sixteen staves; inner radii at its floor and at its rim."""
    n, lean = 16, np.arctan2(high - low, height)
    length = np.hypot(high - low, height)
    width = 2 * (high + wall) * np.tan(np.pi / n)
    parts = [(pw.Cylinder(floor, low + wall), at(z=floor / 2))]
    for k in range(n):
        around = axis_angle(np.array([0.0, 0, 1]), 2 * np.pi * k / n)
        tilt = axis_angle(np.array([0.0, 1, 0]), lean)
        turn = np.asarray(pw.robots.transforms.quat_multiply(around, tilt))
        angle = 2 * np.pi * k / n
        r = (low + high) / 2 + wall / 2 * np.cos(lean)
        middle = [r * np.cos(angle), r * np.sin(angle)]
        up = floor + height / 2 - wall / 2 * np.sin(lean)
        parts.append((pw.Box([wall, width, length]), np.array([*middle, up, *turn])))
    return parts


def vessel(low: float, high: float, height: float, floor: float) -> pw.Config:
    """A mug or a bowl, with its cavity and its floor annotated."""
    C = pw.Config()
    C.add_object("b", round_vessel(low, high, height, floor, wall=0.006))
    lean = np.arctan2(high - low, height)
    angles = 2 * np.pi * np.arange(16) / 16
    out = np.stack([np.cos(angles), np.sin(angles)], -1) * np.cos(lean)
    offset = np.cos(lean) * low - np.sin(lean) * floor - 1e-3
    sides = np.column_stack([out, np.full(16, -np.sin(lean)), np.full(16, offset)])
    ends = [[0, 0, -1, -floor - 1e-4], [0, 0, 1, floor + 0.9 * height]]
    C.add_region("b", "cavity", planes=[*sides, *ends])
    C.add_region("b", "floor", "support", size=[1.4 * low] * 2, pose=at(z=floor))
    return C


def shelf() -> pw.Config:
    """Two levels, 76 cm wide and 33 cm high, with boards that are frames."""
    C = pw.Config()
    sides = [(pw.Box([0.02, 0.3, 0.72]), at(s * 0.39, z=0.36)) for s in (-1, 1)]
    back = (pw.Box([0.8, 0.01, 0.72]), at(y=0.155, z=0.36))
    C.add_object("b", [*sides, back, (pw.Box([0.76, 0.3, 0.02]), at(z=0.71))])
    for k in range(2):
        board = pw.Box([0.76, 0.3, 0.02])
        C.add_frame(f"board{k}", "b", pose=at(z=0.01 + 0.35 * k), shape=board)
        C.add_region(
            "b", f"level{k}", size=[0.76, 0.3, 0.33], pose=at(z=0.185 + 0.35 * k)
        )
    return C


# -- what is asked ---------------------------------------------------------------------


@dataclass(frozen=True)
class Task:
    """A world with something to be placed in it."""

    world: Callable[[], pw.Config]
    item: pw.robots.shapes.Shape
    what: Callable[[int], list]
    """Of a number of the run."""
    rests: bool = True


def crate(annotated: bool = False, floor: float = 0.01) -> pw.Config:
    C = pw.Config()
    C.add_object("b", open_box(0.4, 0.3, 0.2, floor), joint="free")
    if annotated:
        inner = [0.38, 0.28, 0.199 - floor]
        C.add_region("b", "cavity", size=inner, pose=at(z=floor + inner[2] / 2 + 1e-3))
        C.add_region("b", "floor", "support", size=inner[:2], pose=at(z=floor))
    return C


def on_table(annotated: bool = False, plate: bool = False) -> pw.Config:
    C = pw.Config()
    C.add_object("b", table())
    if annotated:
        C.add_region("b", "top", "support", size=[1.0, 0.6], pose=at(z=0.7))
    if plate:
        C.add_object("plate", [(pw.Box([0.3, 0.2, 0.02]), at())], pose=at(0.2, 0, 0.71))
    return C


def slope() -> pw.Config:
    """A wedge of 27 degrees, 30 cm long."""
    C = pw.Config()
    angle, length = np.radians(27), 0.3
    corners = [[x, y, 0] for x in (0, length) for y in (-0.15, 0.15)]
    top = [[length, y, length * np.tan(angle)] for y in (-0.15, 0.15)]
    C.add_object("b", [(pw.Convex([*corners, *top]), at())])
    middle = at(length / 2, 0, length / 2 * np.tan(angle), -angle, (0.0, 1, 0))
    size = [length / np.cos(angle), 0.3]
    C.add_region("b", "slope", "support", size=size, pose=middle)
    return C


ITEM = pw.Box([0.1, 0.08, 0.06])
inside = lambda k: [logic.InsideOf("item", "b"), logic.OnTopOf("item", "b")]
on_top = lambda k: [logic.OnTopOf("item", "b")]
on_board = lambda k: [
    logic.InsideOf("item", "b"),
    logic.OnTopOf("item", f"board{k % 2}"),
]
beside = lambda k: [logic.NextTo("item", "plate"), logic.OnTopOf("item", "b")]
alone = lambda kind: lambda k: [kind("item", "b")]

PREDICATES = {
    "InsideOf": Task(crate, ITEM, alone(logic.InsideOf), False),
    "InsideOf, cavity": Task(lambda: crate(True), ITEM, alone(logic.InsideOf), False),
    "OnTopOf": Task(on_table, ITEM, alone(logic.OnTopOf), False),
    "OnTopOf, support": Task(lambda: on_table(True), ITEM, alone(logic.OnTopOf), False),
    "Under": Task(on_table, ITEM, alone(logic.Under), False),
    "NextTo": Task(crate, ITEM, alone(logic.NextTo), False),
    "InContactWith": Task(crate, ITEM, alone(logic.InContactWith), False),
}  # fmt: skip

thin, thick = (lambda: crate(True)), (lambda: crate(True, 0.02))
mug_4 = lambda: vessel(0.055, 0.055, 0.1, 0.004)
mug_15 = lambda: vessel(0.055, 0.055, 0.1, 0.015)
bowl_8 = lambda: vessel(0.06, 0.115, 0.07, 0.008)
bowl_15 = lambda: vessel(0.06, 0.115, 0.07, 0.015)
plain, neighbour = (lambda: on_table(True)), (lambda: on_table(True, True))
cube = lambda size: pw.Box([size] * 3)

box = lambda *size: pw.Box(size)
STAGED = [
    ("crate, 10 mm: .05 cube", "0 %", thin, cube(0.05), inside),
    ("crate, 10 mm: .33 x .23 x .05", "0 %", thin, box(0.33, 0.23, 0.05), inside),
    ("crate, 20 mm: .05 cube", "83 %, .04", thick, cube(0.05), inside),
    ("crate, 20 mm: .15 x .1 x .1", "73 %, .06", thick, box(0.15, 0.1, 0.1), inside),
    ("crate, 20 mm: .25 x .2 x .1", "8 %, 1.1", thick, box(0.25, 0.2, 0.1), inside),
    ("crate, 20 mm: .33 x .23 x .05", "0 %", thick, box(0.33, 0.23, 0.05), inside),
    ("mug, 4 mm: .02 cube", "0 %", mug_4, cube(0.02), inside),
    ("mug, 15 mm: .02 cube", "43 %, .07", mug_15, cube(0.02), inside),
    ("mug, 15 mm: .05 x .05 x .03", "0 %", mug_15, box(0.05, 0.05, 0.03), inside),
    ("bowl, 8 mm: .04 cube", "0 %", bowl_8, cube(0.04), inside),
    ("bowl, 15 mm: .04 cube", "100 %, .03", bowl_15, cube(0.04), inside),
    ("bowl, 15 mm: .09 x .09 x .04", "0 %", bowl_15, box(0.09, 0.09, 0.04), inside),
    ("shelf: .05 cube", "93 %, .04", shelf, cube(0.05), on_board),
    ("shelf: .2 x .15 x .1", "45 %, .11", shelf, box(0.2, 0.15, 0.1), on_board),
    ("shelf: .4 x .2 x .2", "17 %, .78", shelf, box(0.4, 0.2, 0.2), on_board),
    ("shelf: .7 x .25 x .3", "0 %", shelf, box(0.7, 0.25, 0.3), on_board),
    ("table: .06 cube", "100 %, .03", plain, cube(0.06), on_top),
    ("table: plate .3 x .2", "100 %, .04", plain, box(0.3, 0.2, 0.02), on_top),
    ("table: plate .9 x .5", "7 %, 1.5", plain, box(0.9, 0.5, 0.02), on_top),
    ("table: plate .99 x .59", "12 %, .84", plain, box(0.99, 0.59, 0.02), on_top),
    ("slope, 27 degrees: .05 x .05 x .02", "0 %", slope, box(0.05, 0.05, 0.02), on_top),
    ("next to a plate: .06 cube", "no sampler", neighbour, cube(0.06), beside),
]  # fmt: skip
CASES = {name: (igibson, Task(*rest)) for name, igibson, *rest in STAGED}
"""Thickness of floors in mm; what iGibson's sampler reached per trial [%, s]."""


def staged(task: Task, run: int) -> pw.Config:
    """The world with the item somewhere, up to 2 m away along each axis."""
    C, rng = task.world(), np.random.default_rng(run)
    C.add_frame(
        "item",
        joint="free",
        pose=[*rng.uniform(-2, 2, 3), *rng.normal(size=4)],
        shape=task.item,
    )
    return C


def good(C: pw.Config, task: Task, run: int) -> bool:
    """Whether the item is where it should be."""
    if not all(p.holds(C) for p in task.what(run)) or C.collisions(margin=-1e-3):
        return False
    if not task.rests:
        return True
    lowered = C.copy()
    lowered.set_pose("item", C.pose("item") - 0.002 * np.eye(7)[2])
    return bool(lowered.collisions(margin=-1e-3))


def measure(task: Task, runs: int) -> dict:
    wall, cores, success = [], [], []
    for run in range(-1, runs):
        C = staged(task, run + 1)
        began, cpu = time.perf_counter(), time.process_time()
        found = pw.solve_placement(
            C,
            task.what(run),
            ["item"],
            starts=STARTS,
            enough=1,
            seed=run + 1,
            progress=False,
        )
        wall.append(time.perf_counter() - began)
        cores.append(time.process_time() - cpu)
        found[0].apply(C)
        success.append(good(C, task, run))
    return {
        "first": wall[0],
        "ms": 1e3 * np.median(wall[1:]),
        "cores": 1e3 * np.median(cores[1:]),
        "success": 100 * np.mean(success),
        "each": sum(wall[1:]) / max(sum(success[1:]), 1),
        "cores_each": sum(cores[1:]) / max(sum(success[1:]), 1),
    }


HEAD = (
    "| placement | success | s per success | of cores | median ms | first s | iGibson |"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="*", default=[""])
    parser.add_argument("--runs", type=int, default=50)
    args = parser.parse_args()
    tasks = {k: ("", task) for k, task in PREDICATES.items()} | CASES
    print(HEAD + "\n" + "|---" * 7 + "|")
    for name, (igibson, task) in tasks.items():
        if not any(name.startswith(start) for start in args.only):
            continue
        r = measure(task, args.runs)
        print(
            f"| {name} | {r['success']:.0f} % | {r['each']:.2f} | {r['cores_each']:.2f}"
            f" | {r['ms']:.0f} | {r['first']:.1f} | {igibson} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
