"""Next to: distances less a share of the things' sizes, and heights."""

from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..smooth_extrema import largest, mellowmin_within, smallest
from .contact import STRICT_MARGIN
from .object_features import ObjectPair, PairRows, mass_centre
from .parts import (
    PartKinds,
    PartPairKinds,
    bounded_parts,
    gather_rows,
    part_distances,
    part_extents,
    part_pairs,
)


def near_rows(error: float) -> PairRows:
    """At most 0 only where the distance is at most a third of the mean edge.

    Edges are those of the bounding boxes in the axes of the things' root frames.

    Args:
        error: how far the row may lie above what is exact.
    """

    def build(pair: ObjectPair) -> Any:
        which, sides, arrays = _measured(pair)
        return _near(which, sides), arrays | {"error": np.array(float(error))}, 1

    return build


def far_rows() -> PairRows:
    """At most 0 only where the distance is above a third of the mean edge."""

    def build(pair: ObjectPair) -> Any:
        which, sides, arrays = _measured(pair)
        return _far(which, sides), arrays, arrays["order"].size

    return build


def box_distance_rows(truth: bool) -> PairRows:
    """At most 0 only where the world's bounding boxes are no farther apart than a third
    of their mean edge.

    Args:
        truth: or only where they are.
    """

    def build(pair: ObjectPair) -> Any:
        sides, arrays = _sides(pair)
        sign = np.array(1.0 if truth else -1.0)
        return _boxes(sides), arrays | {"sign": sign}, 1

    return build


def height_rows(error: float, both: bool = True) -> PairRows:
    """At most 0 only where a's centre is at the height of a part of b, or b's of a's.

    The height is along the world's z.

    Args:
        error: how far the row may lie above what is exact.
        both: b's centre counts.
    """

    def build(pair: ObjectPair) -> Any:
        sides, arrays = _sides(pair)
        arrays |= pair.mass_arrays("a") | pair.mass_arrays("b")
        return _level(sides, both), arrays | {"error": np.array(float(error))}, 1

    return build


def off_height_rows(both: bool = True) -> PairRows:
    """At most 0 only where `height_rows` cannot be: a row for each part."""

    def build(pair: ObjectPair) -> Any:
        sides, arrays = _sides(pair)
        arrays |= pair.mass_arrays("a") | pair.mass_arrays("b")
        counted = sides if both else sides[1:]
        dim = sum(len(arrays[f"{s.prefix}{g}_0"]) for s in counted
                  for g in range(len(s.kinds)))  # fmt: skip
        return _off_level(sides, both), arrays, dim

    return build


Sides = tuple[PartKinds, PartKinds]


def _sides(pair: ObjectPair) -> tuple[Sides, dict[str, np.ndarray]]:
    """Parts of a and of b."""
    found: list[PartKinds] = []
    arrays: dict[str, np.ndarray] = {}
    for side, root in (("a", 0), ("b", len(pair.a.frames))):
        solid = pair.shape_positions(side)
        frames = [pair.C.frames[pair.frames[i]] for i in solid]
        parts, own = bounded_parts(frames, f"box_{side}_")
        found.append(parts)
        arrays |= own | {f"of_{parts.prefix}": np.array(solid)}
        arrays[f"root_{parts.prefix}"] = np.array(root)
    return (found[0], found[1]), arrays


def _measured(pair: ObjectPair) -> tuple[PartPairKinds, Sides, dict[str, np.ndarray]]:
    """Pairs of parts, and the parts."""
    sides, arrays = _sides(pair)
    pairs = [
        (i, j) for i in pair.shape_positions("a") for j in pair.shape_positions("b")
    ]
    which, meets = part_pairs([pair.C.frames[i] for i in pair.frames], pairs)
    return which, sides, arrays | meets


def _box(
    parts: PartKinds, R: jax.Array, p: jax.Array, axes: jax.Array, arrays: dict
) -> tuple[Float[jax.Array, " n"], Float[jax.Array, " n"]]:
    """Ends of a thing's bounding box along axes."""
    at = arrays[f"of_{parts.prefix}"]
    low, high = part_extents(
        parts, gather_rows(R, at), gather_rows(p, at), axes, arrays
    )
    return smallest(low), largest(high)


def _third(sides: Sides, R: jax.Array, p: jax.Array, arrays: dict) -> jax.Array:
    """A third of the mean edge of both, in their own axes [m]."""
    edges = []
    for parts in sides:
        root = arrays[f"root_{parts.prefix}"]
        low, high = _box(parts, R, p, gather_rows(R, root[None])[0].T, arrays)
        edges.append(jnp.mean(high - low))
    return (edges[0] + edges[1]) / 6


@lru_cache(maxsize=256)
def _near(which: PartPairKinds, sides: Sides) -> Any:
    def near(R: Any, p: Any, **arrays: Any) -> Any:
        d = mellowmin_within(part_distances(which, R, p, arrays), arrays["error"])
        return (d - _third(sides, R, p, arrays) + STRICT_MARGIN)[None]

    return near


@lru_cache(maxsize=256)
def _far(which: PartPairKinds, sides: Sides) -> Any:
    def far(R: Any, p: Any, **arrays: Any) -> Any:
        least = _third(sides, R, p, arrays) + STRICT_MARGIN
        return least - part_distances(which, R, p, arrays)

    return far


@lru_cache(maxsize=256)
def _boxes(sides: Sides) -> Any:
    def boxes_near(R: Any, p: Any, **arrays: Any) -> Any:
        world = jnp.eye(3, dtype=p.dtype)
        boxes = [_box(parts, R, p, world, arrays) for parts in sides]
        (low_a, high_a), (low_b, high_b) = boxes
        third = (jnp.mean(high_a - low_a) + jnp.mean(high_b - low_b)) / 6
        gap = jnp.maximum(low_a - high_b, low_b - high_a)
        out = jnp.maximum(gap, 0.0)
        square = jnp.sum(out * out)
        apart = jnp.sqrt(jnp.where(square > 0, square, 1.0)) * (square > 0)
        signed = apart + jnp.minimum(largest(gap), 0.0)
        return (arrays["sign"] * (signed - third) + STRICT_MARGIN)[None]

    return boxes_near


def _off(sides: Sides, both: bool, R: Any, p: Any, arrays: dict) -> jax.Array:
    """How far each part is above or below the other thing's centre [m]."""
    up = jnp.array([[0.0, 0.0, 1.0]], p.dtype)
    found = []
    for parts, other in ((sides[1], "a"), (sides[0], "b"))[: 1 + both]:
        at = arrays[f"of_{parts.prefix}"]
        low, high = part_extents(
            parts, gather_rows(R, at), gather_rows(p, at), up, arrays
        )
        z = mass_centre(R, p, arrays, other)[2]
        found.append(jnp.maximum(low[:, 0] - z, z - high[:, 0]))
    return jnp.concatenate(found)


@lru_cache(maxsize=256)
def _level(sides: Sides, both: bool) -> Any:
    def at_height(R: Any, p: Any, **arrays: Any) -> Any:
        off = _off(sides, both, R, p, arrays)
        return mellowmin_within(off, arrays["error"])[None]

    return at_height


@lru_cache(maxsize=256)
def _off_level(sides: Sides, both: bool) -> Any:
    def off_height(R: Any, p: Any, **arrays: Any) -> Any:
        return STRICT_MARGIN - _off(sides, both, R, p, arrays)

    return off_height
