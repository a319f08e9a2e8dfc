"""Collisions of all pairs of frames that can collide: their sum, or a row for each."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from posewise.compilation.arrays import Array
from posewise.robots.config import Config
from posewise.robots.contact.body_pairs import BodyPairs, CoreTypes, group_body_pairs
from posewise.robots.contact.huge_shapes import warn_of_huge_shapes
from posewise.robots.errors import ConfigError
from posewise.robots.typing import FrameName
from posewise.robots.world.frame import Frame

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
from .symbol import Resolved, Symbol

MAX_COLLISION_SLACK = 0.03
"""Largest gap up to which a collision sum that is an inequality returns minus the gap
[m]. Larger values show more of what is near, but measure more pairs."""
FAR = 1e3
"""Distance by which pairs that do not count are taken apart [m]; more than any margin,
and little enough that distances keep their digits."""
EXACT_ROW_RANGE = 0.1
"""Distance beyond the margin up to which collision rows are exact [m]. Larger values
measure more pairs exactly."""


class _SelectedPairs(NamedTuple):
    """Pairs of frames in a world."""

    frames: Int[np.ndarray, " m"]
    """Indices of the frames in pairs; all others would have wrenches of zero."""
    pairs: Int[np.ndarray, "n 2"]
    """Pairs as indices among these."""
    can_collide: Bool[np.ndarray, " n"]
    """Whether a pair counts; see `Config.reserve_collisions`."""


def _select_pairs(C: Config, frames: Sequence[FrameName]) -> _SelectedPairs:
    """Return the pairs of a world, or those in which any of some frames is."""
    pairs, can_collide = C.collision_places()
    if frames:
        chosen = [C.index(f) for f in frames]
        # One named frame of a pair suffices: the collisions of a robot's hand are those
        # with everything.
        is_chosen = np.isin(pairs, chosen).any(1)
        pairs, can_collide = pairs[is_chosen], can_collide[is_chosen]
    involved, positions = np.unique(pairs, return_inverse=True)
    return _SelectedPairs(involved, positions.reshape(-1, 2), can_collide)


def resolve_sum(
    C: Config,
    frames: Sequence[FrameName],
    margin: float,
    self_margin: float | None,
    smoothing: float,
) -> Resolved:
    """Return the symbol of `accumulated_collisions` for the pairs of a world."""
    margins = partial(_pair_margins, C, margin, self_margin)
    return _resolve_pairs(
        accumulated_collisions,
        "accumulatedCollisions",
        1,
        C,
        frames,
        margins,
        smoothing,
    )


def collision_sum(
    margins: Callable[[Config, np.ndarray], np.ndarray],
) -> Symbol:
    """Return `FS.accumulatedCollisions` with a margin of each pair [m].

    Args:
        margins: from a world, and frame indices (n, 2), to margins (n,).
    """

    def resolve(C: Config, frames: Sequence[FrameName]) -> Resolved:
        return _resolve_pairs(
            accumulated_collisions,
            "accumulatedCollisions",
            1,
            C,
            frames,
            partial(margins, C),
            0.0,
        )

    return Symbol(
        accumulated_collisions,
        "accumulatedCollisions",
        frames=(0, None),
        dim=1,
        unit="m",
        resolve=resolve,
        is_nonnegative=True,
        pair_margins=margins,
    )


def required_distances(
    C: Config,
    symbol: Symbol,
    frames: Sequence[FrameName],
    options: Mapping[str, Any],
) -> tuple[Int[np.ndarray, "n 2"], Float[np.ndarray, " n"]]:
    """Return the pairs of a collision feature, and the distances that it demands [m].

    Args:
        C: the world.
        symbol: a sum or rows over pairs.
        frames: of the feature.
        options: of the feature.

    Returns:
        Pairs of frame indices; their distances.
    """
    involved, positions, can_collide = _select_pairs(C, frames)
    pairs = involved[positions[can_collide]]
    if symbol.pair_margins is not None:
        return pairs, symbol.pair_margins(C, pairs)
    given: dict[str, Any] = {**symbol.options, **options}
    return pairs, _pair_margins(C, given["margin"], given["self_margin"], pairs)


def resolve_rows(
    C: Config,
    frames: Sequence[FrameName],
    margin: float,
    self_margin: float | None,
    smoothing: float,
) -> Resolved:
    """Return the symbol of `collision_rows` for the pairs of a world.

    Raises:
        ConfigError: if no pair can collide.
    """
    count = len(_select_pairs(C, frames).pairs)
    if count == 0:
        raise ConfigError(
            "FS.collisionRows: no pair of frames can collide; see C.collision_pairs()."
        )
    margins = partial(_pair_margins, C, margin, self_margin)
    return _resolve_pairs(
        collision_rows, "collisionRows", count, C, frames, margins, smoothing
    )


def _pair_margins(
    C: Config,
    margin: float,
    self_margin: float | None,
    pairs: Int[np.ndarray, "n 2"],
) -> Float[np.ndarray, " n"]:
    """Return the margin of each pair of frame indices."""
    margins = np.full(len(pairs), float(margin))
    if self_margin is not None:
        margins[C.own_links(pairs)] = self_margin
    return margins


def _resolve_pairs(
    fn: Callable[..., jax.Array],
    name: str,
    dim: int,
    C: Config,
    frames: Sequence[FrameName],
    margins: Callable[[np.ndarray], np.ndarray],
    smoothing: float,
) -> Resolved:
    smoothing_arrays = smoothing_params(name, smoothing)
    involved, pairs, can_collide = _select_pairs(C, frames)
    if not len(pairs):
        return _NO_PAIRS, involved, {}
    margin = np.where(can_collide, margins(involved[pairs]), -np.inf)
    warn_of_huge_shapes(C.frames, involved)
    shapes = [C.frames[i] for i in involved]
    symbol, params = _pairs_symbol(
        fn, name, dim, shapes, pairs, margin, smoothing_arrays
    )
    return symbol, involved, params


def pair_rows_symbol(
    shapes: Sequence[Frame], pairs: Int[np.ndarray, "n 2"], margin: float
) -> tuple[Symbol, dict[str, np.ndarray]]:
    """Return the symbol of `collision_rows` of given pairs of frames, and its params.

    Args:
        shapes: for each frame of the feature the frame whose shapes count.
        pairs: pairs, as indices among the frames.
        margin: required distance [m].
    """
    margins = np.full(len(pairs), float(margin))
    return _pairs_symbol(
        collision_rows, "rowsBetween", len(pairs), shapes, pairs, margins, {}
    )


def _pairs_symbol(
    fn: Callable[..., jax.Array],
    name: str,
    dim: int,
    shapes: Sequence[Frame],
    pairs: Int[np.ndarray, "n 2"],
    margin: Float[np.ndarray, " n"],
    smoothing: dict[str, np.ndarray],
) -> tuple[Symbol, dict[str, np.ndarray]]:
    groups = group_body_pairs(shapes, pairs)
    if fn is accumulated_collisions:
        # A sum has no order, so its pairs may be in that of the groups; then pairs of
        # frames and of bodies are the same and need no index.
        order = list(dict.fromkeys(k for g in groups for k in g.pair.tolist()))
        pairs, margin = pairs[order], margin[order]
        groups = group_body_pairs(shapes, pairs)
    counts = margin > -np.inf
    least = np.min(margin, where=counts, initial=np.inf)
    least = least if counts.any() else 0.0
    growth = np.where(counts, margin - least, -FAR)
    excess = max(0.0, np.max(growth))
    inflated = [_inflated(group, growth) for group in groups]
    kinds, params = pair_params(inflated, pairs, len(shapes), smoothing)
    params["margin"] = np.array(least)
    if fn is collision_rows:
        return pair_symbol(fn, name, kinds, dim, "m", _LINEARIZE_ROWS), params
    params["slack"] = np.array(0.0)
    params = add_bounding_balls(params, groups, pairs, len(shapes))
    if "reach" in params:
        params["reach"] = params["reach"] + excess
    symbol = pair_symbol(
        fn, name, kinds, dim, "m", _linearize_sum, _identity, is_nonnegative=True
    )
    return symbol, params


def _inflated(group: BodyPairs, growth: Float[np.ndarray, " pairs"]) -> BodyPairs:
    """Return pairs of bodies, each nearer by the growth of its pair of frames [m].

    A larger margin is the same as a larger radius: the distance is less by as much, and
    the wrench stays the same, since the witness point moves along the normal.
    """
    body = group.a.body
    grown = body._replace(radius=body.radius + growth[group.pair])
    return group._replace(a=replace(group.a, body=grown))


# A named function, because each new lambda would be a new key of `pair_symbol`.
def _identity(params: dict) -> dict:
    return params


def _linearize_sum(kinds, R, p, params):
    if "reach" in params:
        return _sum_of_near_pairs(kinds, R, p, params)
    return vmap_instances(_sum_of_all_pairs, kinds, R, p, params)


# The loop over near pairs has a length that depends on data, so that JAX cannot
# differentiate it in reverse. Derivatives go through the sum of all pairs, which has
# the same value.
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
    overlap = margin - near.distance
    y = jnp.sum(jnp.where(overlap > 0, overlap, 0.0))
    # Where nothing overlaps, the least gap takes the sum's place, so that the row has a
    # slope before anything collides.
    is_positive, largest = y > 0, jnp.max(overlap)
    nearest = jnp.where(largest > -slack, subgradient_weights(near.distance), 0.0)
    slope = jnp.where(is_positive, jnp.where(overlap > 0, -1.0, 0.0), -nearest)
    y = jnp.where(is_positive, y, jnp.maximum(largest, -slack))
    return y[None], *wrench_of_distance(near, slope, params)


def accumulated_collisions(
    kinds: CoreTypes, R: jax.Array, p: jax.Array, params: dict
) -> jax.Array:
    """Sum over all pairs that can collide of max(0, margin - distance) [m].

    Pairs of one robot, see `Config.own_links`, have `self_margin` if that is given.
    With `smoothing`, distances are smoothed as in `neg_distance`. With `slack`, the
    value is minus the least gap where nothing overlaps, down to minus the slack.
    """
    return _linearize_sum(kinds, R, p, params)[0]


def _linearize_rows(kinds, R, p, params):
    near = nearest_bodies(kinds, R, p, params, params["margin"] + EXACT_ROW_RANGE)
    # Each row has wrenches on two frames only. They are spread over all frames by a
    # product with 0, 1 or -1, because XLA runs scatters in sequence on CPUs.
    ends = params["at"][..., None] == np.arange(len(p))
    sign = ends[:, 0].astype(p.dtype) - ends[:, 1]
    wrench = -sign[..., None] * near.wrench[:, None]
    return params["margin"] - near.distance, wrench[..., :3], wrench[..., 3:]


_LINEARIZE_ROWS = partial(vmap_instances, _linearize_rows)


def collision_rows(
    kinds: CoreTypes, R: jax.Array, p: jax.Array, params: dict
) -> jax.Array:
    """For each pair that can collide, margin - distance [m]: an inequality.

    Pairs of one robot, see `Config.own_links`, have `self_margin` if that is given.
    It is exact for bodies whose bounding balls are within 0.1 m of the margin; beyond,
    the balls' distance is used, which is a lower bound. With `smoothing`, distances of
    all pairs are smoothed as in `neg_distance`.
    """
    return _linearize_rows(kinds, R, p, params)[0]


def no_pairs(R: jax.Array, p: jax.Array, **params: Array) -> jax.Array:
    """Sum over no pair at all [m], which is 0."""
    return jnp.zeros(1, p.dtype)


_NO_PAIRS = Symbol(
    no_pairs,
    "accumulatedCollisions",
    frames=(0, None),
    dim=1,
    unit="m",
    takes_frame_stack=True,
)
