"""Distances of pairs of frames on intervals of a path, bounded from below.

On an interval the distance of two bodies is at least that at its middle less how far
they move relative to each other in half of it (conservative advancement; Mirtich 1996).
Motion across the normal of their nearest points counts only as far as it curves: their
distance is at least that of the planes of this normal that enclose them, whose speed is
known at the middle.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from posewise.collision import Body, HalfSpace, contact, distance_lower_bound
from posewise.collision.broad_phase import bounding_radius
from posewise.compilation.compaction import (
    append,
    compact,
    empty_indices,
    fold_chunks,
    gather,
    scatter_min,
)
from posewise.compilation.materialize import materialize
from posewise.compilation.precision import full_matmul_precision
from posewise.compilation.program import compile_program
from posewise.features.collision_sums import BOUND_CHUNK, CONTACT_CHUNK
from posewise.features.pair_sources import (
    PairGroup,
    PairLocation,
    PairSource,
    bounding_ball_params,
    make_body,
)
from posewise.robots.contact.body_pairs import (
    BodyPairs,
    CoreTypes,
    group_body_pairs,
    pack,
)
from posewise.robots.kinematics.forward import (
    Kinematics,
    attach_to_nodes,
    attached_poses,
    forward_pass_nodes,
)
from posewise.robots.kinematics.motion_bounds import (
    MotionBounds,
    dof_rates,
    motion_bounds,
)
from posewise.robots.world.frame import Frame

BATCH = 64
"""Number of intervals measured in one call, the size that is compiled for (count). More
waste more work on the last batch, fewer take more calls."""


class FramePairs(NamedTuple):
    """Pairs of frames whose distances are bounded, and their bodies."""

    kinds: CoreTypes
    """Types of the cores of each group of pairs of bodies; static."""
    frames: Int[np.ndarray, " m"]
    """Indices of all frames in pairs."""
    params: dict[str, np.ndarray]
    """Arrays of the bodies, see `PairSource`."""
    pairs: Int[np.ndarray, "pairs 2"]
    """The frames of each pair, as indices into the world."""


def frame_pairs(frames: Sequence[Frame], pairs: Int[np.ndarray, "n 2"]) -> FramePairs:
    """Return pairs of frames (indices into a world), with their bodies."""
    involved, places = np.unique(pairs, return_inverse=True)
    places = places.reshape(-1, 2)
    groups = group_body_pairs([frames[i] for i in involved], places)
    kinds, params = pack(groups)
    params |= bounding_ball_params(groups, places, len(involved))
    params["core_radius"] = _core_radii(groups, params)
    params |= {"at": places, "margin": np.zeros(())}
    # A source has sets of params, here one for all intervals.
    params = {name: np.asarray(x)[None] for name, x in params.items()}
    return FramePairs(kinds, involved, params, pairs)


def _core_radii(
    groups: list[BodyPairs], params: dict[str, np.ndarray]
) -> Float[np.ndarray, " bodies"]:
    """Return the radius of the ball about the origin of each body's core [m].

    That of a half-space is 0; see `_plane_radii`.
    """
    radii = np.zeros(len(params["reach"]))
    for g, group in enumerate(groups):
        for side, bodies in (("a", group.a), ("b", group.b)):
            if bodies.kind[0] is not HalfSpace:
                radii[params[f"place_{side}{g}"]] = bounding_radius(bodies.body.core)
    return radii


class IntervalDistances(NamedTuple):
    """Distances of pairs of frames on intervals [m]."""

    lower: Float[np.ndarray, "n pairs"]
    """Lower bound on the whole interval, or the threshold if it is at least that."""
    middle: Float[np.ndarray, "n pairs"]
    """Distance in the middle, infinite where it was not needed."""


@full_matmul_precision
def _interval_distances(
    kinds: CoreTypes,
    K: Kinematics,
    frames: Any,
    params: dict[str, Any],
    q: jax.Array,
    step: jax.Array,
    threshold: jax.Array,
) -> Any:
    """Bound the distances on intervals around configurations.

    Args:
        kinds: types of cores; static.
        K: kinematics.
        frames: see `FramePairs`.
        params: see `FramePairs`.
        q: configurations in the middle of the intervals (n, nq).
        step: tangent vectors (n, nv) from the middles to the ends.
        threshold: distance of each pair (n, pairs) up to which it is bounded [m].
    """
    n, m = len(q), len(frames)
    nodes, twists = forward_pass_nodes(K, q)
    rows = jnp.repeat(jnp.arange(n), m)
    R, p = attached_poses(nodes, attach_to_nodes(K, rows, jnp.tile(frames, n)))
    source = PairSource(
        kinds, R.reshape(n, m, 3, 3), p.reshape(n, m, 3), params, 0, 0, 0, 0
    )
    poses = source.body_poses()
    body_frame = params["body_frame"][0] if source.has_unions else np.arange(m)
    moves = gather(
        jnp.asarray(K.tree.node_dof_mask),
        gather(K.frame_nodes, gather(frames, body_frame)),
    )
    centers = poses[..., 3].reshape(n, -1, 3)
    rates, radii = dof_rates(K, step), params["core_radius"]
    bounds = motion_bounds(K, twists, rates, centers, radii, moves)
    if any(HalfSpace in cores for cores in kinds):
        radii = _with_plane_radii(radii, params["reach"], centers, bounds)
        bounds = motion_bounds(K, twists, rates, centers, radii, moves)
    dofs = rates.shape[1]
    motion = _Motion(
        displacement=bounds.displacement.reshape(-1, dofs),
        curvature=bounds.curvature.reshape(-1, dofs),
        twists=twists * rates[..., None],
        moves=moves,
        centers=centers,
        total=bounds.displacement.sum(-1),
        radii=jnp.broadcast_to(radii, centers.shape[:2]).reshape(-1),
    )
    pairs = threshold.shape[1]
    limit = threshold.reshape(-1)
    found = limit[:, None], jnp.full((n * pairs, 1), jnp.inf, q.dtype)
    for g in range(len(kinds)):
        found = _bound_group(PairGroup(source, g, 0), poses, motion, limit, found)
    return tuple(x.reshape(n, pairs) for x in found)


def _with_plane_radii(
    radii: jax.Array, reach: jax.Array, centers: jax.Array, bounds: MotionBounds
) -> jax.Array:
    """Return radii (n, bodies) of cores in which half-spaces have those that count.

    The points of a half-space that are nearest to a body are no farther from its origin
    than the body gets. A ball of twice that distance cuts off nothing that changes the
    depth of a body in it, either.

    Args:
        radii: of the cores (1, bodies), 0 for half-spaces.
        reach: of the bodies (1, bodies), infinite for half-spaces.
        centers: origins of the bodies (n, bodies, 3).
        bounds: of the motion of the bodies, and of the origins of half-spaces.
    """
    is_plane = jnp.isinf(reach)
    moved = bounds.displacement.sum(-1)
    # The box of all origins holds each way between two of them.
    apart = jnp.linalg.norm(centers.max(1) - centers.min(1), axis=-1)
    far = (moved + jnp.where(is_plane, 0.0, reach)).max(1) + moved.max(1) + apart
    return jnp.where(is_plane, 2 * far[:, None], radii)


class _Motion(NamedTuple):
    """Motion of bodies on intervals."""

    displacement: jax.Array
    """Bound by dof (n · bodies, dofs); see `MotionBounds`."""
    curvature: jax.Array
    """Bound by dof (n · bodies, dofs)."""
    twists: jax.Array
    """Twist of each dof in the middle (n, dofs, 6)."""
    moves: jax.Array
    """True where a dof moves a body (bodies, dofs)."""
    centers: jax.Array
    """Origins of the bodies (n, bodies, 3)."""
    total: jax.Array
    """Sum of the displacements by all dofs (n, bodies)."""
    radii: jax.Array
    """Radius of the ball about the origin of each body's core (n · bodies,)."""

    def relative(self, bound: jax.Array, at: PairLocation) -> jax.Array:
        """Return the sum of bounds over the dofs that move one body of each pair."""
        only_a, only_b = self._exclusive(at)
        by_a, by_b = (gather(bound, k) for k in (at.body_a, at.body_b))
        return jnp.sum(jnp.where(only_a, by_a, 0.0) + jnp.where(only_b, by_b, 0.0), -1)

    def approach(self, at: PairLocation, normal: jax.Array) -> jax.Array:
        """Return how fast the planes of a normal that enclose bodies approach.

        Args:
            at: pairs of bodies.
            normal: from body b to body a.
        """
        twists = gather(self.twists, at.row)
        speed = turn = jnp.zeros(len(normal), normal.dtype)
        for only, body, sign in zip(
            self._exclusive(at), (at.body_a, at.body_b), (1, -1), strict=True
        ):
            twist = jnp.sum(jnp.where(only[..., None], twists, 0.0), 1)
            moment, rotation = twist[:, :3], twist[:, 3:]
            center = gather(self.centers.reshape(-1, 3), body)
            velocity = moment + jnp.cross(rotation, center)
            speed += sign * jnp.sum(normal * velocity, -1)
            across = jnp.sum(jnp.cross(normal, rotation) ** 2, -1)
            turn += jnp.sqrt(across) * gather(self.radii, body)
        return jnp.abs(speed) + turn

    def _exclusive(self, at: PairLocation) -> tuple[jax.Array, jax.Array]:
        """Return the dofs that move only a, and those that move only b."""
        a, b = (gather(self.moves, k % len(self.moves)) for k in (at.body_a, at.body_b))
        return a & ~b, b & ~a


