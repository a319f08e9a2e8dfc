"""Small problems of solves, whose choices `benchmarks/sweeps.py` varies.

A disc slides among walls and balls in a plane, arms of two and three hinges reach for
points, two arms hold a rod, a ball keeps to a globe, and blocks fall or are pushed.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

import posewise as pw
from posewise import FS, OT, logic
from posewise.compilation.arrays import Array
from posewise.features import Pose
from posewise.logic.relaxed.constraint_terms import Inequality
from posewise.robots.errors import ProblemWarning

from .sweep_problems import Outcome

IN_PLANE = np.eye(3)[:2]
RADIUS = 0.1
"""Radius of the disc [m]."""


def quietly(
    solve: Callable[[pw.KOMO], pw.Solution],
    problems: Callable[[], Iterator[pw.KOMO]],
    figure: Callable[[pw.Solution], float],
) -> Callable[[], list[Outcome]]:
    """Return a call that solves problems; the figure is of those that succeed."""

    def run() -> list[Outcome]:
        outcomes = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ProblemWarning)
            for komo in problems():
                solution = solve(komo)
                good = bool(solution.feasible)
                outcomes.append(Outcome(good, figure(solution) if good else np.nan))
        return outcomes

    return run


def solved(
    problems: Callable[[], Iterator[pw.KOMO]],
    figure: Callable[[pw.Solution], float] = lambda s: s.iterations,
    **options: int,
) -> Callable[[], list[Outcome]]:
    """Return a call that solves problems; the figure is the number of iterations."""
    return quietly(lambda k: k.solve(progress=False, **options), problems, figure)


def planned_ways(
    problems: Callable[[], Iterator[pw.KOMO]],
) -> Callable[[], list[Outcome]]:
    """Return a call that plans paths; the figure is their length [rad, m]."""
    return quietly(lambda k: k.plan(progress=False), problems, length)


def length(solution: pw.Solution) -> float:
    """Return the length of a path in its joints."""
    whole = np.vstack([solution.config.q, solution.path])
    return float(np.linalg.norm(np.diff(whole, axis=0), axis=1).sum())


def log_cost(solution: pw.Solution) -> float:
    """Return the common logarithm of a cost, with a least one."""
    return float(np.log10(max(solution.sos, 1e-6)))


def slices(solution: pw.Solution) -> float:
    """Return the number of slices."""
    return float(len(solution.path))


def disc_world() -> pw.Config:
    """Return a disc that slides in a plane, with two walls and two balls."""
    C = pw.Config()
    limits = [[-1.5] * 2, [1.5] * 2]
    C.add_frame("disc", joint="transXY", limits=limits, q=[-0.5, 0])
    C.set_shape("disc", pw.Sphere(RADIUS))
    C.set_contact("disc", 1)
    for k in range(2):
        C.add_frame(f"wall{k}", shape=pw.Box([0.02, 0.6, 1.0]), contact=1)
        C.add_frame(f"ball{k}", shape=pw.Sphere(0.12), contact=1)
    return C


def disc_paths() -> Iterator[pw.KOMO]:
    """Yield paths of few slices among random walls and balls, with curved starts."""
    rng = np.random.default_rng(3)
    world = disc_world()
    for k in range(48):
        C = world.copy()
        goal = np.array([0.5, 0.0])
        while True:
            for frame in ("wall0", "wall1", "ball0", "ball1"):
                turn = rng.uniform(-0.5, 0.5)
                place = [
                    *rng.uniform(-0.6, 0.6, 2),
                    0,
                    np.cos(turn),
                    0,
                    0,
                    np.sin(turn),
                ]
                C.set_pose(frame, place)
            if all(is_free(C, q, 0.02) for q in (C.q, goal)):
                break
        komo = pw.KOMO(C, 1, 8, 2)
        komo.add_control_objective(2, 0.1)
        komo.add_objective([1.0], FS.qItself, ["disc"], OT.eq, target=goal, scale=10)
        komo.avoid_collisions(0.01 if k % 2 else 0.0)
        s = np.arange(1, 9)[:, None] / 8
        bow = rng.uniform(-0.8, 0.8) * 4 * s * (1 - s) * [0, 1]
        komo.initialize(C.q + s * (goal - C.q) + bow)
        yield komo


def is_free(C: pw.Config, q: np.ndarray, margin: float) -> bool:
    """Return whether nothing is nearer than a margin in a configuration."""
    world = C.copy()
    world.q = q
    return not world.collisions(margin)


def disc_before_wall() -> Iterator[pw.KOMO]:
    """Yield paths to goals that are a little inside of their margin."""
    C = disc_world()
    for k, place in enumerate(([0.6, 0, 0], [-0.9, 0.6, 0], [0, 1.2, 0], [0, -1.2, 0])):
        C.set_pose(("wall0", "wall1", "ball0", "ball1")[k], [*place, 1, 0, 0, 0])
    for margin in (0.005, 0.02, 0.05):
        for inside in (0.3, 0.5, 0.9):
            komo = pw.KOMO(C, 1, 6, 2)
            komo.add_control_objective(2, 0.1)
            goal = [0.59 - RADIUS - margin + inside * min(0.1 * margin, 1e-3), 0.1]
            for frames in (["disc"], []):
                target = goal if frames else None
                order = 0 if frames else 1
                komo.add_objective(
                    [1.0], FS.qItself, frames, OT.eq, target=target, order=order
                )
            komo.avoid_collisions(margin)
            yield komo


def narrow_gaps() -> Iterator[pw.KOMO]:
    """Yield paths through gaps that are hardly wider than the disc."""
    for count, x, spare in product(
        (5, 8, 11), (-0.2, -0.1, 0.0, 0.07, 0.13, 0.21), (3e-4, 1.5e-3, 5e-3)
    ):
        C = pw.Config()
        limits = [[-2.0] * 2, [2.0] * 2]
        C.add_frame("disc", joint="transXY", limits=limits, q=[-0.5, 0])
        C.set_shape("disc", pw.Sphere(RADIUS))
        C.set_contact("disc", 1)
        for side in (-1, 1):
            place = [x, side * (0.5 + RADIUS + spare), 0]
            wall = dict(shape=pw.Box([0.1, 1, 1]), contact=1)
            C.add_frame(f"wall{side}", position=place, **wall)
        komo = pw.KOMO(C, 1, count, 1)
        komo.add_control_objective(1, 0.1)
        goal = [0.5, 0.05]
        komo.add_objective([1.0], FS.qItself, ["disc"], OT.eq, target=goal, scale=10)
        komo.avoid_collisions()
        s = np.arange(1, count + 1)[:, None] / count
        komo.initialize(C.q + s * [1.0, 0.05] + 0.1 * np.sin(np.pi * s) * [0, 1])
        yield komo


def exchanged_paths() -> Iterator[pw.KOMO]:
    """Yield paths whose first solve may miss distances between slices."""
    yield from disc_paths()
    yield from disc_before_wall()
    yield from narrow_gaps()


def reach(place: Sequence[float], base: float, sign: int) -> list[float]:
    """Return the joints of an arm whose tip is at a place."""
    x, y = place[0] - base, place[1]
    bend = np.arccos((x * x + y * y) / 2 - 1) * sign
    return [np.arctan2(y, x) - bend / 2, bend]


def bounded_chains() -> Iterator[pw.KOMO]:
    """Yield motions of a rod in two arms, which may open a little between slices."""
    for count, between, forward in product(
        (3, 6), (0.02, 2e-3, 5e-4), (-0.4, 0.2, 0.5)
    ):
        C, base = pw.Config(), 1.2
        for side, x in (("a", 0.0), ("b", base)):
            C.add_frame(f"{side}0", position=[x, 0, 0])
            C.add_frame(f"{side}1", f"{side}0", joint="hingeZ")
            C.add_frame(f"{side}2", f"{side}1", position=[1, 0, 0], joint="hingeZ")
            C.add_frame(f"{side}_tip", f"{side}2", position=[1, 0, 0])
        C.q = reach([base / 2, 1.3], 0.0, 1) + reach([base / 2, 1.3], base, -1)
        komo = pw.KOMO(C, 1, count, 2)
        komo.add_control_objective(2, 0.1)
        tips = ["a_tip", "b_tip"]
        komo.add_objective(
            None, FS.positionDiff, tips, OT.eq, scale=10, between=between
        )
        goal = [base / 2 + forward, 1.0, 0]
        komo.add_objective([1.0], FS.position, ["a_tip"], OT.eq, target=goal, scale=10)
        komo.add_objective([1.0], FS.qItself, [], OT.eq, order=1)
        yield komo


def reaching_arm(q: Sequence[float], ball: Sequence[float]) -> pw.Config:
    """Return an arm of two links, and a ball."""
    C = pw.Config()
    C.add_frame("upper", joint="hingeZ", limits=[[-1.3], [3.0]])
    C.add_frame("lower", "upper", position=[1, 0, 0], joint="hingeZ")
    C.joints.set_limits("lower", [[-2.5], [2.5]])
    C.add_frame("tip", "lower", position=[1, 0, 0], shape=pw.Sphere(0.05), contact=1)
    C.add_frame("middle", "lower", position=[0.5, 0, 0])
    C.set_shape("middle", pw.Sphere(0.05))
    C.set_contact("middle", 1)
    C.add_frame("ball", position=ball, shape=pw.Sphere(0.1), contact=1)
    C.q = q
    return C


def reaching_paths(ends: int = 1) -> Callable[[], Iterator[pw.KOMO]]:
    """Return a call that yields paths to goals that one bend of the elbow misses."""

    def problems() -> Iterator[pw.KOMO]:
        rng = np.random.default_rng(5)
        for _ in range(24):
            goals: list[np.ndarray] = []
            while len(goals) < ends:
                goal = rng.uniform(-1.6, 1.6, 2)
                if 0.8 < np.linalg.norm(goal) < 1.9 and goal[0] > 0:
                    goals.append(goal)
            blocked = reach(goals[-1], 0.0, 1)
            elbow = np.array([np.cos(blocked[0]), np.sin(blocked[0])])
            ball = [*(elbow + goals[-1]) / 2, 0]
            C = reaching_arm([rng.uniform(0.5, 2.5), rng.uniform(-2, -0.5)], ball)
            komo = pw.KOMO(C, ends, 8, 1)
            komo.add_control_objective(1, 0.1)
            for k, goal in enumerate(goals):
                target = [*goal, 0]
                komo.add_objective(
                    [k + 1.0], FS.position, ["tip"], OT.eq, target=target, scale=10
                )
            komo.avoid_collisions()
            astray = rng.uniform(*C.limits)
            s = np.arange(1, 8 * ends + 1)[:, None] / (8 * ends)
            komo.initialize(C.q + s**2 * (astray - C.q))
            yield komo

    return problems


def chain_of_links() -> pw.Config:
    """Return four links in a plane, and three balls."""
    C = pw.Config()
    along_x = [0.15, 0, 0, np.sqrt(0.5), 0, np.sqrt(0.5), 0]
    for k in range(4):
        parent = f"j{k - 1}" if k else "world"
        place = [0.3 if k else 0.0, 0, 0]
        limits = [[-2.5], [2.5]]
        C.add_frame(f"j{k}", parent, joint="hingeZ", limits=limits, position=place)
        link = pw.Capsule(0.24, 0.03)
        C.add_frame(f"l{k}", f"j{k}", shape=link, pose=along_x, contact=1)
        C.add_frame(f"ball{k}", shape=pw.Sphere(0.12), contact=1)
    C.add_frame("tip", "j3", position=[0.3, 0, 0])
    for k in range(4):
        for other in range(k + 1, 4):
            C.ignore_collisions(f"l{k}", f"l{other}")
    return C


def crowded_paths() -> Iterator[pw.KOMO]:
    """Yield paths of a chain of links among balls, whose initial paths go astray."""
    rng = np.random.default_rng(6)
    world = chain_of_links()
    for _ in range(40):
        C, start, end = world.copy(), np.zeros(4), np.zeros(4)
        is_clear = False
        while not is_clear:
            for ball in range(4):
                angle, r = rng.uniform(-np.pi, np.pi), rng.uniform(0.5, 1.1)
                place = [r * np.cos(angle), r * np.sin(angle), 0, 1, 0, 0, 0]
                C.set_pose(f"ball{ball}", place)
            start, end, astray = rng.uniform(-2.4, 2.4, (3, 4))
            is_clear = is_free(C, start, 0.02) and is_free(C, end, 0.02)
        C.q = end
        goal = C.pose("tip")[:3]
        C.q = start
        komo = pw.KOMO(C, 1, 12, 1)
        komo.add_control_objective(1, 0.1)
        place = dict(scale=10 * IN_PLANE, target=goal)
        komo.add_objective([1.0], FS.position, ["tip"], OT.eq, **place)
        komo.avoid_collisions()
        s = np.arange(1, 13)[:, None] / 12
        komo.initialize(start + s**2 * (astray - start))
        yield komo


def paths_with_goals() -> Iterator[pw.KOMO]:
    """Yield paths to goals with several configurations, or two goals."""
    yield from crowded_paths()
    yield from reaching_paths(2)()


def disc_and_wall(thickness: float, radius: float) -> pw.Config:
    """Return a disc on one side of a wall."""
    C = pw.Config()
    limits = [[-2.0] * 2, [2.0] * 2]
    C.add_frame("disc", joint="transXY", limits=limits, q=[-0.5, 0])
    C.set_shape("disc", pw.Sphere(radius))
    C.set_contact("disc", 1)
    C.add_frame("wall", shape=pw.Box([thickness, 1.0, 1.0]), contact=1)
    return C


def ways_round_walls() -> Iterator[pw.KOMO]:
    """Yield paths round a wall, of which some is thinner than checks are apart."""
    for thickness, radius, middle in (
        (0.02, 0.1, None),
        (0.004, 0.004, None),
        (0.004, 0.02, None),
        (0.02, 0.1, (0.0, 1.0)),
    ):
        C = disc_and_wall(thickness, radius)
        phases = 1 if middle is None else 2
        komo = pw.KOMO(C, phases, 24 // phases, 2)
        komo.avoid_collisions(0.01)
        for time, goal in ((1.0, middle), (float(phases), (0.5, 0.0))):
            if goal is not None:
                komo.add_objective([time], FS.qItself, ["disc"], OT.eq, target=goal)
        yield komo


def ways_of_arms() -> Iterator[pw.KOMO]:
    """Yield reaching paths as plans."""
    yield from reaching_paths()()


def ways_on_globe() -> Iterator[pw.KOMO]:
    """Yield paths of a ball on a globe, over a wall, and below a height."""
    for height, equation in ((1.0, True), (1.06, True), (1.0, False)):
        C = pw.Config()
        C.add_frame("globe", shape=pw.Sphere(0.4))
        limits = [[-1, -1], [1, 1]]
        C.add_frame("base", joint="transXY", limits=limits, q=[-0.5, 0.0])
        ball = dict(shape=pw.Sphere(0.05), contact=1)
        C.add_frame("ball", parent="base", joint="transZ", limits=[-1, 1], **ball)
        wall = dict(shape=pw.Box([0.05, 2, height]), contact=1)
        C.add_frame("wall", position=[0, 0, height / 2 - 0.7], **wall)
        komo = pw.KOMO(C, 1, 24, 2)
        if equation:
            frames = ["ball", "globe"]
            komo.add_objective([], FS.distance, frames, OT.eq, target=[-0.05])
        else:
            low = dict(scale=[[0, 0, 1]], target=[0, 0, 0.45])
            komo.add_objective([], FS.position, ["ball"], OT.ineq, **low)
        komo.avoid_collisions()
        goal = [0.5, 0, 0]
        komo.add_objective([1.0], FS.position, ["ball"], OT.eq, target=goal)
        yield komo


def three_links() -> pw.Config:
    """Return three links in the plane, a ball before the target, and a brick."""
    C = pw.Config()
    C.add_frame("base", position=[0, 0, 0.1])
    parent, contacts = "base", (1, -1, -1)
    for i, (size, contact) in enumerate(zip((0.4, 0.3, 0.2), contacts, strict=True)):
        most = 2.5 if i else 2.8
        C.add_frame(f"j{i}", parent, joint="hingeZ", limits=[-most, most])
        pose = [size / 2, 0, 0, np.sqrt(0.5), 0, np.sqrt(0.5), 0]
        link = pw.Capsule(size, 0.03)
        C.add_frame(f"link{i}", f"j{i}", pose=pose, shape=link, contact=contact)
        parent = f"end{i}"
        C.add_frame(parent, f"j{i}", position=[size, 0, 0])
    ball, brick = pw.Sphere(0.08), pw.Box([0.3, 0.2, 0.2], 0.02)
    C.add_frame("ball", position=[0.35, 0.25, 0.1], shape=ball, contact=1)
    C.add_frame("brick", position=[0.1, -0.4, 0.1], shape=brick, contact=1)
    return C


def costly_paths() -> Iterator[pw.KOMO]:
    """Yield paths to a place behind a ball, whose motion costs little or much."""
    rng = np.random.default_rng(7)
    world = three_links()
    for cost, seconds in ((0.1, 1.0), (1.0, 1.0), (10.0, 1.0), (1.0, 0.2)):
        for _ in range(15):
            C = world.copy()
            while not is_free(C, q := rng.uniform(-2.5, 2.5, 3), 0.01):
                pass
            C.q = q
            komo = pw.KOMO(C, 1, 24, 2, seconds)
            komo.add_control_objective(2, cost)
            komo.add_objective(None, FS.accumulatedCollisions, [], OT.ineq)
            komo.add_objective(None, FS.jointLimits, [], OT.ineq)
            goal = dict(scale=10 * IN_PLANE, target=[0.45, 0.35, 0])
            komo.add_objective([1.0], FS.position, ["end2"], OT.eq, **goal)
            komo.add_objective([1.0], FS.qItself, [], OT.eq, order=1)
            yield komo


def costly_configurations() -> Iterator[pw.KOMO]:
    """Yield configurations at a place, near home by more or less of a cost."""
    rng = np.random.default_rng(8)
    world = three_links()
    for cost in (0.01, 0.1, 1.0, 10.0):
        for _ in range(8):
            C = world.copy()
            C.q = rng.uniform(-2.5, 2.5, 3)
            komo = pw.KOMO(C)
            komo.add_control_objective(0, cost)
            komo.add_objective(None, FS.accumulatedCollisions, [], OT.ineq)
            komo.add_objective(None, FS.jointLimits, [], OT.ineq)
            angle, r = rng.uniform(-np.pi, np.pi), rng.uniform(0.4, 0.8)
            place = [r * np.cos(angle), r * np.sin(angle), 0]
            goal = dict(scale=10 * IN_PLANE, target=place)
            komo.add_objective(None, FS.position, ["end2"], OT.eq, **goal)
            yield komo


MASS = 0.2
"""Mass of the block [kg]."""


def slope(degrees: float) -> pw.Config:
    """Return a block on an inclined table, of friction 0.5."""
    half = np.radians(degrees) / 2
    turn = [np.cos(half), 0, np.sin(half), 0]
    C = pw.Config()
    C.add_frame("table", quaternion=turn, shape=pw.Box([1, 1, 0.1]))
    C.add_frame("place", "table", position=[0, 0, 0.08])
    block = dict(shape=pw.Box([0.06] * 3), mass=MASS)
    C.add_frame("block", pose=C.pose("place"), joint="free", **block)
    return C


def moved_blocks() -> Iterator[pw.KOMO]:
    """Yield motions of a block that falls, lies or slides by itself, or is pushed."""
    scale = np.array([1, 1, 1, 10, 10, 10]) / (MASS * 9.81)
    for degrees, height in product((0, 10, 24, 35), (0.0, 0.01, 0.03, 0.07, 0.15)):
        C = slope(degrees)
        pose = C.pose("block")
        pose[2] += height
        C.set_pose("block", pose)
        komo = pw.KOMO(C, 1, 8, 2, 8 * 0.02)
        komo.add_contact(None, "block", "table", kind="complementary")
        komo.add_objective(None, FS.physics, ["block"], OT.eq, scale=scale)
        yield komo
    for kind, goal in product(("sticking", "sliding"), (0.1, 0.15, 0.2, 0.25, 0.3)):
        C = slope(0)
        ball = dict(q=[-0.1, 0], shape=pw.Sphere(0.02))
        C.add_frame("ball", joint="transXY", position=[0, 0, 0.07], **ball)
        komo = pw.KOMO(C, 1, 12, 2, 2.0)
        komo.add_control_objective(2, 0.1)
        komo.add_contact(None, "block", "table", friction=0.4, kind="sliding")
        komo.add_contact([1 / 3, 1.0], "block", "ball", friction=0.5, kind=kind)
        komo.add_objective(None, FS.physics, ["block"], OT.eq, scale=scale)
        place = dict(scale=10 * IN_PLANE, target=[goal, 0, 0])
        komo.add_objective([1.0], FS.position, ["block"], OT.eq, **place)
        komo.add_objective([1.0], FS.qItself, [], OT.eq, order=1)
        path = np.tile(C.q, (12, 1))
        path[:, 0] = goal * np.clip((np.arange(12) - 3) / 8, 0, 1)
        path[:, 7] = path[:, 0] - 0.05
        komo.initialize(path)
        yield komo


def slide(frame: Pose) -> Array:
    """Return the place of a frame along the first axis of the world [m]."""
    return frame.p[:1]


@dataclass(frozen=True)
class Beyond(logic.Predicate):
    """Tells that a slider is beyond a half."""

    k: int

    def holds(self, C: pw.Config) -> bool:
        return bool(C.q[self.k] > 0.5)

    def explain(self, C: pw.Config) -> str:
        return f"Slider {self.k} is at {C.q[self.k]:g}."

    def relaxed(self, C: pw.Config, truth: bool = True) -> Inequality:
        sign = 1.0 if truth else -1.0
        frame, target = f"slider{self.k}", 0.5 + 1e-4 * sign
        feature = pw.Feature(slide, [frame], scale=-sign, target=target)
        return Inequality(feature)


def undecided_paths() -> Iterator[pw.KOMO]:
    """Yield motions of sliders that are stated by many alternatives."""
    C = pw.Config()
    for k in range(3):
        C.add_frame(f"slider{k}", joint="transX")
    P, Q, R = Beyond(0), Beyond(1), Beyond(2)
    for statement in (
        logic.Sequence(P, Q),
        logic.Sequence(P, ~P & Q, ~Q & R),
        logic.Eventually(P) & logic.Eventually(~P) & logic.Eventually(Q, [0.3]),
        logic.AtLeast(2, logic.Eventually(P), logic.Always(Q), logic.Eventually(R)),
        logic.Sequence(P, ~P, P, times=[0.6, 2]),
    ):
        komo = pw.KOMO(C, phases=2, slices_per_phase=3, k_order=1)
        komo.add_control_objective(order=1, scale=0.1)
        for k in range(3):
            komo.add_objective(None, slide, [f"slider{k}"], OT.sos, scale=1e-3)
        komo.add(statement)
        yield komo
