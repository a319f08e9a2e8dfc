"""Floors: an object on the floor, or on the floor of a room."""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.errors import ConfigError, unknown_name
from posewise.robots.geometry.shapes import Plane
from posewise.robots.typing import FrameName
from posewise.robots.world.rooms import Room, RoomMap

from ..geometry.frame_groups import bounding_box, find_object, require_shapes
from ..geometry.rooms import rooms_region
from ..relaxed.constraint_terms import ConstraintTerm
from ..relaxed.floors import on_floor_term
from ..relaxed.rooms import middle_in_rooms
from .contact import (
    CONTACT_TOLERANCE,
    InContactWith,
    check_tolerance,
    contact_smoothing_error,
)
from .verdict import SemanticPredicate, Verdict


@dataclass(frozen=True)
class OnFloor(SemanticPredicate):
    """a touches a floor; for the name of a room, that room's floor, inside of the room.

    The room is the one at the middle of a's bounding box, by `C.rooms`. Its floor is
    what `Room.floor` or `RoomMap.floor` names; if they name none, every frame or object
    that is called "floor", has a Plane, or is of a category like "floor.n.01". A name
    that is not a room's is that of a floor, and contact with it is all that counts.

    "posewise": a point is in the cell that covers it. "igibson": cells are found by
    truncation (see `RoomMap.room_at`). "document": contact with the room's floor is
    all that counts.

    The default is "posewise": iGibson's rule without its error at the map's edge.

    Args:
        a: an object or frame with a shape.
        floor_or_room: a room of `C.rooms`; or an object or frame.
        tolerance: see `InContactWith`.

    Raises:
        ConfigError: when evaluated, for unknown names, objects without shapes, and a
            room whose floor is not known.
    """

    a: FrameName
    floor_or_room: str
    tolerance: float = field(default=CONTACT_TOLERANCE, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_tolerance(self, self.tolerance)

    def verdict(self, C: Config) -> Verdict:
        a = require_shapes(find_object(C, self.a))
        room = self._room(C)
        if C.rooms is None or room is None:
            return self._contact(self.floor_or_room).verdict(C)
        low, high = bounding_box(a)
        middle = (low + high) / 2
        here = C.rooms.room_at(middle, truncate=self.semantics == "igibson")
        if self.semantics != "document" and here is not room:
            where = "no room" if here is None else here.name
            x, y = middle[:2]
            text = f"{self.a} is at ({x:.2f}, {y:.2f}) m, in {where}, not {room.name}."
            return Verdict(False, lambda: text)
        floors = room_floors(C, C.rooms, room, self.a)
        verdicts = [self._contact(floor).verdict(C) for floor in floors]
        best = max(verdicts, key=lambda v: v.truth)
        prefix = "" if self.semantics == "document" else f"In {room.name}: "
        return Verdict(best.truth, lambda: f"{prefix}{best.reason()}")

    def relaxed(self, C: Config, truth: bool = True) -> ConstraintTerm:
        """Return rows of floor contact, and of the middle's distance from walls."""
        room, bound = self._room(C), 0.5 * self.bound
        floors = self._floors(C, room)
        contacts = [self._contact(floor).relaxed(C, truth) for floor in floors]
        contact_error = contact_smoothing_error(0.5 * self.tolerance, bound)
        in_room: ConstraintTerm | None = None
        if room is not None and self.semantics != "document":
            truncate = self.semantics == "igibson"
            in_room = middle_in_rooms(C, self.a, [room], truth, truncate)
        return on_floor_term(contacts, in_room, truth, contact_error, bound)

    def start_region(
        self, C: Config, name: FrameName
    ) -> Float[np.ndarray, "2 3"] | None:
        if name != self.a:
            return None
        room = self._room(C)
        low, high = bounding_box(find_object(C, self._floors(C, room)[0], name))
        size = np.ptp(bounding_box(find_object(C, name)), axis=0)
        box = np.array([[*low[:2], high[2]], [*high[:2], high[2] + size[2]]])
        if C.rooms is not None and room is not None:
            around = rooms_region(C.rooms, [room])
            if around is not None:
                corners = np.maximum(box[0], around[0]), np.minimum(box[1], around[1])
                box = np.array(corners)
        is_usable = np.isfinite(box[:, 2]).all() and (box[0] <= box[1]).all()
        return box if is_usable else None

    def _room(self, C: Config) -> Room | None:
        """Return the room of the name; None if the name is that of a floor.

        Raises:
            ConfigError: when the name is unknown.
        """
        rooms = () if C.rooms is None else C.rooms.rooms
        for room in rooms:
            if room.name == self.floor_or_room:
                return room
        known = [*(room.name for room in rooms), *C.objects, *C.frame_names]
        if self.floor_or_room not in known:
            kinds = "room, object or frame"
            raise ConfigError(unknown_name(kinds, self.floor_or_room, known))
        return None

    def _floors(self, C: Config, room: Room | None) -> list[str]:
        if C.rooms is None or room is None:
            return [self.floor_or_room]
        return room_floors(C, C.rooms, room, self.a)

    def _contact(self, floor: str) -> InContactWith:
        bound = 0.5 * self.bound
        return InContactWith(self.a, floor, tolerance=self.tolerance, bound=bound)


def room_floors(C: Config, rooms: RoomMap, room: Room, a: FrameName) -> list[str]:
    """Return the names of the floors of a room, for an object a; see `OnFloor`.

    Raises:
        ConfigError: when no floor is known.
    """
    named = room.floor or rooms.floor
    if named is not None:
        find_object(C, named)
        return [named]
    names = [k for k, entry in C.objects.items() if _is_floor_category(entry.category)]
    names += [
        frame.name
        for frame in C.frames
        if frame.name == "floor"
        or any(isinstance(g.shape, Plane) for g in frame.geometries)
    ]
    names = [name for name in dict.fromkeys(names) if name != a]
    if not names:
        raise ConfigError(
            f"Nothing is known to be the floor of {room.name!r}; name it, e.g."
            " RoomMap(..., floor='ground'), or give an object the category"
            " 'floor.n.01'."
        )
    return names


def _is_floor_category(category: str | None) -> bool:
    return (category or "").split(".")[0] == "floor"
