"""Contact by PyCRAM's rule, and the links that touch."""

from dataclasses import dataclass, field
from typing import TypedDict, Unpack

from posewise.robots.config import Config
from posewise.robots.typing import FrameName

from ..exact.verdict import Semantics
from ..geometry.frame_groups import FrameGroup, are_within, find_object
from ..predicates.contact import InContactWith

LEGACY_CONTACT_GAP = 1e-3
"""Distance up to which objects touch by PyCRAM's rule [m]; those that are farther apart
do not."""


@dataclass(frozen=True)
class Touching(InContactWith):
    """a and b are at most 1 mm apart, or overlap: PyCRAM's contact.

    PyCRAM uses the contact points of its engine, which are reported from some distance
    on; its successor uses 1 mm. The limit of `InContactWith` is 0.1 mm.

    Args:
        a: an object or frame with a shape.
        b: another object or frame with a shape.
        tolerance: largest distance that counts as contact [m].

    Raises:
        PredicateError: for a negative tolerance.
        ConfigError: when evaluated, for unknown names, and objects without shapes.
    """

    tolerance: float = field(default=LEGACY_CONTACT_GAP, kw_only=True)

    def links(self, C: Config) -> list[tuple[str, str]]:
        """Return names of the frames of a and b that touch, in pairs."""
        a = _single_frames(find_object(C, self.a, self.b))
        b = _single_frames(find_object(C, self.b, self.a))
        return [
            (x.name, y.name) for x in a for y in b if are_within(x, y, self.tolerance)
        ]


class TouchingOptions(TypedDict, total=False):
    """Options of `Touching`."""

    tolerance: float
    semantics: Semantics
    bound: float


def contact(
    C: Config,
    a: FrameName,
    b: FrameName,
    *,
    return_links: bool = False,
    **options: Unpack[TouchingOptions],
) -> bool | tuple[bool, list[tuple[str, str]]]:
    """Return whether two objects touch; see `Touching`, which has the same options.

    Args:
        C: the world.
        a: an object or frame.
        b: another object or frame.
        return_links: also return the names of the frames that touch, in pairs.
        **options: e.g. `tolerance`.
    """
    predicate = Touching(a, b, **options)
    if not return_links:
        return predicate.holds(C)
    links = predicate.links(C)
    return bool(links), links


def _single_frames(group: FrameGroup) -> list[FrameGroup]:
    """Return each frame with a shape as a group."""
    C = group.C
    return [FrameGroup(C, C.frames[i].name, (i,)) for i in group.collision_frames]
