"""Grasps: poses of a parallel gripper relative to an object."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True, slots=True)
class GraspSampling:
    """Choices of the search for grasps, varied in docs/evidence.md."""

    pad_depth: float = 0.01
    """Distance from the ends of the fingers to where they hold an object [m]. With less
    an object may slip out, with more thin ones cannot be taken from a surface."""
    clearance: float = 4e-3
    """Gap between each open finger and the object [m]. With less, solvers find no way
    in; with more, wide objects do not fit."""
    batch_size: int = 64
    """Number of grasps whose hand is checked at a time; more check some that are not
    needed, fewer take more calls."""
    max_grasps: int = 32
    """Number of grasps for which configurations are searched; more find one more often
    among obstacles, and take longer."""


GRASP_SAMPLING = GraspSampling()


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
