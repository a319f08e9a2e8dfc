"""From frames to the static structure and the data that kinematics needs.

The structure (`Tree`) is hashable and decides what is compiled; everything else is
data. Rigidly attached frames are composed here, so that only moving joints are walked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .errors import ConfigError, unknown
from .frame import Frame
from .joints import joint_type, motion, resolve_axis, zero_value
from .transforms import (
    IDENTITY,
    hat,
    pose_multiply,
    quat_multiply,
    quat_to_matrix,
    rotate,
)

Ints = tuple[int, ...]


@dataclass(frozen=True)
class Tree:
    """The static structure of a world: nodes by level, dofs, frames."""

    n_frames: int
    nq: int
    nv: int
    parents: Ints
    """Parent node of each node, -1: the world; nodes are sorted by level."""
    levels: tuple[tuple[int, int], ...]
    """First and last + 1 node of each level."""
    rotation_coordinate: Ints
    """Coordinate in q that turns each node; nq: none."""
    ball_nodes: Ints
    ball_coordinate: Ints
    """First of the four quaternion coordinates of each ball node."""
    slide_nodes: Ints
    slide_coordinates: tuple[tuple[int, int, int], ...]
    """Coordinates that translate each slide node; nq: none."""
    dof_nodes: Ints
    """Node that each elementary dof moves."""
    dof_turns: tuple[bool, ...]
    """True for a turn, False for a translation."""
    dof_columns: Ints
    """Column of the tangent space that each elementary dof feeds; first one dof for
    each column in order, then those of mimic joints."""
    column_coordinate: Ints
    """Coordinate in q of each tangent column, -1: part of a ball."""
    balls: tuple[tuple[int, int], ...]
    """(first q coordinate, first tangent column) of each quaternion in q."""
    frame_nodes: Ints
    """Node that carries each frame, -1: the world."""
    rigid_frames: Ints
    """Frames with an offset from their node; the others coincide with it."""

    unit: bool
    """Each tangent column is one dof, moving at unit speed: J needs no folding."""

    def __post_init__(self):
        object.__setattr__(self, "_hash", hash(tuple(self.__dict__.values())))

    def __hash__(self) -> int:
        return self._hash  # type: ignore[attr-defined]

    @cached_property
    def mask(self) -> np.ndarray:
        """(n_frames + 1, dofs): dof j moves frame f; the last row is the world."""
        moves = np.zeros((len(self.parents) + 1, len(self.dof_nodes)), bool)
        for node, parent in enumerate(self.parents):
            moves[node] = moves[parent]
            moves[node] |= np.asarray(self.dof_nodes, int) == node
        return moves[[*self.frame_nodes, -1]]

    @cached_property
    def table(self) -> "IndexTable":
        """The structure as index arrays."""
        return IndexTable(self)


class IndexTable:
    """Index arrays of a tree, made once."""

    def __init__(self, tree: Tree):
        n = len(tree.parents)
        as_array = lambda values: np.array(values, int)
        parents = as_array(tree.parents)
        self.rotation = as_array(tree.rotation_coordinate)
        self.ball_parts = as_array(tree.ball_coordinate)[:, None] + np.arange(4)
        self.ball_rows = np.arange(n)
        self.ball_rows[as_array(tree.ball_nodes)] = n + np.arange(len(tree.ball_nodes))
        self.slides = as_array(tree.slide_nodes)
        self.slide_coordinates = as_array(tree.slide_coordinates).reshape(-1, 3)
        self.slide_rows = np.arange(n)
        self.slide_rows[self.slides] = n + np.arange(len(self.slides))
        self.up: list[np.ndarray | None] = []
        """For each level, the parents' places in the level before; None: in order."""
        before = 0
        for first, last in tree.levels:
            local = parents[first:last] - before
            straight = np.array_equal(local, np.arange(first - before))
            self.up.append(None if straight else local)
            before = first
        self.carriers = as_array(tree.frame_nodes)[as_array(tree.rigid_frames)]
        # rows of [nodes, world, rigid frames] in frame order, the world last
        self.frame_rows = np.append(as_array(tree.frame_nodes), n)
        rigid = n + 1 + np.arange(len(tree.rigid_frames))
        self.frame_rows[as_array(tree.rigid_frames)] = rigid
        self.dof_nodes = as_array(tree.dof_nodes)
        self.turns = np.array(tree.dof_turns, bool)
        self.all_turn = bool(self.turns.all())
        self.dof_basis = np.where(
            self.turns, self.dof_nodes, parents[self.dof_nodes] if n else 0
        )
        led = as_array(tree.dof_columns[tree.nv :])
        self.followers = np.zeros((len(led), tree.nv))
        self.followers[np.arange(len(led)), led] = 1.0
        """Which column each dof of a mimic joint adds to."""
        self.quaternions = as_array([b[0] for b in tree.balls])[:, None] + np.arange(4)
        self.spins = as_array([b[1] for b in tree.balls])[:, None] + np.arange(3)


