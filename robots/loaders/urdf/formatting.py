"""Numbers, poses and axes as URDF writes them."""

from collections.abc import Iterable
from xml.etree import ElementTree as ET

import numpy as np

from ...kinematics.transforms import IDENTITY, quat_to_matrix


def format_numbers(values: Iterable[float] | np.ndarray) -> str:
    """Numbers so that reading them gives them back."""
    return " ".join(repr(float(v) + 0.0).removesuffix(".0") for v in values)


def pose_to_rpy(pose: np.ndarray) -> tuple[float, float, float]:
    """URDF's roll, pitch and yaw of a pose (7,), accurate also at pitch = ±π/2."""
    R = quat_to_matrix(pose[3:])
    yaw = np.arctan2(R[1, 0], R[0, 0])
    c, s = np.cos(yaw), np.sin(yaw)
    pitch = np.arctan2(-R[2, 0], c * R[0, 0] + s * R[1, 0])
    roll = np.arctan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])
    return float(roll), float(pitch), float(yaw)


def add_origin(element: ET.Element, pose: np.ndarray) -> None:
    """Add `<origin>` for a pose (7,), unless it is the identity."""
    if np.array_equal(pose, IDENTITY):
        return
    rpy = format_numbers(pose_to_rpy(pose))
    ET.SubElement(element, "origin", xyz=format_numbers(pose[:3]), rpy=rpy)


def add_axis(element: ET.Element, axis: np.ndarray | None) -> None:
    """Add `<axis>`; None is URDF's default, x."""
    ET.SubElement(
        element, "axis", xyz=format_numbers([1, 0, 0] if axis is None else axis)
    )
