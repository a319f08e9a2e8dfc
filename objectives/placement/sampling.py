"""Random initial poses of movable frames, and the region in which they are drawn."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from posewise.features.regions import bounding_ellipsoids
from posewise.robots.config import Config
from posewise.robots.geometry.shapes import Marker, Plane, PointCloud
from posewise.robots.kinematics.transforms import (
    quat_multiply,
    quat_normalize,
    quat_to_matrix,
)
from posewise.robots.world.frame import Frame

from .stable_poses import collision_points, settle_on_face

SamplingBox = Float[np.ndarray, "2 3"]
"""Lower and upper corner of a box in the world [m]."""
NUM_CANDIDATE_POSITIONS = 32
"""Number of positions drawn for each start, of which the one with most votes is taken.
More get more votes, but take longer to rate."""
FACE_TURNS, VERTICAL_TURNS, UNHINTED_TURNS = (0, 2, 4), (1, 5), (3, 7)
"""Indices, among each eight starts, of those on a stable face, of those rotated about
the vertical only, and of those whose positions ignore hints."""
REGION_MARGIN = 0.1
"""Margin of the default region around the world, besides the movables' sizes [m]. A
larger one draws positions farther away."""


def with_ancestors(frames: Sequence[Frame], i: int) -> set[int]:
    """Return the indices of a frame and all its ancestors."""
    indices = {i}
    while (parent := frames[i].parent) is not None:
        indices.add(i := parent)
    return indices


def default_region(world: Config, names: Sequence[str]) -> SamplingBox:
    """Return the box around the world, with room for the movables on all sides."""
    parts: list[list[SamplingBox]] = [[] for _ in names]
    boxes = []
    poses = world.poses()
    movables = {world.index(name): k for k, name in enumerate(names)}
    for i, frame in enumerate(world.frames):
        box = frame_bounds(frame, poses[i])
        boxes.append(box)
        for j in with_ancestors(world.frames, i) & set(movables):
            parts[movables[j]].append(box)
    room = REGION_MARGIN + sum(np.linalg.norm(np.subtract(*_around(p))) for p in parts)
    return _around(boxes) + room * np.array([[-1.0], [1.0]])


def _around(boxes: Sequence[SamplingBox]) -> SamplingBox:
    """Return the box around boxes."""
    stacked = np.stack(boxes)
    return np.stack([stacked[:, 0].min(0), stacked[:, 1].max(0)])


def frame_bounds(frame: Frame, pose: Float[np.ndarray, "7"]) -> SamplingBox:
    """Return the box around a frame's origin and its collision shapes except planes."""
    R, p = quat_to_matrix(pose[3:]), pose[:3]
    low, high = [p], [p]
    for g in frame.geometries:
        if not g.collision or isinstance(g.shape, Plane | Marker):
            continue
        if isinstance(g.shape, PointCloud):
            points = g.shape.points @ quat_to_matrix(g.pose[3:]).T + g.pose[:3]
            radius: Any = g.shape.radius
        else:
            points, axes = bounding_ellipsoids(g, frame.name)
            radius = np.linalg.norm(R @ axes, axis=-1)
        centers = p + points @ R.T
        low.append((centers - radius).min(0))
        high.append((centers + radius).max(0))
    return np.stack([np.min(low, 0), np.max(high, 0)])


class PlacementHints(NamedTuple):
    """Hints of constraints for the pose of a movable."""

    boxes: Sequence[SamplingBox] = ()
    """Boxes in which its origin may be."""
    admitting: Callable[[Float[np.ndarray, "n 7"]], Any] | None = None
    """Returns the number of constraints that admit each of n poses."""
    suiting: Callable[[Float[np.ndarray, "n 7"]], Any] | None = None
    """Returns the share of constraints that each of n poses suits, which takes longer
    to find out."""

    def votes(self, poses: Float[np.ndarray, "n 7"]) -> Float[np.ndarray, " n"]:
        """Return how much constraints are for each pose.

        Of poses that as many admit, those have more that suit more constraints.
        """
        if self.admitting is None:
            return np.zeros(len(poses))
        counts = np.asarray(self.admitting(poses), float)
        if self.suiting is not None:
            # Only those that most admit are taken anyway.
            chosen = counts == counts.max(initial=0)
            counts[chosen] += np.asarray(self.suiting(poses[chosen]), float) / 2
        return counts