@dataclass(frozen=True, eq=False)
class JointSlot:
    """Where the coordinates of a joint stand in q."""

    frame: int
    start: int
    dim: int


@dataclass(frozen=True, eq=False)
class Layout:
    """A tree, its data arrays, and where each joint stands in q."""

    tree: Tree
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


@dataclass
class _Drive:
    """What drives a joint: scale · (multiplier · q + offset) of a source joint."""

    source: int
    multiplier: float
    offset: float
    scale: float


def joint_drives(frames: Sequence[Frame]) -> dict[int, _Drive]:
    """For each jointed frame, the frame whose coordinates drive it.

    Raises:
        ConfigError: for a mimic of an unknown joint, of another type, or in a circle.
    """
    by_name = {f.joint.name: i for i, f in enumerate(frames) if f.joint is not None}
    drives: dict[int, _Drive] = {}
    for i, frame in enumerate(frames):
        if frame.joint is None:
            continue
        multiplier, offset, k, seen = 1.0, 0.0, i, {i}
        joint = frame.joint
        while joint.mimic is not None:
            if joint.mimic not in by_name:
                raise ConfigError(
                    f"Joint {joint.name!r} mimics {joint.mimic!r}: "
                    + unknown("joint", joint.mimic, by_name)
                )
            offset += multiplier * joint.offset
            multiplier *= joint.multiplier
            k = by_name[joint.mimic]
            if k in seen:
                raise ConfigError(
                    f"Joint {frame.joint.name!r} mimics itself through"
                    f" {joint.mimic!r}; break the circle."
                )
            seen.add(k)
            target = frames[k].joint
            assert target is not None
            joint = target
        if joint.dim != frame.joint.dim:
            raise ConfigError(
                f"Joint {frame.joint.name!r} ({frame.joint.type}) mimics"
                f" {joint.name!r} ({joint.type}), which has {joint.dim} coordinates"
                f" instead of {frame.joint.dim}."
            )
        drives[i] = _Drive(k, multiplier, offset, joint.scale)
    return drives


def driven_value(type_: str, q: np.ndarray, drive: _Drive) -> np.ndarray:
    """A joint's own coordinates, given those of the joint that drives it."""
    value = drive.multiplier * q + drive.offset
    for b in joint_type(type_).balls:
        value[b : b + 4] = q[b : b + 4]
    return value


def moved_value(type_: str, q: np.ndarray, drive: _Drive) -> np.ndarray:
    """The coordinates at which a driven joint's motion is evaluated."""
    value = driven_value(type_, q, drive)
    scaled = drive.scale * value
    for b in joint_type(type_).balls:
        scaled[b : b + 4] = value[b : b + 4]
    return scaled


