"""Rooms: objects in a room of the world's map, or in the room of an agent."""

import numpy as np

from posewise.robots.annotations.rooms import Room, RoomMap
from posewise.robots.config import Config
from posewise.robots.typing import FrameName

from ..geometry.agents import find_agent
from ..geometry.frame_groups import (
    bounding_box,
    centre_of_mass,
    find_object,
    require_shapes,
)
from ..geometry.rooms import room_map, rooms_named
from .verdict import Semantics, Verdict


def room_verdict(C: Config, a: str, room: str, semantics: Semantics) -> Verdict:
    """Return whether an object is in a room of a name or type; see `InRoom`."""
    rooms = room_map(C)
    accepted = rooms_named(rooms, room)
    own_rooms = _rooms_of(C, rooms, a, semantics)
    truth = any(r in accepted for r in own_rooms)
    names = " and ".join(r.name for r in own_rooms) or "no room"
    rule = "" if truth else f", not in {room}"
    return Verdict(truth, lambda: f"{a} is in {names}{rule}.")


def fixed_rooms(
    C: Config, rooms: RoomMap, a: str, semantics: Semantics
) -> list[Room] | None:
    """Return the rooms that a is in at every pose; None if that depends on it."""
    named = [r for r in rooms.rooms if a in (r.name, r.floor or rooms.floor)]
    if named:
        return named
    group = require_shapes(find_object(C, a))
    listed = C.frames[group.frames[0]].attributes.get("in_rooms")
    if semantics == "igibson" and listed:
        return [r for r in rooms.rooms if r.name in listed or r.type in listed]
    return None if np.isfinite(bounding_box(group)).all() else []


def same_room_verdict(
    C: Config, a: FrameName, agent: str, semantics: Semantics
) -> Verdict:
    """Return whether an object is in an agent's room; see `InSameRoomAsAgent`."""
    rooms = room_map(C)
    igibson = semantics == "igibson"
    group = find_object(C, a)
    centre = centre_of_mass(group, root_only=igibson)
    room_a = rooms.room_at(centre, truncate=igibson)
    base = C.pose(find_agent(C, agent).base)
    room_agent = rooms.room_at(base, truncate=igibson)
    name_a, name_agent = _room_name(room_a), _room_name(room_agent)
    where = f"{a} is in {name_a}, {agent} in {name_agent}"
    if not igibson:
        truth = room_a is not None and room_a is room_agent
        return Verdict(truth, lambda: f"{where}.")
    attributes = C.frames[group.frames[0]].attributes
    listed = attributes.get("in_rooms") or ([room_a.type] if room_a else [])
    truth = room_agent is not None and room_agent.name in listed
    rule = "is" if truth else "is not"
    text = f"{where}: {name_agent!r} {rule} among {list(listed)}."
    return Verdict(truth, lambda: text)


def _rooms_of(C: Config, rooms: RoomMap, a: str, semantics: Semantics) -> list[Room]:
    """Return the rooms that a is in."""
    fixed = fixed_rooms(C, rooms, a, semantics)
    if fixed is not None:
        return fixed
    low, high = bounding_box(require_shapes(find_object(C, a)))
    current_room = rooms.room_at((low + high) / 2, semantics == "igibson")
    return [] if current_room is None else [current_room]


def _room_name(room: Room | None) -> str:
    return "no room" if room is None else room.name
