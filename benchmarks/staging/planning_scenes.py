"""Motion-planning problems of our own, for where the reference data is absent.

Scenes of the same seven kinds, of a narrow window, and of meshes that hang about, drawn
at random by a seed, for the Panda that comes with posewise. Start and goal are by
inverse kinematics, and checked to be free.
"""

from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

import posewise as pw
from posewise import FS, OT

from .motion_planning import ProblemSet, world

TOOL = "panda_hand_tcp"
FORWARD, DOWN = (1.0, 0.0, 0.0), (0.0, 0.0, -1.0)
BOARD = 0.03
"""Thickness of boards [m]."""
HAND_SIZE = 0.21, 0.07
"""Width of the hand across and along the fingers [m]."""
FREE = 0.01
"""Clearance of starts and goals, where they are not the home [m]."""
MESHES = 24
"""Number of different meshes, each of which is decomposed once."""
TURN = 1.0
"""Largest angle by which a scene is turned about the robot's vertical axis [rad]."""
STEP = 0.01
"""Distance of configurations in which a path is checked [rad]."""


class Reach(NamedTuple):
    """Position of the tool [m], and the direction in which it points."""

    position: tuple[float, float, float]
    direction: tuple[float, float, float]


class Scene(NamedTuple):
    """Obstacles, and one or two reaches; with one, the start is the arm's home."""

    obstacles: list
    reaches: list[Reach]


def box(name: str, size: list, position: list) -> list:
    """Return an obstacle: a box that is parallel to the axes."""
    return [name, "box", np.array(size), np.array([*position, 1.0, 0, 0, 0])]


def cans(rng: Generator, count: int, x: float, y: list, z: list) -> Iterator[list]:
    """Yield upright cans within a range of y, each on one of the heights z [m]."""
    for k in range(count):
        place = [x + rng.uniform(-0.02, 0.02), rng.uniform(*y), z[k % len(z)] + 0.08]
        size = np.array([0.1, 0.03])
        yield [f"can {k}", "capsule", size, np.array([*place, 1.0, 0, 0, 0])]


def shelf(
    rng: Generator, levels: int, gap: float, depth: float, count: int, divider: bool
) -> Scene:
    """Return boards above each other with cans, and a reach between two of them.

    Args:
        rng: random numbers.
        levels: number of gaps.
        gap: height of a gap [m].
        depth: of the boards [m].
        count: number of cans.
        divider: whether a board upright in the middle halves the gaps.
    """
    front, low = rng.uniform(0.5, 0.6), rng.uniform(0.1, 0.2)
    if levels == 1:
        low += rng.uniform(0.0, 0.4)
    x, heights = front + depth / 2, low + gap * np.arange(levels + 1)
    tall, middle = heights[-1] - low, (heights[0] + heights[-1]) / 2
    obstacles = [
        box(f"board {k}", [depth, 1.0, BOARD], [x, 0, z]) for k, z in enumerate(heights)
    ]
    walls = [-0.5, 0.0, 0.5] if divider else [-0.5, 0.5]
    for k, y in enumerate(walls):
        size = [depth, BOARD, tall + BOARD * (-1 if y == 0 else 1)]
        obstacles.append(box(f"wall {k}", size, [x, y, middle]))
    places = list(heights[:-1] + BOARD / 2)
    obstacles += cans(rng, count, front + 0.2, [-0.45, 0.45], places)
    level = rng.integers(levels) if levels < 3 else rng.integers(1, levels)
    y = rng.choice([-1, 1]) * rng.uniform(0.15, 0.3)
    z = heights[level] + gap / 2 + rng.uniform(-0.03, 0.03)
    return Scene(obstacles, [Reach((front + rng.uniform(0.03, 0.1), y, z), FORWARD)])


def open_box(rng: Generator) -> Scene:
    """Return a box that is open above, and a reach into it."""
    x, y, half = rng.uniform(0.48, 0.55), rng.uniform(-0.2, 0.2), 0.25
    height, wide = 0.4, 2 * half
    obstacles = [
        box("base", [wide, wide, BOARD], [x, y, 0]),
        box("front", [BOARD, wide, height - 0.1], [x - half, y, height / 2 - 0.05]),
        box("back", [BOARD, wide, height], [x + half, y, height / 2]),
        box("left", [wide, BOARD, height], [x, y + half, height / 2]),
        box("right", [wide, BOARD, height], [x, y - half, height / 2]),
        box("item", [0.06, 0.06, 0.14], [x, y, 0.1]),
    ]
    place = x + rng.uniform(-0.06, 0.06), y + rng.uniform(-0.06, 0.06), 0.25
    return Scene(obstacles, [Reach(place, DOWN)])


