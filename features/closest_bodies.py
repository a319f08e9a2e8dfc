"""The nearest bodies of pairs of frames, by their collision shapes.

A frame with several shapes counts as their union: its distance is that of the nearest
two. Which kinds of shapes meet is static; sizes, poses and margins are data.
"""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.collision import Contact
from posewise.robots.contact.body_pairs import (
    BodyPairs,
    CoreTypes,
    evaluate_contacts,
    pack,
)

from .collision_sums import bounding_ball_params
from .errors import FeatureError
from .safe_math import subgradient_weights
from .symbol import Symbol


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
    """Smoothing as a number of pairs.

    None when exact, so that what smoothing takes is compiled only if wanted.
    """
    if not 0 <= smoothing < np.inf:
        raise FeatureError(
            f"{name}: smoothing is {smoothing!r}, expected metres, 0 (exact) or more."
        )
    return {"smoothing": np.array(float(smoothing))} if smoothing else {}


def pair_params(
    meets: list[BodyPairs], at: np.ndarray, frames: int, softness: dict[str, np.ndarray]
) -> tuple[CoreTypes, dict[str, np.ndarray]]:
    """Which kinds of bodies meet, and the numbers of pairs.

    Args:
        meets: pairs of bodies.
        at: of each pair of frames, their places (pairs, 2).
        frames: how many places there are.
        softness: see `smoothing_params`.
    """
    kinds, arrays = pack(meets)
    arrays |= _body_pair_indices(np.concatenate([m.pair for m in meets]), len(at))
    arrays |= _frame_incidence(at, frames) | softness
    return kinds, arrays


def add_bounding_balls(
    arrays: dict[str, np.ndarray], meets: list[BodyPairs], at: np.ndarray, frames: int
) -> dict[str, np.ndarray]:
    """Return the numbers with those of `sum_near_pairs`, where it applies."""
    if "smoothing" in arrays or "members" in arrays:
        return arrays
    return arrays | bounding_ball_params(meets, at, frames)


class NearestBodies(NamedTuple):
    """The nearest bodies of each pair of frames."""

    distance: Float[jax.Array, " pairs"]
    wrench: Float[jax.Array, "pairs 6"]
    """Derivative of the distance by the first frame's twist: force, then moment."""
    weights: Float[jax.Array, "pairs bodies"]
    contacts: Contact
    """Of all pairs of bodies, (pairs, bodies)."""

    def weighted_mean(self, x: jax.Array) -> jax.Array:
        """Of the nearest bodies."""
        share = self.weights.reshape(*self.weights.shape, *[1] * (x.ndim - 2))
        return jnp.sum(share * x, 1)


def nearest_bodies(
    kinds: CoreTypes, R, p, params: dict, cutoff: Any = None
) -> NearestBodies:
    """Of all pairs; beyond a cutoff [m] bounds of distances will do."""
    at = params["at"]
    out = evaluate_contacts(
        kinds, R[at], p[at], params, cutoff, params.get("smoothing")
    )
    if "members" not in params:
        moment = jnp.cross(out.point_a, out.normal)
        wrench = jnp.concatenate([out.normal, moment], -1)
        alone = jax.tree.map(lambda x: x[:, None], out)
        return NearestBodies(out.distance, wrench, jnp.ones_like(alone.distance), alone)
    contacts = jax.tree.map(lambda x: x[params["members"]], out)
    still = jax.lax.stop_gradient(contacts.distance)
    still = jnp.where(params["counts"], still, jnp.inf)
    share = subgradient_weights(still, 1)  # of several equally near ones
    moment = jnp.cross(contacts.point_a, contacts.normal)
    near = NearestBodies(contacts.distance, moment, share, contacts)
    wrench = jnp.concatenate([contacts.normal, moment], -1)
    return near._replace(
        distance=near.weighted_mean(contacts.distance),
        wrench=near.weighted_mean(wrench),
    )


def _body_pair_indices(pair: np.ndarray, count: int) -> dict[str, np.ndarray]:
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


def _frame_incidence(at: np.ndarray, frames: int) -> dict[str, np.ndarray]:
    """For each frame the pairs it is in, and with which sign they push it."""
    lists = [np.argwhere(at == k) for k in range(frames)]
    most = max(map(len, lists))
    pairs, signs = np.zeros((2, frames, most), int)
    for k, found in enumerate(lists):
        pairs[k, : len(found)] = found[:, 0]
        signs[k, : len(found)] = 1 - 2 * found[:, 1]
    return {"at": at, "in_pairs": pairs, "sign": signs.astype(float)}


def wrench_of_distance(near: NearestBodies, slope: jax.Array, params: dict):
    """Force and moment (1, m, 3) on each frame, of a row that is made of distances."""
    wrench = slope[:, None] * near.wrench
    total = jnp.sum(params["sign"][..., None] * wrench[params["in_pairs"]], 1)
    return total[None, :, :3], total[None, :, 3:]


def vmap_instances(fn, kinds, R, p, params):
    """Of one instance, or of many: then R and p have a leading axis, params may."""
    if p.ndim == 2:
        return fn(kinds, R, p, params)
    own = 0 if params["at"].ndim > 2 else None
    return jax.vmap(partial(fn, kinds), (0, 0, own))(R, p, params)
