"""Volumes of convex shapes, and how far they reach beyond a hull."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from ...errors import ConfigError
from ...kinematics.transforms import quat_to_matrix
from .. import shapes
from ..hulls import hull_planes, volume_and_centroid
from .surface import PosedShape

GRID_POINTS = 32000
"""Number of points of the grid on which the volume of overlapping shapes is measured.
More measure it better, but take longer."""
DIRECTION_COUNT = 1000
"""Number of directions in which shapes are compared: about 6 degrees between two. More
compare them better, but take longer."""


def support(
    posed: PosedShape, directions: Float[np.ndarray, "n 3"]
) -> Float[np.ndarray, " n"]:
    """Return how far a shape reaches in unit directions, from the frame's origin [m].

    Raises:
        ConfigError: For shapes that are no sphere, capsule, box or hull.
    """
    local = directions @ quat_to_matrix(posed.pose[3:])
    match posed.shape:
        case shapes.Sphere(radius):
            reach = np.full(len(local), radius)
        case shapes.Capsule(length, radius):
            reach = np.abs(local[:, 2]) * length / 2 + radius
        case shapes.Box(size, rounding):
            reach = np.abs(local) @ (size / 2 - rounding) + rounding
        case shapes.Convex(vertices, rounding):
            reach = (local @ vertices.T).max(1) + rounding
        case other:
            raise _unknown_shape(other)
    return reach + directions @ posed.pose[:3]


def outside(
    posed: PosedShape, points: Float[np.ndarray, "n 3"]
) -> Float[np.ndarray, " n"]:
    """Return distances of points from a shape, minus their depth inside it [m].

    Of points near edges and corners of hulls the distance is too small: it is the
    distance from the plane that is farthest.

    Raises:
        ConfigError: For shapes that are no sphere, capsule, box or hull.
    """
    local = (points - posed.pose[:3]) @ quat_to_matrix(posed.pose[3:])
    match posed.shape:
        case shapes.Sphere(radius):
            return np.linalg.norm(local, axis=1) - radius
        case shapes.Capsule(length, radius):
            local[:, 2] -= np.clip(local[:, 2], -length / 2, length / 2)
            return np.linalg.norm(local, axis=1) - radius
        case shapes.Box(size, rounding):
            excess = np.abs(local) - (size / 2 - rounding)
            beyond = np.linalg.norm(np.maximum(excess, 0.0), axis=1)
            return beyond + np.minimum(excess.max(1), 0.0) - rounding
        case shapes.Convex(vertices, rounding):
            planes = hull_planes(vertices)
            if len(planes):
                return (local @ planes[:, :3].T - planes[:, 3]).max(1) - rounding
            first, last = vertices[0], vertices[-1]
            along = last - first
            share = (local - first) @ along / max(float(along @ along), 1e-300)
            nearest = first + np.clip(share, 0.0, 1.0)[:, None] * along
            return np.linalg.norm(local - nearest, axis=1) - rounding
    raise _unknown_shape(posed.shape)


def volume(fitted: Sequence[PosedShape], grid_points: int = GRID_POINTS) -> float:
    """Return the volume of the union of shapes [m³]; of several, within about 1 %."""
    if len(fitted) == 1 and getattr(fitted[0].shape, "rounding", 0.0) == 0:
        return _single_volume(fitted[0].shape)
    axes = np.eye(3)
    high = np.max([support(s, axes) for s in fitted], axis=0)
    low = -np.max([support(s, -axes) for s in fitted], axis=0)
    size = high - low
    if not size.all():
        return 0.0
    counts = _grid_counts(size, grid_points)
    lines = [
        a + (np.arange(n) + 0.5) / n * (b - a)
        for a, b, n in zip(low, high, counts, strict=True)
    ]
    points = np.stack(np.meshgrid(*lines, indexing="ij"), -1).reshape(-1, 3)
    for s in fitted:
        points = points[outside(s, points) > 0]
    return float(size.prod() * (1 - len(points) / counts.prod()))


def _grid_counts(
    size: Float[np.ndarray, "3"], grid_points: int
) -> Float[np.ndarray, "3"]:
    """Return numbers of nearly cubic cells along the sides of a box, at least 1.

    The shortest side comes first: of a thin box it has one cell, and the others share
    the points. Cubes would be as small as the box is thin, and too many.
    """
    counts, points = np.ones(3), float(grid_points)
    for k, axis in enumerate(order := np.argsort(size)):
        axes = order[k:]
        cells = size[axis] * (points / size[axes].prod()) ** (1 / len(axes))
        counts[axis] = max(np.rint(cells), 1.0)
        points /= counts[axis]
    return counts


def _single_volume(shape: shapes.Shape) -> float:
    match shape:
        case shapes.Sphere(radius):
            return 4 / 3 * np.pi * radius**3
        case shapes.Capsule(length, radius):
            return np.pi * radius**2 * (length + 4 / 3 * radius)
        case shapes.Box(size):
            return float(size.prod())
        case shapes.Convex(vertices):
            return volume_and_centroid(vertices)[0]
    raise _unknown_shape(shape)


def reach_beyond(
    fitted: Sequence[PosedShape], corners: Float[np.ndarray, "n 3"]
) -> float:
    """Return the largest distance of a point of shapes from the hull of corners [m].

    For convex sets it is the largest difference of their support functions. It is
    measured in some directions, so that it may be too small by about 1 % of the size.
    """
    directions = unit_directions()
    hull = (directions @ corners.T).max(1)
    return max(0.0, *(float((support(s, directions) - hull).max()) for s in fitted))


def unit_directions() -> Float[np.ndarray, "n 3"]:
    """Return directions all over the sphere, on a spiral (Fibonacci)."""
    k = np.arange(DIRECTION_COUNT) + 0.5
    z = 1 - 2 * k / DIRECTION_COUNT
    turn = np.pi * (1 + 5**0.5) * k
    r = np.sqrt(1 - z**2)
    return np.column_stack([r * np.cos(turn), r * np.sin(turn), z])


def _unknown_shape(shape: shapes.Shape) -> ConfigError:
    return ConfigError(
        f"A {type(shape).__name__} cannot be measured here; expected a Sphere, Capsule,"
        " Box or Convex."
    )
