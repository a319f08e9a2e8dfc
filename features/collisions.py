"""Distances, witness points and collisions of frames, by their collision shapes.

A frame with several shapes counts as their union: its distance is that of the nearest
two. Which kinds of shapes meet is static; sizes, poses and margins are data.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..collision import Contact
from ..robots.errors import ConfigError
from ..robots.meetings import Kinds, evaluate_groups, meetings, nearest, packed
from .feature import FeatureError
from .symbol import Symbol

if TYPE_CHECKING:
    from ..robots.config import Config


# -- symbols -------------------------------------------------------------------------


@lru_cache(maxsize=512)
def _resolved(
    fn: Callable[..., Any], name: str, kinds: Kinds, dim: int, unit: str
) -> Symbol:
    run = lambda R, p, **params: fn(kinds, R, p, params)
    wrenches = None
    if fn in (neg_distance, accumulated, pair_rows):
        sloped = {neg_distance: _nearest, accumulated: _sum, pair_rows: _rows}[fn]
        wrenches = lambda R, p, **params: _wrenches(sloped, kinds, R, p, params)
    return Symbol(
        run,
        name,
        frames=(0, None),
        dim=dim,
        unit=unit,
        stacked=True,
        wrenches=wrenches,
    )


def on_pairs(
    fn: Callable[..., Any], name: str, dim: int, unit: str, ends: tuple
) -> Callable[..., Any]:
    """Resolves a symbol of named frames; `ends`: the pairs of them that meet."""

    def resolve(C: "Config", frames: Any, smoothing: float = 0.0):
        at = [C.index(f) for f in frames]
        meets = meetings(C.frames, [(at[i], at[j]) for i, j in ends])
        if len({k for m in meets for k in m.pair}) < len(ends):
            raise ConfigError(
                f"{name} on {list(frames)}: two half-spaces have no distance."
            )
        kinds, arrays = packed(meets)
        arrays |= {"at": np.array(ends), **_softness(name, smoothing)}
        return _resolved(fn, name, kinds, dim, unit), np.array(at), arrays

    return resolve


def _softness(name: str, smoothing: float) -> dict[str, np.ndarray]:
    """None when exact, so that what smoothing takes is compiled only if wanted."""
    if not 0 <= smoothing < np.inf:
        raise FeatureError(
            f"{name}: smoothing is {smoothing!r}, expected metres, 0 (exact) or more."
        )
    return {"smoothing": np.array(float(smoothing))} if smoothing else {}


def _one(kinds: Kinds, R: jax.Array, p: jax.Array, params: dict) -> Contact:
    """The nearest contact of each pair."""
    at = params["at"]
    out, pair = evaluate_groups(kinds, R[at], p[at], params)
    share = nearest(out.distance, pair, len(at))
    total = lambda x: (
        jnp.zeros((len(at), *x.shape[1:]), x.dtype)
        .at[pair]
        .add(share.reshape((-1,) + (1,) * (x.ndim - 1)) * x)
    )
    return jax.tree.map(total, out)


class Sloped(NamedTuple):
    """Rows made of contacts' distances, and their derivatives by those."""

    y: jax.Array
    contacts: Contact
    pair: jax.Array
    """The pair of frames each contact belongs to."""
    slope: jax.Array
    row: jax.Array
    """The row each contact belongs to."""


def _wrenches(sloped: Callable[..., Sloped], kinds, R, p, params):
    """y, force and moment (D, m, 3): a distance pushes along the contact's normal."""
    y, contacts, pair, slope, row = sloped(kinds, R, p, params)
    force = slope[:, None] * contacts.normal
    wrench = jnp.concatenate([force, jnp.cross(contacts.point_a, force)], -1)
    ends = params["at"][pair]
    total = jnp.zeros((len(y), len(p), 6), y.dtype)
    total = total.at[row, ends[:, 0]].add(wrench).at[row, ends[:, 1]].add(-wrench)
    return y, total[..., :3], total[..., 3:]


def _nearest(kinds, R, p, params) -> Sloped:
    at, smoothing = params["at"], params.get("smoothing")
    out, pair = evaluate_groups(kinds, R[at], p[at], params, smoothing=smoothing)
    share = nearest(out.distance, pair, len(at))
    y = -jnp.sum(share * out.distance)
    return Sloped(y[None], out, pair, -share, jnp.zeros_like(pair))


def neg_distance(kinds: Kinds, R: jax.Array, p: jax.Array, params: dict) -> jax.Array:
    """Minus the signed distance of two frames [m]; positive in penetration.

    With `smoothing` τ > 0 [m] the distance has no kinks, and is less than the exact one
    by at most a few τ: see `collision.smooth_contact`.
    """
    return _nearest(kinds, R, p, params).y


def vector(kinds: Kinds, R: jax.Array, p: jax.Array, params: dict) -> jax.Array:
    """From the second frame's witness point to the first's, in the world [m]."""
    out = _one(kinds, R, p, params)
    return (out.distance[:, None] * out.normal)[0]


def normal(kinds: Kinds, R: jax.Array, p: jax.Array, params: dict) -> jax.Array:
    """Unit normal from the second frame to the first, in the world."""
    return _one(kinds, R, p, params).normal[0]


def point_1(kinds: Kinds, R: jax.Array, p: jax.Array, params: dict) -> jax.Array:
    """Witness point on the first frame's surface, in the world [m]."""
    return _one(kinds, R, p, params).point_a[0]


def point_2(kinds: Kinds, R: jax.Array, p: jax.Array, params: dict) -> jax.Array:
    """Witness point on the second frame's surface, in the world [m]."""
    return _one(kinds, R, p, params).point_b[0]


