"""Sums over pairs of frames that are near: the work is that of those, not of all.

Of pairs of single convex bodies. Bounding balls tell which are near; only these are
posed, and measured exactly. What vmap makes a batch is one list of pairs.

Where nothing overlaps a sum is zero, and tells nothing of what is near. With a slack it
is minus the least gap there, down to minus the slack: as an inequality, the same.
"""

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_batching import custom_vmap
from jaxtyping import Float

from posewise.collision import Body, HalfSpace, contact, distance_lower_bound
from posewise.collision.broad_phase import bounding_radius
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

BOUND_CHUNK, CONTACT_CHUNK = 32, 8
"""How many pairs are bounded, and measured, at a time."""


def bounding_ball_params(
    meets: list[BodyPairs], at: np.ndarray, frames: int
) -> dict[str, np.ndarray]:
    """Of each frame its body's pose and ball, and of each pair its two frames.

    Args:
        meets: pairs of bodies, one for each pair of frames.
        at: of each pair of frames, their places (pairs, 2).
        frames: how many places there are.
    """
    pose, reach = np.zeros((frames, 3, 4)), np.zeros(frames)
    arrays = {}
    for g, meet in enumerate(meets):
        for side, own in (("a", 0), ("b", 1)):
            bodies = getattr(meet, side)
            place = at[meet.pair, np.where(meet.is_flipped, 1 - own, own)]
            plane = bodies.kind[0] is HalfSpace
            size = np.inf if plane else bounding_radius(bodies.body.core)
            pose[place, :, :3], pose[place, :, 3] = bodies.body.R, bodies.body.p
            reach[place] = size + bodies.body.radius
            arrays[f"place_{side}{g}"] = place
    return arrays | {"pose": pose, "reach": reach}


class PairSumBatch(NamedTuple):
    """Rows of which each is a sum over the same pairs of frames."""

    R: Float[jax.Array, "*batch frames 3 3"]
    p: Float[jax.Array, "*batch frames 3"]
    params: dict[str, jax.Array]
    """They may have the first ones of the leading axes."""


PairSum = tuple[Float[jax.Array, "*batch"], Float[jax.Array, "*batch frames 6"]]
"""Σ max(0, margin - distance) [m], and the wrench it is to each frame."""


def sum_near_pairs(
    kinds: tuple[CoreTypes, ...], rows: Sequence[PairSumBatch]
) -> list[PairSum]:
    """The sums of several kinds of rows; pairs that are alike are measured together.

    Args:
        kinds: of each, the kinds of its pairs.
        rows: with a slack, see above.
    """
    return _batched_sums(kinds)(list(rows))


@lru_cache(maxsize=256)
def _batched_sums(kinds: tuple[CoreTypes, ...]) -> Any:
    @custom_vmap
    def totals(every: Any) -> Any:
        flat = lambda x, axes: x.reshape(-1, *x.shape[axes:])
        sources, row, frame = [], 0, 0
        for types, (R, p, params) in zip(kinds, every, strict=True):
            batch, own = p.ndim - 2, params["reach"].ndim - 1
            params = {k: flat(v, own) for k, v in params.items()}
            source = _SumSource(
                types, flat(R, batch), flat(p, batch), params, row, frame
            )
            sources.append(source)
            row, frame = row + source.n, frame + source.n * source.frames
        return [
            (y.reshape(p.shape[:-2]), wrench.reshape(*p.shape[:-1], 6))
            for (y, wrench), (_, p, _) in zip(_sum_sources(sources), every, strict=True)
        ]

    @totals.def_vmap
    def spread(size: int, batched: Any, every: Any) -> Any:
        wide = lambda x, b: x if b else jnp.broadcast_to(x, (size, *jnp.shape(x)))
        found = []
        for (R, p, params), (of_R, of_p, of_params) in zip(
            every, *batched, strict=True
        ):
            R, p = wide(R, of_R), wide(p, of_p)
            if params["reach"].ndim > 1 or any(of_params.values()):
                params = {k: wide(v, of_params[k]) for k, v in params.items()}
            found.append(PairSumBatch(R, p, params))
        return totals(found), [(True, True)] * len(found)

    return totals


