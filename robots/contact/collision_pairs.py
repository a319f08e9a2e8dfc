"""Pairs of frames that can collide.

A *link* is a frame that has a joint or stands in the world (without a parent, or on a
root frame named "world"), with everything that is rigidly attached to it.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from itertools import product

import numpy as np
from jaxtyping import Bool, Int

from ..geometry.shapes import Plane
from ..world.frame import Frame
from ..world.frame_tree import KinematicModel
from ..world.kinematics_builder import topological_order

FramePair = tuple[int, int]
"""Frame indices, the lower first."""


def collision_pairs(
    frames: Sequence[Frame], bodies: Sequence[int], ignored: Collection[FramePair] = ()
) -> Int[np.ndarray, "n 2"]:
    """Return the index pairs of the frames that can collide, sorted, the lower first.

    Both frames have a shape for collision and a contact flag other than 0, not both are
    half-spaces, a moving joint is between them, and neither flag ignores the other
    frame: contact = -k ignores the links above its own whose joints, counted upwards
    from the parent link to that link with its own joint, are at most k. So -1 ignores
    the parent link, and also the link above if that one stands in the world, without a
    joint. This is rai's rule, except for the world: here, everything fixed to a root is
    one link with it.

    Args:
        frames: all frames.
        bodies: for each frame the body that carries it, see `moving_bodies`.
        ignored: pairs that never count.
    """
    solid = np.array([i for i, f in enumerate(frames) if can_collide(f)], int)
    body = np.asarray(bodies, int)[solid]
    counts = body[:, None] != body
    # Two half-spaces have no distance.
    plane = np.array([_is_half_space(frames[i]) for i in solid], bool)
    counts &= ~(plane[:, None] & plane)
    if any(frames[i].contact < 0 for i in solid):
        ignores = _ignored_ancestors(frames, solid)
        counts &= ~(ignores | ignores.T)
    if ignored:
        row = np.full(len(frames), len(solid))
        row[solid] = np.arange(len(solid))
        a, b = row[np.array(sorted(ignored), int)].T
        both_solid = (a < len(solid)) & (b < len(solid))
        counts[a[both_solid], b[both_solid]] = False
    return solid[np.argwhere(np.triu(counts, 1))]


def moving_bodies(model: KinematicModel) -> tuple[int, ...]:
    """Return for each frame a number of the rigid body to which it belongs.

    Frames of one body have a distance that no joint changes. A joint moves nothing when
    it is locked, mimics a locked joint, follows another one at multiplier 0, or has
    limits that leave it no range.
    """
    K = model.kinematics
    columns = np.array(K.tree.dof_columns, int)
    coordinate = np.array(K.tree.column_coordinate, int)[columns]
    lower, upper = K.limits
    is_fixed = np.append(lower == upper, False)[coordinate]
    moves = ~is_fixed & (np.asarray(K.dof_multiplier) != 0)
    driven = np.packbits(K.dof_mask[:-1, moves], axis=1)
    # In a tree, frames that the same dofs move are rigidly attached to each other.
    numbers: dict[bytes, int] = {}
    return tuple(numbers.setdefault(row.tobytes(), len(numbers)) for row in driven)


def can_collide(frame: Frame) -> bool:
    """Whether a frame has a shape for collision and a contact flag other than 0."""
    return frame.contact != 0 and any(g.collision for g in frame.geometries)


def _is_half_space(frame: Frame) -> bool:
    return all(isinstance(g.shape, Plane) for g in frame.geometries if g.collision)


def adjacent_bodies(
    parents: Sequence[int | None], jointed: Sequence[bool]
) -> set[FramePair]:
    """Return the pairs of bodies whose links are connected by a joint.

    Args:
        parents: of each body, a lower index; None: the world, which is no link.
        jointed: whether a joint is between a body and its parent.
    """
    link: list[int] = []
    members: dict[int, list[int]] = defaultdict(list)
    for i, parent in enumerate(parents):
        link.append(i if parent is None or jointed[i] else link[parent])
        members[link[i]].append(i)
    pairs: set[FramePair] = set()
    for head, bodies in members.items():
        parent = parents[head]
        if parent is not None:
            pairs |= ordered_pairs(product(members[link[parent]], bodies))
    return pairs


def ordered_pairs(pairs: Iterable[FramePair]) -> set[FramePair]:
    """Return the pairs of two different indices, the lower first."""
    return {(min(p), max(p)) for p in pairs if p[0] != p[1]}


def _ignored_ancestors(
    frames: Sequence[Frame], rows: Int[np.ndarray, " n"]
) -> Bool[np.ndarray, "n n"]:
    """Return whether the flag of each frame ignores each other one as an ancestor.

    Args:
        frames: all frames.
        rows: indices of the frames in question.
    """
    n = len(frames)
    worlds = {i for i, f in enumerate(frames) if f.name == "world" and f.parent is None}
    link = np.zeros(n, int)
    # Number of joints of a frame and all frames above it.
    depth = np.zeros(n, int)
    # Whether the second frame is the link of the first, or a link above it.
    above = np.zeros((n, n), bool)
    for i in topological_order(frames):
        parent, has_joint = frames[i].parent, frames[i].joint is not None
        is_head = has_joint or parent is None or parent in worlds
        link[i] = i if is_head else link[parent]
        depth[i] = has_joint + (0 if parent is None else depth[parent])
        if parent is not None:
            above[i] = above[parent]
        above[i, link[i]] = True
    heads = link[rows]
    head_joints = np.array([frames[i].joint is not None for i in heads], int)
    joints_between = depth[heads][:, None] - depth[heads] - 1 + head_joints
    reach = -np.array([frames[i].contact for i in rows], float)
    return above[heads[:, None], heads] & (joints_between <= reach[:, None])
