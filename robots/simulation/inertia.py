"""Mass, centre of mass and inertia of links."""

import numpy as np
from jaxtyping import Float

from ..config import Config
from ..errors import ConfigError
from ..kinematics.transforms import IDENTITY, pose_multiply
from ..masses.shape_inertia import (
    BodyInertia,
    combine_inertias,
    frame_inertia,
    move_inertia,
)
from ..world.kinematics_builder import topological_order


def rigid_group(C: Config, frame: str) -> dict[str, Float[np.ndarray, "7"]]:
    """Return the poses in a frame of the frame itself and all rigidly attached frames.

    Raises:
        ConfigError: For an unknown frame, and for the world.
    """
    frames, root = C.frames, C.index(frame)
    if root == len(frames):
        raise ConfigError("The world has no mass; name a frame that can move.")
    poses = {root: IDENTITY.copy()}
    for i in topological_order(frames):
        parent, joint = frames[i].parent, frames[i].joint
        if parent in poses and (joint is None or not joint.dim):
            poses[i] = pose_multiply(poses[parent], np.asarray(frames[i].origin, float))
    return {frames[i].name: pose for i, pose in poses.items()}


def link_inertia(C: Config, frame: str) -> BodyInertia:
    """Return the inertia of a frame with all rigidly attached frames, in its axes.

    Masses and centres of mass are those of the frames; a frame without a centre of mass
    has it at the centroid of its shapes. Inertia that is missing or singular is that of
    the collision shapes at even density, with their rounded edges sharp; for a frame
    without shapes, that of a ball of water.

    Raises:
        ConfigError: For a link without mass, or shapes that have no volume.
    """
    parts = []
    for name, pose in rigid_group(C, frame).items():
        member = C.frame(name)
        if member.mass:
            inertia = frame_inertia(member, float(member.mass))
            parts.append(move_inertia(inertia, pose))
    if not parts:
        raise ConfigError(
            f"Frame {frame!r} has no mass; give it one with C.set_mass(frame, kg)."
        )
    return combine_inertias(parts)
