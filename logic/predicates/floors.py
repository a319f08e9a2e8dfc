"""Floors: an object on the floor, or on the floor of a room."""

from dataclasses import dataclass

from posewise.robots.config import Config
from posewise.robots.typing import FrameName

from ..exact.floors import floor_verdict, room_floors, room_of_floor
from ..exact.verdict import Verdict
from ..relaxed.constraint_terms import ConstraintTerm
from ..relaxed.contact import contact_smoothing_error
from ..relaxed.floors import on_floor_term
from ..relaxed.rooms import middle_in_rooms
from .contact import ContactPredicate, InContactWith


@dataclass(frozen=True)
class OnFloor(ContactPredicate):
    """a touches a floor; for the name of a room, that room's floor, inside of the room.

    The room is the one at the middle of a's bounding box, by `C.annotations.rooms`. Its
    floor is what `Room.floor` or `RoomMap.floor` names; if they name none, every frame
    or object that is called "floor", has a Plane, or is of a category like
    "floor.n.01". A name that is not a room's is that of a floor, and contact with it is
    all that counts.

    "posewise": a point is in the cell that covers it. "igibson": cells are found by
    truncation (see `RoomMap.room_at`). "document": contact with the room's floor is
    all that counts.

    The default is "posewise": iGibson's rule without its error at the map's edge.

    Args:
        a: an object or frame with a shape.
        floor_or_room: a room of `C.annotations.rooms`; or an object or frame.
        tolerance: see `InContactWith`.

    Raises:
        ConfigError: when evaluated, for unknown names, objects without shapes, and a
            room whose floor is not known.
    """

    a: FrameName
    floor_or_room: str

    def verdict(self, C: Config) -> Verdict:
        return floor_verdict(
            C, self.a, self.floor_or_room, self.tolerance, self.semantics
        )

    def relaxed(self, C: Config, truth: bool = True) -> ConstraintTerm:
        """Return rows of floor contact, and of the middle's distance from walls."""
        room, bound = room_of_floor(C, self.floor_or_room), 0.5 * self.bound
        floors = self.floors(C)
        contacts = [self._contact(floor).relaxed(C, truth) for floor in floors]
        contact_error = contact_smoothing_error(0.5 * self.tolerance, bound)
        in_room: ConstraintTerm | None = None
        if room is not None and self.semantics != "document":
            truncate = self.semantics == "igibson"
            in_room = middle_in_rooms(C, self.a, [room], truth, truncate)
        return on_floor_term(contacts, in_room, truth, contact_error, bound)

    def floors(self, C: Config) -> list[str]:
        """Return the names of the floors that count in a world."""
        room = room_of_floor(C, self.floor_or_room)
        if C.annotations.rooms is None or room is None:
            return [self.floor_or_room]
        return room_floors(C, C.annotations.rooms, room, self.a)

    def _contact(self, floor: str) -> InContactWith:
        bound = 0.5 * self.bound
        return InContactWith(self.a, floor, tolerance=self.tolerance, bound=bound)
