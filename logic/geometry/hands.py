"""Hands of agents: their fingers, and the objects attached to them."""

from posewise.robots.config import Config
from posewise.robots.typing import FrameName

from .frame_groups import FrameGroup, subtree


def is_attached(group: FrameGroup, hand: int, rigidly: bool = True) -> bool:
    """Return whether an object's root is attached below a hand.

    Frames of other objects below the hand do not count as the hand.

    Args:
        group: the object.
        hand: index of the hand's frame.
        rigidly: the root must not have a joint that moves.
    """
    C, root = group.C, group.C.frames[group.frames[0]]
    if root.parent is None:
        return False
    if rigidly and root.joint is not None and root.joint.dim > 0:
        return False
    objects = {C.index(name) for name in C.objects}
    return root.parent in subtree(C, hand, objects)


def fingers(
    C: Config, hand: FrameName, named: tuple[str, ...] = ()
) -> list[FrameGroup]:
    """Return the fingers of a hand, each with all frames below it except objects.

    Args:
        C: the world.
        hand: frame of the hand.
        named: frames of the fingers; none: the first frames with joints below the hand.
    """
    objects = {C.index(name) for name in C.objects}
    roots = [C.index(name) for name in named]
    if not roots:
        below = subtree(C, C.index(hand), objects)[1:]
        jointed = {i for i in below if _has_moving_joint(C, i)}
        nested = {j for i in jointed for j in subtree(C, i)[1:]}
        roots = [i for i in below if i in jointed - nested]
    groups = [FrameGroup(C, C.frames[i].name, subtree(C, i, objects)) for i in roots]
    return [finger for finger in groups if finger.collision_frames]


def _has_moving_joint(C: Config, i: int) -> bool:
    """Return whether a joint with coordinates connects a frame to its parent."""
    joint = C.frames[i].joint
    return joint is not None and joint.dim > 0
