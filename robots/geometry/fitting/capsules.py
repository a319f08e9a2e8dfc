"""Small capsules around points."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ...kinematics.transforms import matrix_to_quat
from ..hulls import principal_axes
from ..shapes import Capsule
from .spheres import ball_centre
from .surface import CONTAINMENT_MARGIN, PosedShape

FIRST_STEP = 0.1
"""Largest motion of an end in the first linear program, as a fraction of the size.
Shorter steps are nearer to linear, but lead less far."""
ACTIVE_POINTS = 40
"""Number of points that a linear program keeps inside: those farthest from the axis.
Fewer let others come out, more take longer."""


@dataclass(frozen=True, eq=False)
class FittedCapsule:
    """A capsule by its axis and radius [m]."""

    ends: Float[np.ndarray, "2 3"]
    radius: float

    @property
    def volume(self) -> float:
        """Volume of the capsule [m³]."""
        length = float(np.linalg.norm(self.ends[1] - self.ends[0]))
        return np.pi * self.radius**2 * (length + 4 / 3 * self.radius)


def enclosing_capsule(points: Float[np.ndarray, "n 3"], rounds: int) -> PosedShape:
    """Return a capsule around points, of nearly the least volume.

    The best one along a principal axis is the start; then the ends of its axis move so
    that the volume shrinks (sequential linear programming).

    Args:
        points: At least one, finite; they may be flat, straight or coincide.
        rounds: Number of linear programs; 0: the start.
    """
    middle, axes = principal_axes(points)
    starts = [_along_axis(points, middle, axis) for axis in axes]
    best = _shrink(points, min(starts, key=lambda s: s.volume), rounds)
    first, last = best.ends
    length = float(np.linalg.norm(last - first))
    z = (last - first) / length if length > 0 else np.array([0.0, 0.0, 1.0])
    x = np.cross(np.eye(3)[np.abs(z).argmin()], z)
    x /= np.linalg.norm(x)
    quaternion = matrix_to_quat(np.column_stack([x, np.cross(z, x), z]))
    pose = np.concatenate([(first + last) / 2, np.asarray(quaternion)])
    return PosedShape(Capsule(length, best.radius), pose)


def _contain(corners: Float[np.ndarray, "n 3"], ends: np.ndarray) -> FittedCapsule:
    """Return the capsule about a segment that contains all corners."""
    distances, _, _ = _offsets(corners, ends)
    return FittedCapsule(ends, float(distances.max()) * (1 + CONTAINMENT_MARGIN))


def _offsets(
    corners: np.ndarray, ends: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return distances from a segment, offsets, and shares (0 to 1) along it."""
    direction = ends[1] - ends[0]
    squared = float(direction @ direction)
    share = np.clip((corners - ends[0]) @ direction / max(squared, 1e-300), 0.0, 1.0)
    offsets = corners - ends[0] - share[:, None] * direction
    return np.linalg.norm(offsets, axis=1), offsets, share


def _along_axis(
    corners: np.ndarray, middle: np.ndarray, axis: np.ndarray
) -> FittedCapsule:
    """Return a capsule along an axis, its ends as near to each other as they can be."""
    z = (corners - middle) @ axis
    across = corners - middle - z[:, None] * axis
    centre = ball_centre(across)
    squared = np.square(across - centre).sum(1)
    reach = np.sqrt(np.maximum(squared.max() - squared, 0.0))
    low, high = (z + reach).min(), (z - reach).max()
    if low > high:
        low = high = (low + high) / 2
    return _contain(corners, middle + centre + np.outer([low, high], axis))


def _shrink(corners: np.ndarray, capsule: FittedCapsule, rounds: int) -> FittedCapsule:
    """Move the ends so that the volume shrinks, with all corners inside.

    An end's motion changes the distance of a corner from the segment by the motion of
    the closest point along the direction to the corner.
    """
    from scipy.optimize import linprog

    if capsule.radius == 0:  # of a straight surface, or a point
        return capsule
    size = float(np.ptp(corners, axis=0).max())
    step = FIRST_STEP * size
    for _ in range(rounds):
        distances, offsets, share = _offsets(corners, capsule.ends)
        far = np.argsort(-distances)[:ACTIVE_POINTS]
        normals = offsets[far] / np.maximum(distances[far], 1e-300)[:, None]
        direction = capsule.ends[1] - capsule.ends[0]
        length = float(np.linalg.norm(direction))
        unit = direction / length if length > 0 else normals[0] * 0
        radius = capsule.radius
        # Of π r² L + 4/3 π r³, divided by π r²; the radius is the last variable.
        cost = np.concatenate([-unit, unit, [2 * length / radius + 4]])
        rows = np.column_stack(
            [-(1 - share[far])[:, None] * normals, -share[far, None] * normals]
        )
        solution = linprog(
            cost,
            A_ub=np.column_stack([rows, -np.ones(len(far))]),
            b_ub=-distances[far],
            bounds=[(-step, step)] * 6 + [(0, None)],
            method="highs-ds",
        )
        moved = capsule
        if solution.x is not None:
            moved = _contain(corners, capsule.ends + solution.x[:6].reshape(2, 3))
        if moved.volume < (1 - 1e-4) * capsule.volume:
            capsule = moved
        else:
            step /= 3
    return capsule
