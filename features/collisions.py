"""Distances, witness points and collisions of frames, by their collision shapes.

A frame with several shapes counts as their union: its distance is that of the nearest
two. Which kinds of shapes meet is static; sizes, poses and margins are data.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from ..collision import Contact
from ..robots.errors import ConfigError
from ..robots.meetings import Kinds, evaluate_groups, meetings, packed
from .feature import FeatureError
from .near_sums import Rows, ball_arrays, near_sums
from .safe import ties
from .symbol import Symbol

if TYPE_CHECKING:
    from ..robots.config import Config
    from ..robots.frame import Frame


# -- symbols -------------------------------------------------------------------------


@lru_cache(maxsize=512)
def _resolved(
    fn: Callable[..., Any], name: str, kinds: Kinds, dim: int, unit: str
) -> Symbol:
    run = lambda R, p, **params: fn(kinds, R, p, params)
    derived: dict[Any, Callable[..., Any]] = {
        neg_distance: partial(_each, _neg_distance),
        accumulated: _sum,
        pair_rows: partial(_each, _rows),
    }
    sums = {neg_distance: _alone, accumulated: lambda params: params}
    wrenches = derived.get(fn) and (
        lambda R, p, **params: derived[fn](kinds, R, p, params)
    )
    return Symbol(
        run,
        name,
        frames=(0, None),
        dim=dim,
        unit=unit,
        stacked=True,
        wrenches=wrenches,
        sum_of=(kinds, sums[fn]) if fn in sums else None,
        nonnegative=fn is accumulated,
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
        arrays |= _members(np.concatenate([m.pair for m in meets]), len(ends))
        softness = _softness(name, smoothing)
        if not softness and "members" not in arrays:
            arrays |= ball_arrays(meets, np.array(ends), len(at))
        arrays |= _ends(np.array(ends), len(at)) | softness
        return _resolved(fn, name, kinds, dim, unit), np.array(at), arrays

    return resolve


def _softness(name: str, smoothing: float) -> dict[str, np.ndarray]:
    """None when exact, so that what smoothing takes is compiled only if wanted."""
    if not 0 <= smoothing < np.inf:
        raise FeatureError(
            f"{name}: smoothing is {smoothing!r}, expected metres, 0 (exact) or more."
        )
    return {"smoothing": np.array(float(smoothing))} if smoothing else {}


class Near(NamedTuple):
    """The nearest bodies of each pair of frames."""

    distance: Float[jax.Array, " pairs"]
    wrench: Float[jax.Array, "pairs 6"]
    """Derivative of the distance by the first frame's twist: force, then moment."""
    share: Float[jax.Array, "pairs bodies"]
    contacts: Contact
    """Of all pairs of bodies, (pairs, bodies)."""

    def mean(self, x: jax.Array) -> jax.Array:
        """Of the nearest bodies."""
        share = self.share.reshape(*self.share.shape, *[1] * (x.ndim - 2))
        return jnp.sum(share * x, 1)


def _near(kinds: Kinds, R, p, params: dict, cutoff: Any = None) -> Near:
    at = params["at"]
    out = evaluate_groups(kinds, R[at], p[at], params, cutoff, params.get("smoothing"))
    if "members" not in params:
        moment = jnp.cross(out.point_a, out.normal)
        wrench = jnp.concatenate([out.normal, moment], -1)
        alone = jax.tree.map(lambda x: x[:, None], out)
        return Near(out.distance, wrench, jnp.ones_like(alone.distance), alone)
    contacts = jax.tree.map(lambda x: x[params["members"]], out)
    still = jax.lax.stop_gradient(contacts.distance)
    still = jnp.where(params["counts"], still, jnp.inf)
    share = ties(still, 1)  # of several equally near ones
    moment = jnp.cross(contacts.point_a, contacts.normal)
    near = Near(contacts.distance, moment, share, contacts)
    wrench = jnp.concatenate([contacts.normal, moment], -1)
    return near._replace(
        distance=near.mean(contacts.distance), wrench=near.mean(wrench)
    )


def _members(pair: np.ndarray, count: int) -> dict[str, np.ndarray]:
    """For each pair of frames its pairs of bodies, and which entries count.

    None where each has one, in the same order.
    """
    if np.array_equal(pair, np.arange(count)):
        return {}
    lists = [np.flatnonzero(pair == k) for k in range(count)]
    most = max(map(len, lists))
    pad = lambda x: np.concatenate([x, np.full(most - len(x), x[0])])
    counts = np.arange(most) < np.array([len(x) for x in lists])[:, None]
    return {"members": np.stack([pad(x) for x in lists]), "counts": counts}


