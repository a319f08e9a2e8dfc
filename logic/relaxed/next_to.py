"""Relaxation of next-to: distances relative to sizes, and common heights."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.features.parts import gather_rows
from posewise.features.safe_math import norm
from posewise.features.symbol import Arrays, TracedArrays

from ..margins import STRICT_MARGIN
from ..smooth_extrema import largest, mellowmin_within, smallest
from .contact import pair_distance_data
from .object_features import ObjectPair, PairRows, RowFunction, mass_centre
from .part_pairs import PartPairKinds, count_pairs, part_distances
from .parts import PartTypes, bounded_parts, count_parts, part_extents

Sides: TypeAlias = tuple[PartTypes, PartTypes]
"""Types of the parts of a and of b."""


def near_rows(nearness: float, error: float) -> PairRows:
    """Return a row at most 0 only where the distance is at most a share of the size.

    The size is the mean edge of both bounding boxes in the axes of the root frames.

    Args:
        nearness: the share [1].
        error: bound on how far the row may be above the exact value [m].
    """

    def build(pair: ObjectPair) -> RowFunction:
        kinds, sides, arrays = _distance_and_size_data(pair, "near")
        arrays["nearness"] = np.array(float(nearness))
        arrays["error"] = np.array(float(error))
        return RowFunction(_near(kinds, sides), arrays, 1)

    return build


def far_rows(nearness: float) -> PairRows:
    """Return rows at most 0 only where the distance is above a share of the size."""

    def build(pair: ObjectPair) -> RowFunction:
        kinds, sides, arrays = _distance_and_size_data(pair, "far")
        arrays["nearness"] = np.array(float(nearness))
        return RowFunction(_far(kinds, sides), arrays, count_pairs(arrays))

    return build


def box_distance_rows(nearness: float, truth: bool) -> PairRows:
    """Return a row at most 0 only where the world's bounding boxes are near.

    Their distance is then at most a share of their mean edge.

    Args:
        nearness: the share [1].
        truth: False for a row at most 0 only where they are not near.
    """

    def build(pair: ObjectPair) -> RowFunction:
        sides, arrays = _part_data(pair)
        arrays["sign"] = np.array(1.0 if truth else -1.0)
        arrays["nearness"] = np.array(float(nearness))
        return RowFunction(_boxes_near(sides), arrays, 1)

    return build


def height_rows(error: float, is_mutual: bool = True) -> PairRows:
    """Return a row at most 0 only where one object is at the height of the other.

    a's centre of mass is then at the height of a part of b, or b's at that of a part of
    a, along the world's z.

    Args:
        error: bound on how far the row may be above the exact value [m].
        is_mutual: whether b's centre counts too.
    """

    def build(pair: ObjectPair) -> RowFunction:
        sides, arrays = _part_data(pair)
        arrays |= pair.mass_arrays("a") | pair.mass_arrays("b")
        arrays["error"] = np.array(float(error))
        return RowFunction(_at_height(sides, is_mutual), arrays, 1)

    return build


def off_height_rows(is_mutual: bool = True) -> PairRows:
    """Return rows at most 0 only where `height_rows` cannot be: one for each part."""

    def build(pair: ObjectPair) -> RowFunction:
        sides, arrays = _part_data(pair)
        arrays |= pair.mass_arrays("a") | pair.mass_arrays("b")
        counted = sides if is_mutual else sides[1:]
        dim = sum(count_parts(side, arrays) for side in counted)
        return RowFunction(_off_height(sides, is_mutual), arrays, dim)

    return build


def _part_data(pair: ObjectPair) -> tuple[Sides, Arrays]:
    """Return the parts of a and of b, and their arrays."""
    types: list[PartTypes] = []
    arrays: Arrays = {}
    for side, root in (("a", 0), ("b", len(pair.a.frames))):
        positions = pair.shape_positions(side)
        frames = [pair.C.frames[pair.frames[i]] for i in positions]
        parts, data = bounded_parts(frames, positions, f"box_{side}_")
        types.append(parts)
        arrays |= data
        arrays[f"root_{parts.prefix}"] = np.array(root)
    return (types[0], types[1]), arrays


def _distance_and_size_data(
    pair: ObjectPair, rows: str
) -> tuple[PartPairKinds, Sides, Arrays]:
    """Return pairs of parts, the parts, and the arrays of both."""
    sides, arrays = _part_data(pair)
    kinds, distance_arrays = pair_distance_data(pair, rows)
    return kinds, sides, arrays | distance_arrays


def _extent(
    parts: PartTypes, R: jax.Array, p: jax.Array, axes: jax.Array, arrays: TracedArrays
) -> tuple[Float[jax.Array, " n"], Float[jax.Array, " n"]]:
    """Return both ends of an object's bounding box along axes."""
    low, high = part_extents(parts, R, p, axes, arrays)
    return smallest(low), largest(high)


