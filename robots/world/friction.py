"""Friction of things that touch."""

from ..validation import number
from .frame import Frame

DEFAULT_FRICTION = 0.5


def contact_friction(frame: Frame) -> float:
    """A frame's coefficient of friction: its attribute `contact_friction`, or 0.5.

    Of two frames that touch, the larger one counts.

    Raises:
        ConfigError: for what is no number >= 0.
    """
    given = frame.attributes.get("contact_friction", DEFAULT_FRICTION)
    what = f"Frame {frame.name!r}: contact_friction"
    return number(what, given, "a number >= 0", lambda x: x >= 0)
