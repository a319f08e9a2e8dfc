"""Distances of things: contact, gaps, and whether one is at another's height."""

from functools import lru_cache
from typing import Any

import jax.numpy as jnp
import numpy as np

from .parts import Distances, Parts, distances, distances_of, parts_of, reaches, rows
from .smooth import mellowmin
from .things import Build, Pair, centre

STRICT = 1e-6
"""By what strict inequalities are kept [m]."""


def within(distance: Any, error: float) -> Build:
    """At most 0 only where the distance of the two is at most that.

    Args:
        distance: [m], or a function of the pair.
        error: how far the row may lie above what is exact.
    """

    def build(pair: Pair) -> Any:
        which, arrays = _distances(pair)
        least = np.array(_length(distance, pair))
        arrays |= {"least": least, "error": np.array(error)}
        return _within(which), arrays, 1

    return build


def apart(distance: Any, more: float = 0.0) -> Build:
    """At most 0 only where the distance of all parts is at least that.

    Args:
        distance: [m], or a function of the pair.
        more: added to it [m].
    """

    def build(pair: Pair) -> Any:
        which, arrays = _distances(pair)
        arrays["least"] = np.array(_length(distance, pair) + more)
        return _apart(which), arrays, arrays["order"].size

    return build


def at_height(error: float) -> Build:
    """At most 0 only where the centre of one is at the height of a part of the other.

    The height is along the world's z.
    """

    def build(pair: Pair) -> Any:
        sides = {}
        arrays: dict[str, np.ndarray] = {"error": np.array(error)}
        for side in "ab":
            solid = pair.solid(side)
            frames = [pair.C.frames[pair.frames[i]] for i in solid]
            sides[side], own = parts_of(frames, side)
            arrays |= own | pair.masses(side) | {f"of_{side}": np.array(solid)}
        return _level(sides["a"], sides["b"]), arrays, 1

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


def _length(distance: Any, pair: Pair) -> float:
    return float(distance(pair) if callable(distance) else distance)


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


@lru_cache(maxsize=256)
def _level(a: Parts, b: Parts) -> Any:
    def at_height(R: Any, p: Any, **arrays: Any) -> Any:
        up = jnp.array([[0.0, 0.0, 1.0]], p.dtype)
        off = []
        for parts, side, other in ((b, "b", "a"), (a, "a", "b")):
            at = arrays[f"of_{side}"]
            low, high = reaches(parts, rows(R, at), rows(p, at), up, arrays)
            z = centre(R, p, arrays, other)[2]
            off.append(jnp.maximum(low[:, 0] - z, z - high[:, 0]))
        return mellowmin(jnp.concatenate(off), arrays["error"])[None]

    return at_height
