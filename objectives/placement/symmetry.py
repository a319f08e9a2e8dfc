"""Axes about which objects look the same however they are turned."""

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.geometry import shapes
from posewise.robots.kinematics.transforms import quat_to_matrix
from posewise.robots.typing import FrameName

PARALLEL_TOLERANCE = 1e-6
"""Largest deviation of axes that count as one [m or 1]; with a larger one, objects that
are almost round count as round."""


def is_ball(C: Config, name: FrameName) -> bool:
    """Return whether all of an object that collides is of balls, and so may roll."""
    frames = (C.frame(part) for part in C.subtree(name))
    parts = [g.shape for frame in frames for g in frame.geometries if g.collision]
    return bool(parts) and all(isinstance(part, shapes.Sphere) for part in parts)


def axes_of_revolution(
    C: Config, name: FrameName
) -> Float[np.ndarray, "axes 3"] | None:
    """Return the axes about which turns leave an object the same, in its frame.

    Only objects of one frame are looked at.

    Args:
        C: the world.
        name: of the object.

    Returns:
        One axis of round objects, all three of a ball; None: there is no such axis.
    """
    if len(C.subtree(name)) > 1:
        return None
    geometries = C.frame(name).geometries
    lines: list[tuple[np.ndarray, np.ndarray]] = []
    for g in geometries:
        match g.shape:
            case shapes.Sphere():
                continue
            case shapes.Cylinder() | shapes.Capsule():
                lines.append((g.pose[:3], quat_to_matrix(g.pose[3:])[:, 2]))
            case _:
                return None
    centres = [g.pose[:3] for g in geometries]
    if not geometries:
        return None
    if not lines:
        at_centre = np.abs(np.array(centres)).max() < PARALLEL_TOLERANCE
        return np.eye(3) if at_centre else None
    point, axis = lines[0]
    aside = [np.cross(c - point, axis) for c in (*centres, np.zeros(3))]
    aside += [np.cross(other, axis) for _, other in lines]
    return axis[None] if np.abs(aside).max() < PARALLEL_TOLERANCE else None


def turn_between(
    a: Float[np.ndarray, "7"],
    b: Float[np.ndarray, "7"],
    axes: Float[np.ndarray, "axes 3"] | None,
) -> float:
    """Return the least angle between two poses of an object with such axes [rad]."""
    if axes is not None and len(axes) == 3:
        return 0.0
    if axes is not None:
        first, second = (quat_to_matrix(pose[3:]) @ axes[0] for pose in (a, b))
        return float(np.arccos(np.clip(first @ second, -1.0, 1.0)))
    # q and -q are the same rotation, by twice the angle between the 4-vectors.
    return float(2 * np.arccos(min(abs(float(a[3:] @ b[3:])), 1.0)))
