"""Distances of pairs of frames on intervals of a path, bounded from below.

The bounds are those of `features.pairs.body_motion`.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from posewise.collision import Body, contact
from posewise.compilation.arrays import Array
from posewise.compilation.compaction import empty_indices, gather, scatter_min
from posewise.compilation.precision import full_matmul_precision
from posewise.compilation.program import compile_program
from posewise.features.pair_types import PairTypes
from posewise.features.pairs.body_motion import BodyMotion, bounds_of_motion
from posewise.features.pairs.near_pairs import PairBatch, PairLocation
from posewise.features.pairs.sources import PairSource
from posewise.features.pairs.tables import (
    MIN_WORLD_SIZE,
    on_nodes,
    table_of_frames,
)
from posewise.robots.contact.body_table import PLANE_KINDS
from posewise.robots.kinematics.forward import Kinematics, forward_pass_nodes
from posewise.robots.kinematics.motion_bounds import MotionBounds, dof_rates
from posewise.robots.kinematics.tree import KinematicTree
from posewise.robots.world.frame import Frame

BATCH = 64
"""Number of intervals measured in one call, the size that is compiled for (count). More
waste more work on the last batch, fewer take more calls."""


class FramePairs(NamedTuple):
    """Pairs of frames whose distances are bounded, and their bodies."""

    types: PairTypes
    """Static properties of the pairs."""
    params: dict[str, np.ndarray]
    """Arrays of a `FramePairTable` of all frames of a world."""
    pairs: Int[np.ndarray, "pairs 2"]
    """The frames of each pair, as indices into the world."""


def frame_pairs(
    frames: Sequence[Frame], tree: KinematicTree, pairs: Int[np.ndarray, "n 2"]
) -> FramePairs:
    """Return pairs of frames (indices into a world), with their bodies.

    Args:
        frames: all frames of the world.
        tree: of the world.
        pairs: of frame indices.
    """
    table = table_of_frames(frames, pairs, np.zeros(len(pairs)))
    types, params = table.arrays(("intervals", tree), MIN_WORLD_SIZE)
    return FramePairs(types, params, pairs)


class IntervalDistances(NamedTuple):
    """Distances of pairs of frames on intervals [m]."""

    lower: Float[np.ndarray, "n pairs"]
    """Lower bound on the whole interval, or the threshold if it is at least that."""
    middle: Float[np.ndarray, "n pairs"]
    """Distance in the middle, infinite where it was not needed."""


@full_matmul_precision
def _interval_distances(
    types: PairTypes,
    K: Kinematics,
    params: dict[str, Any],
    q: jax.Array,
    step: jax.Array,
    threshold: Array,
) -> Any:
    """Bound the distances on intervals around configurations.

    Args:
        types: of the pairs; static.
        K: kinematics.
        params: see `FramePairs`.
        q: configurations in the middle of the intervals (n, nq).
        step: tangent vectors (n, nv) from the middles to the ends.
        threshold: distance of each pair (n, pairs) up to which it is bounded [m].
    """
    nodes, twists = forward_pass_nodes(K, q)
    # A source has sets of params, here one for all intervals.
    of_nodes = {name: jnp.asarray(x)[None] for name, x in on_nodes(K, params).items()}
    source = PairSource(types, *nodes, of_nodes)
    batch = PairBatch([source])
    moves = gather(jnp.asarray(K.tree.node_dof_mask), of_nodes["body_frame"][0])
    poses = source.body_poses()
    centers = poses.centers
    rates = dof_rates(K, step)
    size = of_nodes["core_radius"], of_nodes["radius"]
    has_planes = not PLANE_KINDS.isdisjoint(types.kinds)
    shape = centers.shape[:2]
    nothing = jnp.zeros((*shape, rates.shape[1]), centers.dtype)
    # Places of a motion that are checked one by one do not move.
    bounds, radii = jax.lax.cond(
        jnp.any(rates != 0),
        lambda: bounds_of_motion(has_planes, K, twists, rates, centers, size, moves),
        lambda: (MotionBounds(nothing, nothing), jnp.zeros(shape, centers.dtype)),
    )
    motion = BodyMotion.of(bounds, twists * rates[..., None], moves, centers, radii)
    limit = threshold.reshape(-1)
    reach = jnp.max(threshold, 0, keepdims=True)
    near, _ = source.append_near(
        empty_indices(batch.total.place),
        0,
        source.of_pairs(reach),
        bounds.displacement.sum(-1),
        poses,
    )
    beyond: tuple[Array, ...] = (
        limit[:, None],
        jnp.full((len(limit), 1), jnp.inf, q.dtype),
    )
    measured = batch.fold_near(
        near,
        partial(_may_be_nearer, motion, limit),
        partial(_add_contacts, motion),
        beyond,
    )
    return tuple(x.reshape(threshold.shape) for x in measured)


def _may_be_nearer(
    motion: BodyMotion, limit: Array, at: PairLocation, bound: jax.Array
) -> jax.Array:
    """Return which pairs of bodies may come nearer than the limit of their frames.

    Args:
        motion: of the bodies.
        limit: of each pair of frames on each interval (n · pairs,) [m].
        at: the pairs.
        bound: lower bound of their distance in the middle [m].
    """
    lower = bound - motion.relative(motion.displacement, at)
    return ~(lower >= gather(limit, at.end))


def _add_contacts(
    motion: BodyMotion,
    at: PairLocation,
    a: Body,
    b: Body,
    is_valid: Array,
    least: tuple[Array, ...],
) -> tuple[Array, ...]:
    """Return the least bounds and distances after those of pairs of bodies."""
    out = contact(a, b)
    lower = out.distance - motion.loss(at, out.normal)
    # What could not be computed bounds nothing.
    lower = jnp.where(jnp.isnan(lower), -jnp.inf, lower)
    values = (
        jnp.where(is_valid, lower, jnp.inf),
        jnp.where(is_valid, out.distance, jnp.inf),
    )
    return tuple(
        scatter_min(x, at.end, value[:, None])
        for x, value in zip(least, values, strict=True)
    )


_compiled = compile_program(_interval_distances, fetches=True)


def interval_distances(
    K: Kinematics,
    pairs: FramePairs,
    q: Float[np.ndarray, "n nq"],
    step: Float[np.ndarray, "n nv"],
    threshold: Float[np.ndarray, "n pairs"],
) -> IntervalDistances:
    """Return the distances of pairs on intervals around configurations.

    Args:
        K: kinematics of the world.
        pairs: pairs of frames.
        q: configurations in the middle of the intervals.
        step: tangent vectors from the middles to the ends.
        threshold: distance of each pair up to which it is bounded [m]; negative
            infinity for pairs that do not count.
    """
    lower, middle = np.array(threshold, float), np.full_like(threshold, np.inf)
    ends = len(pairs.params["margin"])
    for first in range(0, len(q), BATCH):
        n = min(BATCH, len(q) - first)
        # Rows that fill the batch have no range, so that nothing is measured in them.
        rows = first + np.minimum(np.arange(BATCH), n - 1)
        limit = np.full((BATCH, ends), -np.inf)
        limit[:n, : len(pairs.pairs)] = threshold[rows[:n]]
        bounded = _compiled(pairs.types, K, pairs.params, q[rows], step[rows], limit)
        least, measured = (x[:n, : len(pairs.pairs)] for x in bounded)
        asked = threshold[rows[:n]]
        # In float32 the limit itself comes back rounded, perhaps down.
        reaches = least >= asked.astype(least.dtype)
        lower[first : first + n] = np.where(reaches, asked, least)
        middle[first : first + n] = measured
    return IntervalDistances(lower, middle)
