"""Check of many configurations whether they keep all distances, by bounds first.

Most pairs of bodies are far apart for certain, and in most configurations that are lost
some pair is too near for certain. Exact distances are measured of what is left.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Bool, Float

from posewise.collision import Body, contact
from posewise.compilation.arrays import Array
from posewise.compilation.compaction import empty_indices, gather, scatter_min
from posewise.compilation.precision import full_matmul_precision
from posewise.features.pair_types import PairTypes
from posewise.features.pairs.near_pairs import PairBatch, PairLocation
from posewise.features.pairs.sources import PairSource
from posewise.features.pairs.tables import on_nodes
from posewise.robots.kinematics.forward import Kinematics, forward_pass_nodes

PlaceCheck = Callable[[Float[Array, "n nq"], Bool[Array, " n"]], Bool[jax.Array, " n"]]
"""From configurations, and a mask of those that count, to whether each keeps all
distances."""


def place_check(
    types: PairTypes,
    K: Kinematics,
    params: dict[str, Any],
    required: Float[Array, " ends"],
) -> PlaceCheck:
    """Return a check of configurations, for use within a program.

    Args:
        types: of the pairs.
        K: kinematics of the world.
        params: see `FramePairs`.
        required: least distance of each pair of frames [m]; negative infinity for
            places that no pair takes.
    """
    # A source has sets of params, here one for all configurations.
    of_nodes = {name: jnp.asarray(x)[None] for name, x in on_nodes(K, params).items()}

    @full_matmul_precision
    def is_free(
        q: Float[Array, "n nq"], counts: Bool[Array, " n"]
    ) -> Bool[jax.Array, " n"]:
        poses, _ = forward_pass_nodes(K, q)
        source = PairSource(types, *poses, of_nodes)
        batch = PairBatch([source])
        reach = source.of_pairs(jnp.asarray(required)[None])
        nothing = empty_indices(batch.total.place)
        near, is_lost = source.append_near(nothing, 0, reach)
        is_lost |= ~counts

        def limit(location: PairLocation) -> Array:
            return gather(required, location.end - location.row * len(required))

        def may_count(location: PairLocation, bound: Array) -> Array:
            is_near = ~(bound >= limit(location))
            return is_near & ~gather(is_lost, location.row)

        keeps = batch.fold_near(
            near,
            may_count,
            partial(_add_contacts, limit),
            jnp.where(is_lost, 0.0, 1.0).astype(q.dtype)[:, None],
        )
        return keeps[:, 0] > 0

    return is_free


def _add_contacts(
    limit: Callable[[PairLocation], Array],
    location: PairLocation,
    a: Body,
    b: Body,
    is_valid: Array,
    keeps: jax.Array,
) -> jax.Array:
    """Return 0 for configurations in which pairs are too near, too."""
    # What could not be computed may be near.
    is_lost = is_valid & ~(contact(a, b).distance >= limit(location))
    value = jnp.where(is_lost, 0.0, 1.0).astype(keeps.dtype)
    return scatter_min(keeps, location.row, value[:, None])
