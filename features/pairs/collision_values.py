"""Collisions of given pairs as functions of poses: their sum, or a row for each."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from posewise.collision.subgradients import subgradient_weights
from posewise.compilation.precision import full_matmul_precision
from posewise.compilation.zero_tangents import jvp_of_changes

from ..pair_types import PairTypes
from ..symbol import TracedArrays, ValueAndWrenches
from .contact_tangents import frame_contacts
from .frame_contacts import shapes_and_table
from .nearest import (
    nearest_bodies,
    signs_of_ends,
    vmap_instances,
    wrench_of_distance,
)
from .sums import PairSumBatch, sum_near_pairs
from .tables import FAR_DISTANCE

EXACT_ROW_RANGE = 0.1
"""Distance beyond the margin up to which collision rows are exact [m]. Larger values
measure more pairs exactly."""


# A named function, because each new lambda would be a new key of `pair_symbol`.
def kept_params(params: TracedArrays) -> TracedArrays:
    """Return the params of a sum: it needs no others."""
    return params


def linearize_sum(
    types: PairTypes, R: jax.Array, p: jax.Array, params: TracedArrays
) -> ValueAndWrenches:
    """Return the sums of `accumulated_collisions` of instances, with their wrenches."""
    if "smoothing" in params:
        return vmap_instances(_sum_of_smooth_overlaps, types, R, p, params)
    linearized: ValueAndWrenches = _sum_of_near_pairs(types, R, p, params)
    return linearized


_PairInputs = tuple[jax.Array, jax.Array, TracedArrays]
"""R, p and params."""


# The loop over near pairs has a length that depends on data, so that JAX cannot
# differentiate it in reverse. Derivatives go through the contacts of all pairs of
# frames, whose rule is made of arrays.
@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _sum_of_near_pairs(
    types: PairTypes, R: jax.Array, p: jax.Array, params: TracedArrays
) -> ValueAndWrenches:
    ((y, wrench),) = sum_near_pairs((types,), [PairSumBatch(R, p, params)])
    return y[..., None], wrench[..., None, :, :3], wrench[..., None, :, 3:]


def _sum_of_near_pairs_jvp(
    types: PairTypes, primals: _PairInputs, tangents: Any
) -> tuple[ValueAndWrenches, ValueAndWrenches]:
    sum_all = partial(vmap_instances, _sum_of_contacts, types)
    return jvp_of_changes(sum_all, primals, tangents)


_sum_of_near_pairs.defjvp(_sum_of_near_pairs_jvp, symbolic_zeros=True)


def _sum_of_contacts(
    types: PairTypes, R: jax.Array, p: jax.Array, params: TracedArrays
) -> ValueAndWrenches:
    margin = params["margin"]
    reach = jnp.where(margin > -jnp.inf, margin, 0.0) + params["slack"]
    shapes, table = shapes_and_table(params)
    row = frame_contacts(types, R[None], p[None], shapes, table, jnp.max(reach))
    near = jax.tree.map(lambda x: x[0], row)
    moment = jnp.cross(near.point_a, near.normal)
    wrench = jnp.concatenate([near.normal, moment], -1)
    return _sum_of_overlaps(near.distance, wrench, params, len(p))


def _sum_of_smooth_overlaps(
    types: PairTypes, R: jax.Array, p: jax.Array, params: TracedArrays
) -> ValueAndWrenches:
    near = nearest_bodies(types, R, p, params)
    return _sum_of_overlaps(near.distance, near.wrench, params, len(p))


@full_matmul_precision
def _sum_of_overlaps(
    distance: jax.Array, wrench: jax.Array, params: TracedArrays, m: int
) -> ValueAndWrenches:
    """Return the sum over pairs of frames, with its wrenches on m frames.

    Args:
        distance: of each pair of frames.
        wrench: derivatives of these by twists of the first frames.
        params: arrays of the symbol.
        m: number of frames.
    """
    margin, slack = params["margin"], params["slack"]
    counts = margin > -jnp.inf
    overlap = jnp.where(counts, margin, 0.0) - distance
    overlap = jnp.where(counts, overlap, -FAR_DISTANCE)
    y = jnp.sum(jnp.where(overlap > 0, overlap, 0.0))
    # Where nothing overlaps, the least gap takes the sum's place, so that the row has a
    # slope before anything collides.
    is_positive, largest = y > 0, jnp.max(overlap)
    nearest = jnp.where(largest > -slack, subgradient_weights(-overlap), 0.0)
    slope = jnp.where(is_positive, jnp.where(overlap > 0, -1.0, 0.0), -nearest)
    y = jnp.where(is_positive, y, jnp.maximum(largest, -slack))
    return y[None], *wrench_of_distance(wrench, slope, params, m)


def accumulated_collisions(
    types: PairTypes, R: jax.Array, p: jax.Array, params: TracedArrays
) -> jax.Array:
    """Sum over all pairs that can collide of max(0, margin - distance) [m].

    Pairs of one robot, see `Config.pairs.own_links`, have `self_margin` if that is
    given. With `smoothing`, distances are smoothed as in `neg_distance`. With `slack`,
    the value is minus the least gap where nothing overlaps, down to minus the slack.
    """
    return linearize_sum(types, R, p, params)[0]


def _linearize_rows(
    types: PairTypes, R: jax.Array, p: jax.Array, params: TracedArrays
) -> ValueAndWrenches:
    margin = params["margin"]
    counts = margin > -jnp.inf
    near = nearest_bodies(types, R, p, params, margin + EXACT_ROW_RANGE)
    # What does not count is far apart.
    y = jnp.where(counts, jnp.where(counts, margin, 0.0) - near.distance, -FAR_DISTANCE)
    # Each row has wrenches on two frames only. They are spread over all frames by a
    # product with 0, 1 or -1, because XLA runs scatters in sequence on CPUs.
    sign = jnp.where(counts[:, None], signs_of_ends(params, len(p)), 0.0)
    wrench = -sign[..., None] * near.wrench[:, None]
    return y, wrench[..., :3], wrench[..., 3:]


LINEARIZE_ROWS = partial(vmap_instances, _linearize_rows)


def collision_rows(
    types: PairTypes, R: jax.Array, p: jax.Array, params: TracedArrays
) -> jax.Array:
    """For each pair that can collide, margin - distance [m]: an inequality.

    Pairs of one robot, see `Config.pairs.own_links`, have `self_margin` if that is
    given. It is exact for bodies whose bounding balls are within 0.1 m of the margin;
    beyond, the balls' distance is used, which is a lower bound. With `smoothing`,
    distances of all pairs are smoothed as in `neg_distance`.
    """
    return _linearize_rows(types, R, p, params)[0]
