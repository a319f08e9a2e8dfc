"""Builds the kinematic tree and its data arrays from frames.

Rigidly attached frames are composed here, so that a forward pass visits only moving
joints.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..errors import ConfigError
from ..kinematics.joint_types import (
    joint_transform,
    joint_type,
)
from ..kinematics.transforms import (
    IDENTITY,
    pose_multiply,
    quat_multiply,
    quat_to_matrix,
    rotate,
    skew,
)
from ..kinematics.tree import KinematicTree
from .frame import Frame, Joint
from .kinematics_nodes import (
    ScalarMotion,
    TreeNode,
    build_node,
    elementary_dofs,
    pad_slides,
    pure_quaternions,
    sort_by_level,
)
from .mimic_joints import motion_value, resolve_mimics


@dataclass(frozen=True, eq=False)
class JointSlot:
    """The place of a joint's coordinates in q."""

    frame: int
    """Index of the frame with the joint."""
    start: int
    """First coordinate in q."""
    dim: int
    """Number of coordinates."""


@dataclass(frozen=True, eq=False)
class KinematicsLayout:
    """A kinematic tree, its data arrays, and the slots of joints in q."""

    tree: KinematicTree
    data: dict[str, np.ndarray]
    slots: tuple[JointSlot, ...]


def topological_order(frames: Sequence[Frame]) -> list[int]:
    """Return frame indices, parents first.

    Raises:
        ConfigError: When a frame is its own ancestor.
    """
    order: list[int] = []
    state = [0] * len(frames)
    for start in range(len(frames)):
        path = []
        i: int | None = start
        while i is not None and state[i] == 0:
            state[i] = 1
            path.append(i)
            i = frames[i].parent
        if i is not None and state[i] == 1:
            raise ConfigError(
                f"Frame {frames[i].name!r} is its own ancestor; attach it elsewhere."
            )
        for k in reversed(path):
            state[k] = 2
            order.append(k)
    return order


class _FrameMount(NamedTuple):
    """The node that a frame is attached to, and the frame's pose in it."""

    node: int
    pose: np.ndarray


def build_kinematics(
    frames: Sequence[Frame], values: Mapping[int, np.ndarray]
) -> KinematicsLayout:
    """Return the kinematics of a world.

    Locked joints, and joints that mimic them, are composed into constant poses.

    Args:
        frames: All frames.
        values: The coordinates of all joints by frame index.

    Raises:
        ConfigError: For circles of frames or mimics, and unfit mimics.
    """
    relations = resolve_mimics(frames)

    def moving_joint(i: int) -> Joint | None:
        """Return the joint by which a frame moves, if it does."""
        joint = frames[i].joint
        if joint is None or joint.dim == 0:
            return None
        source = frames[relations[i].source].joint
        return joint if source is not None and source.active else None

    slots: list[JointSlot] = []
    start: dict[int, int] = {}
    nq = 0
    for i in range(len(frames)):
        joint = moving_joint(i)
        if joint is not None and relations[i].source == i:
            start[i] = nq
            slots.append(JointSlot(i, nq, joint.dim))
            nq += joint.dim

    columns, column_coordinate, balls = _tangent_columns(frames, slots)
    nodes: list[TreeNode] = []
    mounts: dict[int, _FrameMount] = {}
    for i in topological_order(frames):
        frame = frames[i]
        parent = -1 if frame.parent is None else frame.parent
        above = mounts.get(parent, _FrameMount(-1, IDENTITY))
        node: int = above.node
        pose: np.ndarray = pose_multiply(above.pose, np.asarray(frame.origin, float))
        joint, mover = frame.joint, moving_joint(i)
        if mover is not None:
            relation = relations[i]
            for spec in joint_type(mover.type).nodes:
                first, tangent = start[relation.source], columns[relation.source]
                level = 0 if node < 0 else nodes[node].level + 1
                body = build_node(
                    parent=node,
                    level=level,
                    pose=pose,
                    spec=spec,
                    joint=mover,
                    relation=relation,
                    start=first,
                    columns=tangent,
                )
                nodes.append(body)
                node, pose = len(nodes) - 1, IDENTITY
        elif joint is not None and joint.dim:
            relation = relations[i]
            q = motion_value(joint.type, np.asarray(values[relation.source]), relation)
            pose = pose_multiply(pose, joint_transform(joint.type, joint.axis, q))
        mounts[i] = _FrameMount(node, pose)
    mounted = [mounts[i] for i in range(len(frames))]
    tree = _build_tree(nodes, column_coordinate, balls)
    return KinematicsLayout(tree, _build_data(tree, nodes, mounted), tuple(slots))


def move_rigid_frame(
    layout: KinematicsLayout,
    frames: Sequence[Frame],
    children: Mapping[int | None, Sequence[int]],
    moved: int,
) -> dict[str, np.ndarray] | None:
    """Return the data arrays of a layout after the origin of a frame has changed.

    Args:
        layout: of the frames before.
        frames: all frames, with the new origin.
        children: indices of the frames attached to each frame.
        moved: index of the frame.

    Returns:
        The arrays; None if a joint is on the frame or below it.
    """
    R, p, quats = (layout.data[k].copy() for k in ("frame_R", "frame_p", "frame_quat"))
    pending = [moved]
    for i in pending:
        joint, parent = frames[i].joint, frames[i].parent
        if joint is not None and joint.dim:
            return None
        above = IDENTITY if parent is None else np.append(p[parent], quats[parent])
        pose = pose_multiply(above, np.asarray(frames[i].origin, float))
        R[i], p[i], quats[i] = quat_to_matrix(pose[3:]), pose[:3], pose[3:]
        pending += children.get(i, ())
    return {**layout.data, "frame_R": R, "frame_p": p, "frame_quat": quats}


