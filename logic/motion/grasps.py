"""Antipodal grasps of any object, sampled on the convex bodies of its shapes.

A parallel gripper holds an object at two points whose normals both lie in the friction
cone about their line (Nguyen 1988, "Constructing force-closure grasps").
"""

import numpy as np
from jaxtyping import Bool, Float

from posewise.robots.config import Config
from posewise.robots.contact.hands import subtree_indices
from posewise.robots.contact.pose_batches import distances_at_poses
from posewise.robots.kinematics.transforms import (
    matrix_to_quat,
    pose_inverse,
    pose_multiply,
    quat_to_matrix,
)
from posewise.robots.typing import FrameName

from ..geometry.frame_groups import (
    FrameGroup,
    centre_of_mass,
    find_object,
    has_collision_shape,
    subtree_group,
)
from ..geometry.pad_contacts import pad_contacts
from .grasp import GRASP_SAMPLING, Grasp
from .hand import Hand


def find_grasps(
    C: Config,
    obj: FrameName,
    hand: Hand,
    limit: int = 24,
    *,
    part: FrameName | None = None,
) -> list[Grasp]:
    """Return grasps of an object, the best first, from different sides in turn.

    The score is that of rostok's `InstantObjectCOGCriterion` for two equal forces:
    1 / (1 + d) for the distance d [m] of the middle of the contacts from the centre of
    mass. With equal forces its `InstantForceCriterion` is 1 for all.

    Args:
        C: the world; the object may be anywhere.
        obj: an object or a frame with a shape.
        hand: the gripper.
        limit: largest number of grasps.
        part: frame of the object by which it is held, such as a door; poses of grasps
            are in this frame. None: any.
    """
    whole = find_object(C, obj)
    group = whole if part is None else subtree_group(C, part)
    R_root, p_root = group.pose(group.frames[0])
    com = (centre_of_mass(group) - p_root) @ R_root
    room = 2 * GRASP_SAMPLING.clearance
    contacts = pad_contacts(group, hand.finger_length, hand.max_width - room)
    score = 1 / (1 + np.linalg.norm(contacts.middle - com, axis=1))
    poses = np.concatenate([contacts.middle, matrix_to_quat(contacts.R)], 1)
    chosen: list[int] = []
    candidates = _sides_in_turn(poses, score)
    for first in range(0, len(candidates), GRASP_SAMPLING.batch_size):
        rows = candidates[first : first + GRASP_SAMPLING.batch_size]
        free = _are_free(C, hand, group, whole, poses[rows], contacts.width[rows])
        chosen += [k for k, is_free in zip(rows, free, strict=True) if is_free]
        if len(chosen) >= limit:
            break
    return [
        Grasp(
            poses[k],
            float(contacts.width[k]),
            float(score[k]),
            _description(contacts.width[k], contacts.R[k]),
        )
        for k in sorted(chosen[:limit], key=lambda k: -score[k])
    ]


def least_width(
    C: Config, obj: FrameName, hand: Hand, *, part: FrameName | None = None
) -> float:
    """Return the least width at which a hand of any opening could hold an object [m].

    Arguments are those of `find_grasps`. Infinite without flat, opposite surfaces.
    """
    group = find_object(C, obj) if part is None else subtree_group(C, part)
    contacts = pad_contacts(group, hand.finger_length, np.inf)
    return float(contacts.width.min(initial=np.inf))


def _sides_in_turn(
    poses: Float[np.ndarray, "n 7"], score: Float[np.ndarray, " n"]
) -> list[int]:
    """Return the indices of distinct grasps, from all sides in turn.

    Each side, a closing axis with an approach, gives its best grasps first.
    """
    keys = np.round(poses, 4) + 0.0
    unique = {tuple(key): k for k, key in enumerate(keys.tolist())}
    sides: dict[tuple[float, ...], list[int]] = {}
    for k in sorted(unique.values(), key=lambda k: -score[k]):
        side = tuple(np.round(np.abs(poses[k, 3:]), 2).tolist())
        sides.setdefault(side, []).append(k)
    rounds = max(map(len, sides.values()), default=0)
    return [
        ranked[turn]
        for turn in range(rounds)
        for ranked in sides.values()
        if turn < len(ranked)
    ]


def _are_free(
    C: Config,
    hand: Hand,
    group: FrameGroup,
    whole: FrameGroup,
    poses: Float[np.ndarray, "n 7"],
    widths: Float[np.ndarray, " n"],
) -> Bool[np.ndarray, " n"]:
    """Return at which grasps the open gripper touches the whole object nowhere.

    Args:
        C: the world.
        hand: the gripper.
        group: what is held.
        whole: the object that it is a part of.
        poses: of the gripper's frame in the first frame of the group.
        widths: of the grasps [m].
    """
    X = C.copy()
    X.joints.select([hand.joint])
    below = subtree_indices(X.tree, X.index(hand.link))
    frames = [i for i in sorted(below) if has_collision_shape(X, i)]
    clearance = GRASP_SAMPLING.clearance
    openings = [[hand.joint_value(width + 2 * clearance)] for width in widths]
    R, p = X.forward_pass(np.array(openings)).frames
    # From the world, in which the hand is where it is now, to the object.
    moves = pose_multiply(poses, pose_inverse(hand.pose(X)))
    R_move = quat_to_matrix(moves[:, 3:])[:, None]
    R_hand = R_move @ R[:, frames]
    p_hand = (R_move @ p[:, frames, :, None])[..., 0] + moves[:, None, :3]
    others = [(C.frames[i], *group.pose_in_root(i)) for i in whole.collision_frames]
    parts = [X.frames[i] for i in frames]
    distance = distances_at_poses(parts, R_hand, p_hand, others, clearance / 4)
    return distance > clearance / 4


def _description(width: float, R: Float[np.ndarray, "3 3"]) -> str:
    """Return the width of a grasp, and the axes of the object along which it holds."""
    across = _axis(R[:, 0]).removeprefix("-")
    return f"{width * 1e3:.0f} mm across {across}, along {_axis(-R[:, 2])}"


def _axis(direction: Float[np.ndarray, "3"]) -> str:
    """Return the object's axis that a direction is nearest to, such as "-z"."""
    # Half-way between two axes, rounding errors would choose.
    k = int(np.abs(direction).round(6).argmax())
    return ("-" if direction[k] < 0 else "") + "xyz"[k]
