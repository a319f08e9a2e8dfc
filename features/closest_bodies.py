"""Nearest bodies of pairs of frames, by their collision shapes.

A frame with several bodies counts as their union: the distance of two frames is that of
their nearest bodies. Types of bodies are static; sizes, poses and margins are data.
"""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from posewise.collision import Contact
from posewise.robots.contact.body_pairs import (
    BodyPairs,
    CoreTypes,
    evaluate_contacts,
    pack,
)

from .errors import FeatureError
from .pair_sources import bounding_ball_params
from .safe_math import subgradient_weights
from .symbol import Symbol


# Symbols compare by identity and are keys of compiled programs: worlds whose pairs have
# the same types get the same symbol, hence the same program.
@lru_cache(maxsize=512)
def pair_symbol(
    fn: Callable[..., Any],
    name: str,
    kinds: CoreTypes,
    dim: int,
    unit: str,
    value_and_wrenches: Callable[..., Any] | None = None,
    sum_params: Callable[[dict], dict] | None = None,
    is_nonnegative: bool = False,
) -> Symbol:
    """Return the symbol of a function of pair types, poses and params of pairs.

    Args:
        fn: `(kinds, R, p, params)` to y (D,).
        name: of the symbol.
        kinds: types of the cores of each pair; static, see `pack`.
        dim: D.
        unit: of the rows.
        value_and_wrenches: `(kinds, R, p, params)`; see `Symbol.value_and_wrenches`.
        sum_params: from the params to those of a sum; see `Symbol.pair_sum`.
        is_nonnegative: whether rows are never negative.
    """

    def with_kinds(fn: Callable[..., Any]) -> Callable[..., Any]:
        return lambda R, p, **params: fn(kinds, R, p, params)

    return Symbol(
        with_kinds(fn),
        name,
        frames=(0, None),
        dim=dim,
        unit=unit,
        takes_frame_stack=True,
        value_and_wrenches=value_and_wrenches and with_kinds(value_and_wrenches),
        pair_sum=sum_params and (kinds, sum_params),
        is_nonnegative=is_nonnegative,
    )


def smoothing_params(name: str, smoothing: float) -> dict[str, np.ndarray]:
    """Return the smoothing [m] as params of pairs.

    Exact distances have no such params, so that smoothing is compiled only if needed.

    Raises:
        FeatureError: for a smoothing that is negative or not finite.
    """
    if not 0 <= smoothing < np.inf:
        raise FeatureError(
            f"{name}: smoothing is {smoothing!r}, expected metres, 0 (exact) or more."
        )
    return {"smoothing": np.array(float(smoothing))} if smoothing else {}


def pair_params(
    groups: list[BodyPairs],
    pairs: Int[np.ndarray, "pairs 2"],
    frame_count: int,
    smoothing: dict[str, np.ndarray],
) -> tuple[CoreTypes, dict[str, np.ndarray]]:
    """Return the types of pairs of bodies, and the params of pairs of frames.

    Args:
        groups: pairs of bodies.
        pairs: the two frames of each pair, as indices among the symbol's frames.
        frame_count: number of the symbol's frames.
        smoothing: see `smoothing_params`.
    """
    kinds, params = pack(groups)
    pair_of_bodies = np.concatenate([group.pair for group in groups])
    params |= _body_pair_indices(pair_of_bodies, len(pairs))
    params |= _frame_incidence(pairs, frame_count) | smoothing
    return kinds, params


def add_bounding_balls(
    params: dict[str, np.ndarray],
    groups: list[BodyPairs],
    pairs: Int[np.ndarray, "pairs 2"],
    frame_count: int,
) -> dict[str, np.ndarray]:
    """Return the params with those of `sum_near_pairs`, where it applies.

    It applies to exact distances.
    """
    if "smoothing" in params:
        return params
    return params | bounding_ball_params(groups, pairs, frame_count)


class NearestBodies(NamedTuple):
    """Nearest bodies of each pair of frames."""

    distance: Float[jax.Array, " pairs"]
    """Signed distance [m]."""
    wrench: Float[jax.Array, "pairs 6"]
    """Derivative of the distance with respect to a twist of the first frame about the
    world's origin: force, then moment."""
    weights: Float[jax.Array, "pairs bodies"]
    """Share of each pair of bodies among the nearest ones."""
    contacts: Contact
    """Contacts of all pairs of bodies, (pairs, bodies)."""

    def weighted_mean(self, x: jax.Array) -> jax.Array:
        """Return the mean of (pairs, bodies, …) over the nearest bodies."""
        weights = self.weights.reshape(*self.weights.shape, *[1] * (x.ndim - 2))
        return jnp.sum(weights * x, 1)


