"""The error that invalid features raise."""

from posewise.robots.errors import PosewiseError


class FeatureError(PosewiseError):
    """Frames, order, target or scale that do not fit a feature symbol."""
