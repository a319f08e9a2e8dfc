"""Sums over near pairs of frames, with work that grows with near pairs only.

Bounding balls select the pairs of bodies that may be near; only these are posed and
measured exactly. All instances of a batch made by vmap share one list of pairs. A frame
with several bodies counts as their union: of each pair of frames, the nearest bodies.

Where nothing overlaps a sum is zero, and has no slope towards what is near. With a
slack it is minus the least gap instead, down to minus the slack: the same inequality,
with a slope.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_batching import custom_vmap
from jaxtyping import Float, Int

from posewise.collision import Body, HalfSpace, contact, distance_lower_bound
from posewise.collision.broad_phase import bounding_radius
from posewise.compilation.arrays import Array
from posewise.compilation.compaction import (
    append,
    compact,
    empty_indices,
    fold_chunks,
    gather,
    scatter_add,
    scatter_min,
)
from posewise.compilation.materialize import materialize
from posewise.robots.contact.body_pairs import BodyPairs, CoreTypes

BOUND_CHUNK = 32
"""Number of pairs whose distance is bounded at a time."""
CONTACT_CHUNK = 8
"""Number of pairs that are measured exactly at a time. Larger chunks vectorise better,
but waste more work on the last one."""


def bounding_ball_params(
    groups: list[BodyPairs], pairs: Int[np.ndarray, "pairs 2"], frame_count: int
) -> dict[str, np.ndarray]:
    """Return pose and ball radius of each body, and the bodies of each pair.

    Args:
        groups: pairs of bodies.
        pairs: the two frames of each pair, as indices among the symbol's frames.
        frame_count: number of the symbol's frames.
    """
    # Stored by body, since a body that is in many pairs is then posed once.
    place: dict[tuple[int, int], int] = {}
    pose, reach = [], []
    params = {}
    for g, group in enumerate(groups):
        for side, column in (("a", 0), ("b", 1)):
            bodies = getattr(group, side)
            # Bodies of a pair are in the order of their types, which is not always that
            # of the frames; flipped pairs have body a on their second frame.
            columns = np.where(group.is_flipped, 1 - column, column)
            frame = pairs[group.pair, columns]
            # A half-space has no bounding ball, so it is near everything.
            is_plane = bodies.kind[0] is HalfSpace
            size = np.inf if is_plane else bounding_radius(bodies.body.core)
            radius = size + bodies.body.radius
            keys = list(zip(frame.tolist(), bodies.number.tolist(), strict=True))
            for k, key in enumerate(keys):
                if key not in place:
                    place[key] = len(place)
                    R, p = bodies.body.R[k], bodies.body.p[k]
                    pose.append(np.concatenate([R, p[:, None]], 1))
                    reach.append(radius[k])
            params[f"place_{side}{g}"] = np.array([place[key] for key in keys])
    # Bodies in the order of their frames, which need no index if each frame has one.
    frame_of_body = np.array([frame for frame, _ in place])
    order = np.argsort(frame_of_body, kind="stable")
    rank = np.argsort(order)
    params = {name: rank[index] for name, index in params.items()}
    params |= {"pose": np.array(pose)[order], "reach": np.array(reach)[order]}
    if not np.array_equal(frame_of_body[order], np.arange(frame_count)):
        params["body_frame"] = frame_of_body[order]
    return params


class PairSumBatch(NamedTuple):
    """Rows that are sums over the same pairs of frames."""

    R: Float[jax.Array, "*batch frames 3 3"]
    p: Float[jax.Array, "*batch frames 3"]
    params: dict[str, jax.Array]
    """Arrays that may have the first few of the batch axes."""


PairSum = tuple[Float[jax.Array, "*batch"], Float[jax.Array, "*batch frames 6"]]
"""Σ max(0, margin - distance) [m], and its derivative with respect to a twist of each
frame: force, then moment."""


def sum_near_pairs(
    kinds: tuple[CoreTypes, ...], rows: Sequence[PairSumBatch]
) -> list[PairSum]:
    """Return the sums of several batches; like pairs of all batches share one loop.

    Args:
        kinds: for each batch the types of cores of its pairs; static.
        rows: the batches; their params have a `margin` and a `slack` [m].
    """
    return _batched_sums(kinds)(list(rows))


@lru_cache(maxsize=256)
def _batched_sums(kinds: tuple[CoreTypes, ...]) -> Any:
    # By default, vmap would run the loops over near pairs for as long as any instance
    # needs, with all instances in each pass.
    @custom_vmap
    def totals(batches: Any) -> Any:
        sources, row, frame, body, slot = [], 0, 0, 0, 0
        for types, (R, p, params) in zip(kinds, batches, strict=True):
            batch_axes, params_axes = p.ndim - 2, params["reach"].ndim - 1
            params = {k: _flatten_axes(v, params_axes) for k, v in params.items()}
            R, p = _flatten_axes(R, batch_axes), _flatten_axes(p, batch_axes)
            source = _SumSource(types, R, p, params, row, frame, body, slot)
            sources.append(source)
            row, frame = row + source.n, frame + source.n * source.frames
            body, slot = body + source.n * source.bodies, slot + source.n * source.slots
        return [
            (y.reshape(p.shape[:-2]), wrench.reshape(*p.shape[:-1], 6))
            for (y, wrench), (_, p, _) in zip(
                _sum_sources(sources), batches, strict=True
            )
        ]

    @totals.def_vmap
    def add_batch_axis(size: int, is_batched: Any, batches: Any) -> Any:
        """Make the mapped axis one more batch axis instead of a loop or a select."""

        def broadcast(x: Any, has_axis: bool) -> Any:
            return x if has_axis else jnp.broadcast_to(x, (size, *jnp.shape(x)))

        mapped = []
        for (R, p, params), (R_has, p_has, params_have) in zip(
            batches, *is_batched, strict=True
        ):
            R, p = broadcast(R, R_has), broadcast(p, p_has)
            # Params that no axis maps stay shared; those with axes need this one too.
            if params["reach"].ndim > 1 or any(params_have.values()):
                params = {k: broadcast(v, params_have[k]) for k, v in params.items()}
            mapped.append(PairSumBatch(R, p, params))
        return totals(mapped), [(True, True)] * len(mapped)

    return totals


def _flatten_axes(x: jax.Array, axes: int) -> jax.Array:
    """Merge the first axes into one, which is new if there are none."""
    return x.reshape(-1, *x.shape[axes:])


class _SumSource(NamedTuple):
    """A batch of n rows with m sets of params, each shared by n / m successive rows."""

    kinds: CoreTypes
    R: jax.Array
    p: jax.Array
    params: dict[str, jax.Array]
    first_row: int
    """Index of its first row among the rows of all sources."""
    first_frame: int
    """Index of its first frame among the frames of all rows of all sources."""
    first_body: int
    """Index of its first body among the bodies of all rows of all sources."""
    first_slot: int
    """Index of its first pair of frames among those of all rows of all sources."""

    @property
    def n(self) -> int:
        """Return the number of rows."""
        return len(self.p)

    @property
    def frames(self) -> int:
        """Return the number of frames of each row."""
        return self.p.shape[1]

    @property
    def bodies(self) -> int:
        """Return the number of bodies of each row."""
        return self.params["reach"].shape[1]

    @property
    def slots(self) -> int:
        """Return the number of pairs of frames of each row."""
        return self.params["at"].shape[1]

    @property
    def has_unions(self) -> bool:
        """Whether a frame has several bodies."""
        return "body_frame" in self.params

    def body_frames(self, params_row: jax.Array, body: jax.Array) -> jax.Array:
        """Return the frames of bodies, as indices among a row's frames."""
        if not self.has_unions:
            return body
        place = params_row * np.int32(self.bodies) + body
        return gather(self.params["body_frame"].reshape(-1), place)

    def body_poses(self) -> jax.Array:
        """Return the poses of the bodies of all rows, (rows · bodies, 3, 4)."""
        R, p = (x.reshape(-1, self.shared, *x.shape[1:]) for x in (self.R, self.p))
        if self.has_unions:
            frame = self.params["body_frame"][:, None, :, None]
            take = partial(jnp.take_along_axis, axis=2, mode="promise_in_bounds")
            R, p = take(R, frame[..., None]), take(p, frame)
        poses = materialize(_body_poses, R, p, self.params["pose"])
        return poses.reshape(-1, 3, 4)

    @property
    def shared(self) -> int:
        """Return the number of rows that share a set of params."""
        return self.n // len(self.params["margin"])

    def of_rows(self, name: str) -> jax.Array:
        """Return a param of each row."""
        return jnp.repeat(self.params[name], self.shared)