def _near_distance(
    sides: Sides, R: jax.Array, p: jax.Array, arrays: TracedArrays
) -> jax.Array:
    """Return the share of the mean edge of both boxes, along the roots' axes [m]."""
    edges = []
    for parts in sides:
        root = arrays[f"root_{parts.prefix}"]
        # The columns of R are the root's axes in the world; axes are rows here.
        axes = gather_rows(R, root[None])[0].T
        low, high = _extent(parts, R, p, axes, arrays)
        edges.append(jnp.mean(high - low))
    return jnp.multiply(arrays["nearness"], (edges[0] + edges[1]) / 2)


@lru_cache(maxsize=256)
def _near(kinds: PartPairKinds, sides: Sides) -> Callable[..., Any]:
    def near(R: Any, p: Any, **arrays: Any) -> Any:
        # Sound: the mellowmin is at least the distance of the closest parts. Sizes do
        # not depend on the pose of rigid objects, and are exact for jointed ones.
        d = mellowmin_within(part_distances(kinds, R, p, arrays), arrays["error"])
        return (d - _near_distance(sides, R, p, arrays) + STRICT_MARGIN)[None]

    return near


@lru_cache(maxsize=256)
def _far(kinds: PartPairKinds, sides: Sides) -> Callable[..., Any]:
    def far(R: Any, p: Any, **arrays: Any) -> Any:
        # Exact: all pairs of parts are far, one row each.
        limit = _near_distance(sides, R, p, arrays) + STRICT_MARGIN
        return limit - part_distances(kinds, R, p, arrays)

    return far


@lru_cache(maxsize=256)
def _boxes_near(sides: Sides) -> Callable[..., Any]:
    def boxes_near(R: Any, p: Any, **arrays: Any) -> Any:
        world = jnp.eye(3, dtype=p.dtype)
        boxes = [_extent(parts, R, p, world, arrays) for parts in sides]
        (low_a, high_a), (low_b, high_b) = boxes
        mean_edge = (jnp.mean(high_a - low_a) + jnp.mean(high_b - low_b)) / 2
        limit = arrays["nearness"] * mean_edge
        gap = jnp.maximum(low_a - high_b, low_b - high_a)
        # The signed distance of boxes: the length of the positive gaps, or the largest
        # of the negative ones. Overlap has a slope, unlike the exact distance, and has
        # the same truth because the limit is positive.
        distance = norm(jnp.maximum(gap, 0.0)) + jnp.minimum(largest(gap), 0.0)
        return (arrays["sign"] * (distance - limit) + STRICT_MARGIN)[None]

    return boxes_near


def _height_offsets(
    sides: Sides, is_mutual: bool, R: Any, p: Any, arrays: TracedArrays
) -> jax.Array:
    """Return how far each part is above or below the other object's centre [m]."""
    up = jnp.array([[0.0, 0.0, 1.0]], p.dtype)
    offsets = []
    for parts, other in ((sides[1], "a"), (sides[0], "b"))[: 1 + is_mutual]:
        low, high = part_extents(parts, R, p, up, arrays)
        z = mass_centre(R, p, arrays, other)[2]
        # At most 0 exactly where the plane at height z cuts the part.
        offsets.append(jnp.maximum(low[:, 0] - z, z - high[:, 0]))
    return jnp.concatenate(offsets)


@lru_cache(maxsize=256)
def _at_height(sides: Sides, is_mutual: bool) -> Callable[..., Any]:
    def at_height(R: Any, p: Any, **arrays: Any) -> Any:
        # Sound: the mellowmin is at least the smallest offset.
        offsets = _height_offsets(sides, is_mutual, R, p, arrays)
        return mellowmin_within(offsets, arrays["error"])[None]

    return at_height


@lru_cache(maxsize=256)
def _off_height(sides: Sides, is_mutual: bool) -> Callable[..., Any]:
    def off_height(R: Any, p: Any, **arrays: Any) -> Any:
        return STRICT_MARGIN - _height_offsets(sides, is_mutual, R, p, arrays)

    return off_height