def _ends(at: np.ndarray, frames: int) -> dict[str, np.ndarray]:
    """For each frame the pairs it is in, and with which sign they push it."""
    lists = [np.argwhere(at == k) for k in range(frames)]
    most = max(map(len, lists))
    pairs, signs = np.zeros((2, frames, most), int)
    for k, found in enumerate(lists):
        pairs[k, : len(found)] = found[:, 0]
        signs[k, : len(found)] = 1 - 2 * found[:, 1]
    return {"at": at, "in_pairs": pairs, "sign": signs.astype(float)}


def _mean(kinds: Kinds, R: jax.Array, p: jax.Array, params: dict) -> Contact:
    """The nearest contact of each pair."""
    near = _near(kinds, R, p, params)
    return jax.tree.map(near.mean, near.contacts)


def _total(near: Near, slope: jax.Array, params: dict):
    """Force and moment (1, m, 3) on each frame, of a row that is made of distances."""
    wrench = slope[:, None] * near.wrench
    total = jnp.sum(params["sign"][..., None] * wrench[params["in_pairs"]], 1)
    return total[None, :, :3], total[None, :, 3:]


def _neg_distance(kinds, R, p, params):
    near = _near(kinds, R, p, params)
    return -near.distance, *_total(near, -jnp.ones_like(near.distance), params)


def _alone(params: dict) -> dict:
    """The numbers of a sum over one pair, that tells of its gap however wide."""
    none = jnp.zeros_like(params["reach"][..., 0])
    return params | {"margin": none, "slack": none + jnp.inf}


def neg_distance(kinds: Kinds, R: jax.Array, p: jax.Array, params: dict) -> jax.Array:
    """Minus the signed distance of two frames [m]; positive in penetration.

    With `smoothing` τ > 0 [m] the distance has no kinks, and is less than the exact one
    by at most a few τ: see `collision.smooth_contact`.
    """
    return -_near(kinds, R, p, params).distance


def vector(kinds: Kinds, R: jax.Array, p: jax.Array, params: dict) -> jax.Array:
    """From the second frame's witness point to the first's, in the world [m]."""
    out = _mean(kinds, R, p, params)
    return (out.distance[:, None] * out.normal)[0]


def normal(kinds: Kinds, R: jax.Array, p: jax.Array, params: dict) -> jax.Array:
    """Unit normal from the second frame to the first, in the world."""
    return _mean(kinds, R, p, params).normal[0]


def point_1(kinds: Kinds, R: jax.Array, p: jax.Array, params: dict) -> jax.Array:
    """Witness point on the first frame's surface, in the world [m]."""
    return _mean(kinds, R, p, params).point_a[0]


def point_2(kinds: Kinds, R: jax.Array, p: jax.Array, params: dict) -> jax.Array:
    """Witness point on the second frame's surface, in the world [m]."""
    return _mean(kinds, R, p, params).point_b[0]


def _core_vectors(kinds, R, p, params) -> jax.Array:
    """Between the cores' witness points, radii left out, for each pair."""
    near = _near(kinds, R, p, params)
    radii = jnp.concatenate(
        [
            params[f"a{g}_{len(t[0]._fields)}"] + params[f"b{g}_{len(t[1]._fields)}"]
            for g, t in enumerate(kinds)
        ]
    )
    radii = radii[params["members"]] if "members" in params else radii[:, None]
    length = near.contacts.distance + radii
    return near.mean(length[..., None] * near.contacts.normal)


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
    shapes = [C.frames[i] for i in involved]
    return _between(fn, name, dim, shapes, at, margin, softness, involved)


def rows_between(
    shapes: Sequence["Frame"], pairs: Int[np.ndarray, "n 2"], margin: float
) -> tuple[Symbol, dict[str, np.ndarray]]:
    """`pair_rows` of chosen pairs of frames, and its numbers.

    Args:
        shapes: of the feature's frames, those that have the shapes that count.
        pairs: places among the frames.
        margin: [m].
    """
    given: Any = (shapes, pairs, margin, {}, np.arange(len(shapes)))
    symbol, _, arrays = _between(pair_rows, "rowsBetween", len(pairs), *given)
    return symbol, arrays