class _PairGroup(NamedTuple):
    """Pairs of a source with the same types of cores."""

    source: _SumSource
    g: int
    first: int
    """Index of its first pair among like pairs in the params of all sources."""

    @property
    def types(self) -> tuple[Any, Any]:
        """Return the types of the two cores."""
        return self.source.kinds[self.g]

    @property
    def pairs(self) -> int:
        """Return the number of pairs in all rows."""
        return self.places("a").size * self.source.shared

    def sizes(self) -> list[jax.Array]:
        """Return sizes and radius of a, then of b, of each pair in all params."""
        sizes = []
        for side, core in zip("ab", self.types, strict=True):
            names = (f"{side}{self.g}_{k}" for k in range(len(core._fields) + 1))
            sizes += [self.source.params[name] for name in names]
        return [_flatten_axes(x, 2) for x in sizes]

    def places(self, side: str) -> jax.Array:
        """Return the body of each pair on a side, as index among a row's bodies."""
        return self.source.params[f"place_{side}{self.g}"]

    def at(self, k: jax.Array) -> "_PairLocation":
        """Locate the k-th pair, counted over all rows of the source."""
        # Division of 32-bit integers is faster.
        s, k = self.source, k.astype(np.int32)
        # k counts an array (m, pairs, shared), in the layout of `_balls_are_near`.
        pair = jax.lax.div(k, np.int32(s.shared))
        params_row = jax.lax.div(pair, np.int32(self.places("a").shape[1]))
        row = params_row * s.shared + k - pair * s.shared
        body_a, body_b = (gather(self.places(x).reshape(-1), pair) for x in "ab")
        first_body = row * s.bodies + s.first_body
        first_frame = row * s.frames + s.first_frame
        return _PairLocation(
            row=row + s.first_row,
            slot=row * s.slots + s.first_slot + self.slot(pair),
            params_pair=pair + self.first,
            body_a=first_body + body_a,
            body_b=first_body + body_b,
            frame_a=first_frame + s.body_frames(params_row, body_a),
            frame_b=first_frame + s.body_frames(params_row, body_b),
        )

    def slot(self, pair: jax.Array) -> jax.Array:
        """Return the pair of frames of each pair of bodies, as index among a row's."""
        return gather(self.source.params[f"pair{self.g}"].reshape(-1), pair)

    def near(self, poses: jax.Array) -> jax.Array:
        """Return for all pairs in all rows whether their balls are near."""
        s = self.source
        own_poses = poses[s.first_body : s.first_body + s.n * s.bodies]
        own_poses = own_poses.reshape(-1, s.shared, s.bodies, *own_poses.shape[1:])
        reach = s.params["margin"] + s.params["slack"]
        return _balls_are_near(
            own_poses, s.params["reach"], reach, self.places("a"), self.places("b")
        )


