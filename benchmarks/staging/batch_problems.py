"""Large batches of problems: each function prepares one, and returns what solves it."""

from collections import defaultdict
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec

import ik
import jax
import jax.numpy as jnp
import numpy as np
import wall

import posewise as pw
from posewise import FS, OT, logic

from . import motion_planning as mbm
from . import planning_scenes
from .real_robots import ROBOTS, load, random_states

SCENE_SLICES = 32
MESHED = "ur5"
REACH = dict(mu=1e3, damping=1.0)
Solve = Callable[[], np.ndarray]
"""Solves all problems; returns which of them succeeded."""


def panda_targets(count: int) -> tuple[pw.Config, list[np.ndarray]]:
    """Return the arm, and poses of its tip in random configurations."""
    C, poses = ik.panda(), []
    for q in np.random.default_rng(0).uniform(*C.limits, (count, C.nq)):
        C.q = q
        poses.append(C.pose(ik.TIP))
    C.q = ik.HOME
    return C, poses


def targets(count: int) -> Solve:
    """Poses of random configurations, each from up to `ik.STARTS` starts."""
    C, poses = panda_targets(count)
    komo, goal = ik.reaching(C)
    return lambda: (
        komo.solve_batch({goal: poses}, starts=ik.STARTS, **ik.OPTIONS).feasible
    )


def self_targets(count: int) -> Solve:
    """The same, free of collisions of the arm with itself."""
    C, poses = panda_targets(count)
    C.pairs.ignore_default()
    komo, goal = ik.reaching(C)
    komo.add_objective(None, FS.accumulatedCollisions, [], OT.ineq)
    return lambda: (
        komo.solve_batch({goal: poses}, starts=ik.STARTS, progress=False).feasible
    )


def paths(count: int) -> Solve:
    """Random starts of one path over a wall."""
    C = wall.world()
    start, _ = wall.ends(C)
    C.q = start.q
    komo = wall.over_the_wall(C)
    return lambda: _feasible(komo.solve_all(starts=count, max_iterations=100))


def scenes(count: int, certified: bool = False) -> Solve:
    """Paths among obstacles, a batch for each kind of scene."""
    if (mbm.FOLDER / "check.py").is_file():
        problems = mbm.reference_problems("panda")
    else:
        problems = planning_scenes.own_problems(5)
    groups: dict[tuple, list[dict]] = defaultdict(list)
    for some in problems.families.values():
        for problem in some:
            key = tuple((kind, name) for name, kind, *_ in problem["obstacles"])
            groups[key].append(problem)
    drawn: list[list[dict]] = []
    for group in sorted(groups.values(), key=len, reverse=True)[:4]:
        drawn.append([group[k % len(group)] for k in range(count // 4)])
    solves = [
        partial(solve_scenes, problems.robot, group, certified) for group in drawn
    ]
    return lambda: np.concatenate([solve() for solve in solves])


def certified(count: int) -> Solve:
    """The same, free of collisions between the slices, too, with a certificate."""
    return scenes(count, certified=True)


def solve_scenes(robot: pw.Config, problems: list[dict], certified: bool) -> np.ndarray:
    """Solve problems of like obstacles in one batch."""
    worlds = [mbm.world(robot, problem) for problem in problems]
    goals = np.array([problem["goal"] for problem in problems])
    komo = pw.KOMO(worlds[0], 1, SCENE_SLICES, 2)
    komo.add_control_objective(2, 0.1)
    komo.add_objective(None, FS.jointLimits, [], OT.ineq)
    komo.avoid_collisions(between=certified)
    goal = komo.add_objective([1.0], FS.qItself, [], OT.eq, target=goals[0])
    ways = [
        mbm.straight(C.q, q, SCENE_SLICES) for C, q in zip(worlds, goals, strict=True)
    ]
    batch = komo.solve_batch({goal: goals}, worlds, initial_paths=ways, progress=False)
    return batch.feasible


def placements(count: int) -> Solve:
    """Starts of a mug that is put beside a bowl on a table with other objects."""
    C = pw.Config()
    C.add_frame("table", position=[0, 0, 0.7], shape=pw.Box([1.2, 0.8, 0.04]))
    rng = np.random.default_rng(0)
    for k in range(6):
        x, y = rng.uniform([-0.5, -0.3], [0.5, 0.3])
        C.add_frame(f"block{k}", position=[x, y, 0.77], shape=pw.Box([0.08, 0.08, 0.1]))
    C.add_frame("bowl", position=[0, 0, 0.75], shape=pw.Cylinder(0.06, 0.08))
    C.add_frame("mug", position=[0.8, 0, 1], joint="free", shape=pw.Cylinder(0.1, 0.04))
    constraints = [logic.OnTopOf("mug", "table"), logic.NextTo("mug", "bowl")]
    return lambda: np.array(
        [
            p.feasible
            for p in pw.solve_placement(
                C, constraints, ["mug"], starts=count, count=None, progress=False
            )
        ]
    )


def gradients(count: int) -> Solve:
    """Gradients of the joint angles of 1000 solutions by their targets."""
    C, poses = panda_targets(count)
    komo = pw.KOMO(C)
    komo.add_control_objective(0, 0.1)
    goal = komo.add_objective(None, FS.position, [ik.TIP], OT.eq, scale=10.0)
    reach = jax.vmap(komo.function(goal, starts=4, **REACH))
    slopes = jax.jit(jax.grad(lambda x: jnp.sum(reach(x))))
    points = jnp.array([pose[:3] for pose in poses])
    return lambda: np.isfinite(slopes(points)).all(-1)


def meshes(count: int) -> Solve:
    """Points that a robot with meshes reaches, without collisions of its links."""
    if find_spec("example_robot_data") is None:
        raise ImportError("example-robot-data is not installed")
    robot = ROBOTS[MESHED]
    C = load(robot)
    C.pairs.ignore_default()
    points = []
    for q in random_states(C, np.random.default_rng(0), count):
        C.q = q
        points.append(C.pose(robot.tip)[:3])
    C.q = C.home
    komo = pw.KOMO(C)
    komo.add_control_objective(order=0, scale=0.01)
    goal = komo.add_objective(None, FS.position, [robot.tip], OT.eq)
    komo.add_objective(None, FS.accumulatedCollisions, [], OT.ineq)
    return lambda: komo.solve_batch({goal: points}, starts=4, progress=False).feasible


def kinematics(count: int) -> Solve:
    """Poses of all frames of the arm."""
    C = ik.panda()
    poses = jax.jit(jax.vmap(C.kinematics().poses))
    q = jnp.asarray(np.random.default_rng(0).uniform(*C.limits, (count, C.nq)))

    def run() -> np.ndarray:
        return np.isfinite(jax.block_until_ready(poses(q))[0]).reshape(count, -1).all(1)

    return run


def _feasible(solutions: list[pw.Solution]) -> np.ndarray:
    return np.array([s.feasible for s in solutions])


PROBLEMS = {
    f.__name__: f
    for f in (
        targets,
        self_targets,
        paths,
        scenes,
        certified,
        placements,
        gradients,
        meshes,
        kinematics,
    )
}
