"""Relaxation of floors: contact with one of several floors, inside of a room."""

from collections.abc import Sequence

from .constraint_terms import Conjunction, ConstraintTerm, Disjunction


def on_floor_term(
    contacts: Sequence[ConstraintTerm],
    in_room: ConstraintTerm | None,
    truth: bool,
    contact_error: float,
    error: float,
) -> ConstraintTerm:
    """Return the term that an object touches a floor of its room, or does not.

    Both sides are sound because their parts are: for the negation, the parts are
    themselves rows of negations, joined by the dual connectives.

    Args:
        contacts: the term of contact with each floor, see `within_distance_rows`.
        in_room: the term of being in the room, see `middle_in_rooms`; None: any place.
        truth: False for the negation.
        contact_error: bound of the disjunction over floors [m].
        error: bound of the disjunction of both negations [m].
    """
    if truth:
        contact: ConstraintTerm = Disjunction(tuple(contacts), contact_error)
        return contact if in_room is None else Conjunction((in_room, contact))
    apart = Conjunction(tuple(contacts))
    return apart if in_room is None else Disjunction((in_room, apart), error)
