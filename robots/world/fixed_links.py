"""Links that are fixed to others of their model, and so do not move by themselves."""

import warnings

from ..errors import ProblemWarning
from ..kinematics.joint_types import FREE_JOINTS, pose_distance
from ..typing import FrameName
from .frame import Frame
from .frame_tree import FrameTree

MAX_SHIFT = 1e-6
"""Distance [m or rad] in its parent up to which a frame stays where it is; more takes
small motions for rounding."""


def warn_if_link_was_moved(
    before: FrameTree, after: FrameTree, frame: FrameName, relative_to: FrameName | None
) -> None:
    """Warn of a link of a robot that was moved away from its parent, joints standing.

    Who names the parent as reference means to move it there, as after a calibration.

    Args:
        before: the world.
        after: the same world after the frame's constant pose was set.
        frame: the frame.
        relative_to: the frame that its new pose was given in.
    """
    i = before.index(frame)
    link = before.frames[i]
    if link.parent is None or not link.is_part_of_model or _has_joint(link):
        return
    parent = before.frames[link.parent].name
    if parent == relative_to or not _hangs_on_joint(before.frames, i):
        return
    if pose_distance(link.origin, after.frames[i].origin) > MAX_SHIFT:
        warnings.warn(
            f"set_pose: {frame!r} is fixed to {parent!r} in its model, and was moved"
            " away from it; no joint moved. For joint values that bring it there, solve"
            " an inverse kinematics (pw.KOMO with FS.poseDiff to a frame of"
            f" add_frame); to change the model, give the pose relative_to={parent!r}.",
            ProblemWarning,
            stacklevel=3,
        )


def _has_joint(frame: Frame) -> bool:
    return frame.joint is not None and frame.joint.dim > 0


def _hangs_on_joint(frames: tuple[Frame, ...], i: int) -> bool:
    """Return whether the next joint above a frame is that of a link, and not free."""
    index: int | None = i
    while index is not None:
        joint = frames[index].joint
        if joint is not None and joint.dim > 0:
            return joint.type not in FREE_JOINTS
        index = frames[index].parent
    return False