class _PairLocation(NamedTuple):
    """Indices of pairs of bodies among those of all sources."""

    row: jax.Array
    slot: jax.Array
    """Index among the pairs of frames of all rows."""
    params_pair: jax.Array
    """Index among like pairs in the params of all sources."""
    body_a: jax.Array
    body_b: jax.Array
    frame_a: jax.Array
    frame_b: jax.Array


class _Overlaps(NamedTuple):
    """Overlaps of pairs with their margin, and the frames that they push apart."""

    row: jax.Array
    overlap: jax.Array
    """Margin minus distance [m], negative where there is a gap."""
    force: jax.Array
    """Derivative of the overlap by a twist of frame a about the origin, (pairs, 6)."""
    frame_a: jax.Array
    frame_b: jax.Array


def _sum_sources(sources: list[_SumSource]) -> list[tuple[jax.Array, jax.Array]]:
    """Return y and wrenches of all rows of each source."""
    poses = _concatenate([s.body_poses() for s in sources])
    margin = _concatenate([s.of_rows("margin") for s in sources])
    slack = _concatenate([s.of_rows("slack") for s in sources])
    has_unions = any(s.has_unions for s in sources)
    last = sources[-1]
    frame_count = last.first_frame + last.n * last.frames
    slot_count = last.first_slot + last.n * last.slots
    zeros = partial(jnp.zeros, dtype=poses.dtype)
    # Of each pair of frames with several bodies: gap, force, row and frames of the
    # nearest bodies, which are known only after all bodies have been measured.
    unknown = zeros((slot_count if has_unions else 0, 10))
    unions = unknown + np.array([np.inf, *[0] * 9])
    sums = _Sums(
        zeros((len(slack), 1)),
        zeros((frame_count, 6)),
        jnp.concatenate([slack[:, None], zeros((len(slack), 8))], 1),
    )
    like_groups: dict[Any, list[_PairGroup]] = {}
    for s in sources:
        for g, types in enumerate(s.kinds):
            # Like pairs have equal types and equal numbers of vertices, so that their
            # sizes can be stacked and one program measures all of them.
            shapes = tuple(x.shape[1:] for x in _PairGroup(s, g, 0).sizes())
            groups = like_groups.setdefault((types, shapes), [])
            first = sum(x.places("a").size for x in groups)
            groups.append(_PairGroup(s, g, first))
    for groups in like_groups.values():
        contacts = partial(_fold_contacts, groups, poses, margin, margin + slack)
        if has_unions:
            unions = contacts(_take_nearest, unions)
        else:
            sums = contacts(_add_overlaps, sums)
    if has_unions:
        sums = _add_unions(unions, sums)
    # Rows without overlap return their least gap, capped by the slack with which
    # `nearest` began.
    y, wrench, nearest = sums
    gap, force, ends = nearest[:, 0], nearest[:, 1:7], nearest[:, 7:].astype(int)
    # The least gap is negative if and only if something overlaps.
    is_free = gap >= 0
    force = jnp.where(is_free[:, None], force, 0.0)
    wrench = scatter_add(scatter_add(wrench, ends[:, 0], force), ends[:, 1], -force)
    y = jnp.where(is_free, -gap, y[:, 0])
    return [
        (y[s.first_row :][: s.n], wrench[s.first_frame :][: s.n * s.frames])
        for s in sources
    ]


