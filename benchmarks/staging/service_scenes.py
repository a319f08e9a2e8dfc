"""Random scenes of a planning service, of which it is known whether they are feasible.

A feasible scene is drawn around a path that exists: straight to a random configuration
and from it to the goal, its obstacles where they leave that path free. The planner is
not told of it. In an infeasible one the goal is deep inside of an obstacle.
"""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from scipy.spatial.transform import Rotation

import posewise as pw

from .independent_check import Judge, Obstacle, dense
from .service_robots import ServiceRobot

OBSTACLES = 16
"""Largest number of obstacles besides the ground (count)."""
CANDIDATES = 80
"""Obstacles of which those that leave the path free are taken (count). Fewer often are
not enough."""
FREE = 0.03
"""Distance of the path that exists from obstacles [m], three times the margin of
requests."""
LINKS_FREE = 0.015
"""Distance of links from each other on that path [m]; at home a Panda's have 0.022."""
STEP = 0.02
"""Distance of its configurations at which it is checked [rad, m]."""
INFEASIBLE = 0.15
"""Share of infeasible scenes."""
ON_GROUND = 0.3
"""Share of scenes with a ground plane."""
GROUND_HEIGHT = -0.02
"""Height of the ground [m]; the robots stand at 0."""
DETOUR = 0.4
"""Standard deviation of the path's middle from the straight one [rad, m]. Larger ones
leave more room for obstacles on the straight path."""
SMALL, LARGE = 0.04, 0.3
"""Least and largest size of obstacles [m]."""


@dataclass(frozen=True)
class Scene:
    """What arrives with a request."""

    obstacles: list[Obstacle]
    target: np.ndarray
    """Position that the tip is to reach (3,)."""
    is_feasible: bool


def draw_scene(robot: ServiceRobot, judge: Judge, rng: Generator) -> Scene:
    """Return a random scene."""
    is_feasible = rng.uniform() >= INFEASIBLE
    count = rng.integers(1, OBSTACLES + 1)
    ground = []
    if rng.uniform() < ON_GROUND:
        pose = np.array([0, 0, GROUND_HEIGHT, 1.0, 0, 0, 0])
        ground = [Obstacle(pw.Plane(), pose)]
    while True:
        path = draw_path(robot, judge, rng)
        tips = [judge.tip_at(q) for q in dense(path[[0, -1]], 0.2)]
        candidates = [draw_obstacle(robot, rng, tips) for _ in range(CANDIDATES)]
        way = dense(path, STEP) if is_feasible else path[:1]
        free = judge.clearances(way, [*ground, *candidates]) >= FREE
        taken = [
            o
            for o, is_free in zip(candidates, free[len(ground) :], strict=True)
            if is_free
        ]
        if not free[: len(ground)].all() or len(taken) < count:
            continue
        obstacles, target = taken[:count], judge.tip_at(path[-1])
        if is_feasible:
            return Scene([*ground, *obstacles], target, True)
        around = enclosing(rng, target)
        if judge.clearances(path[:1], [around])[0] >= FREE:
            return Scene([*ground, *obstacles[:-1], around], target, False)


def draw_path(robot: ServiceRobot, judge: Judge, rng: Generator) -> np.ndarray:
    """Return start, middle and goal (3, nq) of a path on which links stay apart."""
    low, high = robot.world.limits
    start = robot.world.q
    while True:
        goal = rng.uniform(robot.low, robot.high)
        middle = (start + goal) / 2 + DETOUR * rng.normal(size=len(start))
        path = np.stack([start, np.clip(middle, low, high), goal])
        is_low = judge.tip_at(goal)[2] < SMALL
        if not is_low and judge.self_clearance(dense(path, 5 * STEP)) >= LINKS_FREE:
            return path


def draw_obstacle(
    robot: ServiceRobot, rng: Generator, tips: list[np.ndarray]
) -> Obstacle:
    """Return an obstacle, every second one near the straight way of the tip."""
    sizes = rng.uniform(SMALL, LARGE, 3)
    shapes = (
        lambda: pw.Box(sizes),
        lambda: pw.Cylinder(sizes[0], sizes[1] / 2),
        lambda: pw.Capsule(sizes[0], sizes[1] / 3),
        lambda: pw.Sphere(sizes[0] / 2),
        lambda: pw.Convex(rng.uniform(-0.5, 0.5, (rng.integers(6, 25), 3)) * sizes),
    )
    place = rng.uniform(*robot.corners)
    if rng.uniform() < 0.5:
        place = tips[rng.integers(len(tips))] + 0.15 * rng.normal(size=3)
    shape = shapes[rng.integers(len(shapes))]()
    return Obstacle(shape, np.array([*place, *quaternion(rng)]))


def enclosing(rng: Generator, target: np.ndarray) -> Obstacle:
    """Return an obstacle in whose middle a point is."""
    width = rng.uniform(0.24, 0.32)
    shapes = pw.Box([width] * 3), pw.Sphere(width / 2), pw.Cylinder(width, width / 2)
    place = target + rng.uniform(-0.02, 0.02, 3)
    return Obstacle(
        shapes[rng.integers(len(shapes))], np.array([*place, *quaternion(rng)])
    )


def quaternion(rng: Generator) -> np.ndarray:
    """Return a random orientation, at times one that is parallel to the axes."""
    if rng.uniform() < 0.3:
        return np.array([1.0, 0, 0, 0])
    return Rotation.random(random_state=rng).as_quat()[[3, 0, 1, 2]]
