"""Where movable frames may start: the region around a world, and random poses in it."""

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

Region = Float[np.ndarray, "2 3"]
"""Lower and upper corner of a box in the world [m]."""
NUM_CANDIDATE_POSITIONS = 32
"""So many places are drawn for each start where statements say which are good."""
FACE_TURNS, VERTICAL_TURNS, UNHINTED_TURNS = (0, 2, 4), (1, 5), (3, 7)
"""Of eight starts, those laid on a face, those turned about the vertical only, and
those without regard to hints."""
REGION_MARGIN = 0.1
"""How far the default region reaches beyond the world, besides the movables' sizes."""


def with_ancestors(frames: Sequence[Frame], i: int) -> set[int]:
    """A frame and all above it."""
    above = {i}
    while (parent := frames[i].parent) is not None:
        above.add(i := parent)
    return above


def default_region(world: Config, names: Sequence[str]) -> Region:
    """The box around the world, with room for the movables on all sides."""
    parts: list[list[Region]] = [[] for _ in names]
    boxes = []
    poses = world.poses()
    movables = {world.index(name): k for k, name in enumerate(names)}
    for i, frame in enumerate(world.frames):
        box = _bounds(frame, poses[i])
        boxes.append(box)
        for j in with_ancestors(world.frames, i) & set(movables):
            parts[movables[j]].append(box)
    room = REGION_MARGIN + sum(np.linalg.norm(np.subtract(*_around(p))) for p in parts)
    return _around(boxes) + room * np.array([[-1.0], [1.0]])


def _around(boxes: Sequence[Region]) -> Region:
    stacked = np.stack(boxes)
    return np.stack([stacked[:, 0].min(0), stacked[:, 1].max(0)])


def _bounds(frame: Frame, pose: Float[np.ndarray, "7"]) -> Region:
    """The box around a frame's origin and its solid shapes but planes."""
    R, p = quat_to_matrix(pose[3:]), pose[:3]
    low, high = [p], [p]
    for g in frame.geometries:
        if not g.collision or isinstance(g.shape, Plane | Marker):
            continue
        if isinstance(g.shape, PointCloud):
            core = g.shape.points @ quat_to_matrix(g.pose[3:]).T + g.pose[:3]
            spread: Any = g.shape.radius
        else:
            core, axes = bounding_ellipsoids(g, frame.name)
            spread = np.linalg.norm(R @ axes, axis=-1)
        center = p + core @ R.T
        low.append((center - spread).min(0))
        high.append((center + spread).max(0))
    return np.stack([np.min(low, 0), np.max(high, 0)])


class PlacementHints(NamedTuple):
    """What statements say of where a movable may be found."""

    boxes: Sequence[Region] = ()
    """In each of them its origin may be."""
    votes: Callable[[Float[np.ndarray, "n 7"]], Any] | None = None
    """How many statements have nothing against each of n poses."""


def sample_placements(
    world: Config,
    names: Sequence[str],
    corners: Region,
    starts: int,
    rng: np.random.Generator,
    hints: Mapping[str, PlacementHints] | None = None,
) -> Float[np.ndarray, "starts 1 nq"]:
    """The present state and random ones, three of four of them within hints, if any.

    The present state is the first, with hints the last. Of several places within a
    hint, one that most statements have nothing against.
    """
    q = np.tile(world.q, (starts, 1))
    turns = np.arange(starts)
    hints = hints or {}
    hinted = any(hint.boxes for hint in hints.values())
    fresh = turns < starts - 1 if hinted else turns > 0
    for name in names:
        at = world.coordinates([name])
        hint = hints.get(name, PlacementHints())
        low, high = (np.tile(corner, (starts, 1)) for corner in corners)
        boxes = _within(hint.boxes, corners)
        within = ~np.isin(turns % 8, UNHINTED_TURNS) & bool(boxes)
        for k, box in enumerate(boxes):
            chosen = within & (turns // 4 % len(boxes) == k)
            low[chosen], high[chosen] = box
        drawn = _turned(world, name, q[:, at[3:]], rng)
        places = rng.uniform(low, high, (NUM_CANDIDATE_POSITIONS, starts, 3))
        best = np.zeros(starts, int)
        if hint.votes is not None and within.any():
            around = np.broadcast_to(drawn, (NUM_CANDIDATE_POSITIONS, starts, 4))
            poses = np.concatenate([places, around], -1)[:, within]
            votes = np.asarray(hint.votes(poses.reshape(-1, 7)))
            best[within] = votes.reshape(NUM_CANDIDATE_POSITIONS, -1).argmax(0)
        poses = np.concatenate([places[best, turns], drawn], 1)
        q[np.ix_(fresh, at)] = poses[fresh]
    return q[:, None]


def _turned(
    world: Config,
    name: str,
    present: Float[np.ndarray, "starts 4"],
    rng: np.random.Generator,
) -> Float[np.ndarray, "starts 4"]:
    """Turned about the vertical from the present, laid on a face, or anyhow."""
    starts, turn = len(present), np.arange(len(present)) % 8
    angle = rng.uniform(-np.pi, np.pi, starts) / 2
    zero = np.zeros(starts)
    about_z = np.stack([np.cos(angle), zero, zero, np.sin(angle)], -1)
    drawn = quat_normalize(rng.normal(size=(starts, 4)))
    laid, upright = np.isin(turn, FACE_TURNS), np.isin(turn, VERTICAL_TURNS)
    drawn[upright] = quat_multiply(about_z, present)[upright]
    drawn[laid] = settle_on_face(collision_points(world, name), drawn[laid])
    return drawn


def _within(boxes: Sequence[Region], corners: Region) -> list[Region]:
    """What all boxes share, else each of them; cut to the corners."""
    cut = [np.stack([np.maximum(b[0], corners[0]), np.minimum(b[1], corners[1])])
           for b in boxes]  # fmt: skip
    cut = [b for b in cut if (b[0] <= b[1]).all()]
    if cut:
        shared = np.stack(
            [np.max([b[0] for b in cut], 0), np.min([b[1] for b in cut], 0)]
        )
        if (shared[0] <= shared[1]).all():
            return [shared]
    return cut
