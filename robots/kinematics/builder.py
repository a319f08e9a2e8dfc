"""From frames to the structure and the data that kinematics needs.

Rigidly attached frames are composed here, so that only moving joints are walked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..errors import ConfigError
from ..world.frame import Frame, Joint
from .joint_types import JointNode, joint_transform, joint_type, resolve_axis
from .mimic_joints import MimicRelation, motion_value, resolve_mimics
from .transforms import (
    IDENTITY,
    pose_multiply,
    quat_multiply,
    quat_to_matrix,
    rotate,
    skew,
)
from .tree import KinematicTree


@dataclass(frozen=True, eq=False)
class JointSlot:
    """Where the coordinates of a joint stand in q."""

    frame: int
    start: int
    dim: int


@dataclass(frozen=True, eq=False)
class KinematicsLayout:
    """A tree, its data arrays, and where each joint stands in q."""

    tree: KinematicTree
    data: dict[str, np.ndarray]
    slots: tuple[JointSlot, ...]


def topological_order(frames: Sequence[Frame]) -> list[int]:
    """Frame indices, parents first.

    Raises:
        ConfigError: when a frame is its own ancestor.
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


class _ScalarMotion(NamedTuple):
    """Along or about `axis` by multiplier · q[coordinate] + offset."""

    coordinate: int
    multiplier: float
    offset: float
    axis: np.ndarray


class _ElementaryDof(NamedTuple):
    """One elementary degree of freedom."""

    node: int
    turn: bool
    column: int
    multiplier: float
    axis: np.ndarray


class _TreeNode(NamedTuple):
    """A moving body: its origin in the parent node, and how it moves there."""

    parent: int
    level: int
    pose: np.ndarray
    slides: tuple[_ScalarMotion, ...]
    turn: _ScalarMotion | None
    ball: int | None
    """First of four quaternion coordinates."""
    columns: tuple[int, ...]
    """Tangent columns: of the slides, then of the turn or the ball."""


class _FrameMount(NamedTuple):
    """What carries a frame: a node, and the frame's pose in it."""

    node: int
    pose: np.ndarray
    exact: bool
    """The frame coincides with the node by construction."""


def build_kinematics(
    frames: Sequence[Frame], values: Mapping[int, np.ndarray]
) -> KinematicsLayout:
    """The structure and data of a world; `values` holds all joint coordinates.

    Locked joints, and what mimics them, are composed into constant poses.
    """
    drives = resolve_mimics(frames)

    def moving(i: int) -> Joint | None:
        """The joint by which a frame moves, if it does."""
        joint = frames[i].joint
        if joint is None or joint.dim == 0:
            return None
        source = frames[drives[i].source].joint
        return joint if source is not None and source.active else None

    slots: list[JointSlot] = []
    start: dict[int, int] = {}
    nq = 0
    for i in range(len(frames)):
        own = moving(i)
        if own is not None and drives[i].source == i:
            start[i] = nq
            slots.append(JointSlot(i, nq, own.dim))
            nq += own.dim

    columns, column_coordinate, balls = _tangent_columns(frames, slots)
    nodes: list[_TreeNode] = []
    carry: dict[int, _FrameMount] = {}
    for i in topological_order(frames):
        frame = frames[i]
        up = -1 if frame.parent is None else frame.parent
        above = carry.get(up, _FrameMount(-1, IDENTITY, False))
        node: int = above.node
        pose: np.ndarray = pose_multiply(above.pose, np.asarray(frame.origin, float))
        joint, mover, exact = frame.joint, moving(i), False
        if mover is not None:
            drive = drives[i]
            for spec in joint_type(mover.type).nodes:
                at, first = start[drive.source], columns[drive.source]
                level = 0 if node < 0 else nodes[node].level + 1
                made = _build_node(node, level, pose, spec, mover, drive, at, first)
                nodes.append(made)
                node, pose, exact = len(nodes) - 1, IDENTITY, True
        elif joint is not None and joint.dim:
            drive = drives[i]
            q = motion_value(joint.type, np.asarray(values[drive.source]), drive)
            pose = pose_multiply(pose, joint_transform(joint.type, joint.axis, q))
        carry[i] = _FrameMount(node, pose, exact)
    placed = [carry[i] for i in range(len(frames))]
    tree = _build_tree(nodes, placed, column_coordinate, balls)
    return KinematicsLayout(tree, _build_data(tree, nodes, placed), tuple(slots))


