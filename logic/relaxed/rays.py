"""Rays from an object's centre of mass that hit, or miss, the parts of another.

A ray is a line segment of given length. The signed distance of the segment to a convex
part is at most 0 exactly where they intersect. A part that contains the origin of the
ray does not count as hit, as in the exact check.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.features.parts import gather_rows
from posewise.features.symbol import Arrays, TracedArrays
from posewise.robots.geometry.shapes import Capsule, Marker
from posewise.robots.world.frame import Frame, Geometry

from ..margins import RAY_CLEARANCE
from ..smooth_extrema import mellowmin_within
from .object_features import ObjectPair, PairRows, RowFunction, mass_centre
from .part_pairs import PartPairKinds, count_pairs, part_distances, part_pairs

DEFAULT_HIT_RANGE = 10.0
"""Length of rays without a range that must hit something [m]; what is farther away does
not count."""
DEFAULT_MISS_RANGE = 1000.0
"""Length of rays without a range that must miss everything [m]; what is farther away
does not count."""
UP = np.array([[0.0, 0, 1]])
DOWN = np.array([[0.0, 0, -1]])

RayOrigin: TypeAlias = Callable[[jax.Array, jax.Array, TracedArrays], jax.Array]
"""A point (3,) from poses and arrays; the same object for all worlds."""


def ray_hit_rows(directions: np.ndarray, reach: float, error: float) -> PairRows:
    """Return a row at most 0 only where a ray from a's centre enters a part of b.

    Args:
        directions: of the rays, unit vectors (n, 3) in the world.
        reach: length of the rays [m]; inf: `DEFAULT_HIT_RANGE`.
        error: bound on how far the row may be above the exact value [m].
    """
    # A shorter ray hits less, so that limiting an unlimited ray is sound.
    lengths = np.full(len(directions), min(reach, DEFAULT_HIT_RANGE))

    def build(pair: ObjectPair) -> RowFunction:
        kinds, arrays = ray_data(pair, directions, lengths, False)
        arrays["error"] = np.array(float(error))
        return RowFunction(_hit(kinds), arrays, 1)

    return build


def ray_miss_rows(
    directions: np.ndarray, reach: float, origin: RayOrigin = mass_centre
) -> PairRows:
    """Return rows at most 0 only where no ray hits a part of b; see `ray_hit_rows`.

    Args:
        directions: of the rays, unit vectors (n, 3) in the world.
        reach: length of the rays [m]; inf: `DEFAULT_MISS_RANGE`.
        origin: start of the rays.
    """
    lengths = np.full(len(directions), min(reach, DEFAULT_MISS_RANGE))

    def build(pair: ObjectPair) -> RowFunction:
        kinds, arrays = ray_data(pair, directions, lengths, False)
        parts = count_pairs(arrays) // (len(lengths) + 1)
        return RowFunction(_miss(kinds, origin), arrays, parts * len(lengths))

    return build


def axes_data(pair: ObjectPair, own_axes: bool) -> Arrays:
    """Return arrays for `reference_axes`.

    Args:
        pair: the objects.
        own_axes: the axes are those of b's root frame, otherwise the world's.
    """
    return {
        "root": np.array(len(pair.a.frames)),
        "own": np.array(float(own_axes)),
    }


def reference_axes(R: jax.Array, arrays: TracedArrays) -> jax.Array:
    """Return the orientation of b's root frame, or of the world."""
    follows_root = jnp.asarray(arrays["own"])
    R_root = gather_rows(R, arrays["root"][None])[0]
    return follows_root * R_root + (1 - follows_root) * jnp.eye(3, dtype=R.dtype)


def ray_data(
    pair: ObjectPair, directions: np.ndarray, lengths: np.ndarray, own_axes: bool
) -> tuple[PartPairKinds, Arrays]:
    """Return pairs of each ray, and of their origin, with each part of b.

    Args:
        pair: the objects.
        directions: of the rays, in the reference axes.
        lengths: of the rays [m].
        own_axes: see `axes_data`.
    """
    # Rays are capsules of radius 0, so that the narrow phase measures their distances.
    rays = [
        Frame(f"ray {i}", None, geometries=(Geometry(Capsule(float(length), 0.0)),))
        for i, length in enumerate(lengths)
    ]
    start = Frame("start", None, geometries=(Geometry(Marker()),))
    frames, n = [pair.C.frames[i] for i in pair.frames], len(rays) + 1
    pairs = [(i, n + j) for i in range(n) for j in pair.shape_positions("b")]
    kinds, arrays = part_pairs([*rays, start, *frames], pairs, "rays", groups=n)
    arrays |= {
        "turns": np.stack([_rotation_to(d) for d in directions]),
        "reach": lengths,
    }
    return kinds, arrays | pair.mass_arrays() | axes_data(pair, own_axes)


def ray_part_distances(
    kinds: PartPairKinds,
    R: jax.Array,
    p: jax.Array,
    arrays: TracedArrays,
    origin: RayOrigin = mass_centre,
) -> tuple[Float[jax.Array, "rays parts"], Float[jax.Array, " parts"]]:
    """Return signed distances of rays and of their origin to each part of b [m]."""
    start = origin(R, p, arrays)
    R_rays = reference_axes(R, arrays) @ arrays["turns"]
    # A capsule is centred, so the middle of the ray is half its length ahead.
    middle = start + R_rays[:, :, 2] * (arrays["reach"] / 2)[:, None]
    R_all = jnp.concatenate([R_rays, jnp.eye(3, dtype=R.dtype)[None], R])
    p_all = jnp.concatenate([middle, start[None], p])
    d = part_distances(kinds, R_all, p_all, arrays).reshape(len(R_rays) + 1, -1)
    return d[:-1], d[-1]


def hit_values(rays: jax.Array, start: jax.Array) -> Float[jax.Array, "rays parts"]:
    """Return values at most 0 only where a ray enters a part from outside [m].

    Args:
        rays: signed distances of rays to parts.
        start: signed distances of the origin to parts.
    """
    # A ray that starts inside of a part does not enter it; the clearance also excludes
    # origins so near to a surface that rounding would decide.
    return jnp.maximum(rays, RAY_CLEARANCE - start)


def _rotation_to(d: np.ndarray) -> np.ndarray:
    """Return a rotation matrix whose z axis is d."""
    # The coordinate axis farthest from d makes the cross product well-conditioned.
    other = np.eye(3)[np.argmin(np.abs(d))]
    x = np.cross(other, d)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(d, x), d], -1)


@lru_cache(maxsize=256)
def _hit(kinds: PartPairKinds) -> Callable[..., Any]:
    def ray_hits(R: Any, p: Any, **arrays: Any) -> Any:
        # Sound: the mellowmin over rays and parts is at least the minimum.
        hit = hit_values(*ray_part_distances(kinds, R, p, arrays))
        return mellowmin_within(hit.reshape(-1), arrays["error"])[None]

    return ray_hits


@lru_cache(maxsize=256)
def _miss(kinds: PartPairKinds, origin: RayOrigin) -> Callable[..., Any]:
    def rays_miss(R: Any, p: Any, **arrays: Any) -> Any:
        # Sound: a ray that is clear of a part misses it, wherever it starts.
        d, _ = ray_part_distances(kinds, R, p, arrays, origin)
        return RAY_CLEARANCE - d.reshape(-1)

    return rays_miss
