"""Contact forces of a problem: which pairs of frames push each other, and when."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from posewise.robots.contact_forces import ContactForceVariable
from posewise.robots.errors import ConfigError

from ..terms.objective import ObjectiveError
from ..terms.typing import Slices


@dataclass(frozen=True)
class ActiveContact:
    """A contact force variable, and the slices in which there is a force."""

    variable: ContactForceVariable
    slices: Slices

    @property
    def change_slices(self) -> set[int]:
        """Slices in which the contact begins, or has just ended."""
        return set(self.slices) ^ {t + 1 for t in self.slices}


@dataclass(frozen=True, eq=False)
class ContactForce:
    """A contact in one slice of a solution."""

    frames: tuple[str, str]
    slice: int
    point: Float[np.ndarray, "3"]
    """Point of attack in the world [m]."""
    force: Float[np.ndarray, "3"]
    """Force that the second frame exerts on the first, in the world [N]."""


def activate_contact(
    contacts: Sequence[ActiveContact], a: str, b: str, unit: float, slices: Slices
) -> tuple[tuple[ActiveContact, ...], ActiveContact]:
    """Add a contact in some slices; another interval of a known pair extends it.

    Args:
        contacts: contacts of the problem so far.
        a: the frame on which the force acts.
        b: the frame that exerts the force.
        unit: unit of the force variable [N].
        slices: slices in which there is a force.

    Returns:
        All contacts, and the one that is new or extended.

    Raises:
        ConfigError: for a frame and itself.
        ObjectiveError: for slices in which the pair is in contact already.
    """
    if a == b:
        raise ConfigError(f"{a!r} cannot push itself; name two frames.")
    for k, contact in enumerate(contacts):
        if {a, b} == set(contact.variable.names):
            if twice := set(slices) & set(contact.slices):
                raise ObjectiveError(
                    f"{a!r} and {b!r} are in contact in slice {min(twice)} already; for"
                    " a second point of contact attach a frame with a shape to one of"
                    " them, and name that."
                )
            extended = replace(
                contact, slices=tuple(sorted({*contact.slices, *slices}))
            )
            return (*contacts[:k], extended, *contacts[k + 1 :]), extended
    variable = ContactForceVariable(a, b, f"{a}-{b} point", f"{a}-{b} force", unit)
    contact = ActiveContact(variable, tuple(slices))
    return (*contacts, contact), contact
