"""Free joints: the objects that move as one piece."""

from posewise.robots.config import Config
from posewise.robots.typing import FrameName

from .frame_groups import find_object


def free_root(C: Config, name: FrameName) -> str | None:
    """Return the frame on the free joint above an object; None: there is none."""
    root = free_joint_frames(C)[find_object(C, name).frames[0]]
    return None if root is None else C.frames[root].name


def free_joint_frames(C: Config) -> list[int | None]:
    """Return for each frame the frame on the free joint above it, or None."""
    owners: list[int | None] = []
    for i in range(len(C.frames)):
        k: int | None = i
        while k is not None:
            joint = C.frames[k].joint
            if joint is not None and joint.type in ("free", "floating"):
                break
            k = C.frames[k].parent
        owners.append(k)
    return owners
