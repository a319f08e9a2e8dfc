"""Frames of a configuration with their poses, for distances in NumPy."""

from collections.abc import Iterable

from ..contact.gjk_numpy import PosedFrame
from .config import Config


def posed_frames(C: Config, indices: Iterable[int]) -> list[PosedFrame]:
    """Return frames of a configuration with their present poses in the world.

    Args:
        C: the configuration.
        indices: of the frames.
    """
    poses = C.forward_pass().frames
    return [(C.frames[i], poses.R[i], poses.p[i]) for i in indices]