def build(frames: Sequence[Frame], values: Mapping[int, np.ndarray]) -> Layout:
    """The structure and data of a world; `values` holds all joint coordinates.

    Locked joints, and what mimics them, are composed into constant poses.
    """
    drives = joint_drives(frames)

    def moves(i: int) -> bool:
        joint = frames[i].joint
        if joint is None or joint.dim == 0:
            return False
        source = frames[drives[i].source].joint
        return source is not None and source.active

    slots: list[JointSlot] = []
    start: dict[int, int] = {}
    nq = 0
    for i, frame in enumerate(frames):
        if moves(i) and drives[i].source == i:
            assert frame.joint is not None
            start[i] = nq
            slots.append(JointSlot(i, nq, frame.joint.dim))
            nq += frame.joint.dim

    columns, column_coordinate, balls = _columns(frames, slots)
    nodes = _Nodes(nq)
    carry: dict[int, tuple[int, np.ndarray, bool]] = {}
    for i in topological_order(frames):
        frame = frames[i]
        node, pose, _ = carry.get(
            -1 if frame.parent is None else frame.parent, (-1, IDENTITY, False)
        )
        pose = pose_multiply(pose, np.asarray(frame.origin, float))
        joint, exact = frame.joint, False
        if moves(i):
            assert joint is not None
            drive = drives[i]
            for spec in joint_type(joint.type).nodes:
                at, first = start[drive.source], columns[drive.source]
                node = nodes.add(node, pose, spec, joint, drive, at, first)
                pose, exact = IDENTITY, True
        elif joint is not None and joint.dim:
            drive = drives[i]
            q = moved_value(joint.type, np.asarray(values[drive.source]), drive)
            pose = pose_multiply(pose, motion(joint.type, joint.axis, q))
        carry[i] = (node, pose, exact)
    return nodes.finish(
        [carry[i] for i in range(len(frames))],
        len(column_coordinate),
        column_coordinate,
        balls,
        tuple(slots),
    )


def _columns(frames, slots):
    """First tangent column by coordinate for each joint, and the columns' makers."""
    columns: dict[int, dict[int, int]] = {}
    coordinate: list[int] = []
    balls: list[tuple[int, int]] = []
    for slot in slots:
        at: dict[int, int] = {}
        ball_starts = joint_type(frames[slot.frame].joint.type).balls
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


