"""Placements that satisfy predicates: success rates and times.

    python benchmarks/placement.py [--only InsideOf crate ...] [--runs 50]
    python benchmarks/placement.py --meshes 30
    python benchmarks/placement.py --scenes 40

First each geometric predicate alone: an object up to 2 m away, in any orientation, is
to be placed. Then the cases that iGibson's sampler is known for, re-staged with
primitives: thin floors, tight fits, large plates, a slope, a neighbour. Success: every
predicate holds exactly, nothing overlaps by more than 1 mm, and in the cases the item
is held from below: lowered by 2 mm it overlaps by more than 1 mm.

With --meshes, instead: random meshes beside, on and in other objects, each placed three
times, and boxes of their size in turns; median milliseconds are of the last two.

With --scenes, instead: scenes that all differ, an item of one to three random
shapes beside one of up to twelve objects of such shapes; how many of them compile.

Prints seconds of the first solve (with compilation), median milliseconds of a warm one
and of CPU time, the success rate, and seconds per success.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass

import jax

jax.config.update("jax_enable_x64", True)

import numpy as np  # noqa: E402
from staging.random_meshes import random_mesh  # noqa: E402
from staging.worlds import crate, flat, on_table, shelf, slope, vessel  # noqa: E402

import posewise as pw  # noqa: E402
from posewise import logic  # noqa: E402
from posewise.compilation.compile_time import total_compile_seconds  # noqa: E402

STARTS = 128


@dataclass(frozen=True)
class Task:
    """A world, an item to place in it, and the predicates that must hold."""

    world: Callable[[], pw.Config]
    item: pw.robots.geometry.shapes.Shape
    constraints: Callable[[int], list]
    """Returns the predicates of a run, by its number."""
    rests: bool = True


ITEM = pw.Box([0.1, 0.08, 0.06])
inside = lambda k: [logic.InsideOf("item", "b"), logic.OnTopOf("item", "b")]
on_top = lambda k: [logic.OnTopOf("item", "b")]
on_board = lambda k: [
    logic.InsideOf("item", "b"),
    logic.OnTopOf("item", f"board{k % 2}"),
]
beside = lambda k: [logic.NextTo("item", "plate"), logic.OnTopOf("item", "b")]
alone = lambda kind, other="b": lambda k: [kind("item", other)]
agents = lambda kind: Task(flat, ITEM, alone(kind, "robot"), False)

PREDICATES = {
    "InsideOf": Task(crate, ITEM, alone(logic.InsideOf), False),
    "InsideOf, cavity": Task(lambda: crate(True), ITEM, alone(logic.InsideOf), False),
    "OnTopOf": Task(on_table, ITEM, alone(logic.OnTopOf), False),
    "OnTopOf, support": Task(lambda: on_table(True), ITEM, alone(logic.OnTopOf), False),
    "Under": Task(on_table, ITEM, alone(logic.Under), False),
    "NextTo": Task(crate, ITEM, alone(logic.NextTo), False),
    "InContactWith": Task(crate, ITEM, alone(logic.InContactWith), False),
    "OnFloor": Task(flat, ITEM, alone(logic.OnFloor, "kitchen_0"), False),
    "InSameRoomAsAgent": agents(logic.InSameRoomAsAgent),
    "InFoVOfAgent": agents(logic.InFoVOfAgent),
    "InReachOfAgent": agents(logic.InReachOfAgent),
    "InHandOfAgent": agents(logic.InHandOfAgent),
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
CASES = {name: (igibson, Task(*task)) for name, igibson, *task in STAGED}
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
    if not all(p.holds(C) for p in task.constraints(run)) or C.collisions(margin=-1e-3):
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
        placements = pw.solve_placement(
            C,
            task.constraints(run),
            ["item"],
            starts=STARTS,
            count=1,
            seed=run + 1,
            progress=False,
        )
        wall.append(time.perf_counter() - began)
        cores.append(time.process_time() - cpu)
        placements[0].apply(C)
        success.append(good(C, task, run))
    return {
        "first": wall[0],
        "ms": 1e3 * np.median(wall[1:]),
        "cores": 1e3 * np.median(cores[1:]),
        "success": 100 * np.mean(success),
        "each": sum(wall[1:]) / max(sum(success[1:]), 1),
        "cores_each": sum(cores[1:]) / max(sum(success[1:]), 1),
    }


def place(task: Task, item: pw.robots.geometry.shapes.Shape, run: int) -> tuple:
    """Place an item; return the seconds that it took, and whether it is good."""
    C = task.world()
    rng = np.random.default_rng(run)
    pose = [*rng.uniform(-2, 2, 3), *rng.normal(size=4)]
    C.add_frame("item", joint="free", pose=pose, shape=item)
    began = time.perf_counter()
    placements = pw.solve_placement(
        C,
        task.constraints(run),
        ["item"],
        starts=STARTS,
        count=1,
        seed=run,
        progress=False,
    )
    seconds = time.perf_counter() - began
    placements[0].apply(C)
    return seconds, good(C, task, run)


def measure_meshes(count: int) -> None:
    """Print success rates and times of random meshes and of boxes of their size."""
    print(
        "| placement | of meshes | ms | of boxes | ms | first s |\n" + "|---" * 6 + "|"
    )
    for name in ("NextTo", "OnTopOf", "InsideOf"):
        task, results = PREDICATES[name], {"mesh": [], "box": []}
        for k in range(count):
            mesh = random_mesh(k)
            shapes = {"mesh": mesh, "box": pw.Box(np.ptp(mesh.mesh.bounds, axis=0))}
            for run in range(3):
                for kind, shape in shapes.items():
                    results[kind].append((run, *place(task, shape, 3 * k + run)))
        row = [name]
        for attempts in results.values():
            row.append(f"{100 * np.mean([ok for *_, ok in attempts]):.0f} %")
            row.append(f"{1e3 * np.median([t for run, t, _ in attempts if run]):.0f}")
        row.append(f"{results['mesh'][0][1]:.1f}")
        print("| " + " | ".join(row) + " |", flush=True)


def random_parts(rng: np.random.Generator) -> list:
    """Return one to three random shapes with their poses, within 12 cm."""
    shapes = (
        lambda: pw.Box(rng.uniform(0.02, 0.08, 3)),
        lambda: pw.Cylinder(rng.uniform(0.03, 0.08), rng.uniform(0.01, 0.04)),
        lambda: pw.Capsule(rng.uniform(0.02, 0.06), rng.uniform(0.01, 0.03)),
        lambda: pw.Ellipsoid(rng.uniform(0.01, 0.04, 3)),
        lambda: pw.Convex(rng.uniform(-0.04, 0.04, (12, 3))),
    )
    return [
        (shapes[rng.integers(len(shapes))](), [0, 0, 0.03 * k, 1, 0, 0, 0])
        for k in range(rng.integers(1, 4))
    ]


def random_scene(seed: int) -> pw.Config:
    """Return a table with an item above it and one to twelve objects on it."""
    rng = np.random.default_rng(seed)
    C = pw.Config()
    C.add_object("table", [pw.Box([1.2, 1.0, 0.04])], pose=[0, 0, 0.5, 1, 0, 0, 0])
    above = [0, 0, 1.5, 1, 0, 0, 0]
    C.add_object("item", parts=random_parts(rng), pose=above, joint="free")
    cells = rng.permutation(12)[: rng.integers(1, 13)]
    for k, cell in enumerate(cells.tolist()):
        place = [0.25 * (cell % 4) - 0.37, 0.3 * (cell // 4) - 0.3, 0.53, 1, 0, 0, 0]
        C.add_object(f"other {k}", parts=random_parts(rng), pose=place)
    return C


def measure_scenes(count: int) -> None:
    """Print times of scenes that are all different, and how many of them compile."""
    wall, compiled, success = [], [], []
    for seed in range(count):
        C = random_scene(seed)
        constraints = [logic.OnTopOf("item", "table"), logic.NextTo("item", "other 0")]
        before, began = total_compile_seconds(), time.perf_counter()
        best = pw.solve_placement(
            C, constraints, ["item"], starts=16, count=1, progress=False
        )[0]
        wall.append(time.perf_counter() - began)
        compiled.append(total_compile_seconds() > before)
        best.apply(C)
        holds = all(p.holds(C) for p in constraints)
        success.append(holds and not C.collisions(margin=-1e-3))
    half = count // 2
    print(
        "| scenes | success | compiled | last half | first s | median s | longest s |"
    )
    print("|---" * 7 + "|")
    print(
        f"| {count} | {100 * np.mean(success):.0f} % | {sum(compiled)}"
        f" | {sum(compiled[half:])} | {wall[0]:.1f} | {np.median(wall):.3f}"
        f" | {max(wall[half:]):.2f} |"
    )


HEAD = (
    "| placement | success | s per success | of cores | median ms | first s | iGibson |"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="*", default=[""])
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--meshes", type=int, default=0, metavar="COUNT")
    parser.add_argument("--scenes", type=int, default=0, metavar="COUNT")
    args = parser.parse_args()
    if args.scenes:
        measure_scenes(args.scenes)
        return
    if args.meshes:
        measure_meshes(args.meshes)
        return
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
