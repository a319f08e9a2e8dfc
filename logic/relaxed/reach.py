"""Relaxation of reach: the distance of a centre of mass from an agent's base."""

from typing import Any

import numpy as np

from posewise.features.parts import gather_rows
from posewise.features.safe_math import norm

from ..margins import STRICT_MARGIN
from .object_features import ObjectPair, PairRows, RowFunction, mass_centre


def reach_rows(distance: float, truth: bool) -> PairRows:
    """Return a row at most 0 only where a's centre is nearer to b's origin.

    Args:
        distance: the limit [m].
        truth: False for a row at most 0 only where the centre is not nearer.
    """

    def build(pair: ObjectPair) -> RowFunction:
        arrays = pair.mass_arrays() | {"root": np.array(len(pair.a.frames))}
        arrays |= {"least": np.array(float(distance))}
        arrays |= {"sign": np.array(1.0 if truth else -1.0)}
        return RowFunction(_reach, arrays, 1)

    return build


def _reach(R: Any, p: Any, **arrays: Any) -> Any:
    # Exact except for the margin: "nearer than" is strict, its negation is not.
    offset = mass_centre(R, p, arrays) - gather_rows(p, arrays["root"][None])[0]
    sign = arrays["sign"]
    margin = STRICT_MARGIN * (sign > 0)
    return (sign * (norm(offset) - arrays["least"]) + margin)[None]
