"""The static structure of a world: what decides which program is compiled."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

Ints = tuple[int, ...]


@dataclass(frozen=True)
class KinematicTree:
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
    slide_coordinates: tuple[Ints, ...]
    """Coordinates that translate each slide node; nq: none."""
    dof_nodes: Ints
    """Node that each elementary dof moves."""
    dof_is_rotation: tuple[bool, ...]
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

    columns_are_dofs: bool
    """Each tangent column is one dof, moving at unit speed: J needs no folding."""

    def __post_init__(self):
        object.__setattr__(self, "_hash", hash(tuple(self.__dict__.values())))

    def __hash__(self) -> int:
        return self._hash  # type: ignore[attr-defined]

    @cached_property
    def dof_mask(self) -> np.ndarray:
        """(n_frames + 1, dofs): dof j moves frame f; the last row is the world."""
        moves = np.zeros((len(self.parents) + 1, len(self.dof_nodes)), bool)
        for node, parent in enumerate(self.parents):
            moves[node] = moves[parent]
            moves[node] |= np.asarray(self.dof_nodes, int) == node
        return moves[[*self.frame_nodes, -1]]

    @cached_property
    def indices(self) -> "TreeIndices":
        """The structure as index arrays."""
        return TreeIndices(self)


class TreeIndices:
    """Index arrays of a tree, made once."""

    def __init__(self, tree: KinematicTree):
        n = len(tree.parents)
        as_array = lambda values: np.array(values, int)
        parents = as_array(tree.parents)
        self.rotation_coordinates = as_array(tree.rotation_coordinate)
        self.ball_coordinates = as_array(tree.ball_coordinate)[:, None] + np.arange(4)
        self.ball_rows = np.arange(n)
        self.ball_rows[as_array(tree.ball_nodes)] = n + np.arange(len(tree.ball_nodes))
        self.slide_nodes = as_array(tree.slide_nodes)
        self.slide_coordinates = as_array(tree.slide_coordinates).reshape(-1, 3)
        self.slide_rows = np.arange(n)
        self.slide_rows[self.slide_nodes] = n + np.arange(len(self.slide_nodes))
        self.parent_rows: list[np.ndarray | None] = []
        """For each level, the parents' places in the level before; None: in order."""
        before = 0
        for first, last in tree.levels:
            local = parents[first:last] - before
            straight = np.array_equal(local, np.arange(first - before))
            self.parent_rows.append(None if straight else local)
            before = first
        self.ancestors: list[np.ndarray] = []
        """Of each node and, last, the world: the node 1, 2, 4, … levels up, while any
        node has one."""
        up = np.append(np.where(parents < 0, n, parents), n)
        while (up[:n] < n).any():
            self.ancestors.append(up)
            up = up[up]
        self.frame_nodes = np.append(as_array(tree.frame_nodes), n)
        """The node that carries each frame and, last, the world."""
        rigid = as_array(tree.rigid_frames)
        self.offset_rows = np.full(len(self.frame_nodes), len(rigid))
        """The pose on it: of a rigid frame, or, after all of these, none."""
        self.offset_rows[rigid] = np.arange(len(rigid))
        self.dof_nodes = as_array(tree.dof_nodes)
        self.is_rotation = np.array(tree.dof_is_rotation, bool)
        self.is_all_rotation = bool(self.is_rotation.all())
        self.axis_nodes = np.where(
            self.is_rotation, self.dof_nodes, parents[self.dof_nodes] if n else 0
        )
        led = as_array(tree.dof_columns[tree.nv :])
        self.mimic_columns = np.zeros((len(led), tree.nv))
        self.mimic_columns[np.arange(len(led)), led] = 1.0
        """Which column each dof of a mimic joint adds to."""
        self.quaternion_coordinates = as_array([b[0] for b in tree.balls])[
            :, None
        ] + np.arange(4)
        self.quaternion_columns = as_array([b[1] for b in tree.balls])[
            :, None
        ] + np.arange(3)
