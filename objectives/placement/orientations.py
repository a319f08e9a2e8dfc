"""Orientations in which objects are packed: on stable faces, aligned with the world."""

from collections.abc import Collection, Sequence

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.kinematics.transforms import (
    quat_multiply,
    quat_to_matrix,
)

from .stable_poses import collision_points, stable_faces, turn_face_down

UPRIGHT = np.array([1.0, 0.0, 0.0, 0.0])
"""Orientation in which a frame's z axis points up."""
MAX_FACES = 16
"""Largest number of stable faces that are tried; round bodies have hundreds. More take
longer."""
MAX_HEADINGS = 2
"""Largest number of directions of the world's bodies along which objects are aligned.
More give more orientations to rate."""
QUARTER_TURNS = np.pi / 2 * np.arange(4)
"""Angles [rad] by which an aligned object may be turned and is aligned again."""


def world_headings(world: Config, frames: Collection[int]) -> list[float]:
    """Return angles about the vertical along which bodies stand, most frequent first.

    Args:
        world: the world in its present state.
        frames: indices of the bodies' frames.

    Returns:
        Angles in [0, pi/2) [rad]; 0 for a world without bodies.
    """
    poses = world.poses()
    angles = []
    for i in frames:
        R = quat_to_matrix(poses[i][3:])
        # of the axes, the one that is most level tells the heading best
        axis = R[:2, np.abs(R[2]).argmin()]
        angles.append(float(np.round(np.arctan2(axis[1], axis[0]) % (np.pi / 2), 3)))
    return sorted(set(angles), key=lambda x: -angles.count(x))[:MAX_HEADINGS] or [0.0]


def packing_orientations(
    world: Config, name: str, headings: Sequence[float], rng: np.random.Generator
) -> Float[np.ndarray, "n 4"]:
    """Return orientations of an object on its faces, upright and as it is, aligned.

    Aligned: the sides of the smallest rectangle about it, seen from above, are along
    one of the headings.

    Args:
        world: the world in its present state.
        name: of the object.
        headings: angles about the vertical [rad].
        rng: chooses among many faces.
    """
    points = collision_points(world, name)
    faces = np.unique(np.round(stable_faces(points)[0], 6), axis=0)
    faces = faces[rng.permutation(len(faces))[:MAX_FACES]]
    bases = [world.pose(name)[3:], UPRIGHT, *turn_face_down(faces)]
    orientations = []
    for base in bases:
        around = _rectangle_angle((points @ quat_to_matrix(base).T)[:, :2])
        for heading in headings:
            half = (heading - around + QUARTER_TURNS) / 2
            zero = np.zeros(len(half))
            about_z = np.stack([np.cos(half), zero, zero, np.sin(half)], -1)
            orientations.append(quat_multiply(about_z, np.tile(base, (len(half), 1))))
    return np.concatenate(orientations)


def _rectangle_angle(points: Float[np.ndarray, "n 2"]) -> float:
    """Return the angle of the sides of the smallest rectangle about points [rad]."""
    import trimesh

    spread = points - points.mean(0) if len(points) else np.zeros((1, 2))
    if len(points) < 3 or np.linalg.matrix_rank(spread, tol=1e-9) < 2:
        return 0.0
    to_sides = trimesh.bounds.oriented_bounds_2D(points)[0]
    return float(-np.arctan2(to_sides[1, 0], to_sides[0, 0]))
