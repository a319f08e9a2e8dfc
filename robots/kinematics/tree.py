"""The static structure of a world, which determines the compiled programs."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

Ints = tuple[int, ...]


@dataclass(frozen=True)
class KinematicTree:
    """The kinematic tree of a world: nodes by level, and dofs.

    A node is a moving body. Frames are rigidly attached to nodes; they are data, see
    `Kinematics`.
    """

    nq: int
    nv: int
    parents: Ints
    """Parent node of each node, -1: the world. Nodes are sorted by level."""
    levels: tuple[tuple[int, int], ...]
    """First node of each level, and one after its last."""
    rotation_coordinate: Ints
    """Coordinate in q that rotates each node about its axis; nq: none."""
    ball_nodes: Ints
    ball_coordinate: Ints
    """First of the four quaternion coordinates in q of each ball node."""
    slide_nodes: Ints
    slide_coordinates: tuple[Ints, ...]
    """The three coordinates in q that translate each slide node; nq: none."""
    dof_nodes: Ints
    """Node that each elementary dof moves."""
    dof_is_rotation: tuple[bool, ...]
    """True for a rotation, False for a translation."""
    dof_columns: Ints
    """Tangent column that drives each elementary dof: first one dof for each column in
    order, then the dofs of mimic joints."""
    column_coordinate: Ints
    """Coordinate in q of each tangent column, -1: one of a quaternion."""
    balls: tuple[tuple[int, int], ...]
    """(first q coordinate, first tangent column) of each quaternion in q."""
    columns_are_dofs: bool
    """True if each tangent column is one dof at unit speed: J needs no folding."""

    def __post_init__(self):
        # The hash is a key of program caches, looked up in every call.
        object.__setattr__(self, "_hash", hash(tuple(self.__dict__.values())))

    def __hash__(self) -> int:
        return self._hash  # type: ignore[attr-defined]

    @cached_property
    def node_dof_mask(self) -> np.ndarray:
        """Mask (nodes + 1, dofs) of the dofs that move each node; last, the world."""
        moves = np.zeros((len(self.parents) + 1, len(self.dof_nodes)), bool)
        for node, parent in enumerate(self.parents):
            moves[node] = moves[parent]
            moves[node] |= np.asarray(self.dof_nodes, int) == node
        return moves

    @cached_property
    def is_angle(self) -> np.ndarray:
        """Mask (nq,) of the coordinates that are angles of single joints."""
        angles = np.zeros(self.nq, bool)
        for dof, column in enumerate(self.dof_columns[: self.nv]):
            coordinate = self.column_coordinate[column]
            if coordinate >= 0:
                angles[coordinate] = self.dof_is_rotation[dof]
        return angles

    @cached_property
    def indices(self) -> "TreeIndices":
        """The structure as index arrays, computed once."""
        return TreeIndices(self)


class TreeIndices:
    """Index arrays of a kinematic tree."""

    def __init__(self, tree: KinematicTree):
        n = len(tree.parents)

        def as_array(values: Any) -> np.ndarray:
            return np.array(values, int)

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
        """For each level, rows of the parents in the level above; None: in order."""
        above = 0
        for first, last in tree.levels:
            rows = parents[first:last] - above
            in_order = np.array_equal(rows, np.arange(first - above))
            self.parent_rows.append(None if in_order else rows)
            above = first
        self.ancestors: list[np.ndarray] = []
        """For each node and, last, the world: the node 1, 2, 4, … levels up, while any
        node has one; products along paths then take a logarithmic number of steps."""
        up = np.append(np.where(parents < 0, n, parents), n)
        while (up[:n] < n).any():
            self.ancestors.append(up)
            up = up[up]
        self.dof_nodes = as_array(tree.dof_nodes)
        self.is_rotation = np.array(tree.dof_is_rotation, bool)
        self.is_all_rotation = bool(self.is_rotation.all())
        self.axis_nodes = np.where(
            self.is_rotation, self.dof_nodes, parents[self.dof_nodes] if n else 0
        )
        driven = as_array(tree.dof_columns[tree.nv :])
        self.mimic_columns = np.zeros((len(driven), tree.nv))
        self.mimic_columns[np.arange(len(driven)), driven] = 1.0
        """The tangent column to which each dof of a mimic joint adds (dofs, nv)."""
        self.quaternion_coordinates = as_array([b[0] for b in tree.balls])[
            :, None
        ] + np.arange(4)
        self.quaternion_columns = as_array([b[1] for b in tree.balls])[
            :, None
        ] + np.arange(3)
