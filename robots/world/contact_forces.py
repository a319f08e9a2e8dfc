"""Force exchanges: pairs of frames that push each other at a point of attack.

The point, in the world [m], and the force, in the world and in a unit of its own, are
the positions of two frames, so that whatever moves frames moves them.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from ..config import Config
from ..geometry.shapes import Marker

CONTACT_FORCE_ATTRIBUTE = "force_exchange"
"""Of the frame that is the point of attack."""


@dataclass(frozen=True)
class ContactForceVariable:
    """Two frames, the force that the second exerts on the first, and where."""

    a: str
    b: str
    point: str
    """Name of the frame at the point of attack."""
    force: str
    """Name of the frame whose position is the force, in units."""
    unit: float
    """[N]"""
    active: bool = True
    """False: there is no force now, whatever the frames say."""

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
        """Say in a world that has the point already that this is what it is."""
        C.set_attributes(self.point, **{CONTACT_FORCE_ATTRIBUTE: self})

    def renamed(self, names: dict[str, str], active: bool) -> "ContactForceVariable":
        """The same of the frames that go by other names."""
        a, b = (names.get(name, name) for name in self.names)
        return replace(self, a=a, b=b, active=active)

    def value(self, C: Config) -> tuple[Float[np.ndarray, "3"], Float[np.ndarray, "3"]]:
        """Point of attack [m] and force on `a` [N], both in the world."""
        force = self.unit * C.pose(self.force)[:3]
        return C.pose(self.point)[:3], force if self.active else np.zeros(3)


def contact_force_variables(C: Config) -> list[ContactForceVariable]:
    """All exchanges of a world, those that are not active too."""
    found: list[Any] = [f.attributes.get(CONTACT_FORCE_ATTRIBUTE) for f in C.frames]
    return [e for e in found if isinstance(e, ContactForceVariable)]
