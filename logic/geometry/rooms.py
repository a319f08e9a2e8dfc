"""Rooms of a world's map: look-up by name, cells, and walls."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float

from posewise.robots.annotations.rooms import Room, RoomMap
from posewise.robots.config import Config
from posewise.robots.errors import ConfigError, unknown_name

MIN_WALLS = 8
"""Least number of walls that a room is padded to; more are padded to a power of two.

Rooms with the same padded number share compiled programs.
"""


def room_map(C: Config) -> RoomMap:
    """Return the map of rooms.

    Raises:
        ConfigError: for a world without rooms.
    """
    if C.annotations.rooms is None:
        raise ConfigError(
            "The world has no rooms; say which, e.g. C.annotations.rooms = RoomMap(["
            "Room('kitchen_0', 'kitchen', [0, 0, 40, 40])], size=40)."
        )
    return C.annotations.rooms


def rooms_named(rooms: RoomMap, name: str) -> list[Room]:
    """Return the rooms of a name, or of a type.

    Raises:
        ConfigError: when there is none, with near matches.
    """
    matches = [room for room in rooms.rooms if name in (room.name, room.type)]
    if not matches:
        known = [word for room in rooms.rooms for word in (room.name, room.type)]
        raise ConfigError(unknown_name("room, or type of rooms,", name, known))
    return matches


def room_cells(rooms: RoomMap, chosen: Sequence[Room]) -> Bool[np.ndarray, "nx ny"]:
    """Return which cells of the map belong to some rooms."""
    labels = [i for i, room in enumerate(rooms.rooms) if room in chosen]
    return np.isin(rooms.labels, labels)


def rooms_region(
    rooms: RoomMap, chosen: Sequence[Room]
) -> Float[np.ndarray, "2 3"] | None:
    """Return the bounding box of rooms, unlimited in z [m]; None without cells."""
    ends = room_walls(rooms, room_cells(rooms, chosen)).reshape(-1, 2)
    if not len(ends):
        return None
    return np.array([[*ends.min(0), -np.inf], [*ends.max(0), np.inf]])


def room_walls(
    rooms: RoomMap, cells: Bool[np.ndarray, "nx ny"], truncate: bool = False
) -> Float[np.ndarray, "walls 2 2"]:
    """Return both ends of each straight wall around cells, in the world [m].

    Walls of zero length at the end are padding. Without cells there are no walls.

    Args:
        rooms: the map.
        cells: the cells inside the walls.
        truncate: cells of index 0 extend one cell beyond the map; see
            `RoomMap.room_at`.
    """
    lines = []
    for count in cells.shape:
        line = (np.arange(count + 1) - count / 2) * rooms.resolution
        line[0] -= truncate * rooms.resolution
        lines.append(line)
    walls = _walls_across(cells, *lines)
    # Walls of the transposed cells have their coordinates swapped: (y, x).
    walls += [[a[::-1], b[::-1]] for a, b in _walls_across(cells.T, *lines[::-1])]
    if not walls:
        return np.zeros((0, 2, 2))
    size = MIN_WALLS
    while size < len(walls):
        size *= 2
    return pad_walls(np.array(walls), size)


def pad_walls(
    walls: Float[np.ndarray, "walls 2 2"], size: int
) -> Float[np.ndarray, "padded 2 2"]:
    """Return walls, padded by walls of zero length at a corner."""
    corner = np.broadcast_to(walls[-1, :1], (size - len(walls), 2, 2))
    return np.concatenate([walls, corner])


def _walls_across(
    cells: np.ndarray, x: np.ndarray, y: np.ndarray
) -> list[list[list[float]]]:
    """Return the walls at constant x."""
    steps = np.diff(np.pad(cells.astype(int), 1), axis=0)[:, 1:-1]
    walls = []
    for i, column in enumerate(steps):
        ends = np.flatnonzero(np.diff(column, prepend=0, append=0))
        for j, k in zip(ends[:-1], ends[1:], strict=True):
            if column[j]:
                walls.append([[x[i], y[j]], [x[i], y[k]]])
    return walls