def cage(rng: Generator) -> Scene:
    """Return a cage of rails and posts around a cube, and a reach between them."""
    x, half, low, high = rng.uniform(0.68, 0.75), 0.24, 0.15, 0.85
    rails = {"low": rng.uniform(0.22, 0.3), "high": rng.uniform(0.7, 0.78)}
    wide, thin = 2 * half, 0.03
    obstacles = [
        box("base", [wide, wide, BOARD], [x, 0, low]),
        box("cap", [wide, wide, BOARD], [x, 0, high]),
        box("back", [BOARD, wide, high - low], [x + half, 0, (low + high) / 2]),
        box("cube", [0.07, 0.07, 0.07], [x, 0, low + 0.05]),
    ]
    for name, z in rails.items():
        obstacles.append(box(f"rail {name}", [thin, wide, thin], [x - half, 0, z]))
    for name, y in (("left", half), ("right", -half)):
        size = [thin, thin, high - low]
        obstacles.append(box(f"post {name}", size, [x - half, y, (low + high) / 2]))
    place = x - half + rng.uniform(0.05, 0.12), rng.uniform(-0.06, 0.06), 0.5
    return Scene(obstacles, [Reach(place, FORWARD)])


def table(rng: Generator, from_below: bool) -> Scene:
    """Return a table with upright boards on it, and a reach among them.

    Args:
        rng: random numbers.
        from_below: whether the start reaches under the table.
    """
    top = rng.uniform(0.45, 0.5) if from_below else rng.uniform(0.1, 0.3)
    front = 0.38 if from_below else 0.25
    obstacles = [box("top", [0.8, 1.4, BOARD], [front + 0.4, 0, top])]
    for k, y in enumerate([-0.65, 0.65]):
        place = [front + 0.05, y, top / 2 - BOARD]
        obstacles.append(box(f"leg {k}", [0.05, 0.05, top - BOARD], place))
    y = rng.uniform(-0.25, 0.25)
    above = top + BOARD / 2
    for k, side in enumerate([-1, 1]):
        place = [0.55, y + side * rng.uniform(0.17, 0.22), above + 0.15]
        obstacles.append(box(f"upright {k}", [0.2, 0.04, 0.3], place))
    obstacles += cans(rng, 1, 0.75, [y - 0.05, y + 0.05], [above])
    reach = Reach((0.52 + rng.uniform(-0.04, 0.04), y, above + 0.14), DOWN)
    if not from_below:
        return Scene(obstacles, [reach])
    below = 0.5, rng.uniform(-0.2, 0.2), top - rng.uniform(0.2, 0.25)
    return Scene(obstacles, [Reach(below, FORWARD), reach])


def window(rng: Generator) -> Scene:
    """Return a wall with a hole 3 cm wider than the hand, and a reach through it."""
    x, y, z = rng.uniform([0.45, -0.2, 0.35], [0.55, 0.2, 0.6])
    width, height = HAND_SIZE[0] + 0.03, HAND_SIZE[1] + 0.03
    if rng.integers(2):
        width, height = height, width
    reach, low = 0.6, 0.02
    sill, lintel = z - height / 2, z + height / 2
    obstacles = [
        box("left", [BOARD, reach, 1.2], [x, y + (width + reach) / 2, 0.6 + low]),
        box("right", [BOARD, reach, 1.2], [x, y - (width + reach) / 2, 0.6 + low]),
        box("below", [BOARD, width, sill - low], [x, y, (sill + low) / 2]),
        box("above", [BOARD, width, 1.2 + low - lintel], [x, y, (1.22 + lintel) / 2]),
    ]
    place = x + rng.uniform(0.06, 0.12), y, z
    return Scene(obstacles, [Reach(place, FORWARD)])


