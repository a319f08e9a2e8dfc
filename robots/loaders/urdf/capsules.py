"""Capsules as URDF 1.0 can say them: a cylinder with a sphere at each end.

`<capsule>` is of URDF 1.1: older readers refuse it, or leave the shape out.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from ...geometry.shapes import Capsule, Cylinder, Sphere
from ...kinematics.transforms import make_pose, quat_to_matrix
from ...world.frame import Geometry

MAX_OFFSET = 1e-6
"""Distance of a sphere from the end of its cylinder, and difference of their radii, up
to which both are parts of a capsule [m]; files with few decimals have larger ones."""


def split_capsules(geometries: Iterable[Geometry]) -> tuple[Geometry, ...]:
    """Return shapes with a cylinder and two spheres in place of each capsule.

    A capsule of length 0 becomes one sphere.
    """
    parts: list[Geometry] = []
    for geometry in geometries:
        shape, pose = geometry.shape, geometry.pose
        if not isinstance(shape, Capsule):
            parts.append(geometry)
            continue
        ball = replace(geometry, shape=Sphere(shape.radius))
        if shape.length == 0:
            parts.append(ball)
            continue
        parts.append(replace(geometry, shape=Cylinder(shape.length, shape.radius)))
        ends = _ends(shape.length, pose)
        parts += [replace(ball, pose=make_pose(end, pose[3:])) for end in ends]
    return tuple(parts)


def join_capsules(geometries: Sequence[Geometry]) -> list[Geometry]:
    """Return shapes with a capsule for each cylinder that two such spheres follow."""
    joined: list[Geometry] = []
    i = 0
    while i < len(geometries):
        first, balls = geometries[i], geometries[i + 1 : i + 3]
        cylinder = first.shape
        if isinstance(cylinder, Cylinder) and _are_ends(balls, first, cylinder):
            capsule = Capsule(cylinder.length, cylinder.radius)
            joined.append(replace(first, shape=capsule))
            i += 3
        else:
            joined.append(first)
            i += 1
    return joined


def _are_ends(balls: Sequence[Geometry], first: Geometry, cylinder: Cylinder) -> bool:
    """Whether shapes are two spheres that make a cylinder a capsule."""
    if len(balls) < 2:
        return False
    for ball in balls:
        same_use = (ball.collision, ball.visual, ball.color) == (
            first.collision,
            first.visual,
            first.color,
        )
        if not same_use or not isinstance(ball.shape, Sphere):
            return False
        if abs(ball.shape.radius - cylinder.radius) > MAX_OFFSET:
            return False
    ends = _ends(cylinder.length, first.pose)
    centers = np.array([ball.pose[:3] for ball in balls])
    return any(
        np.abs(order - ends).max() <= MAX_OFFSET for order in (centers, centers[::-1])
    )


def _ends(length: float, pose: np.ndarray) -> np.ndarray:
    """Return the ends (2, 3) of a line of a length along the z axis of a pose (7,)."""
    half = length / 2 * np.asarray(quat_to_matrix(pose[3:]))[:, 2]
    return np.stack([pose[:3] + half, pose[:3] - half])
