"""Friction coefficients of frames in contact."""

from ..validation import number
from .frame import Frame

DEFAULT_FRICTION = 0.5
"""Coulomb friction coefficient of frames without one [1]; a larger one lets contact
forces lean farther from the normal."""


def contact_friction(frame: Frame) -> float:
    """Return a frame's friction coefficient: its `contact_friction`, or the default.

    Where two frames touch, the larger coefficient counts.

    Raises:
        ConfigError: for an attribute that is no number >= 0.
    """
    value = frame.attributes.get("contact_friction", DEFAULT_FRICTION)
    label = f"Frame {frame.name!r}: contact_friction"
    return number(label, value, "a number >= 0", lambda x: x >= 0)
