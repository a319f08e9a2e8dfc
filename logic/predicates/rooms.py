"""Rooms: objects in a room of the world's map, or in the room of an agent."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from posewise.robots.annotations.rooms import Room
from posewise.robots.config import Config
from posewise.robots.typing import FrameName

from ..exact.rooms import fixed_rooms, room_verdict, same_room_verdict
from ..exact.verdict import Verdict
from ..geometry.agents import find_agent
from ..geometry.frame_groups import (
    FrameGroup,
    find_object,
)
from ..geometry.rooms import room_cells, room_map, room_walls, rooms_named
from ..relaxed.constraint_terms import ConstraintTerm, Inequality
from ..relaxed.object_features import constant_row, feature_on_frames, object_pair
from ..relaxed.rooms import middle_in_rooms, origin_in_room_rows, same_room_rows
from .verdict_predicate import SemanticPredicate


@dataclass(frozen=True)
class InRoom(SemanticPredicate):
    """The middle of a's bounding box is in a room of that name or type.

    Rooms are those of `C.annotations.rooms`.

    What the map names as the floor of a room is in it, and so is the room itself.

    "igibson": if the attribute `in_rooms` of a's root frame lists rooms or types of
    rooms, a is in these; otherwise cells are found by truncation (see
    `RoomMap.room_at`). "document" is the same as "posewise".

    The default is "posewise": the annotation does not follow an object that is moved.

    Args:
        a: an object or frame with a shape, or a room.
        room: its name, e.g. "kitchen_0", or a type, "kitchen".

    Raises:
        ConfigError: when evaluated, for unknown names, objects without shapes, and a
            world without rooms.
    """

    a: str
    room: str

    distinct = False

    def verdict(self, C: Config) -> Verdict:
        return room_verdict(C, self.a, self.room, self.semantics)

    def relaxed(self, C: Config, truth: bool = True) -> ConstraintTerm:
        """Return rows of the middle's distance from the walls of the rooms."""
        rooms = room_map(C)
        accepted = rooms_named(rooms, self.room)
        fixed = fixed_rooms(C, rooms, self.a, self.semantics)
        if fixed is not None:
            is_so = any(room in accepted for room in fixed) is truth
            # a may be a room, which is no frame, so the row is one of the first frame.
            frame = FrameGroup(C, C.frames[0].name, (0,))
            return Inequality(feature_on_frames([frame], constant_row(is_so)))
        truncate = self.semantics == "igibson"
        return middle_in_rooms(C, self.a, accepted, truth, truncate)


@dataclass(frozen=True)
class InSameRoomAsAgent(SemanticPredicate):
    """a's centre of mass is in the same room as the agent's base.

    Rooms are those of `C.annotations.rooms`.

    Points outside of all rooms share no room.

    "igibson": by the rule of the code, the name of the agent's room ("kitchen_0") must
    be among the types of a's room ("kitchen"), which it is not, unless the attribute
    `in_rooms` of a's root frame names it; cells are found by truncation (see
    `RoomMap.room_at`). "document" is the same as "posewise".

    The default is "posewise": the code's rule is never true of movable objects.

    Args:
        a: an object or frame.
        agent: an agent of `C.annotations.add_agent`, or a frame.

    Raises:
        ConfigError: when evaluated, for unknown names, and a world without rooms.
    """

    a: FrameName
    agent: str

    def verdict(self, C: Config) -> Verdict:
        return same_room_verdict(C, self.a, self.agent, self.semantics)

    def relaxed(self, C: Config, truth: bool = True) -> ConstraintTerm:
        """Return rows of the distances of both points from the walls of rooms."""
        rooms, igibson = room_map(C), self.semantics == "igibson"
        a, base = find_object(C, self.a), find_agent(C, self.agent).base
        listed = C.frames[a.frames[0]].attributes.get("in_rooms")

        def walls_of(chosen: Sequence[Room]) -> Float[np.ndarray, "walls 2 2"]:
            return room_walls(rooms, room_cells(rooms, chosen), igibson)

        if igibson and listed:
            walls = walls_of([room for room in rooms.rooms if room.name in listed])
            if len(walls):
                rows = origin_in_room_rows(walls, truth)
            else:
                rows = constant_row(not truth)
            return Inequality(feature_on_frames([find_object(C, base)], rows))
        room_pairs = [
            (walls_of([room_a]), walls_of([room_agent]))
            for room_a in rooms.rooms
            for room_agent in rooms.rooms
            if (room_agent.name == room_a.type if igibson else room_a is room_agent)
        ]
        room_pairs = [pair for pair in room_pairs if all(map(len, pair))]
        if not room_pairs:
            return Inequality(feature_on_frames([a], constant_row(not truth)))
        error = 0.5 * self.bound
        pair = object_pair(C, self.a, base, root_only=igibson)
        feature = pair.feature(same_room_rows(room_pairs, truth, error))
        return Inequality(feature, error=error)
