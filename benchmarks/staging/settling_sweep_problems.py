"""Placements that settle, on which the choices of settling are varied."""

from collections.abc import Iterator

import numpy as np

import posewise as pw
from posewise import logic

from .packing_worlds import Problem, somewhere
from .sweep_problems import Outcome
from .table_scenes import SCENES

BLOCKS = 6
"""Number of blocks of a tower (count); more fall more often."""
FLAT_OBJECTS = 8
"""Number of objects on a small table (count); more lean on each other more often."""


def tower(seed: int, is_stable: bool) -> Problem:
    """Blocks of random sizes on each other; the upper one is to be stable, or not."""
    rng = np.random.default_rng(seed)
    C = pw.Config()
    C.add_frame("floor", shape=pw.Plane())
    names = [f"block{k}" for k in range(BLOCKS)]
    for name in names:
        shape = pw.Box(rng.uniform([0.06, 0.06, 0.03], [0.1, 0.1, 0.06]))
        C.add_frame(name, joint="free", pose=somewhere(rng), shape=shape)
    constraints: list = [
        logic.OnTopOf(upper, lower)
        for lower, upper in zip(["floor", *names], names, strict=False)
    ]
    return Problem(C, names, [*constraints, *[logic.Stable(names[-1])] * is_stable])


def crowded_table(seed: int) -> Problem:
    """Bars and discs that are to lie flat on a table with little room."""
    rng = np.random.default_rng(seed)
    C = pw.Config()
    C.add_frame("table", position=[0, 0, -0.02], shape=pw.Box([0.4, 0.4, 0.04]))
    names = [f"object{k}" for k in range(FLAT_OBJECTS)]
    for k, name in enumerate(names):
        shape = pw.Box([0.02, 0.2, 0.01]) if k % 2 else pw.Cylinder(0.02, 0.08)
        C.add_frame(name, joint="free", pose=somewhere(rng), shape=shape)
    constraints: list = [logic.OnTopOf(name, "table") for name in names]
    return Problem(C, names, [*constraints, *map(logic.Upright, names)])


def scenes_that_settle() -> Iterator[Problem]:
    """Yield towers, crowded tables and moving boxes."""
    for seed in range(3):
        yield crowded_table(seed)
        yield tower(seed, is_stable=False)
        yield tower(seed, is_stable=True)
        yield SCENES["moving box with a lid"](seed)


def settled() -> list[Outcome]:
    """Place objects; success is that nothing moves by 1 cm then, the figure how far.

    In a simulation of 2 s, in millimetres, for those that are placed.
    """
    outcomes = []
    for problem in scenes_that_settle():
        C = problem.C
        best, *_ = pw.solve_placement(
            C, problem.constraints, problem.names, count=1, progress=False
        )
        if not best.feasible:
            outcomes.append(Outcome(False, np.nan))
            continue
        best.apply(C)
        after = pw.Twin(C).simulate(2.0).world_at()
        moved = [after.pose(x)[:3] - C.pose(x)[:3] for x in problem.names]
        farthest = float(np.linalg.norm(moved, axis=1).max())
        outcomes.append(Outcome(farthest < 0.01, 1e3 * farthest))
    return outcomes
