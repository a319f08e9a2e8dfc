"""Constraints of a contact: point of attack, force, and relative motion."""

from typing import get_args

from posewise.features import FS, Feature
from posewise.features.motions import GRAVITY
from posewise.robots.config import Config
from posewise.robots.errors import ConfigError, unknown_name
from posewise.robots.validation import number
from posewise.robots.world.friction import contact_friction

from ..chain.contact_forces import ActiveContact
from ..terms.interval import ObjectiveSpecs, SliceInterval
from ..terms.objective import OT, ObjectiveError
from ..terms.typing import ContactKind

CONTACT_KINDS = get_args(ContactKind)
"""Names of the kinds of contacts."""


def force_unit(C: Config, frames: tuple[str, str]) -> float:
    """Return the weight of the lighter frame with a mass, or else of 1 kg [N]."""
    masses = [C.frame(f).mass for f in frames if C.index(f) < len(C.frames)]
    return GRAVITY * min([mass for mass in masses if mass], default=1.0)


def friction_coefficient(
    C: Config, frames: tuple[str, str], friction: float | None
) -> float:
    """Return a checked coefficient, or the larger one of those of the two frames.

    Raises:
        ConfigError: for the world itself, which has no surface.
        ObjectiveError: for anything but a number >= 0.
    """
    for name in frames:
        if C.index(name) == len(C.frames):
            raise ConfigError(
                "The world has no surface to touch; name a frame with a shape."
            )
    if friction is None:
        return max(contact_friction(C.frame(name)) for name in frames)
    expected = "a number >= 0, or None"
    return number("friction", friction, expected, lambda x: x >= 0, ObjectiveError)


def contact_constraints(
    contact: ActiveContact,
    kind: str,
    friction: float,
    interval: SliceInterval,
    k_order: int,
) -> ObjectiveSpecs:
    """Yield the constraints of a contact; see `KOMO.add_contact`.

    Raises:
        ObjectiveError: for unknown kinds, and for sliding with k_order 0.
    """
    if kind not in CONTACT_KINDS:
        raise ObjectiveError(unknown_name("kind of contact", kind, CONTACT_KINDS))
    variable, slices = contact.variable, interval.slices
    pair, per_unit = variable.names, 1 / variable.unit
    yield Feature(FS.distance, pair, scale=10.0), OT.ineq, slices
    cone = Feature(FS.frictionCone, pair, friction=friction, scale=per_unit)
    yield cone, OT.ineq, slices
    if kind == "complementary":
        # Equal distances to both surfaces: the point is in the middle of the gap.
        centered = Feature(FS.contactDistances, pair, scale=[[10.0, -10.0]])
        yield centered, OT.eq, slices
        force_or_gap = Feature(FS.complementarity, pair, scale=10 * per_unit)
        yield force_or_gap, OT.eq, slices
    else:
        yield Feature(FS.contactDistances, pair, scale=10.0), OT.eq, slices
    if kind == "sticking":
        steps = slices[1:] if k_order else ()
        for frame in pair if steps else ():
            ends = (variable.point, frame)
            yield Feature(FS.positionRel, ends, order=1, scale=10.0), OT.eq, steps
        return
    if kind == "sliding" and not k_order:
        raise ObjectiveError(
            "A sliding contact constrains velocities; make the KOMO with k_order >= 1,"
            " or use kind='sticking'."
        )
    steps = interval.slices if interval.starts_at_present else interval.slices[1:]
    if steps and k_order:
        law = Feature(FS.slidingFriction, pair, friction=friction, scale=10 * per_unit)
        yield law, OT.eq, steps
