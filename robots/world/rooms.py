"""Rooms: which cell of a grid on the floor belongs to which room."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Int

from ..errors import ConfigError, unknown_name
from ..validation import CONVERSION_ERRORS, integer, number

Rooms = Any
"""Rooms; stored as a tuple of them."""
Numbers = Any
Number = Any


@dataclass(frozen=True, eq=False)
class Room:
    """One room of a `RoomMap`, e.g. Room("kitchen_0", "kitchen", [60, 60, 90, 99])."""

    name: Any
    type: Any = None
    """E.g. "kitchen"; None: the name without a number at its end."""
    cells: Numbers = ()
    """Rectangles (n, 4) or (4,) of cells, x0 y0 x1 y1, the last ones not counted; or
    which cells they are, an array (nx, ny) of booleans."""
    floor: Any = None
    """Name of the object or frame that is its floor; None: that of the map."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ConfigError(
                f"Room: name is {self.name!r}, expected a string, e.g. 'kitchen_0'."
            )
        if self.type is None:
            base, _, number = self.name.rpartition("_")
            kind = base if base and number.isdigit() else self.name
            object.__setattr__(self, "type", kind)


@dataclass(frozen=True, eq=False)
class RoomMap:
    """Rooms on a grid of square cells whose middle is the world's origin.

    Cell (i, j) covers x from (i - nx/2) · resolution to (i + 1 - nx/2) · resolution,
    y likewise. (An image with x to the right and y upwards is `image[::-1].T` here.)

    Raises:
        ConfigError: for rooms that do not fit the grid, or overlap.
    """

    rooms: Rooms
    size: Numbers
    """Cells along x and y: two integers, or one for both."""
    resolution: Number = 0.1
    """Edge of a cell [m]."""
    floor: Any = None
    """Name of the object or frame that is the floor of all rooms; see `Room.floor`."""
    labels: Int[np.ndarray, "nx ny"] = field(init=False, repr=False)
    """For each cell the place of its room in `rooms`; -1: none."""

    def __post_init__(self) -> None:
        rooms = (self.rooms,) if isinstance(self.rooms, Room) else tuple(self.rooms)
        for room in rooms:
            if not isinstance(room, Room):
                raise ConfigError(
                    f"RoomMap: rooms has {room!r}, expected Room(name, type, cells)."
                )
        names = [room.name for room in rooms]
        for name in names:
            if names.count(name) > 1:
                raise ConfigError(f"RoomMap: two rooms are called {name!r}.")
        positive = lambda x: x > 0
        shape = [
            integer("RoomMap: size", n, "one integer > 0 or two", positive)
            for n in np.broadcast_to(np.asarray(self.size, object), (2,))
        ]
        what = "RoomMap: resolution"
        edge = number(what, self.resolution, "a length > 0 (metres)", positive)
        labels = np.full(shape, -1)
        for k, room in enumerate(rooms):
            mask = _mask(room, labels.shape)
            taken = labels[mask & (labels >= 0)]
            if len(taken):
                raise ConfigError(
                    f"RoomMap: rooms {names[taken[0]]!r} and {room.name!r} overlap in"
                    f" {len(taken)} cells; give each cell to one of them."
                )
            labels[mask] = k
        for name, value in dict(rooms=rooms, resolution=edge, labels=labels).items():
            object.__setattr__(self, name, value)

    def room_at(self, xy: Any, truncate: bool = False) -> Room | None:
        """The room of a point of the floor; None: no room's.

        Args:
            xy: the point in the world, (2,) or more [m].
            truncate: cells are found by truncation toward zero, as in iGibson, so that
                those of index 0 reach one cell beyond the grid.
        """
        at = (
            np.asarray(xy, float)[:2] / self.resolution
            + np.array(self.labels.shape) / 2
        )
        i, j = np.trunc(at) if truncate else np.floor(at)
        nx, ny = self.labels.shape
        if not (0 <= i < nx and 0 <= j < ny):
            return None
        k = self.labels[int(i), int(j)]
        return None if k < 0 else self.rooms[k]

    def room(self, name: str) -> Room:
        """The room of that name.

        Raises:
            ConfigError: for an unknown name, with near matches.
        """
        for room in self.rooms:
            if room.name == name:
                return room
        raise ConfigError(unknown_name("room", name, (r.name for r in self.rooms)))


def _mask(room: Room, shape: tuple[int, ...]) -> np.ndarray:
    """Which cells are the room's."""
    try:
        cells = np.asarray(room.cells)
        cells = cells if cells.dtype == bool else cells.astype(float)
    except CONVERSION_ERRORS:
        cells = np.full(1, np.nan)
    if cells.dtype == bool:
        if cells.shape != shape:
            raise ConfigError(
                f"Room {room.name!r}: cells is an array {cells.shape} of booleans,"
                f" expected {shape}, the map's size."
            )
        return cells
    mask, given = np.zeros(shape, bool), repr(room.cells)
    rectangles = cells.reshape(-1, 4) if cells.size % 4 == 0 else np.full((1, 4), 0.5)
    for x0, y0, x1, y1 in rectangles.tolist():
        whole = all(float(v).is_integer() for v in (x0, y0, x1, y1))
        if not (whole and 0 <= x0 < x1 <= shape[0] and 0 <= y0 < y1 <= shape[1]):
            raise ConfigError(
                f"Room {room.name!r}: cells is {given:.120}, expected rectangles of"
                f" integers x0 < x1 <= {shape[0]}, y0 < y1 <= {shape[1]}, in the"
                " order x0, y0, x1, y1."
            )
        mask[int(x0) : int(x1), int(y0) : int(y1)] = True
    return mask