class _Nodes:
    """Collects nodes while the frames are walked, then sorts them by level."""

    def __init__(self, nq: int):
        self.nq = nq
        self.rows: list[dict] = []

    def add(self, parent, pose, spec, joint, drive, start, columns) -> int:
        level = 0 if parent < 0 else self.rows[parent]["level"] + 1
        multiplier, offset = drive.scale * drive.multiplier, drive.scale * drive.offset
        dofs = []
        slides = []
        for k, axis in spec.translations:
            a = resolve_axis(axis, joint.axis)
            slides.append((start + k, multiplier, offset, a))
            dofs.append((False, columns[k], multiplier, a))
        turn = None
        if spec.rotation is not None:
            k, axis = spec.rotation
            a = resolve_axis(axis, joint.axis)
            turn = (start + k, multiplier, offset, a)
            dofs.append((True, columns[k], multiplier, a))
        ball = None
        if spec.ball is not None:
            if drive.multiplier != 1 or drive.offset != 0:
                raise ConfigError(
                    f"Joint {joint.name!r} ({joint.type}) mimics a quaternion joint"
                    f" with multiplier {drive.multiplier} and offset {drive.offset};"
                    " only multiplier 1 and offset 0 make sense there."
                )
            ball = start + spec.ball
            dofs += [
                (True, columns[spec.ball] + i, 1.0, a) for i, a in enumerate(np.eye(3))
            ]
        self.rows.append(
            dict(
                parent=parent,
                level=level,
                pose=pose,
                slides=slides,
                turn=turn,
                ball=ball,
                dofs=dofs,
            )
        )
        return len(self.rows) - 1

    def finish(self, carry, nv, column_coordinate, balls, slots) -> Layout:
        order = sorted(range(len(self.rows)), key=lambda i: self.rows[i]["level"])
        rank = {old: new for new, old in enumerate(order)} | {-1: -1}
        rows = [self.rows[i] for i in order]
        level = np.array([r["level"] for r in rows], int)
        edges = np.searchsorted(level, np.arange(level.max(initial=-1) + 2))
        slides = [i for i, r in enumerate(rows) if r["slides"]]
        padded = {
            i: rows[i]["slides"] + [(self.nq, 0.0, 0.0, np.zeros(3))] * 3
            for i in slides
        }
        dofs = _leaders_first([(i, *d) for i, r in enumerate(rows) for d in r["dofs"]])
        ball_nodes = [i for i, r in enumerate(rows) if r["ball"] is not None]
        rigid = [f for f, (_, _, exact) in enumerate(carry) if not exact]
        tree = Tree(
            n_frames=len(carry),
            nq=self.nq,
            nv=nv,
            parents=tuple(rank[r["parent"]] for r in rows),
            levels=tuple(
                (int(a), int(b)) for a, b in zip(edges[:-1], edges[1:], strict=True)
            ),
            rotation_coordinate=tuple(
                self.nq if r["turn"] is None else r["turn"][0] for r in rows
            ),
            ball_nodes=tuple(ball_nodes),
            ball_coordinate=tuple(rows[i]["ball"] for i in ball_nodes),
            slide_nodes=tuple(slides),
            slide_coordinates=tuple(
                tuple(s[0] for s in padded[i][:3])
                for i in slides  # type: ignore
            ),
            dof_nodes=tuple(d[0] for d in dofs),
            dof_turns=tuple(d[1] for d in dofs),
            dof_columns=tuple(d[2] for d in dofs),
            column_coordinate=tuple(column_coordinate),
            balls=tuple(balls),
            frame_nodes=tuple(rank[node] for node, _, _ in carry),
            rigid_frames=tuple(rigid),
            unit=len(dofs) == nv and all(d[3] == 1 for d in dofs),
        )
        # everything a node's motion needs, in the axes of its parent node
        origins = _stack([r["pose"] for r in rows], (7,))
        p, quats = origins[:, :3], origins[:, 3:]
        R = quat_to_matrix(quats)
        no_turn = (0, 0.0, 0.0, np.zeros(3))
        turns = [r["turn"] or no_turn for r in rows]
        axis = _stack([t[3] for t in turns], (3,))
        along = axis[:, :, None] * axis[:, None, :]
        offsets = _stack([carry[f][1] for f in rigid], (7,))
        slid = _stack([[s[3] for s in padded[i][:3]] for i in slides], (3, 3))
        dof_nodes = np.array(tree.dof_nodes, int)
        dof_axis = _stack([d[4] for d in dofs], (3,))
        in_parent = rotate(R[dof_nodes], dof_axis)
        dof_turns = np.array(tree.dof_turns, bool)[:, None]
        data = dict(
            node_p=p,
            turn_R=np.stack([R @ along, R @ (np.eye(3) - along), R @ hat(axis)]),
            turn_quat=np.stack([quats, quat_multiply(quats, _pure(axis))]),
            turn_multiplier=_stack([t[1] for t in turns], ()),
            turn_offset=_stack([t[2] for t in turns], ()),
            ball_R=R[np.array(ball_nodes, int)],
            ball_quat=quats[np.array(ball_nodes, int)],
            slide_axis=slid @ np.swapaxes(R[np.array(slides, int)], -1, -2),
            slide_multiplier=_stack(
                [[s[1] for s in padded[i][:3]] for i in slides], (3,)
            ),
            slide_offset=_stack([[s[2] for s in padded[i][:3]] for i in slides], (3,)),
            dof_axis=np.where(dof_turns, dof_axis, in_parent),
            dof_multiplier=_stack([d[3] for d in dofs], ()),
            frame_R=quat_to_matrix(offsets[:, 3:]),
            frame_p=offsets[:, :3],
            frame_quat=offsets[:, 3:],
        )
        return Layout(tree, data, slots)


def _leaders_first(dofs: list) -> list:
    """Sorted by column; the second and further dofs of a column come at the end."""
    dofs = sorted(dofs, key=lambda dof: dof[2])
    first = [i == 0 or d[2] != dofs[i - 1][2] for i, d in enumerate(dofs)]
    leaders = [d for d, is_first in zip(dofs, first, strict=True) if is_first]
    return leaders + [
        d for d, is_first in zip(dofs, first, strict=True) if not is_first
    ]


def _pure(v: np.ndarray) -> np.ndarray:
    """Vectors as quaternions with no real part."""
    return np.concatenate([np.zeros_like(v[:, :1]), v], -1)


def _stack(rows: list, shape: tuple[int, ...]) -> np.ndarray:
    return np.array(rows, float).reshape((len(rows), *shape))


__all__ = ["JointSlot", "Layout", "Tree", "build", "topological_order", "zero_value"]
