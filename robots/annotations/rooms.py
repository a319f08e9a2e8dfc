"""Rooms as sets of cells of a grid on the floor."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from jaxtyping import Int

from ..errors import ConfigError, unknown_name
from ..typing import MatrixLike, VectorLike
from ..validation import CONVERSION_ERRORS, MAX_NUMBER, integer, number

Cells: TypeAlias = VectorLike | MatrixLike
"""Rectangles of cells, or booleans for all cells."""


MAX_CELLS = 50_000_000
"""Number of cells of the largest map, which takes 0.4 GB; larger ones are refused."""


@dataclass(frozen=True, eq=False)
class Room:
    """One room of a `RoomMap`, e.g. Room("kitchen_0", "kitchen", [60, 60, 90, 99])."""

    name: str
    type: str = ""
    """E.g. "kitchen"; empty: the name without a number at its end."""
    cells: Cells = ()
    """Rectangles (n, 4) or (4,) of cells, x0 y0 x1 y1, excluding x1 and y1; or an array
    (nx, ny) of booleans, true for the cells of the room."""
    floor: str | None = None
    """Name of the object or frame that is its floor; None: that of the map."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ConfigError(
                f"Room: name is {self.name!r}, expected a string, e.g. 'kitchen_0'."
            )
        if not self.type:
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

    rooms: Sequence[Room]
    """The rooms; stored as a tuple."""
    size: int | Sequence[int]
    """Numbers of cells along x and y: two integers, or one for both."""
    resolution: float = 0.1
    """Edge of a cell [m]."""
    floor: str | None = None
    """Name of the object or frame that is the floor of all rooms; see `Room.floor`."""
    labels: Int[np.ndarray, "nx ny"] = field(init=False, repr=False)
    """Place in `rooms` of the room of each cell; -1: none."""

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

        def is_count(n: float) -> bool:
            return 0 < n <= MAX_CELLS

        counts = f"one integer > 0 or two, at most {MAX_CELLS}"
        shape = [
            integer("RoomMap: size", n, counts, is_count)
            for n in np.broadcast_to(np.asarray(self.size, object), (2,))
        ]
        label = "RoomMap: resolution"
        expected = f"a length > 0, at most {MAX_NUMBER:g} (metres)"
        edge = number(label, self.resolution, expected, lambda x: 0 < x <= MAX_NUMBER)
        if math.prod(shape) > MAX_CELLS:
            raise ConfigError(
                f"RoomMap: size {shape} is {math.prod(shape)} cells, expected at most"
                f" {MAX_CELLS}; use a coarser resolution."
            )
        labels = np.full(shape, -1)
        for k, room in enumerate(rooms):
            mask = _mask(room, labels.shape)
            overlapped = labels[mask & (labels >= 0)]
            if len(overlapped):
                raise ConfigError(
                    f"RoomMap: rooms {names[overlapped[0]]!r} and {room.name!r} overlap"
                    f" in {len(overlapped)} cells; give each cell to one of them."
                )
            labels[mask] = k
        for name, value in dict(rooms=rooms, resolution=edge, labels=labels).items():
            object.__setattr__(self, name, value)

    def room_at(self, xy: VectorLike, truncate: bool = False) -> Room | None:
        """Return the room of a point of the floor; None outside all rooms.

        Args:
            xy: the point in the world, (2,) or more [m].
            truncate: whether coordinates of cells are truncated toward zero, as in
                iGibson, so that cells of index 0 reach one cell beyond the grid.
        """
        middle = np.array(self.labels.shape) / 2
        cell = np.asarray(xy, float)[:2] / self.resolution + middle
        i, j = np.trunc(cell) if truncate else np.floor(cell)
        nx, ny = self.labels.shape
        if not (0 <= i < nx and 0 <= j < ny):
            return None
        k = self.labels[int(i), int(j)]
        return None if k < 0 else self.rooms[k]

    def room(self, name: str) -> Room:
        """Return the room of that name.

        Raises:
            ConfigError: for an unknown name, with near matches.
        """
        for room in self.rooms:
            if room.name == name:
                return room
        raise ConfigError(unknown_name("room", name, (r.name for r in self.rooms)))


def _mask(room: Room, shape: tuple[int, ...]) -> np.ndarray:
    """Return an array (nx, ny) of booleans, true for the cells of a room."""
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
    mask, shown = np.zeros(shape, bool), repr(room.cells)
    rectangles = cells.reshape(-1, 4) if cells.size % 4 == 0 else np.full((1, 4), 0.5)
    for x0, y0, x1, y1 in rectangles.tolist():
        whole = all(float(v).is_integer() for v in (x0, y0, x1, y1))
        if not (whole and 0 <= x0 < x1 <= shape[0] and 0 <= y0 < y1 <= shape[1]):
            raise ConfigError(
                f"Room {room.name!r}: cells is {shown:.120}, expected rectangles of"
                f" integers x0 < x1 <= {shape[0]}, y0 < y1 <= {shape[1]}, in the"
                " order x0, y0, x1, y1."
            )
        mask[int(x0) : int(x1), int(y0) : int(y1)] = True
    return mask
