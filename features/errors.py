"""The error that invalid features raise, and a check of coordinates."""

import numpy as np
from jax.typing import ArrayLike

from posewise.robots.errors import PosewiseError


class FeatureError(PosewiseError):
    """Frames, order, target or scale that do not fit a feature symbol."""


def require_slices(name: str, q: ArrayLike, slices: int, nq: int) -> None:
    """Raise an error unless coordinates are those of as many slices.

    Args:
        name: of the feature.
        q: coordinates; those of one slice may have no axis of slices.
        slices: their number, one more than the order.
        nq: number of coordinates of a slice.

    Raises:
        FeatureError: for another number of coordinates.
    """
    if np.size(q) == slices * nq:
        return
    expected = f"({nq},)"
    if slices > 1:
        expected = f"({slices}, {nq}): {slices} slices, as its order is {slices - 1}"
    raise FeatureError(f"{name}: q has shape {np.shape(q)}, expected {expected}.")
