"""Contact forces: pairs of frames that push each other at a point of attack.

The point [m] and the force (in a separate unit) are the world positions of two
auxiliary frames, so that a solver that moves frames also moves points and forces.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from .config import Config
from .geometry.shapes import Marker

CONTACT_FORCE_ATTRIBUTE = "contact_force"
"""Attribute of the frame at a point of attack, which holds the variable."""


@dataclass(frozen=True)
class ContactForceVariable:
    """Two frames, and the force that the second exerts on the first at a point."""

    a: str
    b: str
    point: str
    """Name of the frame at the point of attack."""
    force: str
    """Name of the frame whose position is the force, in units."""
    unit: float
    """Force [N] for which the position of the force frame is 1."""
    active: bool = True
    """Whether the force acts; False: it is zero, whatever the position of its frame."""

    @property
    def names(self) -> tuple[str, str]:
        """The two frames."""
        return self.a, self.b

    def add_to(self, C: Config) -> None:
        """Add the point and the force to a world.

        Raises:
            ConfigError: for names in use already.
        """
        C.index(self.a), C.index(self.b)
        attributes: dict[str, Any] = {CONTACT_FORCE_ATTRIBUTE: self}
        C.add_frame(self.point, joint="trans3", shape=Marker(0.02), **attributes)
        C.add_frame(self.force, joint="trans3")

    def register(self, C: Config) -> None:
        """Register this contact force in a world that already contains its point."""
        C.set_attributes(self.point, **{CONTACT_FORCE_ATTRIBUTE: self})

    def renamed(self, names: dict[str, str], active: bool) -> "ContactForceVariable":
        """Return this contact force between frames of other names.

        Args:
            names: new names of the frames by old ones.
            active: whether the force acts.
        """
        a, b = (names.get(name, name) for name in self.names)
        return replace(self, a=a, b=b, active=active)

    def value(self, C: Config) -> tuple[Float[np.ndarray, "3"], Float[np.ndarray, "3"]]:
        """Return the point of attack [m] and the force on `a` [N], in the world."""
        force = self.unit * C.pose(self.force)[:3]
        return C.pose(self.point)[:3], force if self.active else np.zeros(3)


def contact_force_variables(C: Config) -> list[ContactForceVariable]:
    """Return all contact forces of a world, also those that do not act."""
    values: list[Any] = [f.attributes.get(CONTACT_FORCE_ATTRIBUTE) for f in C.frames]
    return [value for value in values if isinstance(value, ContactForceVariable)]
