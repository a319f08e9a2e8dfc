"""Which pairs of frames can collide.

A *link* is a frame that has a joint or stands in the world (without a parent, or on a
root frame named "world"), with all that is rigidly attached to it.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from itertools import product

import numpy as np
from jaxtyping import Bool, Int

from ..kinematics.builder import topological_order
from ..world.frame import Frame

FramePair = tuple[int, int]
"""Frame indices, the lower first."""


def collision_pairs(
    frames: Sequence[Frame], nodes: Sequence[int], ignored: Collection[FramePair] = ()
) -> Int[np.ndarray, "n 2"]:
    """Index pairs of the frames that can collide, sorted, the lower index first.

    Both frames have a shape for collision and a contact flag other than 0, a moving
    joint is between them, and neither flag ignores the other frame: contact = -k
    ignores the links above its own whose joints, counted upwards from the parent link
    to that link with its own joint, are at most k. So -1 ignores the parent link, and
    also the link above if that one stands in the world, without a joint. This is rai's
    rule, but for the world: there, all that is fixed to a root is one link with it.

    Args:
        frames: all frames.
        nodes: for each frame the moving body that carries it (`Tree.frame_nodes`).
        ignored: pairs that never count.
    """
    solid = np.array([i for i, f in enumerate(frames) if can_collide(f)], int)
    node = np.asarray(nodes, int)[solid]
    count = node[:, None] != node
    if any(frames[i].contact < 0 for i in solid):
        below = _ignored_ancestors(frames, solid)
        count &= ~(below | below.T)
    if ignored:
        place = np.full(len(frames), len(solid))
        place[solid] = np.arange(len(solid))
        a, b = place[np.array(sorted(ignored), int)].T
        known = (a < len(solid)) & (b < len(solid))
        count[a[known], b[known]] = False
    return solid[np.argwhere(np.triu(count, 1))]


def can_collide(frame: Frame) -> bool:
    """Whether a frame has a shape for collision and a contact flag other than 0."""
    return frame.contact != 0 and any(g.collision for g in frame.geometries)


def adjacent_bodies(
    parents: Sequence[int | None], jointed: Sequence[bool]
) -> set[FramePair]:
    """Pairs of bodies whose links are connected by a joint.

    Args:
        parents: of each body, a lower index; None: the world, which is no link.
        jointed: whether a joint is between a body and its parent.
    """
    link: list[int] = []
    members: dict[int, list[int]] = defaultdict(list)
    for i, parent in enumerate(parents):
        link.append(i if parent is None or jointed[i] else link[parent])
        members[link[i]].append(i)
    found: set[FramePair] = set()
    for head, own in members.items():
        parent = parents[head]
        if parent is not None:
            found |= ordered_pairs(product(members[link[parent]], own))
    return found


def ordered_pairs(pairs: Iterable[FramePair]) -> set[FramePair]:
    """The pairs of two different indices, the lower first."""
    return {(min(p), max(p)) for p in pairs if p[0] != p[1]}


def _ignored_ancestors(
    frames: Sequence[Frame], rows: Int[np.ndarray, " n"]
) -> Bool[np.ndarray, "n n"]:
    """Whether each of the frames ignores each other one, as one above it."""
    n = len(frames)
    worlds = {i for i, f in enumerate(frames) if f.name == "world" and f.parent is None}
    link = np.zeros(n, int)
    depth = np.zeros(n, int)
    """Number of joints of a frame and all above it."""
    above = np.zeros((n, n), bool)
    for i in topological_order(frames):
        up, jointed = frames[i].parent, frames[i].joint is not None
        link[i] = i if jointed or up is None or up in worlds else link[up]
        depth[i] = jointed + (0 if up is None else depth[up])
        if up is not None:
            above[i] = above[up]
        above[i, link[i]] = True
    own = link[rows]
    has_joint = np.array([frames[i].joint is not None for i in own], int)
    between = depth[own][:, None] - depth[own] - 1 + has_joint
    reach = -np.array([frames[i].contact for i in rows], float)
    return above[own[:, None], own] & (between <= reach[:, None])
