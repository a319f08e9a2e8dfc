"""Which things can rest on which: all that hangs on free joints, and the world."""

from dataclasses import dataclass

from posewise import collision
from posewise.robots.config import Config
from posewise.robots.contact.bodies import frame_bodies
from posewise.robots.world.frame import Frame

from ..geometry.frame_groups import subtree


@dataclass(frozen=True)
class Stack:
    """What rests on what, as places in a list of frames."""

    names: tuple[str, ...]
    """Of the frames."""
    objects: tuple[tuple[int, ...], ...]
    """Frames of each thing on a free joint, the one in question first."""
    pairs: tuple[tuple[int, int], ...]
    """Frames that can touch, the first one of a thing."""
    clear_frames: tuple[str, ...]
    """Frames of things that may also meet what holds nothing."""
    root: str
    """The frame on whose free joint the thing in question hangs."""


def find_stack(C: Config, frame: int) -> Stack | None:
    """What can rest on what in a world.

    Robots hold nothing, nor does what is locked on a free joint, other than the thing
    in question: it might not stand what it is loaded with.

    Args:
        C: the world.
        frame: of the thing in question.

    Returns:
        None: the thing hangs on no free joint, so that it stays where it is.
    """
    owner = free_joint_frames(C)
    first = owner[frame]
    if first is None:
        return None
    free = [k for k in owner if k is not None and C.tree.joint(k).active]
    roots = list(dict.fromkeys([first, *free]))
    passive = _robots(C) | {i for i, k in enumerate(owner) if k not in (None, *roots)}
    pairs, apart = [], []
    for i, j in C.collision_indices().tolist():
        if owner[i] == owner[j]:
            continue
        i, j = (i, j) if owner[i] in roots else (j, i)
        if owner[i] not in roots:
            continue
        if j in passive:
            apart.append(C.frames[i].name)
        elif not _flat(C.frames[i]):
            pairs.append((i, j))
    own = [i for i, root in enumerate(owner) if root in roots]
    used = sorted({*own, *(k for pair in pairs for k in pair)})
    place = {i: k for k, i in enumerate(used)}
    things = tuple(tuple(place[i] for i in own if owner[i] == root) for root in roots)
    return Stack(
        tuple(C.frames[i].name for i in used),
        things,
        tuple((place[i], place[j]) for i, j in pairs),
        tuple(dict.fromkeys(apart)),
        C.frames[first].name,
    )


def free_joint_frames(C: Config) -> list[int | None]:
    """For each frame the frame on a free joint that it hangs on, if any."""
    found: list[int | None] = []
    for i in range(len(C.frames)):
        k: int | None = i
        while k is not None:
            joint = C.frames[k].joint
            if joint is not None and joint.type in ("free", "floating"):
                break
            k = C.frames[k].parent
        found.append(k)
    return found


def _robots(C: Config) -> set[int]:
    """Frames of agents, with all that hangs on them but objects."""
    objects = {C.index(name) for name in C.objects}
    bases = {agent.base for agent in C.agents.values()} - {"world"}
    return {i for base in bases for i in subtree(C, C.index(base), objects)}


def _flat(frame: Frame) -> bool:
    return any(g.kind[0] is collision.HalfSpace for g in frame_bodies(frame))
