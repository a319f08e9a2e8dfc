"""What is near an agent, in its room, or in its hand."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from posewise.robots.config import Config
from posewise.robots.errors import ConfigError, unknown_name
from posewise.robots.validation import number
from posewise.robots.world.agents import DEFAULT_REACH, Agent

from ..errors import PredicateError
from ..geometry.frame_groups import centre_of_mass, find_object
from ..relaxed.constraint_terms import ConstraintTerm, Inequality
from ..relaxed.contact import reach_rows
from ..relaxed.object_features import constant_row, feature_on_frames, object_pair
from ..relaxed.rooms import origin_in_room_rows, room_walls, same_room_rows
from .messages import length
from .rooms import room_cells, room_map, rooms_region
from .verdict import SemanticPredicate, Verdict


def find_agent(C: Config, name: str) -> Agent:
    """The agent of that name; a frame or camera counts as one at that place.

    Raises:
        ConfigError: for an unknown name, with near matches.
    """
    if name in C.agents:
        return C.agents[name]
    if name not in C.frame_names:
        known = [*C.agents, *C.frame_names]
        raise ConfigError(
            unknown_name("agent or frame", name, known)
            + f" (To make an agent: C.add_agent({name!r}, base=...).)"
        )
    return Agent(name, name, camera=name if name in C.cameras else None)


@dataclass(frozen=True)
class InReachOfAgent(SemanticPredicate):
    """a's centre of mass is less than 2 m away from the origin of the agent's base.

    Neither the surface nor the arm matters. "igibson": the centre is that of a's root
    frame. "document" is as "posewise".

    The default is "posewise": it differs only for articulated objects.

    Args:
        a: an object or frame.
        agent: of `C.add_agent`, or a frame.
        reach: [m].

    Raises:
        PredicateError: for a reach that is no length > 0.
        ConfigError: on asking, for unknown names.
    """

    a: Any
    agent: Any
    reach: Any = field(default=DEFAULT_REACH, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        what, positive = "InReachOfAgent: reach", lambda x: x > 0
        number(what, self.reach, "> 0 (metres)", positive, PredicateError)

    def verdict(self, C: Config) -> Verdict:
        """See `SemanticPredicate`."""
        centre = centre_of_mass(
            find_object(C, self.a), root=self.semantics == "igibson"
        )
        base = C.pose(find_agent(C, self.agent).base)[:3]
        distance = float(np.linalg.norm(centre - base))
        truth = distance < self.reach
        text = "within" if truth else "not within"
        away = f"{self.a}'s centre of mass is {distance:.3f} m from {self.agent}"
        return Verdict(truth, lambda: f"{away}, {text} {length(self.reach)}.")

    def relaxed(self, C: Config, truth: bool = True) -> ConstraintTerm:
        """The distance of the centre of mass from the base."""
        root = self.semantics == "igibson"
        pair = object_pair(C, self.a, find_agent(C, self.agent).base, root)
        return Inequality(pair.feature(reach_rows(self.reach, truth)))

    def start_region(self, C: Config, name: str) -> np.ndarray | None:
        """See `Predicate`."""
        if name != self.a:
            return None
        base = C.pose(find_agent(C, self.agent).base)[:3]
        return base + self.reach * np.array([[-1.0], [1.0]])


@dataclass(frozen=True)
class InSameRoomAsAgent(SemanticPredicate):
    """a's centre of mass is in the same room of `C.rooms` as the agent's base.

    Points that are in no room are in the same room as nothing.

    "igibson": as the code has it, the name of the agent's room ("kitchen_0") must be
    among the types of a's room ("kitchen"), which it is not, unless the attribute
    `in_rooms` of a's root frame names it; cells are found by truncation (see
    `RoomMap.room_at`). "document" is as "posewise".

    The default is "posewise": the code's rule is never true of movable things.

    Args:
        a: an object or frame.
        agent: of `C.add_agent`, or a frame.

    Raises:
        ConfigError: on asking, for unknown names, and a world without rooms.
    """

    a: Any
    agent: Any

    def verdict(self, C: Config) -> Verdict:
        """See `SemanticPredicate`."""
        rooms = room_map(C)
        igibson = self.semantics == "igibson"
        a = find_object(C, self.a)
        place = centre_of_mass(a, root=igibson)
        ours = rooms.room_at(place, truncate=igibson)
        base = C.pose(find_agent(C, self.agent).base)
        theirs = rooms.room_at(base, truncate=igibson)
        name = lambda room: "no room" if room is None else room.name
        where = f"{self.a} is in {name(ours)}, {self.agent} in {name(theirs)}"
        if not igibson:
            truth = ours is not None and ours is theirs
            return Verdict(truth, lambda: f"{where}.")
        attributes = C.frames[a.frames[0]].attributes
        listed = attributes.get("in_rooms") or ([ours.type] if ours else [])
        truth = theirs is not None and theirs.name in listed
        rule = "is" if truth else "is not"
        text = f"{where}: {name(theirs)!r} {rule} among {list(listed)}."
        return Verdict(truth, lambda: text)

    def relaxed(self, C: Config, truth: bool = True) -> ConstraintTerm:
        """How far both are from the walls; what no pose changes is 1 or -1."""
        rooms, igibson = room_map(C), self.semantics == "igibson"
        a, base = find_object(C, self.a), find_agent(C, self.agent).base
        listed = C.frames[a.frames[0]].attributes.get("in_rooms")
        about = lambda chosen: room_walls(rooms, room_cells(rooms, chosen), igibson)
        if igibson and listed:
            found = about([room for room in rooms.rooms if room.name in listed])
            known = constant_row(not truth)
            build = origin_in_room_rows(found, truth) if len(found) else known
            return Inequality(feature_on_frames([find_object(C, base)], build))
        own = [
            (about([ours]), about([theirs]))
            for ours in rooms.rooms
            for theirs in rooms.rooms
            if (theirs.name == ours.type if igibson else ours is theirs)
        ]
        own = [pair for pair in own if all(map(len, pair))]
        if not own:
            return Inequality(feature_on_frames([a], constant_row(not truth)))
        error = 0.5 * self.bound
        pair = object_pair(C, self.a, base, root=igibson)
        return Inequality(pair.feature(same_room_rows(own, truth, error)), error=error)

    def start_region(self, C: Config, name: str) -> np.ndarray | None:
        """See `Predicate`."""
        base, rooms = find_agent(C, self.agent).base, room_map(C)
        if name not in (self.a, base):
            return None
        if name == self.a:
            there = C.pose(base)[:3]
        else:
            there = centre_of_mass(find_object(C, self.a))
        room = rooms.room_at(there)
        return None if room is None else rooms_region(rooms, [room])
