"""Situations: worlds at a start or a goal, of which some coordinates are known.

Two frames have a known distance where all joints that move one of them but not the
other have known values.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int

from posewise.robots.config import Config
from posewise.robots.kinematics.tree import KinematicTree

from ..chain.modes import original_name


@dataclass(frozen=True, eq=False)
class Situation:
    """A world of which some coordinates are known."""

    world: Config
    """In a state whose known coordinates are right."""
    known: Bool[np.ndarray, " nq"]
    """True for coordinates that are known."""

    @classmethod
    def of(
        cls, world: Config, q: Float[np.ndarray, " nq"], known: Int[np.ndarray, " n"]
    ) -> "Situation":
        """Return a world in a state of which the coordinates of some indices count."""
        if not np.array_equal(world.q, q):
            world = world.copy()
            world.q = q
        mask = np.zeros(world.nq, bool)
        mask[known] = True
        return cls(world, mask)

    @cached_property
    def _unknown(self) -> Bool[np.ndarray, "frames dofs"]:
        """Whether each dof moves each frame, and has no known value."""
        K = self.world.tree.model.kinematics
        tree = K.tree
        return K.dof_mask & ~self.known[dof_coordinates(tree)]

    def knows(self, pairs: Int[np.ndarray, "n 2"]) -> Bool[np.ndarray, " n"]:
        """Return which pairs of frame indices have a known distance."""
        return ~(self._unknown[pairs[:, 0]] ^ self._unknown[pairs[:, 1]]).any(1)

    def near(
        self, pairs: Int[np.ndarray, "n 2"], required: Float[np.ndarray, " n"]
    ) -> list[tuple[int, float]]:
        """Return the pairs of known distance that are nearer than required.

        Returns:
            Rows of `pairs` with the distances [m], nearest first.
        """
        rows = np.flatnonzero(self.knows(pairs))
        if not len(rows):
            return []
        cutoff = float(np.nextafter(required[rows].max(), np.inf))
        contacts = self.world.contacts(pairs[rows], cutoff)
        distances = [(int(rows[k]), float(c.distance)) for k, c in contacts.items()]
        return [(k, d) for k, d in distances if d < required[k]]


def never_move(C: Config, pairs: Int[np.ndarray, "n 2"]) -> Bool[np.ndarray, " n"]:
    """Return which pairs of frame indices have no moving joint between them."""
    mask = C.tree.model.kinematics.dof_mask
    return ~(mask[pairs[:, 0]] ^ mask[pairs[:, 1]]).any(1)


def dof_coordinates(tree: KinematicTree) -> Int[np.ndarray, " dofs"]:
    """Return the coordinate of q that drives each dof, the first of a quaternion."""
    coordinate = np.array(tree.column_coordinate, int)
    for first, column in tree.balls:
        coordinate[column : column + 3] = first
    return coordinate[np.array(tree.dof_columns, int)]


def in_words(
    C: Config, pair_distances: Sequence[tuple[tuple[int, ...], float | str]]
) -> list[str]:
    """Return pairs of frame indices and distances as text, e.g. "'a' and 'b' (1 mm)".

    Distances are in metres, or words.

    Copies of frames, which mode switches make, have the names of the frames.
    """
    names = [original_name(name) for name in C.frame_names]
    return [
        f"{names[a]!r} and {names[b]!r}"
        f" ({d if isinstance(d, str) else f'{1e3 * d:.1f} mm'})"
        for (a, b), d in pair_distances
    ]
