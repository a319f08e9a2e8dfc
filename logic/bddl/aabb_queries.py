"""Boxes about the parts of a world, for quick answers to what is free."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from posewise.robots.config import Config
from posewise.robots.geometry.bounding_boxes import body_boxes

from ..geometry.frame_groups import has_collision_shape, subtree

MAX_EXTENT = 1e3
"""What is larger is cut there: half-spaces [m]."""


@dataclass(frozen=True, eq=False)
class AxisAlignedBoxes:
    """Boxes along the world's axes."""

    low: Float[np.ndarray, "n 3"]
    high: Float[np.ndarray, "n 3"]
    owners: tuple[str, ...]
    """The thing that each is a part of."""

    def owned_by(self, owner: str) -> "AxisAlignedBoxes":
        """Those of one thing."""
        return self.select([k for k, name in enumerate(self.owners) if name == owner])

    def select(self, at: Sequence[int]) -> "AxisAlignedBoxes":
        """Some of them."""
        owners = tuple(self.owners[k] for k in at)
        return AxisAlignedBoxes(self.low[list(at)], self.high[list(at)], owners)

    @property
    def bounds(self) -> tuple[Float[np.ndarray, "3"], Float[np.ndarray, "3"]]:
        """Corners of the box about all of them."""
        return self.low.min(0), self.high.max(0)


def world_boxes(C: Config, without: Collection[int] = ()) -> AxisAlignedBoxes:
    """Boxes about all convex parts of a world.

    Args:
        C: the world.
        without: indices of frames that do not count.
    """
    owner = _owner_names(C)
    solid = [
        i
        for i in range(len(C.frames))
        if has_collision_shape(C, i) and i not in without
    ]
    return _body_boxes(C, solid, [owner[i] for i in solid], np.eye(3), np.zeros(3))


def rotated_boxes(
    C: Config, frames: Sequence[int], root: int, turn: np.ndarray
) -> AxisAlignedBoxes:
    """Boxes about frames that turn with a root, whose origin is at zero.

    Args:
        C: the world.
        frames: that have shapes.
        root: the frame that they hang on, or stand on.
        turn: orientation in the world that is added to what they have.
    """
    origin = C.forward_pass().frames.p[root]
    names = [C.frames[i].name for i in frames]
    return _body_boxes(C, frames, names, turn, -turn @ origin)


def _body_boxes(
    C: Config,
    frames: Sequence[int],
    names: Sequence[str],
    turn: np.ndarray,
    shift: np.ndarray,
) -> AxisAlignedBoxes:
    poses = C.forward_pass().frames
    found = [
        body_boxes(C.frames[i], turn @ poses.R[i], turn @ poses.p[i] + shift)
        for i in frames
    ]
    low = np.concatenate([np.zeros((0, 3)), *(x for x, _ in found)])
    high = np.concatenate([np.zeros((0, 3)), *(x for _, x in found)])
    owners = [n for n, (x, _) in zip(names, found, strict=True) for _ in x]
    return AxisAlignedBoxes(
        np.maximum(low, -MAX_EXTENT), np.minimum(high, MAX_EXTENT), tuple(owners)
    )


def _owner_names(C: Config) -> list[str]:
    """For each frame the object that it is a part of, or its own name."""
    names = [frame.name for frame in C.frames]
    roots = {C.index(name) for name in C.objects}
    for root in sorted(roots):
        for i in subtree(C, root, roots):
            names[i] = C.frames[root].name
    return names


def is_free(
    at: Float[np.ndarray, "n 3"],
    mover: AxisAlignedBoxes,
    others: AxisAlignedBoxes,
    clear: float,
) -> Bool[np.ndarray, " n"]:
    """Where boxes that move with an origin meet no others.

    Args:
        at: places of the origin.
        mover: boxes with the origin at zero.
        others: those that stand still.
        clear: they are not nearer than this sideways [m].
    """
    if not len(at):
        return np.zeros(0, bool)
    room = np.array([clear, clear, 0.0])
    low = at[:, None] + mover.low - room
    high = at[:, None] + mover.high + room
    near = (others.low < high.max((0, 1))) & (others.high > low.min((0, 1)))
    kept = others.select(np.flatnonzero(near.all(-1)).tolist())
    meets = (low[:, :, None] < kept.high) & (high[:, :, None] > kept.low)
    return ~meets.all(-1).any((1, 2))


def box_distances(
    at: Float[np.ndarray, "n 3"], mover: AxisAlignedBoxes, other: AxisAlignedBoxes
) -> Float[np.ndarray, " n"]:
    """Distances of boxes that move with an origin to the nearest of others [m].

    Args:
        at: places of the origin.
        mover: boxes with the origin at zero.
        other: one box or more.
    """
    low, high = (at[:, None, None] + x[:, None] for x in (mover.low, mover.high))
    apart = np.maximum(np.maximum(low - other.high, other.low - high), 0.0)
    return np.linalg.norm(apart, axis=-1).min((1, 2))


def is_level(
    at: Float[np.ndarray, "n 3"],
    mover: AxisAlignedBoxes,
    centre: float,
    other: AxisAlignedBoxes,
    height: float,
) -> Bool[np.ndarray, " n"]:
    """Where boxes that move with an origin are at the height of another thing's centre
    of mass, or the other's boxes at that of theirs.

    Args:
        at: places of the origin.
        mover: boxes with the origin at zero.
        centre: height of their centre of mass there [m].
        other: boxes that stand still.
        height: of their centre of mass [m].
    """
    z = at[:, 2, None]
    cut = (z + mover.low[:, 2] <= height) & (height <= z + mover.high[:, 2])
    cuts = (other.low[:, 2] <= z + centre) & (z + centre <= other.high[:, 2])
    return cut.any(-1) | cuts.any(-1)
