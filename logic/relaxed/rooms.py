"""Where on the map of rooms things are: signed distances to the walls of rooms."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from posewise.robots.world.rooms import RoomMap

from ..geometry.frame_groups import FrameGroup
from ..smooth_extrema import harmonic_mellowmin, largest, mellowmin_within, smallest
from .contact import STRICT_MARGIN
from .object_features import (
    GroupRows,
    ObjectPair,
    PairRows,
    mass_centre,
    shape_positions,
)
from .parts import PartKinds, bounded_parts, gather_rows, part_extents

MIN_WALLS = 8
"""So many walls, times a power of two, a room is said to have: fewer programs."""


def room_walls(
    rooms: RoomMap, cells: Bool[np.ndarray, "nx ny"], truncate: bool = False
) -> Float[np.ndarray, "room_walls 2 2"]:
    """Both ends of each straight wall about some cells, in the world [m].

    Some at the end have no length, to fill up; none: there is no cell.

    Args:
        rooms: the map.
        cells: which ones.
        truncate: cells of index 0 reach one cell beyond the map, see
            `RoomMap.room_at`.
    """
    lines = []
    for count in cells.shape:
        at = (np.arange(count + 1) - count / 2) * rooms.resolution
        at[0] -= truncate * rooms.resolution
        lines.append(at)
    found = _across(cells, *lines)
    found += [[a[::-1], b[::-1]] for a, b in _across(cells.T, *lines[::-1])]
    if not found:
        return np.zeros((0, 2, 2))
    size = MIN_WALLS
    while size < len(found):
        size *= 2
    return _filled(np.array(found), size)


def _filled(walls: np.ndarray, size: int) -> np.ndarray:
    corner = np.broadcast_to(walls[-1, :1], (size - len(walls), 2, 2))
    return np.concatenate([walls, corner])


def _across(cells: np.ndarray, x: np.ndarray, y: np.ndarray) -> list[list[list[float]]]:
    """Walls at one x each."""
    step = np.diff(np.pad(cells.astype(int), 1), axis=0)[:, 1:-1]
    found = []
    for i, column in enumerate(step):
        ends = np.flatnonzero(np.diff(column, prepend=0, append=0))
        for j, k in zip(ends[:-1], ends[1:], strict=True):
            if column[j]:
                found.append([[x[i], y[j]], [x[i], y[k]]])
    return found


def depth_inside(
    point: Float[jax.Array, "2"], walls: Float[jax.Array, "room_walls 2 2"]
) -> Float[jax.Array, ""]:
    """How far a point is from the nearest wall [m]; minus that where it is outside."""
    start, along = walls[:, 0], walls[:, 1] - walls[:, 0]
    length = jnp.sum(along * along, -1)
    share = jnp.sum((point - start) * along, -1) / jnp.where(length > 0, length, 1.0)
    off = point - start - jnp.clip(share, 0.0, 1.0)[:, None] * along
    square = smallest(jnp.sum(off * off, -1))
    distance = jnp.sqrt(jnp.where(square > 0, square, 1.0)) * (square > 0)
    below = walls[..., 1] <= point[1]
    crossed = (below[:, 0] != below[:, 1]) & (walls[:, 0, 0] > point[0])
    return jnp.where(jnp.sum(crossed) % 2 == 1, distance, -distance)


def in_room_rows(about: Float[np.ndarray, "room_walls 2 2"], truth: bool) -> GroupRows:
    """At most 0 only where the middle of a thing's bounding box is within walls.

    Args:
        about: see `room_walls`, at least one.
        truth: or only where it is not.
    """

    def build(things: tuple[FrameGroup, ...]) -> Any:
        solid = shape_positions(things[0], 0)
        frames = [things[0].C.frames[things[0].frames[i]] for i in solid]
        parts, arrays = bounded_parts(frames, "a")
        arrays |= {"walls": about, "sign": _sign(truth), "solid": np.array(solid)}
        return _in_room(parts), arrays, 1

    return build


def origin_in_room_rows(
    about: Float[np.ndarray, "room_walls 2 2"], truth: bool
) -> GroupRows:
    """At most 0 only where the origin of a thing's root is within walls (or not)."""
    given = {"walls": about, "sign": _sign(truth)}
    return lambda things: (_origin_in_room, given, 1)


def same_room_rows(
    about: Sequence[tuple[np.ndarray, np.ndarray]], truth: bool, error: float
) -> PairRows:
    """At most 0 only where a's centre is in a room, and b's origin in its partner.

    Args:
        about: pairs of rooms, each by its walls: a's, b's.
        truth: or only where it is so for no pair.
        error: how far a row may lie above what is exact.
    """
    most = max(len(walls) for pair in about for walls in pair)
    pairs = np.array([[_filled(walls, most) for walls in pair] for pair in about])

    def build(pair: ObjectPair) -> Any:
        arrays = pair.mass_arrays() | {"root": np.array(len(pair.a.frames))}
        arrays |= {"pairs": pairs, "error": np.array(float(error))}
        fn = _in_same_room if truth else _in_no_same_room
        return fn, arrays, 1 if truth else len(pairs)

    return build


def _sign(truth: bool) -> np.ndarray:
    return np.array(1.0 if truth else -1.0)


@lru_cache(maxsize=256)
def _in_room(parts: PartKinds) -> Any:
    def in_room(R: Any, p: Any, **arrays: Any) -> Any:
        at, level = arrays["solid"], jnp.eye(2, 3, dtype=p.dtype)
        low, high = part_extents(
            parts, gather_rows(R, at), gather_rows(p, at), level, arrays
        )
        middle = (smallest(low) + largest(high)) / 2
        return (STRICT_MARGIN - arrays["sign"] * depth_inside(middle, arrays["walls"]))[
            None
        ]

    return in_room


def _origin_in_room(R: Any, p: Any, **arrays: Any) -> Any:
    within = depth_inside(p[0, :2], arrays["walls"])
    return (STRICT_MARGIN - arrays["sign"] * within)[None]


def _depths(R: Any, p: Any, arrays: dict) -> Float[jax.Array, "2 pairs"]:
    """How far inside its room of each pair one is, and the other."""
    ours = mass_centre(R, p, arrays)[:2]
    theirs = gather_rows(p, arrays["root"][None])[0, :2]
    within = jax.vmap(depth_inside, (None, 0))
    pairs = arrays["pairs"]
    return jnp.stack([within(ours, pairs[:, 0]), within(theirs, pairs[:, 1])])


def _in_same_room(R: Any, p: Any, **arrays: Any) -> Any:
    both = jnp.minimum(*_depths(R, p, arrays))
    return harmonic_mellowmin(STRICT_MARGIN - both, arrays["error"])[None]


def _in_no_same_room(R: Any, p: Any, **arrays: Any) -> Any:
    return mellowmin_within(STRICT_MARGIN + _depths(R, p, arrays), arrays["error"])
