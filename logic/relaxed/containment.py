"""Relaxation of containment: an object on both sides along axes, boxes, cavities."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import jax.numpy as jnp
import numpy as np

from posewise.features.parts import gather_rows
from posewise.robots.annotations.regions import Region

from ..geometry.ray_axes import AXES
from ..margins import CAVITY_MARGIN, RAY_CLEARANCE
from ..smooth_extrema import largest, mellowmin_within, smallest
from .object_features import (
    ObjectPair,
    PairRows,
    RowFunction,
    frame_position,
    mass_centre,
)
from .part_pairs import PartPairKinds
from .parts import PartTypes, bounded_parts, part_extents
from .rays import (
    DEFAULT_HIT_RANGE,
    DEFAULT_MISS_RANGE,
    axes_data,
    hit_values,
    ray_data,
    ray_part_distances,
    reference_axes,
)


def surrounded_rows(
    reach: np.ndarray | float, own_axes: bool, error: float
) -> PairRows:
    """Return a row at most 0 only where b surrounds a's centre along two axes.

    b must be on both sides along two orthogonal axes of `AXES`.

    Args:
        reach: length of the rays along each of the nine axes [m].
        own_axes: the axes are those of b's root frame.
        error: bound on how far the row may be above the exact value [m].
    """
    axes = np.concatenate([AXES, -AXES])
    lengths = np.tile(np.broadcast_to(np.minimum(reach, DEFAULT_HIT_RANGE), 9), 2)

    def build(pair: ObjectPair) -> RowFunction:
        kinds, arrays = ray_data(pair, axes, lengths, own_axes)
        # Two nested smooth minima share the error.
        arrays["error"] = np.array(float(error / 2))
        return RowFunction(_surrounded(kinds), arrays, 1)

    return build


def not_surrounded_rows(
    reach: np.ndarray | float, own_axes: bool, error: float
) -> PairRows:
    """Return rows at most 0 only where `surrounded_rows` cannot be: one per axis pair.

    The arguments are those of `surrounded_rows`.
    """
    axes = np.concatenate([AXES, -AXES])
    lengths = np.tile(np.broadcast_to(np.minimum(reach, DEFAULT_MISS_RANGE), 9), 2)

    def build(pair: ObjectPair) -> RowFunction:
        kinds, arrays = ray_data(pair, axes, lengths, own_axes)
        arrays["error"] = np.array(float(error))
        return RowFunction(_not_surrounded(kinds), arrays, 12)

    return build


def in_box_rows(own_axes: bool) -> PairRows:
    """Return six rows at most 0 only where a's centre is in b's bounding box.

    Args:
        own_axes: the box is along the axes of b's root frame, else along the world's.
    """

    def build(pair: ObjectPair) -> RowFunction:
        positions = pair.shape_positions("b")
        frames = [pair.C.frames[pair.frames[i]] for i in positions]
        parts, arrays = bounded_parts(frames, positions, "b")
        arrays |= pair.mass_arrays() | axes_data(pair, own_axes)
        return RowFunction(_in_box(parts), arrays, 6)

    return build


def beyond_face_rows(face: int, own_axes: bool) -> PairRows:
    """Return a row at most 0 only where a's centre is outside a face of b's box.

    Args:
        face: index of a row of `in_box_rows`.
        own_axes: see `in_box_rows`.
    """

    def build(pair: ObjectPair) -> RowFunction:
        fn, arrays, _ = in_box_rows(own_axes)(pair)
        return RowFunction(_beyond_face(fn), arrays | {"face": np.array(face)}, 1)

    return build


def cavity_rows(pair: ObjectPair, region: Region) -> PairRows:
    """Return rows at most 0 only where a's centre is in a cavity of b.

    There is one row for each plane of the cavity.
    """
    position = frame_position(pair, region)

    def build(pair: ObjectPair) -> RowFunction:
        arrays = pair.mass_arrays() | {"region": position, "planes": region.planes}
        return RowFunction(_in_cavity, arrays, len(region.planes))

    return build


@lru_cache(maxsize=256)
def _surrounded(kinds: PartPairKinds) -> Callable[..., Any]:
    def on_both_sides(R: Any, p: Any, **arrays: Any) -> Any:
        # Rays along an axis and against it both hit (maximum), for one of the 12 pairs
        # of orthogonal axes (mellowmin); any part may be hit (mellowmin). Both
        # mellowmins are upper bounds of minima, so that the row is sound.
        hit = hit_values(*ray_part_distances(kinds, R, p, arrays))
        hit = mellowmin_within(hit.T, arrays["error"])
        both_sides = jnp.maximum(*hit.reshape(2, 9))
        upright = jnp.maximum(both_sides[8], both_sides[:8])
        level = jnp.maximum(both_sides[:4], both_sides[4:8])
        pairs = jnp.concatenate([upright, level])
        return mellowmin_within(pairs, arrays["error"])[None]

    return on_both_sides


@lru_cache(maxsize=256)
def _not_surrounded(kinds: PartPairKinds) -> Callable[..., Any]:
    def on_no_two_sides(R: Any, p: Any, **arrays: Any) -> Any:
        # For each of the 12 pairs of orthogonal axes, one of its four rays misses all
        # parts. Sound: a ray that is clear of all parts hits none.
        nearest = smallest(ray_part_distances(kinds, R, p, arrays)[0].T)
        missed = (RAY_CLEARANCE - nearest).reshape(2, 9)
        upright = jnp.repeat(missed[:, 8:], 8, 1), missed[:, :8]
        level = missed[:, :4], missed[:, 4:8]
        rays = [jnp.concatenate(x, 1) for x in zip(upright, level, strict=True)]
        return mellowmin_within(jnp.concatenate(rays), arrays["error"])

    return on_no_two_sides


@lru_cache(maxsize=256)
def _in_box(parts: PartTypes) -> Callable[..., Any]:
    def in_bounding_box(R: Any, p: Any, **arrays: Any) -> Any:
        # Exact: the box is that of the support functions of all parts.
        axes = reference_axes(R, arrays).T
        low, high = part_extents(parts, R, p, axes, arrays)
        centre = axes @ mass_centre(R, p, arrays)
        return jnp.concatenate([centre - largest(high), smallest(low) - centre])

    return in_bounding_box


@lru_cache(maxsize=256)
def _beyond_face(in_box: Callable[..., Any]) -> Callable[..., Any]:
    def out_of_bounding_box(R: Any, p: Any, *, face: Any, **arrays: Any) -> Any:
        row = gather_rows(in_box(R, p, **arrays), face[None])[0]
        return (RAY_CLEARANCE - row)[None]

    return out_of_bounding_box


def _in_cavity(R: Any, p: Any, **arrays: Any) -> Any:
    # The cavity is convex: n·x <= d for all planes (n, d). The margin is the one with
    # which its points were checked to be inside of b.
    position, planes = arrays["region"][None], arrays["planes"]
    R_region, p_region = gather_rows(R, position)[0], gather_rows(p, position)[0]
    centre = R_region.T @ (mass_centre(R, p, arrays) - p_region)
    return planes[:, :3] @ centre - planes[:, 3] + CAVITY_MARGIN