def _between(
    fn: Any,
    name: str,
    dim: int,
    shapes: Sequence["Frame"],
    at: Int[np.ndarray, "n 2"],
    margin: float,
    softness: dict[str, np.ndarray],
    involved: Int[np.ndarray, " frames"],
):
    meets = meetings(shapes, at)
    if fn is accumulated:  # of a sum the order does not matter
        order = list(dict.fromkeys(k for m in meets for k in m.pair.tolist()))
        at = at[order]
        meets = meetings(shapes, at)
    kinds, arrays = packed(meets)
    arrays |= _members(np.concatenate([m.pair for m in meets]), len(at))
    arrays |= _ends(at, len(involved)) | softness
    arrays["margin"] = np.array(float(margin))
    if fn is accumulated:
        arrays["slack"] = np.array(0.0)
    if fn is accumulated and not softness and "members" not in arrays:
        arrays |= ball_arrays(meets, at, len(involved))
    return _resolved(fn, name, kinds, dim, "m"), involved, arrays


def _each(fn, kinds, R, p, params):
    """Of one instance, or of many: then R and p have a leading axis, params may."""
    if p.ndim == 2:
        return fn(kinds, R, p, params)
    own = 0 if params["at"].ndim > 2 else None
    return jax.vmap(partial(fn, kinds), (0, 0, own))(R, p, params)


def _sum(kinds, R, p, params):
    if "reach" in params:
        return _sum_of_near(kinds, R, p, params)
    return _each(_sum_of_all, kinds, R, p, params)


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _sum_of_near(kinds, R, p, params):
    ((y, wrench),) = near_sums((kinds,), [Rows(R, p, params)])
    return y[..., None], wrench[..., None, :, :3], wrench[..., None, :, 3:]


@_sum_of_near.defjvp
def _sum_of_near_jvp(kinds, primals, tangents):
    return jax.jvp(partial(_each, _sum_of_all, kinds), primals, tangents)


def _sum_of_all(kinds, R, p, params):
    margin, slack = params["margin"], params["slack"]
    near = _near(kinds, R, p, params, margin + slack)
    short = margin - near.distance
    y = jnp.sum(jnp.where(short > 0, short, 0.0))
    over, most = y > 0, jnp.max(short)
    nearest = jnp.where(most > -slack, ties(near.distance), 0.0)
    slope = jnp.where(over, jnp.where(short > 0, -1.0, 0.0), -nearest)
    y = jnp.where(over, y, jnp.maximum(most, -slack))
    return y[None], *_total(near, slope, params)


def accumulated(kinds: Kinds, R: jax.Array, p: jax.Array, params: dict) -> jax.Array:
    """Sum over all pairs that can collide of max(0, margin - distance) [m].

    With `smoothing`, of smoothed distances, as in `neg_distance`. With `slack`, minus
    the least gap where there is one, down to minus the slack.
    """
    return _sum(kinds, R, p, params)[0]


def _rows(kinds, R, p, params):
    near = _near(kinds, R, p, params, params["margin"] + ROW_CUTOFF)
    ends = params["at"][..., None] == np.arange(len(p))
    sign = ends[:, 0].astype(p.dtype) - ends[:, 1]
    wrench = -sign[..., None] * near.wrench[:, None]
    return params["margin"] - near.distance, wrench[..., :3], wrench[..., 3:]


SLACK = 0.03
"""Of sums of overlaps that are inequalities [m]."""
ROW_CUTOFF = 0.1
"""How far beyond the margin rows are exact [m]."""


def pair_rows(kinds: Kinds, R: jax.Array, p: jax.Array, params: dict) -> jax.Array:
    """For each pair that can collide, margin - distance [m]: an inequality.

    Exact for bodies whose bounding balls are within 0.1 m of the margin; beyond, with
    the balls' distance, a lower bound. With `smoothing`, of smoothed distances, as in
    `neg_distance`, for all pairs.
    """
    return _rows(kinds, R, p, params)[0]


def no_pairs(R: jax.Array, p: jax.Array, **params: Any) -> jax.Array:
    """The sum over no pair at all [m]."""
    return jnp.zeros(1, p.dtype)


_NOTHING = Symbol(
    no_pairs, "accumulatedCollisions", frames=(0, None), dim=1, unit="m", stacked=True
)