class _SumSource(NamedTuple):
    """n rows, of which n / m after each other share one of m rows of params."""

    kinds: CoreTypes
    R: jax.Array
    p: jax.Array
    params: dict[str, jax.Array]
    first_row: int
    """Of all sources' rows, and of all their frames, where its own begin."""
    first_frame: int

    @property
    def n(self) -> int:
        return len(self.p)

    @property
    def frames(self) -> int:
        """Of each row."""
        return self.p.shape[1]

    @property
    def shared(self) -> int:
        return self.n // len(self.params["margin"])

    def of_rows(self, name: str) -> jax.Array:
        """A number of each row."""
        return jnp.repeat(self.params[name], self.shared)


class _PairGroup(NamedTuple):
    """A source's pairs of one kind."""

    source: _SumSource
    g: int
    first: int
    """Of all sources' pairs of that kind, in all params, where its own begin."""

    @property
    def types(self) -> tuple[Any, Any]:
        return self.source.kinds[self.g]

    @property
    def pairs(self) -> int:
        """How many, in all rows."""
        return self.places("a").size * self.source.shared

    def sizes(self) -> list[jax.Array]:
        """Of each pair in each of the params, a's numbers and radius, then b's."""
        found = []
        for side, core in zip("ab", self.types, strict=True):
            names = (f"{side}{self.g}_{k}" for k in range(len(core._fields) + 1))
            found += [self.source.params[name] for name in names]
        return [x.reshape(-1, *x.shape[2:]) for x in found]

    def places(self, side: str) -> jax.Array:
        return self.source.params[f"place_{side}{self.g}"]

    def at(self, k: jax.Array) -> "_PairLocation":
        """Where the k-th pair is, counted over all of the source's rows."""
        s, k = self.source, k.astype(np.int32)  # division takes less time
        pair = jax.lax.div(k, np.int32(s.shared))
        own = jax.lax.div(pair, np.int32(self.places("a").shape[1]))
        row = own * s.shared + k - pair * s.shared
        frame = row * s.frames + s.first_frame
        of = lambda side: frame + gather(self.places(side).reshape(-1), pair)
        return _PairLocation(row + s.first_row, pair + self.first, of("a"), of("b"))

    def near(self, poses: jax.Array) -> jax.Array:
        """Of all pairs, one after the other, in all rows: whether balls are near."""
        s = self.source
        count = s.n * s.frames
        own = poses[s.first_frame : s.first_frame + count]
        own = own.reshape(-1, s.shared, s.frames, *own.shape[1:])
        reach = s.params["margin"] + s.params["slack"]
        return _balls_are_near(
            own, s.params["reach"], reach, self.places("a"), self.places("b")
        )


class _PairLocation(NamedTuple):
    """Of some pairs, places among all rows, all pairs of params, and all frames."""

    row: jax.Array
    own: jax.Array
    a: jax.Array
    b: jax.Array


def _sum_sources(sources: list[_SumSource]) -> list[tuple[jax.Array, jax.Array]]:
    join = lambda parts: jnp.concatenate(parts) if len(parts) > 1 else parts[0]
    posed = lambda s: materialize(
        partial(_body_poses, s.shared), s.R, s.p, s.params["pose"]
    )
    poses = join([posed(s).reshape(-1, 3, 4) for s in sources])
    margin, slack = (join([s.of_rows(k) for s in sources]) for k in ("margin", "slack"))
    # of each row the least gap, its wrench, and the frames
    nearest = jnp.concatenate(
        [slack[:, None], jnp.zeros((len(slack), 8), poses.dtype)], 1
    )
    sums: tuple[jax.Array, ...] = (
        jnp.zeros_like(nearest[:, :1]),
        jnp.zeros((len(poses), 6), poses.dtype),
        nearest,
    )
    alike: dict[Any, list[_PairGroup]] = {}
    for s in sources:
        for g, types in enumerate(s.kinds):
            shapes = tuple(x.shape[1:] for x in _PairGroup(s, g, 0).sizes())
            groups = alike.setdefault((types, shapes), [])
            first = sum(x.places("a").size for x in groups)
            groups.append(_PairGroup(s, g, first))
    for groups in alike.values():
        sums = _add_groups(groups, poses, margin, margin + slack, sums)
    y, wrench, nearest = sums
    gap, push, ends = nearest[:, 0], nearest[:, 1:7], nearest[:, 7:].astype(int)
    free = gap >= 0
    push = jnp.where(free[:, None], push, 0.0)
    wrench = scatter_add(scatter_add(wrench, ends[:, 0], push), ends[:, 1], -push)
    y = jnp.where(free, -gap, y[:, 0])
    return [
        (y[s.first_row :][: s.n], wrench[s.first_frame :][: s.n * s.frames])
        for s in sources
    ]


