"""Grasps: poses of a parallel gripper relative to an object."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True, eq=False)
class Grasp:
    """A pose in which a parallel gripper closes on an object.

    As in `posewise.presets`, the x axis of the gripper's frame is the line on which the
    fingers close, its z axis points from the fingers to the palm, and its origin is
    between the finger tips.
    """

    pose: Float[np.ndarray, "7"]
    """Pose of the gripper's frame in the object's frame."""
    width: float
    """Distance of the two contacts [m]."""
    score: float = 1.0
    """Rating from 0 to 1; 1 is best."""
    name: str = "grasp"
    """Description: the width, and the axes of the object along which it is held."""
