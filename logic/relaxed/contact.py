"""Relaxation of contact: distances of two objects at most, or at least, a length."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from posewise.features.symbol import Arrays

from ..smooth_extrema import mellowmin_within
from .object_features import ObjectPair, PairRows, RowFunction
from .part_pairs import PartPairKinds, count_pairs, part_distances, part_pairs


def contact_smoothing_error(tolerance: float, bound: float) -> float:
    """Return the error allowed to smooth minima of distances [m].

    It is at most half of the tolerance, so that objects need not overlap for a row to
    be at most 0; for a tolerance of 0 they must, by the bound.
    """
    return min(0.5 * tolerance, bound) or bound


def within_distance_rows(distance: float, error: float) -> PairRows:
    """Return a row at most 0 only where the objects are within a distance.

    Args:
        distance: [m].
        error: bound on how far the row may be above the exact value [m].
    """

    def build(pair: ObjectPair) -> RowFunction:
        kinds, arrays = pair_distance_data(pair, "within")
        arrays |= {"least": np.array(float(distance)), "error": np.array(float(error))}
        return RowFunction(_within(kinds), arrays, 1)

    return build


def beyond_distance_rows(distance: float) -> PairRows:
    """Return rows at most 0 only where all parts are at least a distance apart [m]."""

    def build(pair: ObjectPair) -> RowFunction:
        kinds, arrays = pair_distance_data(pair, "beyond")
        arrays["least"] = np.array(float(distance))
        return RowFunction(_beyond(kinds), arrays, count_pairs(arrays))

    return build


def pair_distance_data(pair: ObjectPair, rows: str) -> tuple[PartPairKinds, Arrays]:
    """Return all pairs of a part of a and a part of b, and their arrays.

    Args:
        pair: the objects.
        rows: see `part_pairs`.
    """
    positions_b = pair.shape_positions("b")
    pairs = [(i, j) for i in pair.shape_positions("a") for j in positions_b]
    return part_pairs([pair.C.frames[i] for i in pair.frames], pairs, rows)


@lru_cache(maxsize=256)
def _within(kinds: PartPairKinds) -> Callable[..., Any]:
    def within_distance(R: Any, p: Any, **arrays: Any) -> Any:
        # Sound: the mellowmin is at least the distance of the closest parts.
        d = part_distances(kinds, R, p, arrays)
        return (mellowmin_within(d, arrays["error"]) - arrays["least"])[None]

    return within_distance


@lru_cache(maxsize=256)
def _beyond(kinds: PartPairKinds) -> Callable[..., Any]:
    def beyond_distance(R: Any, p: Any, **arrays: Any) -> Any:
        # Exact: a conjunction over all pairs of parts, one row each.
        return arrays["least"] - part_distances(kinds, R, p, arrays)

    return beyond_distance
