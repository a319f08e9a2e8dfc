"""Relaxation of rooms: signed distances of points on the map to the walls of rooms."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.features.parts import gather_rows
from posewise.features.safe_math import sqrt
from posewise.features.symbol import TracedArrays
from posewise.robots.annotations.rooms import Room
from posewise.robots.config import Config
from posewise.robots.typing import FrameName

from ..geometry.frame_groups import FrameGroup, find_object, require_shapes
from ..geometry.rooms import pad_walls, room_cells, room_map, room_walls
from ..margins import STRICT_MARGIN
from ..smooth_extrema import (
    harmonic_mellowmin,
    largest,
    mellowmin_within,
    smallest,
)
from .constraint_terms import Inequality
from .object_features import (
    GroupRows,
    ObjectPair,
    PairRows,
    RowFunction,
    constant_row,
    feature_on_frames,
    mass_centre,
    shape_positions,
)
from .parts import PartTypes, bounded_parts, part_extents


def middle_in_rooms(
    C: Config, a: FrameName, rooms: Sequence[Room], truth: bool, truncate: bool
) -> Inequality:
    """Return the inequality that the middle of a's bounding box is in some rooms.

    Args:
        C: the world.
        a: an object.
        rooms: of the world's map.
        truth: False for the middle being in none of them.
        truncate: see `room_walls`.
    """
    rooms_of_world = room_map(C)
    walls = room_walls(rooms_of_world, room_cells(rooms_of_world, rooms), truncate)
    group = find_object(C, a)
    if not len(walls):
        return Inequality(feature_on_frames([group], constant_row(not truth)))
    rows = in_room_rows(walls, truth)
    return Inequality(feature_on_frames([require_shapes(group)], rows))


def depth_inside(
    point: Float[jax.Array, "2"], walls: Float[jax.Array, "walls 2 2"]
) -> Float[jax.Array, ""]:
    """Return the distance of a point from the nearest wall, negative outside [m]."""
    start, along = walls[:, 0], walls[:, 1] - walls[:, 0]
    length = jnp.sum(along * along, -1)
    # The closest point of a wall is start + share · along, with share in [0, 1]; walls
    # of zero length are points.
    share = jnp.sum((point - start) * along, -1) / jnp.where(length > 0, length, 1.0)
    offset = point - start - jnp.clip(share, 0.0, 1.0)[:, None] * along
    distance = sqrt(smallest(jnp.sum(offset * offset, -1)))
    # A point is inside if a ray towards +x crosses an odd number of walls. Each wall
    # contains its lower end only, so that a corner is not counted twice.
    below = walls[..., 1] <= point[1]
    crossed = (below[:, 0] != below[:, 1]) & (walls[:, 0, 0] > point[0])
    return jnp.where(jnp.sum(crossed) % 2 == 1, distance, -distance)


def in_room_rows(walls: Float[np.ndarray, "walls 2 2"], truth: bool) -> GroupRows:
    """Return a row at most 0 only where the middle of the bounding box is in walls.

    Args:
        walls: see `room_walls`, at least one.
        truth: False for a row at most 0 only where the middle is not.
    """

    def build(groups: tuple[FrameGroup, ...]) -> RowFunction:
        (group,) = groups
        positions = shape_positions(group, 0)
        frames = [group.C.frames[group.frames[i]] for i in positions]
        parts, arrays = bounded_parts(frames, positions, "a")
        arrays |= {"walls": walls, "sign": _sign(truth)}
        return RowFunction(_in_room(parts), arrays, 1)

    return build


def origin_in_room_rows(
    walls: Float[np.ndarray, "walls 2 2"], truth: bool
) -> GroupRows:
    """Return a row at most 0 only where the origin of a root is in walls, or is not."""

    def build(groups: tuple[FrameGroup, ...]) -> RowFunction:
        arrays = {"walls": walls, "sign": _sign(truth)}
        return RowFunction(_origin_in_room, arrays, 1)

    return build


def same_room_rows(
    room_pairs: Sequence[tuple[np.ndarray, np.ndarray]], truth: bool, error: float
) -> PairRows:
    """Return rows at most 0 only where a's centre and b's origin are in paired rooms.

    Args:
        room_pairs: pairs of rooms, each by its walls: that of a, that of b.
        truth: False for rows at most 0 only where this is so for no pair.
        error: bound on how far a row may be above the exact value [m].
    """
    most = max(len(walls) for pair in room_pairs for walls in pair)
    walls = np.array([[pad_walls(w, most) for w in pair] for pair in room_pairs])

    def build(pair: ObjectPair) -> RowFunction:
        arrays = pair.mass_arrays() | {"root": np.array(len(pair.a.frames))}
        arrays |= {"pairs": walls, "error": np.array(float(error))}
        if truth:
            return RowFunction(_in_same_room, arrays, 1)
        return RowFunction(_in_no_same_room, arrays, len(walls))

    return build


def _sign(truth: bool) -> np.ndarray:
    return np.array(1.0 if truth else -1.0)


@lru_cache(maxsize=256)
def _in_room(parts: PartTypes) -> Callable[..., Any]:
    def in_room(R: Any, p: Any, **arrays: Any) -> Any:
        # Exact except for the margin: walls themselves belong to neither side.
        level = jnp.eye(2, 3, dtype=p.dtype)
        low, high = part_extents(parts, R, p, level, arrays)
        middle = (smallest(low) + largest(high)) / 2
        depth = arrays["sign"] * depth_inside(middle, arrays["walls"])
        return (STRICT_MARGIN - depth)[None]

    return in_room


def _origin_in_room(R: Any, p: Any, **arrays: Any) -> Any:
    depth = depth_inside(p[0, :2], arrays["walls"])
    return (STRICT_MARGIN - arrays["sign"] * depth)[None]


def _depths(R: Any, p: Any, arrays: TracedArrays) -> Float[jax.Array, "2 pairs"]:
    """Return the depths of a's centre and of b's origin in their room of each pair."""
    centre = mass_centre(R, p, arrays)[:2]
    origin = gather_rows(p, arrays["root"][None])[0, :2]
    depths = jax.vmap(depth_inside, (None, 0))
    pairs = jnp.asarray(arrays["pairs"])
    return jnp.stack([depths(centre, pairs[:, 0]), depths(origin, pairs[:, 1])])


def _in_same_room(R: Any, p: Any, **arrays: Any) -> Any:
    # Sound: the harmonic mellowmin is at most 0 only where the mellowmin over pairs is,
    # which is at least the minimum; both depths of that pair are then positive.
    pair_depths = jnp.minimum(*_depths(R, p, arrays))
    return harmonic_mellowmin(STRICT_MARGIN - pair_depths, arrays["error"])[None]


def _in_no_same_room(R: Any, p: Any, **arrays: Any) -> Any:
    # For each pair, the centre or the origin is outside of its room.
    return mellowmin_within(STRICT_MARGIN + _depths(R, p, arrays), arrays["error"])
