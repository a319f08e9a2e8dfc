"""Rays from a thing's centre of mass: whether they meet the parts of another."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.robots.geometry.shapes import Capsule, Marker
from posewise.robots.world.frame import Frame, Geometry

from ..exact.rays import AXES
from ..smooth_extrema import largest, mellowmin_within, smallest
from .object_features import ObjectPair, PairRows, mass_centre
from .parts import (
    PartPairKinds,
    bounded_parts,
    gather_rows,
    part_distances,
    part_extents,
    part_pairs,
)

RAY_CLEARANCE = 1e-4
"""What a ray does not meet is no nearer than this, and where it starts [m]."""
DEFAULT_HIT_RANGE, DEFAULT_MISS_RANGE = 10.0, 1000.0
"""Lengths of rays without a range, to meet something and to meet nothing [m]."""
RayOrigin = Callable[[jax.Array, jax.Array, dict[str, jax.Array]], jax.Array]
"""A point (3,) by the poses of frames and numbers; the same object for all worlds."""
UP, DOWN = np.array([[0.0, 0, 1]]), np.array([[0.0, 0, -1]])


def ray_hit_rows(directions: np.ndarray, reach: float, error: float) -> PairRows:
    """At most 0 only where one of some rays from a's centre enters a part of b.

    Args:
        directions: of the rays, unit vectors (n, 3) in the world.
        reach: how far they go [m].
        error: how far the row may lie above what is exact.
    """
    far = np.full(len(directions), min(reach, DEFAULT_HIT_RANGE))

    def build(pair: ObjectPair) -> Any:
        which, arrays = _rays(pair, directions, far, False)
        return _meets(which), arrays | _error(error), 1

    return build


def ray_miss_rows(
    directions: np.ndarray, reach: float, start: RayOrigin = mass_centre
) -> PairRows:
    """At most 0 only where no such ray meets a part of b; see `ray_hit_rows`.

    Args:
        directions: see there.
        reach: see there.
        start: where rays begin.
    """
    far = np.full(len(directions), min(reach, DEFAULT_MISS_RANGE))

    def build(pair: ObjectPair) -> Any:
        which, arrays = _rays(pair, directions, far, False)
        each = arrays["order"].size // (len(far) + 1)
        return _misses(which, start), arrays, each * len(far)

    return build


def surrounded_rows(reach: Any, own: bool, error: float) -> PairRows:
    """At most 0 only where b is on both sides of a's centre along two orthogonal axes.

    Args:
        reach: how far along each of the nine axes it may be [m].
        own: the axes are those of b's root frame.
        error: how far the row may lie above what is exact.
    """
    axes = np.concatenate([AXES, -AXES])
    far = np.tile(np.broadcast_to(np.minimum(reach, DEFAULT_HIT_RANGE), 9), 2)

    def build(pair: ObjectPair) -> Any:
        which, arrays = _rays(pair, axes, far, own)
        return _surrounded(which), arrays | _error(error / 2), 1

    return build


def not_surrounded_rows(reach: Any, own: bool, error: float) -> PairRows:
    """At most 0 only where `surrounded_rows` cannot be: a row for each two axes."""
    axes = np.concatenate([AXES, -AXES])
    far = np.tile(np.broadcast_to(np.minimum(reach, DEFAULT_MISS_RANGE), 9), 2)

    def build(pair: ObjectPair) -> Any:
        which, arrays = _rays(pair, axes, far, own)
        return _not_surrounded(which), arrays | _error(error), 12

    return build


def in_box_rows(own: bool) -> PairRows:
    """At most 0 only where a's centre is in b's bounding box; six rows.

    Args:
        own: the box is along the axes of b's root frame.
    """

    def build(pair: ObjectPair) -> Any:
        solid = pair.shape_positions("b")
        parts, arrays = bounded_parts(
            [pair.C.frames[pair.frames[i]] for i in solid], "b"
        )
        arrays |= pair.mass_arrays() | _turn(pair, own) | {"theirs": np.array(solid)}
        return _enclosed(parts), arrays, 6

    return build


def beyond_face_rows(face: int, own: bool) -> PairRows:
    """At most 0 only where a's centre is outside one face of b's bounding box.

    Args:
        face: one of the rows of `in_box_rows`.
        own: see there.
    """

    def build(pair: ObjectPair) -> Any:
        fn, arrays, _ = in_box_rows(own)(pair)
        return _beyond(fn), arrays | {"face": np.array(face)}, 1

    return build


def _error(error: float) -> dict[str, np.ndarray]:
    return {"error": np.array(float(error))}


def _turn(pair: ObjectPair, own: bool) -> dict[str, np.ndarray]:
    return {"root": np.array(len(pair.a.frames)), "own": np.array(float(own))}


def _rays(
    pair: ObjectPair, directions: np.ndarray, reach: np.ndarray, own: bool
) -> tuple[PartPairKinds, dict[str, np.ndarray]]:
    """Distances of rays (segments), then of their start, to each part of b."""
    rays = [
        Frame(f"ray {i}", None, geometries=(Geometry(Capsule(float(length), 0.0)),))
        for i, length in enumerate(reach)
    ]
    start = Frame("start", None, geometries=(Geometry(Marker()),))
    solid = pair.shape_positions("b")
    theirs = [pair.C.frames[pair.frames[i]] for i in solid]
    n = len(rays) + 1
    pairs = [(i, n + j) for i in range(n) for j in range(len(theirs))]
    which, arrays = part_pairs([*rays, start, *theirs], pairs)
    turns = np.stack([_along(d) for d in directions])
    arrays |= {"turns": turns, "reach": reach, "theirs": np.array(solid)}
    return which, arrays | pair.mass_arrays() | _turn(pair, own)


def _along(d: np.ndarray) -> np.ndarray:
    """A rotation whose z axis is d."""
    other = np.eye(3)[np.argmin(np.abs(d))]
    x = np.cross(other, d)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(d, x), d], -1)


def _axes(R: jax.Array, arrays: dict) -> jax.Array:
    """Orientation of b's root frame, or of the world."""
    own = arrays["own"]
    return own * gather_rows(R, arrays["root"][None])[0] + (1 - own) * jnp.eye(
        3, dtype=R.dtype
    )


