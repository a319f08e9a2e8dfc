"""The statement of a contact: where it is, what it may do, and how it may move."""

from typing import Any

from posewise.features import FS, Feature
from posewise.robots.config import Config
from posewise.robots.errors import ConfigError, unknown_name
from posewise.robots.validation import number
from posewise.robots.world.friction import contact_friction

from ..chain.contact_forces import ActiveContact
from ..interval import ObjectiveSpecs, SliceInterval
from ..objective import OT, ObjectiveError

CONTACT_KINDS = ("sticking", "sliding", "complementary")
GRAVITY = 9.81
"""Of what weighs 1 kg [N]."""


def force_unit(C: Config, frames: tuple[str, str]) -> float:
    """The weight of the lighter of the two frames that have mass [N]; or of 1 kg."""
    given = [C.frame(f).mass for f in frames if C.index(f) < len(C.frames)]
    return GRAVITY * min([m for m in given if m], default=1.0)


def friction_of(C: Config, frames: tuple[str, str], friction: Any) -> float:
    """The given coefficient, or the larger of those of the two frames.

    Raises:
        ConfigError: for frames that cannot touch.
        ObjectiveError: for what is no number >= 0.
    """
    for name in frames:
        if C.index(name) == len(C.frames):
            raise ConfigError(
                "The world has no surface to touch; name a frame with a shape."
            )
    if friction is None:
        return max(contact_friction(C.frame(name)) for name in frames)
    what = "friction", friction, "a number >= 0, or None"
    return number(*what, lambda x: x >= 0, ObjectiveError)


def contact_constraints(
    acting: ActiveContact,
    kind: str,
    friction: float,
    interval: SliceInterval,
    k_order: int,
) -> ObjectiveSpecs:
    """What holds in a contact; see `KOMO.add_contact`.

    Raises:
        ObjectiveError: for unknown kinds, and for sliding where there is no velocity.
    """
    if kind not in CONTACT_KINDS:
        raise ObjectiveError(unknown_name("kind of contact", kind, CONTACT_KINDS))
    e, slices = acting.variable, interval.slices
    pair, per_unit = e.names, 1 / e.unit
    yield Feature(FS.distance, pair, scale=10.0), OT.ineq, slices
    cone = Feature(FS.frictionCone, pair, friction=friction, scale=per_unit)
    yield cone, OT.ineq, slices
    if kind == "complementary":
        between = Feature(FS.contactDistances, pair, scale=[[10.0, -10.0]])
        yield between, OT.eq, slices
        apart = Feature(FS.complementarity, pair, scale=10 * per_unit)
        yield apart, OT.eq, slices
    else:
        yield Feature(FS.contactDistances, pair, scale=10.0), OT.eq, slices
    if kind == "sticking":
        steps = slices[1:] if k_order else ()
        for frame in pair if steps else ():
            ends = (e.point, frame)
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
