"""In a room of the world's map."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool

from posewise.robots.config import Config
from posewise.robots.errors import ConfigError, unknown_name
from posewise.robots.world.rooms import Room, RoomMap

from ..geometry.frame_groups import (
    FrameGroup,
    bounding_box,
    find_object,
    require_shapes,
)
from ..relaxed.constraint_terms import ConstraintTerm, Inequality
from ..relaxed.object_features import constant_row, feature_on_frames
from ..relaxed.rooms import in_room_rows, room_walls
from .verdict import SemanticPredicate, Verdict


@dataclass(frozen=True)
class InRoom(SemanticPredicate):
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
        """See `SemanticPredicate`."""
        rooms = room_map(C)
        wanted = rooms_named(rooms, self.room)
        here = self._rooms(C, rooms)
        truth = any(room in wanted for room in here)
        names = " and ".join(room.name for room in here) or "no room"
        rule = "" if truth else f", not in {self.room}"
        return Verdict(truth, lambda: f"{self.a} is in {names}{rule}.")

    def relaxed(self, C: Config, truth: bool = True) -> ConstraintTerm:
        """How far the middle is from the walls; what no pose changes is 1 or -1."""
        rooms = room_map(C)
        wanted = rooms_named(rooms, self.room)
        always = self._always(C, rooms)
        if always is not None:
            right = any(room in wanted for room in always) is truth
            any_frame = FrameGroup(C, C.frames[0].name, (0,))  # a may be a room
            return Inequality(feature_on_frames([any_frame], constant_row(right)))
        igibson = self.semantics == "igibson"
        return middle_in_rooms(C, self.a, wanted, truth, igibson)

    def start_region(self, C: Config, name: str) -> np.ndarray | None:
        """See `Predicate`."""
        rooms = room_map(C)
        return (
            rooms_region(rooms, rooms_named(rooms, self.room))
            if name == self.a
            else None
        )

    def _rooms(self, C: Config, rooms: RoomMap) -> list[Room]:
        """The rooms that it is in."""
        always = self._always(C, rooms)
        if always is not None:
            return always
        low, high = bounding_box(require_shapes(find_object(C, self.a)))
        truncate = self.semantics == "igibson"
        here = rooms.room_at((low + high) / 2, truncate)
        return [] if here is None else [here]

    def _always(self, C: Config, rooms: RoomMap) -> list[Room] | None:
        """The rooms that it is in, wherever it is; None: that depends."""
        own = [r for r in rooms.rooms if self.a in (r.name, r.floor or rooms.floor)]
        if own:
            return own
        a = require_shapes(find_object(C, self.a))
        listed = C.frames[a.frames[0]].attributes.get("in_rooms")
        if self.semantics == "igibson" and listed:
            return [r for r in rooms.rooms if r.name in listed or r.type in listed]
        return None if np.isfinite(bounding_box(a)).all() else []


def middle_in_rooms(
    C: Config, a: str, rooms: Sequence[Room], truth: bool, truncate: bool
) -> ConstraintTerm:
    """Rows that the middle of a thing's bounding box is in one of the rooms, or not."""
    made = room_map(C)
    about = room_walls(made, room_cells(made, rooms), truncate)
    if not len(about):
        return Inequality(
            feature_on_frames([find_object(C, a)], constant_row(not truth))
        )
    return Inequality(
        feature_on_frames(
            [require_shapes(find_object(C, a))], in_room_rows(about, truth)
        )
    )


def room_cells(rooms: RoomMap, chosen: Sequence[Room]) -> Bool[np.ndarray, "nx ny"]:
    """Which cells are some rooms'."""
    places = [i for i, room in enumerate(rooms.rooms) if room in chosen]
    return np.isin(rooms.labels, places)


def rooms_region(rooms: RoomMap, chosen: Sequence[Room]) -> np.ndarray | None:
    """The box about some rooms, of any height (2, 3); None: they have no cells."""
    about = room_walls(rooms, room_cells(rooms, chosen)).reshape(-1, 2)
    if not len(about):
        return None
    return np.array([[*about.min(0), -np.inf], [*about.max(0), np.inf]])


def room_map(C: Config) -> RoomMap:
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


def rooms_named(rooms: RoomMap, name: str) -> list[Room]:
    """The rooms of that name, or of that type.

    Raises:
        ConfigError: when there is none, with near matches.
    """
    found = [room for room in rooms.rooms if name in (room.name, room.type)]
    if not found:
        known = [word for room in rooms.rooms for word in (room.name, room.type)]
        raise ConfigError(unknown_name("room, or type of rooms,", name, known))
    return found