def nearest_bodies(
    kinds: CoreTypes,
    R: Float[jax.Array, "m 3 3"],
    p: Float[jax.Array, "m 3"],
    params: dict,
    cutoff: jax.Array | None = None,
) -> NearestBodies:
    """Return the nearest bodies of all pairs of frames.

    Args:
        kinds: types of the cores of each pair; static.
        R: rotations (m, 3, 3) of the frames.
        p: positions (m, 3).
        params: see `pair_params`.
        cutoff: distance [m] beyond which lower bounds of distances suffice.
    """
    # The derivative of a distance holds its witness points fixed on their bodies, as
    # they are optimal (envelope theorem; Danskin 1967). A twist (v, ω) moves the point
    # p_a of the first frame by v + ω × p_a, so d changes by n·v + (p_a × n)·ω. Frames
    # that move together keep their distance: the second frame has the opposite wrench.
    pairs = params["at"]
    out = evaluate_contacts(
        kinds, R[pairs], p[pairs], params, cutoff, params.get("smoothing")
    )
    if "members" not in params:
        # One pair of bodies for each pair of frames: there is nothing to select.
        moment = jnp.cross(out.point_a, out.normal)
        wrench = jnp.concatenate([out.normal, moment], -1)
        contacts = jax.tree.map(lambda x: x[:, None], out)
        weights = jnp.ones_like(contacts.distance)
        return NearestBodies(out.distance, wrench, weights, contacts)
    contacts = jax.tree.map(lambda x: x[params["members"]], out)
    # Equally near bodies share the derivative: min has a kink there, and the mean of
    # their derivatives is one of its subgradients.
    distance = jax.lax.stop_gradient(contacts.distance)
    distance = jnp.where(params["counts"], distance, jnp.inf)
    weights = subgradient_weights(distance, 1)
    moment = jnp.cross(contacts.point_a, contacts.normal)
    # Distance and wrench are placeholders until the mean by weight replaces them.
    near = NearestBodies(contacts.distance, moment, weights, contacts)
    wrench = jnp.concatenate([contacts.normal, moment], -1)
    return near._replace(
        distance=near.weighted_mean(contacts.distance),
        wrench=near.weighted_mean(wrench),
    )


def _body_pair_indices(pair: np.ndarray, count: int) -> dict[str, np.ndarray]:
    """Return the pairs of bodies of each pair of frames, and which entries count.

    The result is empty if each pair of frames has one pair of bodies, in one order.

    Args:
        pair: the pair of frames of each pair of bodies.
        count: number of pairs of frames.
    """
    # Pairs of bodies that are in the order of the pairs of frames need no gather.
    if np.array_equal(pair, np.arange(count)):
        return {}
    lists = [np.flatnonzero(pair == k) for k in range(count)]
    width = max(map(len, lists))
    counts = np.arange(width) < np.array([len(x) for x in lists])[:, None]
    # Lists are filled up with their first entry, which is a valid index.
    padded = [np.concatenate([x, np.full(width - len(x), x[0])]) for x in lists]
    return {"members": np.stack(padded), "counts": counts}


def _frame_incidence(
    pairs: Int[np.ndarray, "pairs 2"], frame_count: int
) -> dict[str, np.ndarray]:
    """Return for each frame the pairs it is in, and the sign of their wrench on it.

    Padded entries have sign 0.
    """
    lists = [np.argwhere(pairs == k) for k in range(frame_count)]
    width = max(map(len, lists))
    in_pairs, signs = np.zeros((2, frame_count, width), int)
    for k, incidences in enumerate(lists):
        pair, side = incidences.T
        in_pairs[k, : len(pair)] = pair
        signs[k, : len(pair)] = 1 - 2 * side
    return {"at": pairs, "in_pairs": in_pairs, "sign": signs.astype(float)}


def wrench_of_distance(
    near: NearestBodies, slope: Float[jax.Array, " pairs"], params: dict
) -> tuple[Float[jax.Array, "1 m 3"], Float[jax.Array, "1 m 3"]]:
    """Return force and moment on each frame, of one row that depends on distances.

    Args:
        near: nearest bodies of each pair.
        slope: derivative of the row with respect to each distance.
        params: see `pair_params`.
    """
    # A gather over padded lists, because XLA runs scatters in sequence on CPUs.
    wrench = slope[:, None] * near.wrench
    total = jnp.sum(params["sign"][..., None] * wrench[params["in_pairs"]], 1)
    return total[None, :, :3], total[None, :, 3:]


def vmap_instances(
    fn: Callable[..., Any],
    kinds: CoreTypes,
    R: Float[jax.Array, "*instances m 3 3"],
    p: Float[jax.Array, "*instances m 3"],
    params: dict,
) -> Any:
    """Call a function for one instance, or map it over the leading axis of many.

    With many instances, params may have the leading axis too, or be shared.
    """
    if p.ndim == 2:
        return fn(kinds, R, p, params)
    params_axis = 0 if params["at"].ndim > 2 else None
    return jax.vmap(partial(fn, kinds), (0, 0, params_axis))(R, p, params)
