"""Free joints: the objects that move as one piece."""

from posewise.robots.config import Config


def free_root(C: Config, frame: int) -> str | None:
    """Return the frame on the free joint above a frame; None: there is none."""
    root = free_joint_frames(C)[frame]
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
