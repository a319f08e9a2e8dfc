"""Loose objects of a world: what lies there freely, marked as an object or not."""

from posewise.robots.config import Config
from posewise.robots.kinematics.joint_types import FREE_JOINTS


def loose_roots(C: Config) -> tuple[str, ...]:
    """Return the frames on free joints, without robots on a free base.

    A frame above other joints is a robot, unless it is marked as an object.
    """
    return tuple(
        frame.name
        for frame in C.frames
        if frame.joint is not None
        and frame.joint.type in FREE_JOINTS
        and is_loose_body(C, frame.name)
    )


def is_loose_body(C: Config, name: str) -> bool:
    """Return whether a frame is an object, or moves as one rigid body."""
    below = C.subtree(name)[1:]
    return name in C.objects or all(C.frame(part).joint is None for part in below)


def loose_frames(C: Config) -> frozenset[str]:
    """Return the names of the frames of loose or held objects, without robots."""
    attached = [C.frame_names[i] for i in C.collision_filter.attached]
    carried = [name for name in attached if is_loose_body(C, name)]
    return frozenset(part for x in (*loose_roots(C), *carried) for part in C.subtree(x))