def _to_parts(
    which: PartPairKinds,
    R: jax.Array,
    p: jax.Array,
    arrays: dict,
    start: RayOrigin = mass_centre,
) -> tuple[Float[jax.Array, "rays parts"], Float[jax.Array, " parts"]]:
    """Signed distances of rays and of their start to each part of b [m]."""
    c = start(R, p, arrays)
    turned = _axes(R, arrays) @ arrays["turns"]
    middle = c + turned[:, :, 2] * (arrays["reach"] / 2)[:, None]
    theirs = arrays["theirs"]
    every_R = jnp.concatenate(
        [turned, jnp.eye(3, dtype=R.dtype)[None], gather_rows(R, theirs)]
    )
    every_p = jnp.concatenate([middle, c[None], gather_rows(p, theirs)])
    d = part_distances(which, every_R, every_p, arrays).reshape(len(turned) + 1, -1)
    return d[:-1], d[-1]


def _hit(rays: jax.Array, start: jax.Array) -> Float[jax.Array, "rays parts"]:
    """At most 0 only where a ray enters a part, which it does not start in."""
    return jnp.maximum(rays, RAY_CLEARANCE - start)


@lru_cache(maxsize=256)
def _meets(which: PartPairKinds) -> Any:
    def ray_meets(R: Any, p: Any, **arrays: Any) -> Any:
        hit = _hit(*_to_parts(which, R, p, arrays))
        return mellowmin_within(hit.reshape(-1), arrays["error"])[None]

    return ray_meets


@lru_cache(maxsize=256)
def _misses(which: PartPairKinds, start: RayOrigin) -> Any:
    def rays_miss(R: Any, p: Any, **arrays: Any) -> Any:
        return RAY_CLEARANCE - _to_parts(which, R, p, arrays, start)[0].reshape(-1)

    return rays_miss


@lru_cache(maxsize=256)
def _surrounded(which: PartPairKinds) -> Any:
    def on_both_sides(R: Any, p: Any, **arrays: Any) -> Any:
        hit = mellowmin_within(_hit(*_to_parts(which, R, p, arrays)).T, arrays["error"])
        both = jnp.maximum(*hit.reshape(2, 9))
        upright = jnp.maximum(both[8], both[:8])
        level = jnp.maximum(both[:4], both[4:8])
        return mellowmin_within(jnp.concatenate([upright, level]), arrays["error"])[
            None
        ]

    return on_both_sides


@lru_cache(maxsize=256)
def _not_surrounded(which: PartPairKinds) -> Any:
    def on_no_two_sides(R: Any, p: Any, **arrays: Any) -> Any:
        nearest = smallest(_to_parts(which, R, p, arrays)[0].T)
        missed = (RAY_CLEARANCE - nearest).reshape(2, 9)
        upright = jnp.repeat(missed[:, 8:], 8, 1), missed[:, :8]
        level = missed[:, :4], missed[:, 4:8]
        ways = [jnp.concatenate(x, 1) for x in zip(upright, level, strict=True)]
        return mellowmin_within(jnp.concatenate(ways), arrays["error"])

    return on_no_two_sides


@lru_cache(maxsize=256)
def _enclosed(parts: Any) -> Any:
    def in_bounding_box(R: Any, p: Any, **arrays: Any) -> Any:
        theirs, axes = arrays["theirs"], _axes(R, arrays).T
        low, high = part_extents(
            parts, gather_rows(R, theirs), gather_rows(p, theirs), axes, arrays
        )
        here = axes @ mass_centre(R, p, arrays)
        return jnp.concatenate([here - largest(high), smallest(low) - here])

    return in_bounding_box


@lru_cache(maxsize=256)
def _beyond(enclosed: Any) -> Any:
    def out_of_bounding_box(R: Any, p: Any, *, face: Any, **arrays: Any) -> Any:
        return (RAY_CLEARANCE - gather_rows(enclosed(R, p, **arrays), face[None])[0])[
            None
        ]

    return out_of_bounding_box