def _tangent_columns(
    frames: Sequence[Frame], slots: Sequence[JointSlot]
) -> tuple[dict[int, dict[int, int]], list[int], list[tuple[int, int]]]:
    """First tangent column by coordinate for each joint, and the columns' makers."""
    columns: dict[int, dict[int, int]] = {}
    coordinate: list[int] = []
    balls: list[tuple[int, int]] = []
    for slot in slots:
        at: dict[int, int] = {}
        joint = frames[slot.frame].joint
        ball_starts = joint_type(joint.type).balls if joint is not None else ()
        k = 0
        while k < slot.dim:
            at[k] = len(coordinate)
            if k in ball_starts:
                balls.append((slot.start + k, len(coordinate)))
                coordinate += [-1, -1, -1]
                k += 4
            else:
                coordinate.append(slot.start + k)
                k += 1
        columns[slot.frame] = at
    return columns, coordinate, balls


def _build_node(
    parent: int,
    level: int,
    pose: np.ndarray,
    spec: JointNode,
    joint: Joint,
    drive: MimicRelation,
    start: int,
    columns: Mapping[int, int],
) -> _TreeNode:
    multiplier, offset = drive.scale * drive.multiplier, drive.scale * drive.offset

    def moving(k: int, axis: Any) -> _ScalarMotion:
        return _ScalarMotion(
            start + k, multiplier, offset, resolve_axis(axis, joint.axis)
        )

    slides = tuple(moving(k, axis) for k, axis in spec.translations)
    used = [columns[k] for k, _ in spec.translations]
    turn, ball = None, None
    if spec.rotation is not None:
        turn = moving(*spec.rotation)
        used.append(columns[spec.rotation[0]])
    if spec.ball is not None:
        if drive.multiplier != 1 or drive.offset != 0:
            raise ConfigError(
                f"Joint {joint.name!r} ({joint.type}) mimics a quaternion joint"
                f" with multiplier {drive.multiplier} and offset {drive.offset};"
                " only multiplier 1 and offset 0 make sense there."
            )
        ball = start + spec.ball
        used += [columns[spec.ball] + i for i in range(3)]
    return _TreeNode(parent, level, pose, slides, turn, ball, tuple(used))


def _sort_by_level(
    nodes: Sequence[_TreeNode],
) -> tuple[list[_TreeNode], dict[int, int]]:
    """Nodes by level, and the new place of each; the world stays -1."""
    order = sorted(range(len(nodes)), key=lambda i: nodes[i].level)
    rank = {old: new for new, old in enumerate(order)} | {-1: -1}
    return [nodes[i] for i in order], rank


def _elementary_dofs(rows: Sequence[_TreeNode]) -> list[_ElementaryDof]:
    """Elementary dofs: one for each column in order, then those of mimic joints."""
    found: list[_ElementaryDof] = []
    for i, row in enumerate(rows):
        columns = iter(row.columns)
        for slide in row.slides:
            found.append(
                _ElementaryDof(i, False, next(columns), slide.multiplier, slide.axis)
            )
        if row.turn is not None:
            found.append(
                _ElementaryDof(
                    i, True, next(columns), row.turn.multiplier, row.turn.axis
                )
            )
        if row.ball is not None:
            found += [_ElementaryDof(i, True, next(columns), 1.0, a) for a in np.eye(3)]
    found.sort(key=lambda dof: dof.column)
    seen: set[int] = set()
    leaders: list[_ElementaryDof] = []
    followers: list[_ElementaryDof] = []
    for dof in found:
        (followers if dof.column in seen else leaders).append(dof)
        seen.add(dof.column)
    return leaders + followers