class _Sums(NamedTuple):
    """Sums of overlaps, and the least gap of each row."""

    y: jax.Array
    """Sum of the overlaps of each row (rows, 1) [m]."""
    wrench: jax.Array
    """Derivative of the row by a twist of each frame (frames, 6)."""
    nearest: jax.Array
    """Least gap of each row, the force of that gap, and its two frames (rows, 9).

    Initially no pair is known: the gap is the slack, and its force is zero. Indices are
    kept as floats beside the gap, so that one scatter replaces all of an entry
    together; float32 holds integers exactly up to 2²⁴.
    """


def _add_overlaps(sums: _Sums, found: _Overlaps, slot: Array, is_valid: Array) -> _Sums:
    """Add overlaps to the sums of their rows; gaps only compete for the least one."""
    # The last chunk is padded; a padded entry neither is nearest nor adds to a sum.
    gap = jnp.where(is_valid, -found.overlap, jnp.inf)[:, None]
    ends = jnp.stack([found.frame_a, found.frame_b], -1).astype(gap.dtype)
    entry = jnp.concatenate([gap, found.force, ends], -1)
    nearest = scatter_min(sums.nearest, found.row, entry)
    overlaps = is_valid & (found.overlap > 0)
    force = jnp.where(overlaps[:, None], found.force, 0.0)
    overlap = jnp.where(overlaps, found.overlap, 0.0)
    y = scatter_add(sums.y, found.row, overlap[:, None])
    # Action and reaction: the second frame gets the opposite wrench about the same
    # origin.
    wrench = scatter_add(sums.wrench, found.frame_a, force)
    return _Sums(y, scatter_add(wrench, found.frame_b, -force), nearest)


def _take_nearest(
    unions: jax.Array, found: _Overlaps, slot: Array, is_valid: Array
) -> jax.Array:
    """Keep, of each pair of frames, the bodies with the least gap."""
    gap = jnp.where(is_valid, -found.overlap, jnp.inf)[:, None]
    indices = jnp.stack([found.row, found.frame_a, found.frame_b], -1)
    entry = jnp.concatenate([gap, found.force, indices.astype(gap.dtype)], -1)
    return scatter_min(unions, slot, entry)


def _add_unions(unions: jax.Array, sums: _Sums) -> _Sums:
    """Add the overlaps of the nearest bodies of each pair of frames."""

    def add(slot: Array, is_valid: Array, sums: _Sums) -> _Sums:
        entry = gather(unions, slot)
        row, a, b = (entry[:, 7 + k].astype(np.int32) for k in range(3))
        found = _Overlaps(row, -entry[:, 0], entry[:, 1:7], a, b)
        return _add_overlaps(sums, found, slot, is_valid)

    measured = compact(unions[:, 0] < jnp.inf)
    return fold_chunks(measured, CONTACT_CHUNK, add, sums)


