"""Scenes that reach a planning service: a robot among obstacles that nobody foresaw.

A feasible one asks for the place that the tip has in some configuration that is free;
an infeasible one asks for a place in the middle of an obstacle.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

import posewise as pw

from .motion_scenes import add_mobile_base
from .real_robots import ROBOTS

MAX_OBSTACLES = 16
"""Largest number of obstacles of a scene (count)."""
CLEARANCE = 0.02
"""Distance of the start and of a free goal from all obstacles [m]."""
INFEASIBLE_SHARE = 0.1
"""Share of scenes whose goal is inside an obstacle."""
MAX_TRIES = 1000
"""Number of configurations that are drawn for a free goal (count)."""


class Service(NamedTuple):
    """A robot that waits for scenes."""

    robot: pw.Config
    tip: str
    reach: float
    """Distance from its base within which obstacles stand [m]."""


class Request(NamedTuple):
    """A scene and a goal for the tip."""

    obstacles: list[tuple[str, pw.Box, np.ndarray]]
    """Names, shapes and poses (7,)."""
    goal: np.ndarray
    """Position of the tip [m]."""
    is_feasible: bool
    """Whether the tip can be there."""


def panda() -> Service:
    return Service(pw.load("panda"), "panda_hand_tcp", 0.8)


def ur5() -> Service:
    """Return a UR5 with the hulls of its meshes; needs `example-robot-data`."""
    C = pw.Config()
    C.add_file(ROBOTS["ur5"].path)
    C.ignore_default_collisions()
    C.q = [0.0, -1.2, 1.2, -1.0, -1.57, 0.0]
    return Service(C, ROBOTS["ur5"].tip, 0.9)


def mobile() -> Service:
    C = pw.Config()
    add_mobile_base(C)
    C.load("panda", parent="base", pose=[0, 0, 0.3, 1, 0, 0, 0])
    return Service(C, "panda_hand_tcp", 1.2)


SERVICES: dict[str, Callable[[], Service]] = {
    "panda": panda,
    "ur5": ur5,
    "mobile": mobile,
}


def draw_request(service: Service, rng: Generator) -> Request:
    """Draw a scene of 1 to 16 obstacles around a robot, and a goal."""
    C = service.robot.copy()
    obstacles = []
    for k in range(rng.integers(1, MAX_OBSTACLES + 1)):
        name, (kind, shape) = f"obstacle {k}", draw_shape(rng)
        for _ in range(MAX_TRIES):
            pose = draw_pose(service, rng, kind)
            trial = C.copy()
            trial.add_frame(name, pose=pose, shape=shape)
            if not trial.collisions(CLEARANCE):
                C = trial
                obstacles.append((name, shape, pose))
                break
    is_feasible = rng.random() > INFEASIBLE_SHARE
    if is_feasible:
        return Request(obstacles, draw_free_place(C, service.tip, rng), True)
    angle = rng.uniform(-np.pi, np.pi)
    middle = np.array([0.5 * np.cos(angle), 0.5 * np.sin(angle), 0.4])
    shape = pw.Box([0.25, 0.25, 0.25])
    obstacles.append(("obstacle around the goal", shape, [*middle, 1, 0, 0, 0]))
    return Request(obstacles, middle, False)


def draw_shape(rng: Generator) -> tuple[str, object]:
    """Draw a kind of shape and its sizes."""
    size = rng.uniform(0.04, 0.2, 3)
    kinds = "box", "cylinder", "capsule", "sphere", "hull", "plane"
    kind = rng.choice(kinds, p=[0.3, 0.2, 0.15, 0.1, 0.2, 0.05])
    points = rng.normal(size=(rng.integers(6, 24), 3)) * size / 3
    shapes = {
        "box": pw.Box(size),
        "cylinder": pw.Cylinder(2 * size[0], size[1] / 2),
        "capsule": pw.Capsule(2 * size[0], size[1] / 2),
        "sphere": pw.Sphere(size[0] / 2),
        "hull": pw.Convex(points),
        "plane": pw.Plane(),
    }
    return kind, shapes[kind]


def draw_pose(service: Service, rng: Generator, kind: str) -> np.ndarray:
    """Draw a pose within the robot's reach; a plane is the floor, or below it."""
    if kind == "plane":
        return np.array([0, 0, rng.uniform(-0.5, -0.1), 1, 0, 0, 0])
    angle, distance = rng.uniform(-np.pi, np.pi), rng.uniform(0.35, service.reach)
    turn = rng.normal(size=4)
    place = distance * np.cos(angle), distance * np.sin(angle), rng.uniform(0.0, 0.9)
    return np.array([*place, *(turn / np.linalg.norm(turn))])


def draw_free_place(C: pw.Config, tip: str, rng: Generator) -> np.ndarray:
    """Draw where the tip is in a free configuration."""
    X = C.copy()
    low, high = np.clip(C.limits, -2.5, 2.5)
    for _ in range(MAX_TRIES):
        X.q = rng.uniform(low, high)
        if not X.collisions(CLEARANCE):
            return X.pose(tip)[:3]
    raise RuntimeError("no free configuration was found")