def clutter(rng: Generator) -> Scene:
    """Return 12 meshes, some hanging, over a table, and two reaches down among them."""
    top = 0.1
    obstacles = [box("top", [0.7, 1.2, BOARD], [0.6, 0, top])]
    for k in range(12):
        place = rng.uniform([0.35, -0.5, top + 0.12], [0.75, 0.5, 0.7])
        turn = rng.normal(size=4)
        pose = np.array([*place, *turn / np.linalg.norm(turn)])
        seed = rng.integers(MESHES)
        obstacles.append([f"mesh {k}", "mesh", np.array([seed, 0.1, 0.25]), pose])
    reaches = [
        Reach((*rng.uniform([0.4, y - 0.15], [0.65, y + 0.15]), top + 0.15), DOWN)
        for y in (-0.25, 0.25)
    ]
    return Scene(obstacles, reaches)


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the product of two quaternions (w, x, y, z)."""
    u, v = a[1:], b[1:]
    return np.array([a[0] * b[0] - u @ v, *(a[0] * v + b[0] * u + np.cross(u, v))])


def turned(scene: Scene, angle: float) -> Scene:
    """Return a scene that is turned about the vertical axis of the robot [rad]."""
    c, s = np.cos(angle), np.sin(angle)
    turn = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    half_turn = np.array([np.cos(angle / 2), 0, 0, np.sin(angle / 2)])
    obstacles = [
        [name, kind, size, np.array([*turn @ pose[:3], *_product(half_turn, pose[3:])])]
        for name, kind, size, pose in scene.obstacles
    ]
    reaches = [Reach(*(tuple(turn @ vector) for vector in r)) for r in scene.reaches]
    return Scene(obstacles, reaches)


FAMILIES: dict[str, Callable[[Generator], Scene]] = {
    "bookshelf_small": lambda rng: shelf(rng, 1, 0.34, 0.4, 3, divider=False),
    "bookshelf_tall": lambda rng: shelf(rng, 3, 0.36, 0.4, 8, divider=False),
    "bookshelf_thin": lambda rng: shelf(rng, 3, 0.34, 0.25, 3, divider=True),
    "box": open_box,
    "cage": cage,
    "table_pick": lambda rng: table(rng, from_below=False),
    "table_under_pick": lambda rng: table(rng, from_below=True),
    "window": window,
    "clutter": clutter,
}


def own_problems(
    count: int = 20, seed: int = 0, names: Collection[str] = tuple(FAMILIES)
) -> ProblemSet:
    """Return problems of some families, the same ones for the same seed.

    Args:
        count: number of problems of a family.
        seed: of the random numbers.
        names: of the families.
    """
    robot = pw.load("panda")
    robot.lock("panda_finger_joint1")
    families = {}
    for k, (name, draw) in enumerate(FAMILIES.items()):
        if name not in names:
            continue
        rng, problems = np.random.default_rng([seed, k]), []
        while len(problems) < count:
            scene = turned(draw(rng), rng.uniform(-TURN, TURN))
            problems += solvable(robot, scene)
        families[name] = problems
    return ProblemSet(robot, families, lambda p, path: is_valid(robot, p, path))


def solvable(robot: pw.Config, scene: Scene) -> list[dict]:
    """Return a scene as a problem, or nothing where an end is not found."""
    problem = {"obstacles": scene.obstacles, "start": robot.home}
    C = world(robot, problem)
    ends = [robot.home] if len(scene.reaches) == 1 else []
    for reach in scene.reaches:
        komo = pw.KOMO(C)
        komo.add_control_objective(0, 0.1)
        komo.add_objective(None, FS.position, [TOOL], OT.eq, target=reach.position)
        komo.add_objective(None, FS.vectorZ, [TOOL], OT.eq, target=reach.direction)
        komo.add_objective(None, FS.jointLimits, [], OT.ineq)
        komo.avoid_collisions(FREE)
        solution = komo.solve(starts=8, progress=False)
        if not solution.feasible:
            return []
        ends.append(solution.q)
    if not all(is_free(C, q) for q in ends):
        return []
    return [problem | {"start": ends[0], "goal": ends[1]}]


def is_free(C: pw.Config, q: np.ndarray) -> bool:
    """Return whether no pair collides in a configuration."""
    C.q = q
    return not C.collisions()


def is_valid(robot: pw.Config, problem: dict, path: np.ndarray) -> bool:
    """Return whether a path is free, within limits, and ends at the goal.

    It is checked by exact distances at configurations `STEP` apart.
    """
    low, high = robot.limits
    is_inside = (path > low - 1e-6).all() and (path < high + 1e-6).all()
    if not is_inside or np.abs(path[-1] - problem["goal"]).max() > 2e-3:
        return False
    C = world(robot, problem)
    whole = np.vstack([problem["start"], path])
    for a, b in zip(whole[:-1], whole[1:], strict=True):
        count = max(int(np.ceil(np.abs(b - a).max() / STEP)), 1)
        if not all(is_free(C, a + k / count * (b - a)) for k in range(count)):
            return False
    return is_free(C, whole[-1])