def _bound_group(
    group: PairGroup,
    poses: jax.Array,
    motion: _Motion,
    limit: jax.Array,
    found: Any,
) -> Any:
    """Return the least bounds and distances after those of like pairs of bodies."""
    sizes = group.sizes()
    core_a, core_b = group.types
    middle = len(core_a._fields) + 1

    def bodies(k: jax.Array) -> tuple[PairLocation, Body, Body]:
        at = group.at(k)
        own = [gather(x, at.params_pair) for x in sizes]
        a = make_body(core_a, own[:middle], gather(poses, at.body_a))
        return at, a, make_body(core_b, own[middle:], gather(poses, at.body_b))

    def select_by_bound(pair: Any, is_valid: Any, near: Any) -> Any:
        at, a, b = materialize(bodies, pair)
        bound = materialize(lambda a, b: distance_lower_bound(a, b)[0], a, b)
        lower = bound - motion.relative(motion.displacement, at)
        return append(near, pair, is_valid & ~(lower >= gather(limit, at.slot)))

    def add_contacts(pair: Any, is_valid: Any, found: Any) -> Any:
        at, a, b = materialize(bodies, pair)
        out = contact(a, b)
        first_order = motion.relative(motion.displacement, at)
        bend = motion.relative(motion.curvature, at) / 2
        second_order = motion.approach(at, out.normal) + bend
        lower = out.distance - jnp.minimum(first_order, second_order)
        # What could not be computed bounds nothing.
        lower = jnp.where(jnp.isnan(lower), -jnp.inf, lower)
        values = (
            jnp.where(is_valid, lower, jnp.inf),
            jnp.where(is_valid, out.distance, jnp.inf),
        )
        return tuple(
            scatter_min(x, at.slot, value[:, None])
            for x, value in zip(found, values, strict=True)
        )

    near = materialize(partial(_may_be_near, group), motion, jnp.max(limit))
    nearer = fold_chunks(
        compact(near), BOUND_CHUNK, select_by_bound, empty_indices(len(near))
    )
    return fold_chunks(nearer, CONTACT_CHUNK, add_contacts, found)