def _fold_contacts(
    groups: list[_PairGroup],
    poses: jax.Array,
    margin: jax.Array,
    reach: jax.Array,
    add: Callable[..., Any],
    state: Any,
) -> Any:
    """Return the state after the contacts of like pairs have been added to it.

    Args:
        groups: pairs with the same types of cores.
        poses: of the bodies of all rows.
        margin: of each row [m].
        reach: margin plus slack of each row [m].
        add: `(state, overlaps, slots, is_valid)` to the next state.
        state: the first one.
    """
    sizes = [_concatenate(x) for x in zip(*(g.sizes() for g in groups), strict=True)]
    core_a, core_b = groups[0].types
    middle = len(core_a._fields) + 1

    def bodies(k: jax.Array) -> tuple[_PairLocation, Body, Body]:
        at = _locate_pairs(groups, k)
        own_sizes = [gather(x, at.params_pair) for x in sizes]
        a = _make_body(core_a, own_sizes[:middle], gather(poses, at.body_a))
        return at, a, _make_body(core_b, own_sizes[middle:], gather(poses, at.body_b))

    def select_by_bound(pair: Any, is_valid: Any, near: Any) -> Any:
        at, a, b = materialize(bodies, pair)
        bound = materialize(lambda a, b: distance_lower_bound(a, b)[0], a, b)
        return append(near, pair, is_valid & (bound < reach[at.row]))

    def add_contacts(pair: Any, is_valid: Any, state: Any) -> Any:
        at, a, b = materialize(bodies, pair)
        out = contact(a, b)
        # A twist of a about the origin changes the distance by n·(v + ω × p_a).
        moment = jnp.cross(out.point_a, out.normal)
        force = -jnp.concatenate([out.normal, moment], -1)
        # Pairs within the slack are measured too, and need not overlap.
        overlap = margin[at.row] - out.distance
        found = _Overlaps(at.row, overlap, force, at.frame_a, at.frame_b)
        return add(state, found, at.slot, is_valid)

    # Three stages, each on the survivors of the one before: balls, then a lower bound
    # of the distance, then the exact contact.
    near = _concatenate([g.near(poses) for g in groups])
    nearer = fold_chunks(
        compact(near), BOUND_CHUNK, select_by_bound, empty_indices(len(near))
    )
    return fold_chunks(nearer, CONTACT_CHUNK, add_contacts, state)


def _concatenate(parts: Sequence[jax.Array]) -> jax.Array:
    return jnp.concatenate(parts) if len(parts) > 1 else parts[0]


def _locate_pairs(groups: list[_PairGroup], k: jax.Array) -> _PairLocation:
    """Locate the k-th pair, counted over all pairs of groups."""
    # Groups are few, so that a chain of selects is less code than a search.
    *others, last = groups
    if not others:
        return last.at(k)
    first = sum(g.pairs for g in others)
    # Both sides of the select are computed, so that each needs an index in bounds.
    before = _locate_pairs(others, jnp.minimum(k, first - 1))
    own = last.at(jnp.maximum(k - first, 0))
    return jax.tree.map(partial(jnp.where, k < first), before, own)


def _make_body(core: Any, sizes: list[jax.Array], pose: jax.Array) -> Body:
    return Body(core(*sizes[:-1]), sizes[-1], pose[..., :3], pose[..., 3])


def _body_poses(R: Any, p: Any, local: Any) -> jax.Array:
    """Return the poses [R p] of bodies in the world, (m, shared, bodies, 3, 4)."""
    local = local[:, None]
    # R [R_local p_local] as a sum of products, which XLA fuses, unlike small matmuls.
    rotated = sum(R[..., k, None] * local[..., k, None, :] for k in range(3))
    return rotated + p[..., None] * np.array([0, 0, 0, 1], p.dtype)


def _balls_are_near(
    poses: jax.Array, size: jax.Array, reach: jax.Array, a: jax.Array, b: jax.Array
) -> jax.Array:
    """Return for all pairs in all rows whether balls are nearer than the reach.

    Args:
        poses: of bodies, (m, shared, bodies, 3, 4).
        size: radius of each body's ball (m, bodies).
        reach: margin plus slack (m,).
        a: first body of each pair (m, pairs).
        b: second body.
    """

    # One array for each coordinate, with the rows that share params last: a gather
    # along the bodies then moves whole runs of numbers.
    def coordinates(poses: jax.Array) -> tuple[jax.Array, ...]:
        return tuple(jnp.moveaxis(poses[..., i, 3], 1, 2) for i in range(3))

    def take(x: jax.Array, frame: jax.Array) -> jax.Array:
        return jnp.take_along_axis(x, frame[:, :, None], 1, mode="promise_in_bounds")

    def difference(x: jax.Array, a: jax.Array, b: jax.Array) -> jax.Array:
        return take(x, a) - take(x, b)

    def max_distance(
        size: jax.Array, a: jax.Array, b: jax.Array, reach: jax.Array
    ) -> jax.Array:
        return take(size, a) + take(size, b) + reach[:, None, None]

    x, y, z = (
        materialize(difference, c, a, b) for c in materialize(coordinates, poses)
    )
    square = x**2 + y**2 + z**2
    limit = materialize(max_distance, size[..., None], a, b, reach)
    # Squares spare the root; as they lose the sign, a limit made negative by a negative
    # margin is excluded separately.
    return ((limit > 0) & (square < limit * limit)).reshape(-1)
