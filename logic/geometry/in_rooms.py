"""In a room of the world's map."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...robots.config import Config
from ...robots.errors import ConfigError, unknown
from ...robots.rooms import Room, RoomMap
from .solids import bounding_box, thing, with_shapes
from .verdict import Judged, Verdict


@dataclass(frozen=True)
class InRoom(Judged):
    """The middle of a's bounding box is in a room of that name or type, by `C.rooms`.

    What the map names as the floor of a room is in it, and so is the room itself.

    "igibson": where the attribute `in_rooms` of a's root frame lists rooms or types of
    rooms, a is in these; else cells are found by truncation (see `RoomMap.room_at`).
    "document" is as "posewise".

    The default is "posewise": the annotation does not follow what is moved.

    Args:
        a: an object or frame with a shape, or a room.
        room: its name, e.g. "kitchen_0", or a type, "kitchen".

    Raises:
        ConfigError: on asking, for unknown names, things without shapes, and a world
            without rooms.
    """

    a: Any
    room: Any

    distinct = False

    def verdict(self, C: Config) -> Verdict:
        """See `Judged`."""
        rooms = map_of(C)
        wanted = rooms_called(rooms, self.room)
        here = self._rooms(C, rooms)
        truth = any(room in wanted for room in here)
        names = " and ".join(room.name for room in here) or "no room"
        rule = "" if truth else f", not in {self.room}"
        return Verdict(truth, lambda: f"{self.a} is in {names}{rule}.")

    def _rooms(self, C: Config, rooms: RoomMap) -> list[Room]:
        """The rooms that it is in."""
        own = [r for r in rooms.rooms if self.a in (r.name, r.floor or rooms.floor)]
        if own:
            return own
        a = with_shapes(thing(C, self.a))
        igibson = self.semantics == "igibson"
        listed = C.frames[a.frames[0]].attributes.get("in_rooms")
        if igibson and listed:
            return [r for r in rooms.rooms if r.name in listed or r.type in listed]
        low, high = bounding_box(a)
        if not np.isfinite([low, high]).all():
            return []
        here = rooms.room_at((low + high) / 2, truncate=igibson)
        return [] if here is None else [here]


def map_of(C: Config) -> RoomMap:
    """The map of rooms.

    Raises:
        ConfigError: for a world without rooms.
    """
    if C.rooms is None:
        raise ConfigError(
            "The world has no rooms; say which, e.g. C.rooms = RoomMap([Room("
            "'kitchen_0', 'kitchen', [0, 0, 40, 40])], size=40)."
        )
    return C.rooms


def rooms_called(rooms: RoomMap, name: str) -> list[Room]:
    """The rooms of that name, or of that type.

    Raises:
        ConfigError: when there is none, with near matches.
    """
    found = [room for room in rooms.rooms if name in (room.name, room.type)]
    if not found:
        known = [word for room in rooms.rooms for word in (room.name, room.type)]
        raise ConfigError(unknown("room, or type of rooms,", name, known))
    return found
