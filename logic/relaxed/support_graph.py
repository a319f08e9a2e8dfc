"""Support graph: which objects on free joints can rest on which, and on the world."""

from dataclasses import dataclass

from posewise import collision
from posewise.robots.config import Config
from posewise.robots.contact.bodies import frame_bodies
from posewise.robots.world.frame import Frame

from ..geometry.frame_groups import subtree
from ..geometry.free_joints import free_joint_frames


@dataclass(frozen=True)
class Stack:
    """Objects that may rest on each other; frames are positions in `frame_names`."""

    frame_names: tuple[str, ...]
    objects: tuple[tuple[int, ...], ...]
    """Frames of each object on a free joint, the one on the joint first."""
    pairs: tuple[tuple[int, int], ...]
    """Frames that can touch, the first one of an object."""
    clear_frames: tuple[str, ...]
    """Frames of objects that may also collide with frames that support nothing."""

    def object_of(self, root: str) -> tuple[int, ...]:
        """Return the frames of the object whose frame on a free joint has this name."""
        return next(x for x in self.objects if self.frame_names[x[0]] == root)


def find_stack(C: Config, root: str) -> Stack:
    """Return the objects that can rest on each other in a world.

    Robots support nothing. Neither do objects on locked free joints, except the one in
    question, because they might not withstand the load. The answer is the same for all
    objects on joints that are not locked.

    Args:
        C: the world.
        root: frame on the free joint of the object in question; see `free_root`.
    """
    owner = free_joint_frames(C)
    free = {k for k in owner if k is not None and C.tree.joint(k).active}
    roots = sorted(free | {C.index(root)})
    passive = _robot_frames(C)
    passive |= {i for i, k in enumerate(owner) if k not in (None, *roots)}
    pairs, clear = [], []
    for i, j in C.pairs.indices().tolist():
        if owner[i] == owner[j]:
            continue
        # The first frame of a pair is that of an object that may be supported.
        i, j = (i, j) if owner[i] in roots else (j, i)
        if owner[i] not in roots:
            continue
        if j in passive:
            clear.append(C.frames[i].name)
        # A half-space has no points at which it could rest on something.
        elif not _has_half_space(C.frames[i]):
            pairs.append((i, j))
    members = [i for i, k in enumerate(owner) if k in roots]
    used = sorted({*members, *(k for pair in pairs for k in pair)})
    position = {i: k for k, i in enumerate(used)}
    objects = tuple(tuple(position[i] for i in members if owner[i] == k) for k in roots)
    return Stack(
        frame_names=tuple(C.frames[i].name for i in used),
        objects=objects,
        pairs=tuple((position[i], position[j]) for i, j in pairs),
        clear_frames=tuple(dict.fromkeys(clear)),
    )


def _robot_frames(C: Config) -> set[int]:
    """Return the frames of agents, with everything below them except objects."""
    objects = {C.index(name) for name in C.objects}
    bases = {agent.base for agent in C.annotations.agents.values()} - {"world"}
    return {i for base in bases for i in subtree(C, C.index(base), objects)}


def _has_half_space(frame: Frame) -> bool:
    return any(g.kind[0] is collision.HalfSpace for g in frame_bodies(frame))
