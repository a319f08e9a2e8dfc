"""Sizes in a placement that are very likely in millimetres, without a robot."""

from collections.abc import Iterator, Sequence

import numpy as np

from posewise.robots.config import Config
from posewise.robots.contact.world_scale import (
    MIN_HUGE_SIZE,
    MIN_SIZE_RATIO,
    WorldScale,
    least_extent,
)
from posewise.robots.errors import first_few
from posewise.robots.typing import FrameName

from ..checks.units import METRES
from .sampling import with_ancestors


def movables_in_millimetres(C: Config, names: Sequence[FrameName]) -> Iterator[str]:
    """Yield a sentence on sizes of a placement that are very likely in millimetres.

    These are of movables that are as large as houses, or of supports that are far
    larger than all movables. Worlds with robots are left to `likely_millimetres`.

    Args:
        C: the world.
        names: of the movables.
    """
    if len(WorldScale.of(C.frames).bases):
        return
    roots = {C.index(name) for name in names}
    sizes, largest = np.zeros(len(C.frames)), 0.0
    for i, frame in enumerate(C.frames):
        sizes[i] = max((least_extent(g.shape) for g in frame.geometries), default=0.0)
        if with_ancestors(C.frames, i) & roots:
            largest = max(largest, sizes[i])
    small = largest < MIN_HUGE_SIZE
    limit = max(MIN_HUGE_SIZE, MIN_SIZE_RATIO * largest * small)
    huge = np.flatnonzero(sizes >= limit)
    if len(huge):
        parts = [f"{C.frames[i].name!r} ({sizes[i]:.4g} m across)" for i in huge]
        yield f"Objects are as large as houses: {first_few(parts)}. {METRES}"
