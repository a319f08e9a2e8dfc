"""Rows of one frame being within a distance of another one, or never near it.

Or, of the line straight down from another one, never near that.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.features import Feature
from posewise.features.safe_math import norm
from posewise.features.symbol import Pose, Symbol
from posewise.robots.config import Config

from ...geometry.frame_groups import find_object, mass_fractions

RANGE_MARGIN = 5e-3
"""Room on either side of a range, for paths that are curved between slices [m]."""


def within_range(C: Config, a: str, b: str, distance: float) -> Feature:
    """At most 0 only where a's centre of mass is within a distance of b's origin [m].

    By `RANGE_MARGIN` less, so that it holds between two such slices too: straight
    motion stays in a ball, and a curve of moderate steps bulges by less than that. For
    the centre of mass only the object's root frame counts, as iGibson has it.
    """
    return _range_feature(C, a, b, _centre(C, a), distance - RANGE_MARGIN, False)


def origin_within_range(C: Config, a: str, b: str, distance: float) -> Feature:
    """The same of a's origin."""
    return _range_feature(C, a, b, np.zeros(3), distance - RANGE_MARGIN, False)


def out_of_range(C: Config, a: str, b: str, distance: float) -> Feature:
    """At most 0 only where, on the way from the slice before, a's centre of mass is
    never within a distance of b's origin [m], by `RANGE_MARGIN` more; of order 1."""
    return _range_feature(C, a, b, _centre(C, a), distance + RANGE_MARGIN, True)


def origin_out_of_range(C: Config, a: str, b: str, distance: float) -> Feature:
    """The same of a's origin."""
    return _range_feature(C, a, b, np.zeros(3), distance + RANGE_MARGIN, True)


def outside_column(
    C: Config, a: str, b: str, point: Float[np.ndarray, "3"], distance: float
) -> Feature:
    """The same of a point of a, and of the vertical line through b's origin."""
    return _range_feature(C, a, b, point, distance + RANGE_MARGIN, True, across=True)


def _centre(C: Config, a: str) -> Float[np.ndarray, "3"]:
    return mass_fractions(find_object(C, a), root=True)[1][0]


def _range_feature(
    C: Config,
    a: str,
    b: str,
    point: np.ndarray,
    limit: float,
    passing: bool,
    across: bool = False,
) -> Feature:
    def resolve(world: Config, names: Sequence[str]) -> Any:
        at = np.array([world.index(name) for name in names])
        params = {"point": point, "limit": np.array(float(limit))}
        params["axes"] = np.array([1.0, 1.0, 1.0 - across])
        return OUT_OF_RANGE if passing else IN_RANGE, at, params

    return Feature(
        replace(OUT_OF_RANGE if passing else IN_RANGE, resolve=resolve), (a, b)
    )


def _offset(a: Pose, b: Pose, point: Any, axes: Any) -> Float[jax.Array, "3"]:
    return axes * (a.R @ point + a.p - b.p)


def _within(
    a: Pose, b: Pose, *, point: Any, limit: Any, axes: Any
) -> Float[jax.Array, "1"]:
    return (norm(_offset(a, b, point, axes)) - limit)[None]


def _out_of_range(
    old: tuple[Pose, Pose],
    new: tuple[Pose, Pose],
    *,
    tau: Any,
    point: Any,
    limit: Any,
    axes: Any,
) -> Float[jax.Array, "1"]:
    """limit - distance of the origin to the way between two offsets, a segment."""
    start, end = _offset(*old, point, axes), _offset(*new, point, axes)
    way = end - start
    length = way @ way
    share = jnp.where(length > 0, -(start @ way) / jnp.where(length > 0, length, 1), 0)
    return (limit - norm(start + jnp.clip(share, 0, 1) * way))[None]


IN_RANGE = Symbol(_within, "in range", frames=(2, 2), dim=1, unit="m")
OUT_OF_RANGE = Symbol(
    _out_of_range, "out of range", frames=(2, 2), dim=1, unit="m", window=1
)