def _build_tree(
    nodes: Sequence[_TreeNode],
    placed: Sequence[_FrameMount],
    column_coordinate: Sequence[int],
    balls: Sequence[tuple[int, int]],
) -> KinematicTree:
    rows, rank = _sort_by_level(nodes)
    nv = len(column_coordinate)
    nq = nv + len(balls)
    level = np.array([r.level for r in rows], int)
    edges = np.searchsorted(level, np.arange(level.max(initial=-1) + 2)).tolist()
    slides = [i for i, r in enumerate(rows) if r.slides]
    ball_nodes = [i for i, r in enumerate(rows) if r.ball is not None]
    dofs = _elementary_dofs(rows)
    return KinematicTree(
        n_frames=len(placed),
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
            tuple(s.coordinate for s in _pad_slides(rows[i], nq)) for i in slides
        ),
        dof_nodes=tuple(d.node for d in dofs),
        dof_is_rotation=tuple(d.turn for d in dofs),
        dof_columns=tuple(d.column for d in dofs),
        column_coordinate=tuple(column_coordinate),
        balls=tuple(balls),
        frame_nodes=tuple(rank[c.node] for c in placed),
        rigid_frames=tuple(f for f, c in enumerate(placed) if not c.exact),
        columns_are_dofs=len(dofs) == nv and all(d.multiplier == 1 for d in dofs),
    )


def _build_data(
    tree: KinematicTree, nodes: Sequence[_TreeNode], placed: Sequence[_FrameMount]
) -> dict[str, np.ndarray]:
    """Everything a node's motion needs, in the axes of its parent node."""
    rows, _ = _sort_by_level(nodes)
    origins = _stack([r.pose for r in rows], (7,))
    p, quats = origins[:, :3], origins[:, 3:]
    R = quat_to_matrix(quats)
    turns = [r.turn or _ScalarMotion(0, 0.0, 0.0, np.zeros(3)) for r in rows]
    axis = _stack([t.axis for t in turns], (3,))
    along = axis[:, :, None] * axis[:, None, :]
    offsets = _stack([placed[f].pose for f in tree.rigid_frames], (7,))
    slide_nodes, ball_nodes = tree.indices.slide_nodes, np.array(tree.ball_nodes, int)
    slides = [_pad_slides(rows[i], tree.nq) for i in slide_nodes]
    slide_axis = _stack([[s.axis for s in three] for three in slides], (3, 3))
    dofs = _elementary_dofs(rows)
    dof_axis = _stack([d.axis for d in dofs], (3,))
    in_parent = rotate(R[tree.indices.dof_nodes], dof_axis)
    return dict(
        node_p=p,
        rotation_basis=np.stack([R @ along, R @ (np.eye(3) - along), R @ skew(axis)]),
        rotation_quat_basis=np.stack(
            [quats, quat_multiply(quats, _pure_quaternions(axis))]
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
        frame_R=quat_to_matrix(offsets[:, 3:]),
        frame_p=offsets[:, :3],
        frame_quat=offsets[:, 3:],
    )


def _pad_slides(row: _TreeNode, nq: int) -> list[_ScalarMotion]:
    """The slides of a node, padded to three."""
    nothing = _ScalarMotion(nq, 0.0, 0.0, np.zeros(3))
    return [*row.slides, nothing, nothing, nothing][:3]


def _pure_quaternions(v: np.ndarray) -> np.ndarray:
    """Vectors as quaternions with no real part."""
    return np.concatenate([np.zeros_like(v[:, :1]), v], -1)


def _stack(rows: list, shape: tuple[int, ...]) -> np.ndarray:
    return np.array(rows, float).reshape((len(rows), *shape))
