"""On the floor, and in which room things are."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from posewise.robots.config import Config
from posewise.robots.errors import ConfigError, unknown_name
from posewise.robots.geometry.shapes import Plane
from posewise.robots.world.rooms import Room, RoomMap

from ..geometry.frame_groups import bounding_box, find_object, require_shapes
from ..relaxed.constraint_terms import Conjunction, ConstraintTerm, Disjunction
from .contact import (
    CONTACT_TOLERANCE,
    InContactWith,
    check_tolerance,
    contact_smoothing_error,
)
from .rooms import middle_in_rooms, rooms_region
from .verdict import SemanticPredicate, Verdict


@dataclass(frozen=True)
class OnFloor(SemanticPredicate):
    """a touches the floor; where a room is named, that room's floor, in that room.

    The room is the one at the middle of a's bounding box, by `C.rooms`. Its floor is
    what `Room.floor` or `RoomMap.floor` names; where they name none, whatever is called
    "floor", has a Plane, or is an object of a category like "floor.n.01". A name that
    is no room's is that of the floor itself, and contact is all that counts.

    "posewise": a point is in the cell that covers it. "igibson": cells are found by
    truncation (see `RoomMap.room_at`). "document": contact with the room's floor is
    all that counts.

    The default is "posewise": iGibson's rule without its slip at the map's edge.

    Args:
        a: an object or frame with a shape.
        floor_or_room: a room of `C.rooms`; or an object or frame.
        tolerance: see `InContactWith`.

    Raises:
        ConfigError: on asking, for unknown names, things without shapes, and a room
            whose floor is not known.
    """

    a: Any
    floor_or_room: Any
    tolerance: Any = field(default=CONTACT_TOLERANCE, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_tolerance(self, self.tolerance)

    def verdict(self, C: Config) -> Verdict:
        """See `SemanticPredicate`."""
        a = require_shapes(find_object(C, self.a))
        room = self._room(C)
        if C.rooms is None or room is None:
            return self._touch(self.floor_or_room).verdict(C)
        low, high = bounding_box(a)
        middle = (low + high) / 2
        here = C.rooms.room_at(middle, truncate=self.semantics == "igibson")
        if self.semantics != "document" and here is not room:
            where = "no room" if here is None else here.name
            x, y = middle[:2]
            text = f"{self.a} is at ({x:.2f}, {y:.2f}) m, in {where}, not {room.name}."
            return Verdict(False, lambda: text)
        floors = room_floors(C, C.rooms, room, self.a)
        verdicts = [self._touch(floor).verdict(C) for floor in floors]
        best = max(verdicts, key=lambda v: v.truth)
        text = "" if self.semantics == "document" else f"In {room.name}: "
        return Verdict(best.truth, lambda: f"{text}{best.reason()}")

    def relaxed(self, C: Config, truth: bool = True) -> ConstraintTerm:
        """Contact with a floor, and how far the middle is from the room's walls."""
        room, bound = self._room(C), 0.5 * self.bound
        touches = [self._touch(f).relaxed(C, truth) for f in self._floors(C, room)]
        error = contact_smoothing_error(0.5 * self.tolerance, bound)
        contact = (
            Disjunction(tuple(touches), error) if truth else Conjunction(tuple(touches))
        )
        if room is None or self.semantics == "document":
            return contact
        igibson = self.semantics == "igibson"
        within = middle_in_rooms(C, self.a, [room], truth, igibson)
        return (
            Conjunction((within, contact))
            if truth
            else Disjunction((within, contact), bound)
        )

    def start_region(self, C: Config, name: str) -> np.ndarray | None:
        """See `Predicate`: on the floor, in the room."""
        if name != self.a:
            return None
        room = self._room(C)
        low, high = bounding_box(find_object(C, self._floors(C, room)[0], name))
        size = np.ptp(bounding_box(find_object(C, name)), axis=0)
        box = np.array([[*low[:2], high[2]], [*high[:2], high[2] + size[2]]])
        if C.rooms is not None and room is not None:
            about = rooms_region(C.rooms, [room])
            if about is not None:
                box = np.array(
                    [np.maximum(box[0], about[0]), np.minimum(box[1], about[1])]
                )
        return (
            box if np.isfinite(box[:, 2]).all() and (box[0] <= box[1]).all() else None
        )

    def _room(self, C: Config) -> Room | None:
        """The room of that name; None: it is a floor's.

        Raises:
            ConfigError: for a name of neither.
        """
        rooms = () if C.rooms is None else C.rooms.rooms
        for room in rooms:
            if room.name == self.floor_or_room:
                return room
        known = [*(room.name for room in rooms), *C.objects, *C.frame_names]
        if self.floor_or_room not in known:
            what = "room, object or frame"
            raise ConfigError(unknown_name(what, self.floor_or_room, known))
        return None

    def _floors(self, C: Config, room: Room | None) -> list[str]:
        if C.rooms is None or room is None:
            return [self.floor_or_room]
        return room_floors(C, C.rooms, room, self.a)

    def _touch(self, floor: str) -> InContactWith:
        bound = 0.5 * self.bound
        return InContactWith(self.a, floor, tolerance=self.tolerance, bound=bound)


def room_floors(C: Config, rooms: RoomMap, room: Room, a: str) -> list[str]:
    """Names of what is the floor of a room, for things that are not a; see `OnFloor`.

    Raises:
        ConfigError: when nothing is known to be a floor.
    """
    named = room.floor or rooms.floor
    if named is not None:
        find_object(C, named)
        return [named]
    like = lambda category: (category or "").split(".")[0] == "floor"
    found = [name for name, thing in C.objects.items() if like(thing.category)]
    found += [
        frame.name
        for frame in C.frames
        if frame.name == "floor"
        or any(isinstance(g.shape, Plane) for g in frame.geometries)
    ]
    found = [name for name in dict.fromkeys(found) if name != a]
    if not found:
        raise ConfigError(
            f"Nothing is known to be the floor of {room.name!r}; name it, e.g."
            " RoomMap(..., floor='ground'), or give an object the category"
            " 'floor.n.01'."
        )
    return found