def _may_be_near(group: PairGroup, motion: _Motion, limit: jax.Array) -> jax.Array:
    """Return for all pairs in all intervals whether balls may come within a limit."""

    # Intervals last, so that a gather along the bodies moves whole runs of numbers.
    def take(x: jax.Array, side: str) -> jax.Array:
        return gather(x.T, group.places(side)[0])

    square = sum(
        (take(motion.centers[..., i], "a") - take(motion.centers[..., i], "b")) ** 2
        for i in range(3)
    )
    reach = motion.total + group.source.params["reach"]
    far = take(reach, "a") + take(reach, "b") + limit
    return ((far > 0) & (square < far * far)).reshape(-1)


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
    for first in range(0, len(q), BATCH):
        n = min(BATCH, len(q) - first)
        # Rows that fill the batch have no range, so that nothing is measured in them.
        rows = first + np.minimum(np.arange(BATCH), n - 1)
        limit = np.where(np.arange(BATCH)[:, None] < n, threshold[rows], -np.inf)
        found = _compiled(
            pairs.kinds, K, pairs.frames, pairs.params, q[rows], step[rows], limit
        )
        least, measured = (np.asarray(x[:n], float) for x in found)
        # In float32 the limit itself comes back rounded, perhaps down.
        reaches = least >= limit[:n].astype(found[0].dtype)
        lower[first : first + n] = np.where(reaches, limit[:n], least)
        middle[first : first + n] = measured
    return IntervalDistances(lower, middle)
