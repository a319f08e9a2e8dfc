"""Tilt: the angle of an object's axis from the vertical."""

import numpy as np

from posewise.robots.config import Config
from posewise.robots.kinematics.transforms import quat_to_matrix
from posewise.robots.typing import FrameName

from ..geometry.frame_groups import find_object
from .verdict import Verdict


def tilt_verdict(C: Config, a: FrameName, tilt: float) -> Verdict:
    """Return whether an object is tilted by at most an angle [rad]; see `Upright`."""
    up = quat_to_matrix(C.pose(find_object(C, a).frames[0])[3:])[2, 2]
    angle = float(np.arccos(np.clip(up, -1.0, 1.0)))
    return Verdict(
        angle <= tilt, lambda: f"{a} is tilted by {np.degrees(angle):.1f} degrees."
    )
