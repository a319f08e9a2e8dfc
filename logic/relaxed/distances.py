"""Distances of things: contact, and how far centres are from origins."""

from functools import lru_cache
from typing import Any

import jax.numpy as jnp
import numpy as np

from .object_features import Build, Pair, centre
from .parts import Distances, distances, distances_of, rows
from .smooth import mellowmin

STRICT = 1e-6
"""By what strict inequalities are kept [m]."""


def within(distance: float, error: float) -> Build:
    """At most 0 only where the distance of the two is at most that.

    Args:
        distance: [m].
        error: how far the row may lie above what is exact.
    """

    def build(pair: Pair) -> Any:
        which, arrays = _distances(pair)
        arrays |= {"least": np.array(float(distance)), "error": np.array(float(error))}
        return _within(which), arrays, 1

    return build


def apart(distance: float) -> Build:
    """At most 0 only where the distance of all parts is at least that [m]."""

    def build(pair: Pair) -> Any:
        which, arrays = _distances(pair)
        arrays["least"] = np.array(float(distance))
        return _apart(which), arrays, arrays["order"].size

    return build


def reached(distance: float, truth: bool) -> Build:
    """At most 0 only where a's centre is nearer than that to b's origin, or is not."""
    sign = 1.0 if truth else -1.0

    def build(pair: Pair) -> Any:
        arrays = pair.masses() | {"root": np.array(len(pair.a.frames))}
        arrays |= {"least": np.array(float(distance)), "sign": np.array(sign)}
        return _reached, arrays, 1

    return build


def _reached(R: Any, p: Any, **arrays: Any) -> Any:
    off = centre(R, p, arrays) - rows(p, arrays["root"][None])[0]
    square = jnp.sum(off * off)
    length = jnp.sqrt(jnp.where(square > 0, square, 1.0)) * (square > 0)
    sign = arrays["sign"]
    return (sign * (length - arrays["least"]) + STRICT * (sign > 0))[None]


def _distances(pair: Pair) -> tuple[Distances, dict[str, np.ndarray]]:
    pairs = [(i, j) for i in pair.solid("a") for j in pair.solid("b")]
    return distances_of([pair.C.frames[i] for i in pair.frames], pairs)


@lru_cache(maxsize=256)
def _within(which: Distances) -> Any:
    def near(R: Any, p: Any, **arrays: Any) -> Any:
        d = distances(which, R, p, arrays)
        return (mellowmin(d, arrays["error"]) - arrays["least"])[None]

    return near


@lru_cache(maxsize=256)
def _apart(which: Distances) -> Any:
    def far(R: Any, p: Any, **arrays: Any) -> Any:
        return arrays["least"] - distances(which, R, p, arrays)

    return far
