"""Distances of things: contact, and how far centres are from origins."""

from functools import lru_cache
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..smooth_extrema import mellowmin_within
from .object_features import ObjectPair, PairRows, mass_centre
from .parts import PartPairKinds, gather_rows, part_distances, part_pairs

STRICT_MARGIN = 1e-6
"""By what strict inequalities are kept [m]."""


def within_distance_rows(distance: float, error: float) -> PairRows:
    """At most 0 only where the distance of the two is at most that.

    Args:
        distance: [m].
        error: how far the row may lie above what is exact.
    """

    def build(pair: ObjectPair) -> Any:
        which, arrays = _distances(pair)
        arrays |= {"least": np.array(float(distance)), "error": np.array(float(error))}
        return _within(which), arrays, 1

    return build


def beyond_distance_rows(distance: float) -> PairRows:
    """At most 0 only where the distance of all parts is at least that [m]."""

    def build(pair: ObjectPair) -> Any:
        which, arrays = _distances(pair)
        arrays["least"] = np.array(float(distance))
        return _apart(which), arrays, arrays["order"].size

    return build


def reach_rows(distance: float, truth: bool) -> PairRows:
    """At most 0 only where a's centre is nearer than that to b's origin, or is not."""
    sign = 1.0 if truth else -1.0

    def build(pair: ObjectPair) -> Any:
        arrays = pair.mass_arrays() | {"root": np.array(len(pair.a.frames))}
        arrays |= {"least": np.array(float(distance)), "sign": np.array(sign)}
        return _reached, arrays, 1

    return build


def _reached(R: Any, p: Any, **arrays: Any) -> Any:
    off = mass_centre(R, p, arrays) - gather_rows(p, arrays["root"][None])[0]
    square = jnp.sum(off * off)
    length = jnp.sqrt(jnp.where(square > 0, square, 1.0)) * (square > 0)
    sign = arrays["sign"]
    return (sign * (length - arrays["least"]) + STRICT_MARGIN * (sign > 0))[None]


def _distances(pair: ObjectPair) -> tuple[PartPairKinds, dict[str, np.ndarray]]:
    pairs = [
        (i, j) for i in pair.shape_positions("a") for j in pair.shape_positions("b")
    ]
    return part_pairs([pair.C.frames[i] for i in pair.frames], pairs)


@lru_cache(maxsize=256)
def _within(which: PartPairKinds) -> Any:
    def near(R: Any, p: Any, **arrays: Any) -> Any:
        d = part_distances(which, R, p, arrays)
        return (mellowmin_within(d, arrays["error"]) - arrays["least"])[None]

    return near


@lru_cache(maxsize=256)
def _apart(which: PartPairKinds) -> Any:
    def far(R: Any, p: Any, **arrays: Any) -> Any:
        return arrays["least"] - part_distances(which, R, p, arrays)

    return far
