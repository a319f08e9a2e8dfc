"""Axis-aligned boxes about the parts of a world, for fast tests of free space."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from posewise.robots.config import Config
from posewise.robots.contact.bounding_boxes import body_boxes

from ..geometry.frame_groups import has_collision_shape, subtree

MAX_EXTENT = 1e3
"""Coordinate at which larger bodies, such as half-spaces, are cut [m]."""


@dataclass(frozen=True, eq=False)
class AxisAlignedBoxes:
    """Boxes along the world's axes."""

    low: Float[np.ndarray, "n 3"]
    high: Float[np.ndarray, "n 3"]
    owners: tuple[str, ...]
    """Name of the object of which each box encloses a part."""

    def owned_by(self, owner: str) -> "AxisAlignedBoxes":
        """Return the boxes of one object."""
        return self.select([k for k, name in enumerate(self.owners) if name == owner])

    def select(self, indices: Sequence[int]) -> "AxisAlignedBoxes":
        """Return the boxes at some indices."""
        owners = tuple(self.owners[k] for k in indices)
        rows = list(indices)
        return AxisAlignedBoxes(self.low[rows], self.high[rows], owners)

    @property
    def bounds(self) -> tuple[Float[np.ndarray, "3"], Float[np.ndarray, "3"]]:
        """Lower and upper corner of the box about all boxes."""
        return self.low.min(0), self.high.max(0)


def world_boxes(C: Config, without: Collection[int] = ()) -> AxisAlignedBoxes:
    """Return boxes about all convex bodies of a world, of what exists.

    Args:
        C: the world.
        without: indices of frames to leave out.
    """
    owners = _owner_names(C)
    absent = {name for name, state in C.annotations.states.items() if not state.real}
    frames = [
        i
        for i in range(len(C.frames))
        if has_collision_shape(C, i) and i not in without and owners[i] not in absent
    ]
    names = [owners[i] for i in frames]
    return _body_boxes(C, frames, names, np.eye(3), np.zeros(3))


def rotated_boxes(
    C: Config, frames: Sequence[int], root: int, R: Float[np.ndarray, "3 3"]
) -> AxisAlignedBoxes:
    """Return boxes about frames that rotate with a root frame, whose origin is at zero.

    Args:
        C: the world.
        frames: indices of frames with shapes.
        root: index of the frame that they are attached to, or stand on.
        R: rotation in the world, applied after their present orientation.
    """
    origin = C.forward_pass().frames.p[root]
    names = [C.frames[i].name for i in frames]
    return _body_boxes(C, frames, names, R, -R @ origin)


def _body_boxes(
    C: Config,
    frames: Sequence[int],
    names: Sequence[str],
    R: Float[np.ndarray, "3 3"],
    shift: Float[np.ndarray, "3"],
) -> AxisAlignedBoxes:
    """Return boxes about all bodies of frames in a moved world.

    Args:
        C: the world.
        frames: indices of the frames.
        names: the owner of each frame.
        R: rotation of the world.
        shift: its translation, after the rotation [m].
    """
    poses = C.forward_pass().frames
    boxes = [
        body_boxes(C.frames[i], R @ poses.R[i], R @ poses.p[i] + shift) for i in frames
    ]
    low = np.concatenate([np.zeros((0, 3)), *(lower for lower, _ in boxes)])
    high = np.concatenate([np.zeros((0, 3)), *(upper for _, upper in boxes)])
    owners = [n for n, (lower, _) in zip(names, boxes, strict=True) for _ in lower]
    return AxisAlignedBoxes(
        np.maximum(low, -MAX_EXTENT), np.minimum(high, MAX_EXTENT), tuple(owners)
    )


def _owner_names(C: Config) -> list[str]:
    """Return for each frame the object of which it is a part, or its own name."""
    names = [frame.name for frame in C.frames]
    roots = {C.index(name) for name in C.objects}
    for root in sorted(roots):
        for i in subtree(C, root, roots):
            names[i] = C.frames[root].name
    return names


def is_free(
    origins: Float[np.ndarray, "n 3"],
    moving: AxisAlignedBoxes,
    obstacles: AxisAlignedBoxes,
    clearance: float,
) -> Bool[np.ndarray, " n"]:
    """Return at which origins moving boxes meet no obstacle.

    Args:
        origins: places of the origin of the moving boxes [m].
        moving: boxes with that origin at zero.
        obstacles: boxes that stand still.
        clearance: least horizontal distance [m].
    """
    if not len(origins):
        return np.zeros(0, bool)
    margin = np.array([clearance, clearance, 0.0])
    low = origins[:, None] + moving.low - margin
    high = origins[:, None] + moving.high + margin
    # Drop obstacles outside of all places first: the full test is quadratic.
    near = (obstacles.low < high.max((0, 1))) & (obstacles.high > low.min((0, 1)))
    near_boxes = obstacles.select(np.flatnonzero(near.all(-1)).tolist())
    meets = (low[:, :, None] < near_boxes.high) & (high[:, :, None] > near_boxes.low)
    return ~meets.all(-1).any((1, 2))


def box_distances(
    origins: Float[np.ndarray, "n 3"], moving: AxisAlignedBoxes, other: AxisAlignedBoxes
) -> Float[np.ndarray, " n"]:
    """Return distances of moving boxes to the nearest of other boxes [m].

    Args:
        origins: places of the origin of the moving boxes [m].
        moving: boxes with that origin at zero.
        other: boxes that stand still, at least one.
    """
    low, high = (origins[:, None, None] + x[:, None] for x in (moving.low, moving.high))
    gap = np.maximum(np.maximum(low - other.high, other.low - high), 0.0)
    return np.linalg.norm(gap, axis=-1).min((1, 2))


def is_level(
    origins: Float[np.ndarray, "n 3"],
    moving: AxisAlignedBoxes,
    moving_center_height: float,
    other: AxisAlignedBoxes,
    other_center_height: float,
) -> Bool[np.ndarray, " n"]:
    """Return at which origins moving boxes are level with other boxes.

    One object's boxes are at the height of the other one's centre of mass.

    Args:
        origins: places of the origin of the moving boxes [m].
        moving: boxes with that origin at zero.
        moving_center_height: height of their centre of mass, origin at zero [m].
        other: boxes that stand still.
        other_center_height: height of their centre of mass [m].
    """
    z = origins[:, 2, None]
    at_other = (z + moving.low[:, 2] <= other_center_height) & (
        other_center_height <= z + moving.high[:, 2]
    )
    center = z + moving_center_height
    at_moving = (other.low[:, 2] <= center) & (center <= other.high[:, 2])
    return at_other.any(-1) | at_moving.any(-1)
