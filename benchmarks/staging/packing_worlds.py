"""Worlds in which many objects are placed at once, with the constraints."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

import posewise as pw
from posewise import FS, OT, logic

from .worlds import Part, at

CELL = 0.03
TETROMINOES = {
    "I": [(0, 0), (1, 0), (2, 0), (3, 0)],
    "J": [(0, 0), (1, 0), (2, 0), (2, -1)],
    "L": [(0, 0), (1, 0), (2, 0), (2, 1)],
    "O": [(0, 0), (1, 0), (0, 1), (1, 1)],
    "S": [(0, 0), (1, 0), (1, 1), (2, 1)],
}
"""Cells of one-sided tetrominoes; four arrangements fill a rectangle of 5 x 4 cells."""
SLACK = 0.004
"""Length and width of a tray beyond those of what it holds [m]."""


@dataclass(frozen=True)
class Problem:
    """Objects to place, and constraints on their poses."""

    C: pw.Config
    names: list[str]
    constraints: list[Any]

    @property
    def predicates(self) -> list[Any]:
        return [c for c in self.constraints if not isinstance(c, tuple)]


def good(problem: Problem, tolerance: float = 1e-3) -> bool:
    """Whether all constraints hold and nothing overlaps by more than the tolerance."""
    C = problem.C
    if C.collisions(margin=-tolerance):
        return False
    if not all(predicate.holds(C) for predicate in problem.predicates):
        return False
    for feature, kind in (c for c in problem.constraints if isinstance(c, tuple)):
        y = np.asarray(feature.eval(C)[0])
        # A little more than what the solver lets pass, since poses are rounded.
        if (np.abs(y) if kind is OT.eq else y).max() > 1.01 * tolerance:
            return False
    return True


def stays(problem: Problem) -> bool:
    """Whether nothing moves by more than 1 cm in a simulation of two seconds."""
    after = pw.Twin(problem.C).simulate(2.0).world_at()
    moved = [after.pose(x)[:3] - problem.C.pose(x)[:3] for x in problem.names]
    return bool(np.linalg.norm(moved, axis=1).max() < 0.01)


def somewhere(rng: np.random.Generator) -> np.ndarray:
    """A pose above the scene, in any orientation."""
    return np.array(
        [*rng.uniform([-0.5, -0.5, 0.3], [0.5, 0.5, 0.5]), *rng.normal(size=4)]
    )


def tray(width: float, depth: float, height: float) -> list[Part]:
    """A floor, whose top is at z = 0, with four walls."""
    wall = 0.01
    outer = [width + 2 * wall, depth + 2 * wall]
    parts = [(pw.Box([*outer, wall]), at(z=-wall / 2))]
    for s in (-1, 1):
        side, front = s * (width + wall) / 2, s * (depth + wall) / 2
        parts += [
            (pw.Box([wall, outer[1], height]), at(side, z=height / 2)),
            (pw.Box([width, wall, height]), at(0, front, height / 2)),
        ]
    return parts


def tetrominoes(run: int) -> Problem:
    """Five different tetrominoes in a tray of 5 x 4 cells and 4 mm."""
    C, rng = pw.Config(), np.random.default_rng(run)
    size = [5 * CELL + SLACK, 4 * CELL + SLACK]
    C.add_object("tray", tray(*size, CELL))
    C.annotations.add_region("tray", "floor", "support", size=size, pose=at())
    constraints: list[Any] = []
    for name, cells in TETROMINOES.items():
        middle = np.mean(cells, 0)
        parts = [(pw.Box([CELL] * 3), at(*(CELL * (c - middle)))) for c in cells]
        C.add_object(name, parts, joint="free", pose=somewhere(rng))
        constraints += [
            logic.InsideOf(name, "tray"),
            logic.OnTopOf(name, "tray"),
            logic.Upright(name),
        ]
    return Problem(C, list(TETROMINOES), constraints)


def tower(run: int) -> Problem:
    """Ten blocks, each on the one before, as centred as possible."""
    C, rng = pw.Config(), np.random.default_rng(run)
    C.add_frame("table", position=[0, 0, -0.02], shape=pw.Box([0.6, 0.6, 0.04]))
    names = [f"block{i}" for i in range(10)]
    constraints: list[Any] = [logic.OnTopOf(names[0], "table")]
    for name in names:
        C.add_frame(name, joint="free", pose=somewhere(rng), shape=pw.Box([0.05] * 3))
        constraints.append(logic.Upright(name, tilt=0.01))
    level = [[1, 0, 0], [0, 1, 0]]
    for upper, lower in zip(names[1:], names, strict=False):
        apart = pw.Feature(FS.positionDiff, [upper, lower], scale=level)
        constraints += [logic.OnTopOf(upper, lower), (apart, OT.sos)]
    return Problem(C, names, constraints)


def books(run: int) -> Problem:
    """Twelve books upright in a shelf that is 2 cm longer than they are thick."""
    C, rng = pw.Config(), np.random.default_rng(run)
    widths = rng.uniform(0.015, 0.04, 12)
    length = widths.sum() + 0.02
    parts = [
        (pw.Box([length + 0.04, 0.22, 0.02]), at(z=0.27)),
        (pw.Box([length + 0.04, 0.01, 0.3]), at(y=0.115, z=0.13)),
    ]
    for s in (-1, 1):
        side = pw.Box([0.02, 0.22, 0.26])
        parts.append((side, at(s * (length / 2 + 0.01), z=0.13)))
    C.add_object("shelf", parts)
    board = pw.Box([length + 0.04, 0.22, 0.02])
    C.add_frame("board", "shelf", pose=at(z=-0.01), shape=board)
    names, constraints = [f"book{i}" for i in range(12)], []
    for name, width in zip(names, widths, strict=True):
        size = [width, rng.uniform(0.12, 0.19), rng.uniform(0.18, 0.24)]
        C.add_frame(name, joint="free", pose=somewhere(rng), shape=pw.Box(size))
        constraints += [
            logic.InsideOf(name, "shelf"),
            logic.OnTopOf(name, "board"),
            logic.Upright(name),
        ]
    return Problem(C, names, constraints)


def table(run: int) -> Problem:
    """Twenty boxes, cylinders and balls on a table, at least 5 mm apart."""
    C, rng = pw.Config(), np.random.default_rng(run)
    C.add_frame("table", position=[0, 0, -0.02], shape=pw.Box([1.0, 0.6, 0.04]))
    names = [f"object{i}" for i in range(20)]
    for i, name in enumerate(names):
        radius = rng.uniform(0.02, 0.05)
        shapes = [
            pw.Box(rng.uniform(0.04, 0.12, 3)),
            pw.Cylinder(rng.uniform(0.05, 0.15), radius),
            pw.Sphere(radius),
        ]
        C.add_frame(name, joint="free", pose=somewhere(rng), shape=shapes[i % 3])
    apart = [
        (pw.Feature(FS.distance, pair, target=-0.005), OT.ineq)
        for pair in combinations(names, 2)
    ]
    return Problem(C, names, [*(logic.OnTopOf(x, "table") for x in names), *apart])


def rack(run: int) -> Problem:
    """Eight plates on edge between the rods of a rack."""
    C, rng = pw.Config(), np.random.default_rng(run)
    count, pitch = 8, 0.03
    length = pitch * (count + 1)
    parts = [(pw.Box([length, 0.24, 0.01]), at(z=-0.005))]
    for i in range(count + 1):
        for y in (-0.06, 0.06):
            rod = pw.Capsule(0.07, 0.003)
            parts.append((rod, at(pitch * (i - count / 2), y, 0.035)))
    C.add_object("rack", parts)
    names, constraints = [f"plate{i}" for i in range(count)], []
    for name in names:
        plate = (pw.Cylinder(0.015, 0.1), at(turn=np.pi / 2, axis=(0, 1, 0)))
        C.add_object(name, [plate], joint="free", pose=somewhere(rng))
        constraints += [logic.OnTopOf(name, "rack"), logic.Upright(name)]
    return Problem(C, names, constraints)


PROBLEMS: dict[str, Callable[[int], Problem]] = {
    "five tetrominoes in a tray": tetrominoes,
    "tower of ten blocks": tower,
    "twelve books in a shelf": books,
    "twenty objects on a table": table,
    "eight plates in a rack": rack,
}
