"""Reminder of links that collide with nothing since their shapes were left out."""

import warnings
from functools import lru_cache

from ..errors import first_few
from ..world.frame import Frame


@lru_cache(maxsize=64)
def warn_of_missing_shapes(frames: tuple[Frame, ...]) -> None:
    """Warn of frames whose collision shapes were all left out when they were read.

    The same frames cost one warning.
    """
    lacking = tuple(f for f in frames if lacks_shapes(f))
    if lacking:
        _warn(lacking)


def lacks_shapes(frame: Frame) -> bool:
    """Whether a frame had shapes for collision in its file, but has none here."""
    has_shape = any(g.collision for g in frame.geometries)
    return bool(frame.missing_shapes) and not has_shape


@lru_cache(maxsize=256)
def _warn(frames: tuple[Frame, ...]) -> None:
    names = first_few([repr(f.name) for f in frames])
    warnings.warn(
        f"Without a shape for collisions are {names}: what their file names was"
        f" left out when it was read (e.g. {frames[0].missing_shapes[0]}). They collide"
        " with nothing, and distances are to their origins. Let their files be found"
        " (packages={name: folder} of add_file), or give them shapes.",
        UserWarning,
        stacklevel=2,
    )