def sample_placements(
    world: Config,
    names: Sequence[str],
    corners: SamplingBox,
    starts: int,
    rng: np.random.Generator,
    hints: Mapping[str, PlacementHints] | None = None,
) -> Float[np.ndarray, "starts 1 nq"]:
    """Return the present state and random placements.

    The present state is the first, or with hints the last. With hints three of four
    placements are within them; of several positions in a hint the one is taken that
    most constraints admit.

    Args:
        world: in which the movables are on free joints.
        names: of the movables.
        corners: region in which positions are drawn.
        starts: number of placements, the present state included.
        rng: source of randomness.
        hints: for some of the movables.
    """
    q = np.tile(world.q, (starts, 1))
    index = np.arange(starts)
    hints = hints or {}
    has_hints = any(hint.boxes for hint in hints.values())
    is_random = index < starts - 1 if has_hints else index > 0
    for name in names:
        columns = world.joints.coordinates([name])
        hint = hints.get(name, PlacementHints())
        low, high = (np.tile(corner, (starts, 1)) for corner in corners)
        boxes = usable_boxes(hint.boxes, corners)
        is_hinted = ~np.isin(index % 8, UNHINTED_TURNS) & bool(boxes)
        # The boxes take turns, four starts at a time.
        for k, box in enumerate(boxes):
            in_box = is_hinted & (index // 4 % len(boxes) == k)
            low[in_box], high[in_box] = box
        rotations = _sample_rotations(world, name, q[:, columns[3:]], rng)
        positions = rng.uniform(low, high, (NUM_CANDIDATE_POSITIONS, starts, 3))
        best = np.zeros(starts, int)
        if hint.admitting is not None and is_hinted.any():
            repeated = np.broadcast_to(rotations, (NUM_CANDIDATE_POSITIONS, starts, 4))
            candidates = np.concatenate([positions, repeated], -1)[:, is_hinted]
            votes = hint.votes(candidates.reshape(-1, 7))
            best[is_hinted] = votes.reshape(NUM_CANDIDATE_POSITIONS, -1).argmax(0)
        poses = np.concatenate([positions[best, index], rotations], 1)
        q[np.ix_(is_random, columns)] = poses[is_random]
    return q[:, None]


def _sample_rotations(
    world: Config,
    name: str,
    present: Float[np.ndarray, "starts 4"],
    rng: np.random.Generator,
) -> Float[np.ndarray, "starts 4"]:
    """Return orientations on a stable face, about the vertical, or uniformly random.

    Args:
        world: the world.
        name: of the movable.
        present: its present orientation, once for each start.
        rng: source of randomness.
    """
    starts, turn = len(present), np.arange(len(present)) % 8
    angle = rng.uniform(-np.pi, np.pi, starts) / 2
    zero = np.zeros(starts)
    about_z = np.stack([np.cos(angle), zero, zero, np.sin(angle)], -1)
    # Normalised Gaussian 4-vectors are uniform rotations (Muller 1959).
    rotations = quat_normalize(rng.normal(size=(starts, 4)))
    on_face, upright = np.isin(turn, FACE_TURNS), np.isin(turn, VERTICAL_TURNS)
    rotations[upright] = quat_multiply(about_z, present)[upright]
    points = collision_points(world, name)
    rotations[on_face] = settle_on_face(points, rotations[on_face])
    return rotations


def usable_boxes(
    boxes: Sequence[SamplingBox], corners: SamplingBox
) -> list[SamplingBox]:
    """Return the intersection of boxes, or each box if it is empty; cut to a region."""
    clipped = []
    for low, high in boxes:
        box = np.stack([np.maximum(low, corners[0]), np.minimum(high, corners[1])])
        if (box[0] <= box[1]).all():
            clipped.append(box)
    if clipped:
        low = np.max([box[0] for box in clipped], 0)
        high = np.min([box[1] for box in clipped], 0)
        if (low <= high).all():
            return [np.stack([low, high])]
    return clipped