def _tangent_columns(
    frames: Sequence[Frame], slots: Sequence[JointSlot]
) -> tuple[dict[int, dict[int, int]], list[int], list[tuple[int, int]]]:
    """Return the tangent column of each coordinate of each joint, and what columns are.

    Returns:
        For each joint (by frame) the first tangent column by coordinate; the coordinate
        in q of each column, -1 for those of quaternions; first coordinate and first
        column of each quaternion.
    """
    columns: dict[int, dict[int, int]] = {}
    column_coordinate: list[int] = []
    balls: list[tuple[int, int]] = []
    for slot in slots:
        first: dict[int, int] = {}
        joint = frames[slot.frame].joint
        ball_starts = joint_type(joint.type).balls if joint is not None else ()
        k = 0
        while k < slot.dim:
            first[k] = len(column_coordinate)
            if k in ball_starts:
                balls.append((slot.start + k, len(column_coordinate)))
                column_coordinate += [-1, -1, -1]
                k += 4
            else:
                column_coordinate.append(slot.start + k)
                k += 1
        columns[slot.frame] = first
    return columns, column_coordinate, balls


def _build_tree(
    nodes: Sequence[TreeNode],
    column_coordinate: Sequence[int],
    balls: Sequence[tuple[int, int]],
) -> KinematicTree:
    rows, rank = sort_by_level(nodes)
    nv = len(column_coordinate)
    nq = nv + len(balls)
    level = np.array([r.level for r in rows], int)
    edges = np.searchsorted(level, np.arange(level.max(initial=-1) + 2)).tolist()
    slides = [i for i, r in enumerate(rows) if r.slides]
    ball_nodes = [i for i, r in enumerate(rows) if r.ball is not None]
    dofs = elementary_dofs(rows)
    return KinematicTree(
        nq=nq,
        nv=nv,
        parents=tuple(rank[r.parent] for r in rows),
        levels=tuple(zip(edges[:-1], edges[1:], strict=True)),
        rotation_coordinate=tuple(
            nq if r.turn is None else r.turn.coordinate for r in rows
        ),
        ball_nodes=tuple(ball_nodes),
        ball_coordinate=tuple(r.ball for r in rows if r.ball is not None),
        slide_nodes=tuple(slides),
        slide_coordinates=tuple(
            tuple(s.coordinate for s in pad_slides(rows[i], nq)) for i in slides
        ),
        dof_nodes=tuple(d.node for d in dofs),
        dof_is_rotation=tuple(d.turn for d in dofs),
        dof_columns=tuple(d.column for d in dofs),
        column_coordinate=tuple(column_coordinate),
        balls=tuple(balls),
        columns_are_dofs=len(dofs) == nv and all(d.multiplier == 1 for d in dofs),
    )


def _build_data(
    tree: KinematicTree, nodes: Sequence[TreeNode], mounted: Sequence[_FrameMount]
) -> dict[str, np.ndarray]:
    """Return the data arrays of `Kinematics`, in the axes of parent nodes."""
    rows, rank = sort_by_level(nodes)
    origins = _stack([r.pose for r in rows], (7,))
    p, quats = origins[:, :3], origins[:, 3:]
    R = quat_to_matrix(quats)
    turns = [r.turn or ScalarMotion(0, 0.0, 0.0, np.zeros(3)) for r in rows]
    axis = _stack([t.axis for t in turns], (3,))
    # Rodrigues' formula: R(θ) = a aᵀ + cos θ (1 - a aᵀ) + sin θ [a]×. Nodes without a
    # rotation have a = 0 and θ = 0, which gives the identity.
    along = axis[:, :, None] * axis[:, None, :]
    # After all frames comes the world, as a frame on the last row of nodes.
    mounts = [*mounted, _FrameMount(-1, IDENTITY)]
    offsets = np.array([mount.pose for mount in mounts])
    frame_nodes = [rank[mount.node] % (len(rows) + 1) for mount in mounts]
    slide_nodes, ball_nodes = tree.indices.slide_nodes, np.array(tree.ball_nodes, int)
    slides = [pad_slides(rows[i], tree.nq) for i in slide_nodes]
    slide_axis = _stack([[s.axis for s in three] for three in slides], (3, 3))
    dofs = elementary_dofs(rows)
    dof_axis = _stack([d.axis for d in dofs], (3,))
    in_parent = rotate(R[tree.indices.dof_nodes], dof_axis)
    return dict(
        node_p=p,
        rotation_basis=np.stack([R @ along, R @ (np.eye(3) - along), R @ skew(axis)]),
        rotation_quat_basis=np.stack(
            [quats, quat_multiply(quats, pure_quaternions(axis))]
        ),
        angle_multiplier=_stack([t.multiplier for t in turns], ()),
        angle_offset=_stack([t.offset for t in turns], ()),
        ball_R=R[ball_nodes],
        ball_quat=quats[ball_nodes],
        slide_axis=slide_axis @ np.swapaxes(R[slide_nodes], -1, -2),
        slide_multiplier=_stack([[s.multiplier for s in t] for t in slides], (3,)),
        slide_offset=_stack([[s.offset for s in t] for t in slides], (3,)),
        dof_axis=np.where(tree.indices.is_rotation[:, None], dof_axis, in_parent),
        dof_multiplier=_stack([d.multiplier for d in dofs], ()),
        frame_nodes=np.array(frame_nodes),
        frame_R=quat_to_matrix(offsets[:, 3:]),
        frame_p=offsets[:, :3],
        frame_quat=offsets[:, 3:],
    )


def _stack(rows: list, shape: tuple[int, ...]) -> np.ndarray:
    return np.array(rows, float).reshape((len(rows), *shape))