def _add_groups(
    groups: list[_PairGroup],
    poses: jax.Array,
    margin: jax.Array,
    reach: jax.Array,
    sums: tuple[jax.Array, ...],
) -> tuple[jax.Array, ...]:
    """With pairs that are alike; margin and reach are those of each row."""
    join = lambda parts: jnp.concatenate(parts) if len(parts) > 1 else parts[0]
    sizes = [join(x) for x in zip(*(g.sizes() for g in groups), strict=True)]
    core_a, core_b = groups[0].types
    middle = len(core_a._fields) + 1

    def bodies(k: jax.Array) -> tuple[_PairLocation, Body, Body]:
        at = _locate_pairs(groups, k)
        own = [gather(x, at.own) for x in sizes]
        a = _make_body(core_a, own[:middle], gather(poses, at.a))
        return at, a, _make_body(core_b, own[middle:], gather(poses, at.b))

    def may_be(pair: Any, counts: Any, near: Any) -> Any:
        at, a, b = materialize(bodies, pair)
        lower = materialize(lambda a, b: distance_lower_bound(a, b)[0], a, b)
        return append(near, pair, counts & (lower < reach[at.row]))

    def measured(pair: Any, counts: Any, sums: Any) -> Any:
        y, wrench, nearest = sums
        at, a, b = materialize(bodies, pair)
        out = contact(a, b)
        short = margin[at.row] - out.distance
        inside = counts & (short > 0)
        moment = jnp.cross(out.point_a, out.normal)
        push = -jnp.concatenate([out.normal, moment], -1)
        gap = jnp.where(counts, -short, jnp.inf)[:, None]
        ends = jnp.stack([at.a, at.b], -1).astype(poses.dtype)
        nearest = scatter_min(nearest, at.row, jnp.concatenate([gap, push, ends], -1))
        push = jnp.where(inside[:, None], push, 0.0)
        y = scatter_add(y, at.row, jnp.where(inside, short, 0.0)[:, None])
        return y, scatter_add(scatter_add(wrench, at.a, push), at.b, -push), nearest

    near = join([g.near(poses) for g in groups])
    nearer = fold_chunks(compact(near), BOUND_CHUNK, may_be, empty_indices(len(near)))
    return fold_chunks(nearer, CONTACT_CHUNK, measured, sums)


def _locate_pairs(groups: list[_PairGroup], k: jax.Array) -> _PairLocation:
    """Where the k-th pair is, counted over all pairs of groups."""
    *others, last = groups
    if not others:
        return last.at(k)
    first = sum(g.pairs for g in others)
    before = _locate_pairs(others, jnp.minimum(k, first - 1))
    own = last.at(jnp.maximum(k - first, 0))
    return jax.tree.map(partial(jnp.where, k < first), before, own)


def _make_body(core: Any, sizes: list[jax.Array], pose: jax.Array) -> Body:
    return Body(core(*sizes[:-1]), sizes[-1], pose[..., :3], pose[..., 3])


def _body_poses(shared: int, R: Any, p: Any, local: Any) -> jax.Array:
    """Poses [R p] of bodies in the world: (m, shared, frames, 3, 4)."""
    by_params = lambda x: x.reshape(-1, shared, *x.shape[1:])
    R, p, local = by_params(R), by_params(p), local[:, None]
    turned = sum(R[..., k, None] * local[..., k, None, :] for k in range(3))
    return turned + p[..., None] * np.array([0, 0, 0, 1], p.dtype)


def _balls_are_near(
    poses: jax.Array, size: jax.Array, reach: jax.Array, a: jax.Array, b: jax.Array
) -> jax.Array:
    """Of all pairs, one after the other, in all rows: whether balls are near."""
    rows_last = lambda x: tuple(jnp.moveaxis(x[..., i, 3], 1, 2) for i in range(3))
    take = lambda x, at: jnp.take_along_axis(
        x, at[:, :, None], 1, mode="promise_in_bounds"
    )
    apart = lambda x, a, b: take(x, a) - take(x, b)
    away = [materialize(apart, x, a, b) for x in materialize(rows_last, poses)]
    square = away[0] ** 2 + away[1] ** 2 + away[2] ** 2
    limits = lambda x, a, b, reach: take(x, a) + take(x, b) + reach[:, None, None]
    limit = materialize(limits, size[..., None], a, b, reach)
    return ((limit > 0) & (square < limit * limit)).reshape(-1)
