"""Collisions of all pairs of frames that can collide: their sum, and row by row."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int

from posewise.robots.contact.body_pairs import CoreTypes, group_body_pairs
from posewise.robots.errors import ConfigError

from .closest_bodies import (
    each,
    felt,
    nearest_bodies,
    pair_numbers,
    softness_of,
    symbol_of,
    with_balls,
)
from .collision_sums import Rows, near_sums
from .safe_math import ties
from .symbol import Symbol

if TYPE_CHECKING:
    from posewise.robots.config import Config
    from posewise.robots.world.frame import Frame


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
    softness = softness_of(name, smoothing)
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
    meets = group_body_pairs(shapes, at)
    if fn is accumulated:  # of a sum the order does not matter
        order = list(dict.fromkeys(k for m in meets for k in m.pair.tolist()))
        at = at[order]
        meets = group_body_pairs(shapes, at)
    pairs = meets, at, len(involved)
    kinds, arrays = pair_numbers(*pairs, softness)
    arrays["margin"] = np.array(float(margin))
    named = fn, name, kinds, dim, "m"
    if fn is pair_rows:
        return symbol_of(*named, _ROW_WRENCHES), involved, arrays
    arrays = with_balls(arrays | {"slack": np.array(0.0)}, *pairs)
    symbol = symbol_of(*named, _sum, _itself, nonnegative=True)
    return symbol, involved, arrays


def _itself(params: dict) -> dict:
    return params


def _sum(kinds, R, p, params):
    if "reach" in params:
        return _sum_of_near(kinds, R, p, params)
    return each(_sum_of_all, kinds, R, p, params)


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _sum_of_near(kinds, R, p, params):
    ((y, wrench),) = near_sums((kinds,), [Rows(R, p, params)])
    return y[..., None], wrench[..., None, :, :3], wrench[..., None, :, 3:]


@_sum_of_near.defjvp
def _sum_of_near_jvp(kinds, primals, tangents):
    return jax.jvp(partial(each, _sum_of_all, kinds), primals, tangents)


def _sum_of_all(kinds, R, p, params):
    margin, slack = params["margin"], params["slack"]
    near = nearest_bodies(kinds, R, p, params, margin + slack)
    short = margin - near.distance
    y = jnp.sum(jnp.where(short > 0, short, 0.0))
    over, most = y > 0, jnp.max(short)
    nearest = jnp.where(most > -slack, ties(near.distance), 0.0)
    slope = jnp.where(over, jnp.where(short > 0, -1.0, 0.0), -nearest)
    y = jnp.where(over, y, jnp.maximum(most, -slack))
    return y[None], *felt(near, slope, params)


def accumulated(
    kinds: CoreTypes, R: jax.Array, p: jax.Array, params: dict
) -> jax.Array:
    """Sum over all pairs that can collide of max(0, margin - distance) [m].

    With `smoothing`, of smoothed distances, as in `neg_distance`. With `slack`, minus
    the least gap where there is one, down to minus the slack.
    """
    return _sum(kinds, R, p, params)[0]


def _rows(kinds, R, p, params):
    near = nearest_bodies(kinds, R, p, params, params["margin"] + ROW_CUTOFF)
    ends = params["at"][..., None] == np.arange(len(p))
    sign = ends[:, 0].astype(p.dtype) - ends[:, 1]
    wrench = -sign[..., None] * near.wrench[:, None]
    return params["margin"] - near.distance, wrench[..., :3], wrench[..., 3:]


_ROW_WRENCHES = partial(each, _rows)

SLACK = 0.03
"""Of sums of overlaps that are inequalities [m]."""
ROW_CUTOFF = 0.1
"""How far beyond the margin rows are exact [m]."""


def pair_rows(kinds: CoreTypes, R: jax.Array, p: jax.Array, params: dict) -> jax.Array:
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
