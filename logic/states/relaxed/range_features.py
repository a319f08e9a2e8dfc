"""Features of one frame in the range of another one, or never in it.

Also of a frame that never meets the vertical line below another one.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.features import Feature
from posewise.features.safe_math import norm
from posewise.features.symbol import Pose, Resolved, Symbol
from posewise.features.symbol_kinds import PoseSymbol, WorldSymbol
from posewise.robots.config import Config
from posewise.robots.typing import Array

from ...errors import PredicateError
from ...geometry.frame_groups import centre_of_mass, find_object, mass_fractions
from ..thermal_range import enclosing_radius, nearest_shape_point

RANGE_MARGIN = 5e-3
"""Margin on either side of a range, for paths curved between slices [m].

Larger covers stronger curvature, and is farther from complete.
"""
ALL_AXES = np.array([1.0, 1.0, 1.0])
HORIZONTAL_AXES = np.array([1.0, 1.0, 0.0])


def within_range(C: Config, a: str, b: str, distance: float) -> Feature:
    """Return a feature <= 0 only where an object is in range of b's origin.

    Both its nearest point and its centre of mass are, so that the row is sound by all
    rules; the centre of mass is that of the object's root frame alone, as in iGibson.
    The range is smaller by `RANGE_MARGIN`, so that it also holds between two such
    slices: a straight motion stays in a ball, and a curve of moderate steps bulges by
    less than that.

    Args:
        C: the world.
        a: name of the object.
        b: name of the frame at the centre of the range.
        distance: radius of the range [m].
    """
    group = find_object(C, a)
    middle = centre_of_mass(group, root_only=True)
    # The centre of mass of a bowl is in no part of it: the nearest point is within the
    # range if the centre is within it by their distance.
    gap = float(np.linalg.norm(middle - nearest_shape_point(group, middle)))
    return _feature(IN_RANGE, a, b, _centre(C, a), distance - gap - RANGE_MARGIN)


def origin_within_range(C: Config, a: str, b: str, distance: float) -> Feature:
    """Return `within_range` for the origin of frame a in place of a centre of mass."""
    return _feature(IN_RANGE, a, b, np.zeros(3), distance - RANGE_MARGIN)


def out_of_range(C: Config, a: str, b: str, distance: float) -> Feature:
    """Return a feature <= 0 only where an object stays out of a range.

    All of a ball about its centre of mass that encloses it does, on the whole way from
    the slice before to this one, hence of order 1. The range is larger by
    `RANGE_MARGIN`.

    Args:
        C: the world.
        a: name of the object.
        b: name of the frame at the centre of the range.
        distance: radius of the range [m].
    """
    radius = enclosing_radius(find_object(C, a))
    if not np.isfinite(radius):
        raise PredicateError(
            f"{a!r} has no finite size, so that no row keeps it out of the range of"
            f" {b!r}; give its shapes a size and its joints limits."
        )
    limit = distance + radius + RANGE_MARGIN
    return _feature(OUT_OF_RANGE, a, b, _centre(C, a), limit)


def origin_out_of_range(C: Config, a: str, b: str, distance: float) -> Feature:
    """Return `out_of_range` for the origin of frame a in place of a centre of mass."""
    return _feature(OUT_OF_RANGE, a, b, np.zeros(3), distance + RANGE_MARGIN)


def outside_column(
    C: Config, a: str, b: str, point: Float[np.ndarray, "3"], distance: float
) -> Feature:
    """Return a feature <= 0 only where a point stays clear of a vertical line.

    As `out_of_range`, with horizontal distances only.

    Args:
        C: the world.
        a: name of the frame of the point.
        b: name of the frame through whose origin the line goes.
        point: in frame a [m].
        distance: least distance from the line [m].
    """
    limit = distance + RANGE_MARGIN
    return _feature(OUT_OF_RANGE, a, b, point, limit, HORIZONTAL_AXES)


def _centre(C: Config, a: str) -> Float[np.ndarray, "3"]:
    """Return the centre of mass of an object's root frame, in that frame [m]."""
    return mass_fractions(find_object(C, a), root_only=True)[1][0]


def _feature(
    symbol: Symbol,
    a: str,
    b: str,
    point: Float[np.ndarray, "3"],
    limit: float,
    axes: Float[np.ndarray, "3"] = ALL_AXES,
) -> Feature:
    """Return a feature whose numbers are data, so that others share its program.

    Args:
        symbol: `IN_RANGE` or `OUT_OF_RANGE`.
        a: name of the frame of the point.
        b: name of the other frame.
        point: in frame a [m].
        limit: end of the range [m].
        axes: weights of the coordinates of the distance, 1 or 0.
    """

    def resolve(world: Config, names: Sequence[str]) -> Resolved:
        indices = np.array([world.index(name) for name in names])
        params = {"point": point, "limit": np.array(float(limit)), "axes": axes}
        return Resolved(symbol, indices, params)

    measured = WorldSymbol(
        symbol.fn,
        symbol.name,
        symbol.frames,
        symbol.dim,
        symbol.unit,
        symbol.window,
        resolve=resolve,
    )
    return Feature(measured, (a, b))


def _offset(
    a: Pose, b: Pose, point: Float[Array, "3"], axes: Float[Array, "3"]
) -> Float[jax.Array, "3"]:
    """Return the vector from b's origin to a point of a, in the world [m]."""
    return axes * (a.R @ point + a.p - b.p)


def _in_range(
    a: Pose,
    b: Pose,
    *,
    point: Float[Array, "3"],
    limit: Float[Array, ""],
    axes: Float[Array, "3"],
) -> Float[jax.Array, "1"]:
    return (norm(_offset(a, b, point, axes)) - limit)[None]


def _out_of_range(
    old: tuple[Pose, Pose],
    new: tuple[Pose, Pose],
    *,
    tau: Float[Array, "..."],
    point: Float[Array, "3"],
    limit: Float[Array, ""],
    axes: Float[Array, "3"],
) -> Float[jax.Array, "1"]:
    """Return limit minus the distance of the origin from a segment of offsets."""
    start, end = _offset(*old, point, axes), _offset(*new, point, axes)
    motion = end - start
    squared = motion @ motion
    # The inner where keeps the derivative finite for a segment of length 0.
    safe = jnp.where(squared > 0, squared, 1)
    fraction = jnp.where(squared > 0, -(start @ motion) / safe, 0)
    return (limit - norm(start + jnp.clip(fraction, 0, 1) * motion))[None]


IN_RANGE = PoseSymbol(_in_range, "in range", frames=(2, 2), dim=1, unit="m")
"""Distance from the end of a range, <= 0 in range."""
OUT_OF_RANGE = PoseSymbol(
    _out_of_range, "out of range", frames=(2, 2), dim=1, unit="m", window=1
)
"""Penetration of a range on the way from the slice before, <= 0 out of range."""
