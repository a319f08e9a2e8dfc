"""Contact, and between which links."""

from dataclasses import dataclass, field
from typing import Any

from posewise.robots.config import Config

from ..exact.contact import InContactWith
from ..geometry.frame_groups import FrameGroup, are_within, find_object

LEGACY_CONTACT_GAP = 1e-3
"""Gap that counts as contact [m]."""


@dataclass(frozen=True)
class Touching(InContactWith):
    """a and b are no more than 1 mm apart, or overlap: PyCRAM's contact.

    PyCRAM asks its engine for contact points, which are listed from some gap on; its
    successor has 1 mm. See `InContactWith`, for which 0.1 mm is the limit.

    Args:
        a: an object or frame with a shape.
        b: another one.
        tolerance: gap that still counts as contact [m].

    Raises:
        PredicateError: for a negative tolerance.
        ConfigError: on asking, for unknown names, and things without shapes.
    """

    tolerance: Any = field(default=LEGACY_CONTACT_GAP, kw_only=True)

    def links(self, C: Config) -> list[tuple[str, str]]:
        """Names of the frames of a and b that touch."""
        a, b = find_object(C, self.a, self.b), find_object(C, self.b, self.a)
        alone = lambda side: [
            FrameGroup(C, C.frames[i].name, (i,)) for i in side.collision_frames
        ]
        return [
            (x.name, y.name)
            for x in alone(a)
            for y in alone(b)
            if are_within(x, y, self.tolerance)
        ]


def contact(
    C: Config, a: str, b: str, *, return_links: bool = False, **options: Any
) -> bool | tuple[bool, list[tuple[str, str]]]:
    """Whether two things touch; see `Touching`, which takes the same options.

    Args:
        C: the world.
        a: an object or frame.
        b: another one.
        return_links: also return the names of the frames that touch, in pairs.
        **options: e.g. `tolerance`.
    """
    asked = Touching(a, b, **options)
    if not return_links:
        return asked.holds(C)
    found = asked.links(C)
    return bool(found), found