def _core_vectors(kinds, R, p, params) -> jax.Array:
    """Between the cores' witness points, radii left out, for each pair."""
    at = params["at"]
    out, pair = evaluate_groups(kinds, R[at], p[at], params)
    radii = jnp.concatenate(
        [
            params[f"a{g}_{len(t[0]._fields)}"] + params[f"b{g}_{len(t[1]._fields)}"]
            for g, t in enumerate(kinds)
        ]
    )
    share = nearest(out.distance, pair, len(at))
    each = ((out.distance + radii) * share)[:, None] * out.normal
    return jnp.zeros((len(at), 3), each.dtype).at[pair].add(each)


def oppose(kinds: Kinds, R: jax.Array, p: jax.Array, params: dict) -> jax.Array:
    """Sum of the vectors from an object's core to those of two fingers [m].

    Frames: finger, finger, object. Zero where the fingers stand opposite each other.
    """
    first, second = _core_vectors(kinds, R, p, params)
    return first + second


def oppose_central(kinds: Kinds, R: jax.Array, p: jax.Array, params: dict) -> jax.Array:
    """`oppose`, and 1/100 of how far the vectors are from the line of the fingers."""
    first, second = _core_vectors(kinds, R, p, params)

    def direction(v):
        square = jnp.sum(v * v)
        length = jnp.sqrt(jnp.where(square > 0, square, 1.0))
        return v / (jnp.where(square > 0, length, 0.0) + 1e-3)

    line = direction(p[1] - p[0])
    lean = 2 * line + direction(first) - direction(second)
    return jnp.concatenate([first + second, 0.01 * lean])


def _colliding(C: "Config", frames: Any) -> tuple[np.ndarray, np.ndarray]:
    """Indices of the frames that take part, and the pairs as places among them."""
    pairs = C._collision_pairs()
    if frames:
        chosen = [C.index(f) for f in frames]
        pairs = pairs[np.isin(pairs, chosen).any(1)]
    involved, at = np.unique(pairs, return_inverse=True)
    return involved, at.reshape(-1, 2)


def resolve_sum(C: "Config", frames: Any, margin: float, smoothing: float):
    """The symbol of `accumulated` for the pairs of a world."""
    return _all_pairs(
        accumulated, "accumulatedCollisions", 1, C, frames, margin, smoothing
    )


def resolve_rows(C: "Config", frames: Any, margin: float, smoothing: float):
    """The symbol of `pair_rows` for the pairs of a world.

    Raises:
        ConfigError: when no pair can collide.
    """
    count = len(_colliding(C, frames)[1])
    if count == 0:
        raise ConfigError(
            "FS.collisionRows: no pair of frames can collide; see C.collision_pairs()."
        )
    return _all_pairs(pair_rows, "collisionRows", count, C, frames, margin, smoothing)


def _all_pairs(
    fn: Any,
    name: str,
    dim: int,
    C: "Config",
    frames: Any,
    margin: float,
    smoothing: float,
):
    softness = _softness(name, smoothing)
    involved, at = _colliding(C, frames)
    if not len(at):
        return _NOTHING, involved, {}
    kinds, arrays = packed(meetings(C.frames, involved[at]))
    arrays |= {"at": at, "margin": np.array(float(margin)), **softness}
    return _resolved(fn, name, kinds, dim, "m"), involved, arrays


def _sum(kinds, R, p, params) -> Sloped:
    at, margin, smoothing = params["at"], params["margin"], params.get("smoothing")
    out, pair = evaluate_groups(kinds, R[at], p[at], params, margin, smoothing)
    share = nearest(out.distance, pair, len(at))
    short = margin - out.distance
    y = jnp.sum(share * jnp.where(short > 0, short, 0.0))
    slope = jnp.where(short > 0, -share, 0.0)
    return Sloped(y[None], out, pair, slope, jnp.zeros_like(pair))


def accumulated(kinds: Kinds, R: jax.Array, p: jax.Array, params: dict) -> jax.Array:
    """Sum over all pairs that can collide of max(0, margin - distance) [m].

    With `smoothing`, of smoothed distances, as in `neg_distance`.
    """
    return _sum(kinds, R, p, params).y


def _rows(kinds, R, p, params) -> Sloped:
    at, margin, smoothing = params["at"], params["margin"], params.get("smoothing")
    cutoff = margin + ROW_CUTOFF
    out, pair = evaluate_groups(kinds, R[at], p[at], params, cutoff, smoothing)
    share = nearest(out.distance, pair, len(at))
    rows = jnp.zeros(len(at), p.dtype).at[pair].add(share * out.distance)
    return Sloped(margin - rows, out, pair, -share, pair)


ROW_CUTOFF = 0.1
"""How far beyond the margin rows are exact [m]."""


def pair_rows(kinds: Kinds, R: jax.Array, p: jax.Array, params: dict) -> jax.Array:
    """For each pair that can collide, margin - distance [m]: an inequality.

    Exact for bodies whose bounding balls are within 0.1 m of the margin; beyond, with
    the balls' distance, a lower bound. With `smoothing`, of smoothed distances, as in
    `neg_distance`, for all pairs.
    """
    return _rows(kinds, R, p, params).y


def no_pairs(R: jax.Array, p: jax.Array, **params: Any) -> jax.Array:
    """The sum over no pair at all [m]."""
    return jnp.zeros(1, p.dtype)


_NOTHING = Symbol(
    no_pairs, "accumulatedCollisions", frames=(0, None), dim=1, unit="m", stacked=True
)
