"""Floors: an object on the floor, or on the floor of a room."""

from posewise.robots.annotations.rooms import Room, RoomMap
from posewise.robots.config import Config
from posewise.robots.errors import ConfigError, unknown_name
from posewise.robots.geometry.shapes import Plane
from posewise.robots.typing import FrameName

from ..errors import PredicateError
from ..geometry.frame_groups import bounding_box, find_object, require_shapes
from .contact import contact_verdict
from .verdict import Semantics, Verdict


def floor_verdict(
    C: Config,
    a: FrameName,
    floor_or_room: str,
    tolerance: float,
    semantics: Semantics,
) -> Verdict:
    """Return whether an object is on a floor, and in its room; see `OnFloor`.

    Raises:
        PredicateError: when the object is the floor of the room.
        ConfigError: for unknown names, objects without shapes, and unknown floors.
    """
    group = require_shapes(find_object(C, a))
    room = room_of_floor(C, floor_or_room)
    if C.annotations.rooms is None or room is None:
        return contact_verdict(C, a, floor_or_room, tolerance)
    low, high = bounding_box(group)
    middle = (low + high) / 2
    current_room = C.annotations.rooms.room_at(middle, truncate=semantics == "igibson")
    if semantics != "document" and current_room is not room:
        where = "no room" if current_room is None else current_room.name
        x, y = middle[:2]
        text = f"{a} is at ({x:.2f}, {y:.2f}) m, in {where}, not {room.name}."
        return Verdict(False, lambda: text)
    floors = room_floors(C, C.annotations.rooms, room, a)
    if a in floors:
        raise PredicateError(
            f"InContactWith: a and b are both {a!r}; name two different objects."
        )
    verdicts = [contact_verdict(C, a, floor, tolerance) for floor in floors]
    best = max(verdicts, key=lambda v: v.truth)
    prefix = "" if semantics == "document" else f"In {room.name}: "
    return Verdict(best.truth, lambda: f"{prefix}{best.reason()}")


def room_of_floor(C: Config, floor_or_room: str) -> Room | None:
    """Return the room of the name; None if the name is that of a floor.

    Raises:
        ConfigError: when the name is unknown.
    """
    rooms = () if C.annotations.rooms is None else C.annotations.rooms.rooms
    for room in rooms:
        if room.name == floor_or_room:
            return room
    known = [*(room.name for room in rooms), *C.objects, *C.frame_names]
    if floor_or_room not in known:
        kinds = "room, object or frame"
        raise ConfigError(unknown_name(kinds, floor_or_room, known))
    return None


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
