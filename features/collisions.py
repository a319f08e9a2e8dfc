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
    add_bounding_balls,
    nearest_bodies,
    pair_params,
    pair_symbol,
    smoothing_params,
    vmap_instances,
    wrench_of_distance,
)
from .collision_sums import PairSumBatch, sum_near_pairs
from .safe_math import subgradient_weights
from .symbol import Symbol

if TYPE_CHECKING:
    from posewise.robots.config import Config
    from posewise.robots.world.frame import Frame


def _select_pairs(C: "Config", frames: Any) -> tuple[np.ndarray, np.ndarray]:
    """Indices of the frames that take part, and the pairs as places among them."""
    pairs = C.collision_indices()
    if frames:
        chosen = [C.index(f) for f in frames]
        pairs = pairs[np.isin(pairs, chosen).any(1)]
    involved, at = np.unique(pairs, return_inverse=True)
    return involved, at.reshape(-1, 2)


def resolve_sum(C: "Config", frames: Any, margin: float, smoothing: float):
    """The symbol of `accumulated_collisions` for the pairs of a world."""
    return _resolve_pairs(
        accumulated_collisions, "accumulatedCollisions", 1, C, frames, margin, smoothing
    )


def resolve_rows(C: "Config", frames: Any, margin: float, smoothing: float):
    """The symbol of `collision_rows` for the pairs of a world.

    Raises:
        ConfigError: when no pair can collide.
    """
    count = len(_select_pairs(C, frames)[1])
    if count == 0:
        raise ConfigError(
            "FS.collisionRows: no pair of frames can collide; see C.collision_pairs()."
        )
    return _resolve_pairs(
        collision_rows, "collisionRows", count, C, frames, margin, smoothing
    )


def _resolve_pairs(
    fn: Any,
    name: str,
    dim: int,
    C: "Config",
    frames: Any,
    margin: float,
    smoothing: float,
):
    softness = smoothing_params(name, smoothing)
    involved, at = _select_pairs(C, frames)
    if not len(at):
        return _NO_PAIRS, involved, {}
    shapes = [C.frames[i] for i in involved]
    return _pairs_symbol(fn, name, dim, shapes, at, margin, softness, involved)


def pair_rows_symbol(
    shapes: Sequence["Frame"], pairs: Int[np.ndarray, "n 2"], margin: float
) -> tuple[Symbol, dict[str, np.ndarray]]:
    """`collision_rows` of chosen pairs of frames, and its numbers.

    Args:
        shapes: of the feature's frames, those that have the shapes that count.
        pairs: places among the frames.
        margin: [m].
    """
    given: Any = (shapes, pairs, margin, {}, np.arange(len(shapes)))
    symbol, _, arrays = _pairs_symbol(collision_rows, "rowsBetween", len(pairs), *given)
    return symbol, arrays


def _pairs_symbol(
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
    if fn is accumulated_collisions:  # of a sum the order does not matter
        order = list(dict.fromkeys(k for m in meets for k in m.pair.tolist()))
        at = at[order]
        meets = group_body_pairs(shapes, at)
    pairs = meets, at, len(involved)
    kinds, arrays = pair_params(*pairs, softness)
    arrays["margin"] = np.array(float(margin))
    named = fn, name, kinds, dim, "m"
    if fn is collision_rows:
        return pair_symbol(*named, _LINEARIZE_ROWS), involved, arrays
    arrays = add_bounding_balls(arrays | {"slack": np.array(0.0)}, *pairs)
    symbol = pair_symbol(*named, _linearize_sum, _identity, is_nonnegative=True)
    return symbol, involved, arrays


def _identity(params: dict) -> dict:
    return params


def _linearize_sum(kinds, R, p, params):
    if "reach" in params:
        return _sum_of_near_pairs(kinds, R, p, params)
    return vmap_instances(_sum_of_all_pairs, kinds, R, p, params)


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _sum_of_near_pairs(kinds, R, p, params):
    ((y, wrench),) = sum_near_pairs((kinds,), [PairSumBatch(R, p, params)])
    return y[..., None], wrench[..., None, :, :3], wrench[..., None, :, 3:]


@_sum_of_near_pairs.defjvp
def _sum_of_near_pairs_jvp(kinds, primals, tangents):
    return jax.jvp(partial(vmap_instances, _sum_of_all_pairs, kinds), primals, tangents)


def _sum_of_all_pairs(kinds, R, p, params):
    margin, slack = params["margin"], params["slack"]
    near = nearest_bodies(kinds, R, p, params, margin + slack)
    short = margin - near.distance
    y = jnp.sum(jnp.where(short > 0, short, 0.0))
    over, most = y > 0, jnp.max(short)
    nearest = jnp.where(most > -slack, subgradient_weights(near.distance), 0.0)
    slope = jnp.where(over, jnp.where(short > 0, -1.0, 0.0), -nearest)
    y = jnp.where(over, y, jnp.maximum(most, -slack))
    return y[None], *wrench_of_distance(near, slope, params)


def accumulated_collisions(
    kinds: CoreTypes, R: jax.Array, p: jax.Array, params: dict
) -> jax.Array:
    """Sum over all pairs that can collide of max(0, margin - distance) [m].

    With `smoothing`, of smoothed distances, as in `neg_distance`. With `slack`, minus
    the least gap where there is one, down to minus the slack.
    """
    return _linearize_sum(kinds, R, p, params)[0]


def _linearize_rows(kinds, R, p, params):
    near = nearest_bodies(kinds, R, p, params, params["margin"] + EXACT_ROW_RANGE)
    ends = params["at"][..., None] == np.arange(len(p))
    sign = ends[:, 0].astype(p.dtype) - ends[:, 1]
    wrench = -sign[..., None] * near.wrench[:, None]
    return params["margin"] - near.distance, wrench[..., :3], wrench[..., 3:]


_LINEARIZE_ROWS = partial(vmap_instances, _linearize_rows)

MAX_COLLISION_SLACK = 0.03
"""Of sums of overlaps that are inequalities [m]."""
EXACT_ROW_RANGE = 0.1
"""How far beyond the margin rows are exact [m]."""


def collision_rows(
    kinds: CoreTypes, R: jax.Array, p: jax.Array, params: dict
) -> jax.Array:
    """For each pair that can collide, margin - distance [m]: an inequality.

    Exact for bodies whose bounding balls are within 0.1 m of the margin; beyond, with
    the balls' distance, a lower bound. With `smoothing`, of smoothed distances, as in
    `neg_distance`, for all pairs.
    """
    return _linearize_rows(kinds, R, p, params)[0]


def no_pairs(R: jax.Array, p: jax.Array, **params: Any) -> jax.Array:
    """The sum over no pair at all [m]."""
    return jnp.zeros(1, p.dtype)


_NO_PAIRS = Symbol(
    no_pairs,
    "accumulatedCollisions",
    frames=(0, None),
    dim=1,
    unit="m",
    takes_frame_stack=True,
)
