"""Numbers and orientations as the text of files."""

from collections.abc import Iterable

import numpy as np

from ..kinematics.transforms import quat_to_matrix


def format_numbers(values: Iterable[float] | np.ndarray) -> str:
    """Return numbers as text that reads back exactly."""
    return " ".join(repr(float(v) + 0.0).removesuffix(".0") for v in values)


def pose_to_rpy(pose: np.ndarray) -> tuple[float, float, float]:
    """Return URDF's roll, pitch and yaw of a pose (7,), accurate also at pitch = ±π/2.

    Pitch and roll are taken from the rotation with the yaw removed, so that at the
    singularity, where the yaw is arbitrary, they are consistent with it.
    """
    R = quat_to_matrix(pose[3:])
    yaw = np.arctan2(R[1, 0], R[0, 0])
    c, s = np.cos(yaw), np.sin(yaw)
    pitch = np.arctan2(-R[2, 0], c * R[0, 0] + s * R[1, 0])
    roll = np.arctan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])
    return float(roll), float(pitch), float(yaw)
