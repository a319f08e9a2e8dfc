"""Sums over near pairs of frames, with work that grows with near pairs only.

Bounding balls and boxes select the pairs of bodies that may be near; only these are
measured exactly. All instances of a batch made by vmap share one list of pairs. A frame
with several bodies counts as their union: of each pair of frames, the nearest bodies.

Where nothing overlaps a sum is zero, and has no slope towards what is near. With a
slack it is minus the least gap instead, down to minus the slack: the same inequality,
with a slope.
"""

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_batching import custom_vmap
from jaxtyping import Float

from posewise.collision import Body, contact
from posewise.compilation.arrays import Array
from posewise.compilation.backend import is_cpu_backend
from posewise.compilation.compaction import (
    compact,
    fold_chunks,
    gather,
    scatter_add,
    scatter_min,
)

from ..pair_types import PairTypes
from ..symbol import TracedArrays
from .near_pairs import CONTACT_CHUNK_SIZE, PairBatch, PairLocation
from .sources import PairSource, concatenate, flatten_axes


class PairSumBatch(NamedTuple):
    """Rows that are sums over the same pairs of frames."""

    R: Float[jax.Array, "*batch frames 3 3"]
    p: Float[jax.Array, "*batch frames 3"]
    params: TracedArrays
    """Arrays that may have the first few of the batch axes."""


PairSum = tuple[Float[jax.Array, "*batch"], Float[jax.Array, "*batch frames 6"]]
"""Σ max(0, margin - distance) [m], and its derivative with respect to a twist of each
frame: force, then moment."""


def sum_near_pairs(
    types: tuple[PairTypes, ...], rows: Sequence[PairSumBatch]
) -> list[PairSum]:
    """Return the sums of several batches; like pairs of all batches share one loop.

    Args:
        types: of the pairs of each batch; static.
        rows: the batches; their params are those of a `FramePairTable` with a `slack`
            [m].
    """
    sums: list[PairSum] = _batched_sums(types)(list(rows))
    return sums


@lru_cache(maxsize=256)
def _batched_sums(types: tuple[PairTypes, ...]) -> Any:
    # By default, vmap would run the loops over near pairs for as long as any instance
    # needs, with all instances in each pass.
    @custom_vmap
    def totals(batches: Any) -> Any:
        sources = []
        for pair_types, (R, p, params) in zip(types, batches, strict=True):
            batch_axes, params_axes = p.ndim - 2, params["slack"].ndim
            params = {k: flatten_axes(v, params_axes) for k, v in params.items()}
            R, p = flatten_axes(R, batch_axes), flatten_axes(p, batch_axes)
            sources.append(PairSource(pair_types, R, p, params))
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
            if params["slack"].ndim or any(params_have.values()):
                params = {k: broadcast(v, params_have[k]) for k, v in params.items()}
            mapped.append(PairSumBatch(R, p, params))
        return totals(mapped), [(True, True)] * len(mapped)

    return totals


class _Overlaps(NamedTuple):
    """Overlaps of pairs with their margin, and the frames that they push apart."""

    row: jax.Array
    overlap: jax.Array
    """Margin minus distance [m], negative where there is a gap."""
    force: jax.Array
    """Derivative of the overlap by a twist of frame a about the origin, (pairs, 6)."""
    frame_a: jax.Array
    frame_b: jax.Array


def _sum_sources(sources: list[PairSource]) -> list[tuple[jax.Array, jax.Array]]:
    """Return y and wrenches of all rows of each source."""
    batch = PairBatch(sources)
    total = batch.total
    margins = [s.of_pairs(s.params["margin"]) for s in sources]
    reaches = [
        jnp.where(margin > -jnp.inf, margin + s.params["slack"][:, None], -jnp.inf)
        for s, margin in zip(sources, margins, strict=True)
    ]
    near = batch.near(reaches)
    margin = concatenate([x.reshape(-1) for x in margins])
    reach = concatenate([x.reshape(-1) for x in reaches])
    slack = concatenate([jnp.repeat(s.params["slack"], s.shared) for s in sources])
    has_unions = any(s.types.has_unions for s in sources)
    zeros = partial(jnp.zeros, dtype=batch.p.dtype)
    sums = _Sums(
        zeros((len(slack), 1)),
        zeros((total.frame, 6)),
        jnp.concatenate([slack[:, None], zeros((len(slack), 8))], 1),
    )

    def may_count(location: PairLocation, bound: Array) -> Array:
        counts: Array = bound < gather(reach, location.pair)
        return counts

    # The state is that of `_add_nearest` or that of `_add_overlaps`.
    def add(
        location: PairLocation, a: Body, b: Body, is_valid: Array, state: Any
    ) -> Any:
        out = contact(a, b)
        # A twist of a about the origin changes the distance by n·(v + ω × p_a).
        moment = jnp.cross(out.point_a, out.normal)
        force = -jnp.concatenate([out.normal, moment], -1)
        # Pairs within the slack are measured too, and need not overlap.
        overlap = gather(margin, location.pair) - out.distance
        overlaps = _Overlaps(
            location.row, overlap, force, location.frame_a, location.frame_b
        )
        add_to = _add_nearest if has_unions else _add_overlaps
        return add_to(state, overlaps, location.end, is_valid)

    begin: Any = sums
    if has_unions:
        unions = _no_unions(total.end, batch.p.dtype)
        begin = unions, None if is_cpu_backend() else sums
    state = batch.fold_near(near, may_count, add, begin)
    if has_unions:
        unions, in_sums = state
        state = _add_unions(unions, sums) if in_sums is None else in_sums
    sums = state
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
        (y[first.row :][: s.n], wrench[first.frame :][: s.n * s.frames])
        for s, first in zip(sources, batch.first, strict=False)
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


def _add_overlaps(
    sums: _Sums, overlaps: _Overlaps, end: Array, is_valid: Array
) -> _Sums:
    """Add overlaps to the sums of their rows; gaps only compete for the least one."""
    # The last chunk is padded; a padded entry neither is nearest nor adds to a sum.
    gap = jnp.where(is_valid, -overlaps.overlap, jnp.inf)[:, None]
    sums = sums._replace(nearest=_least(sums.nearest, overlaps, gap))
    is_overlapping = is_valid & (overlaps.overlap > 0)
    force = jnp.where(is_overlapping[:, None], overlaps.force, 0.0)
    overlap = jnp.where(is_overlapping, overlaps.overlap, 0.0)
    return _push(sums, overlaps, overlap[:, None], force)


def _least(nearest: jax.Array, overlaps: _Overlaps, gap: Array) -> jax.Array:
    """Return the least gaps of rows, for which some pairs compete."""
    ends = jnp.stack([overlaps.frame_a, overlaps.frame_b], -1).astype(gap.dtype)
    entry = jnp.concatenate([gap, overlaps.force, ends], -1)
    return scatter_min(nearest, overlaps.row, entry)


def _push(sums: _Sums, overlaps: _Overlaps, overlap: Array, force: Array) -> _Sums:
    """Add overlaps (pairs, 1) and forces (pairs, 6) to the sums of some pairs."""
    y = scatter_add(sums.y, overlaps.row, overlap)
    # Action and reaction: the second frame gets the opposite wrench about the same
    # origin.
    wrench = scatter_add(sums.wrench, overlaps.frame_a, force)
    wrench = scatter_add(wrench, overlaps.frame_b, -force)
    return _Sums(y, wrench, sums.nearest)


def _no_unions(count: int, dtype: np.dtype) -> jax.Array:
    """Return nearest bodies of pairs of frames of which none is known yet.

    Columns are gap, force, the row on CPUs and otherwise the place among the entries
    that were added together, and the two frames.
    """
    return jnp.zeros((count, 10), dtype) + np.array([np.inf, *[0] * 9], dtype)


def _add_nearest(
    state: tuple[jax.Array, _Sums | None],
    overlaps: _Overlaps,
    end: Array,
    is_valid: Array,
) -> tuple[jax.Array, _Sums | None]:
    """Keep, of each pair of frames, the bodies with the least gap.

    On accelerators they replace in the sums those that were nearest before, since the
    host would wait for one more loop. On CPUs that loop writes less, and there are no
    sums yet; see `_add_unions`.
    """
    unions, sums = state
    gap = jnp.where(is_valid, -overlaps.overlap, jnp.inf)[:, None]
    mark = overlaps.row if sums is None else jnp.arange(len(end))
    indices = jnp.stack([mark, overlaps.frame_a, overlaps.frame_b], -1)
    indices = indices.astype(gap.dtype)
    entry = jnp.concatenate([gap, overlaps.force, indices], -1)
    nearer = scatter_min(unions, end, entry)
    if sums is None:
        return nearer, None
    before, after = gather(unions, end), gather(nearer, end)
    # Of a pair whose gap became less, the place is that of one entry among these.
    is_nearest = (after[:, 0] < before[:, 0]) & (after[:, 7] == mark)
    change = jnp.where(is_nearest[:, None], _pushes(after) - _pushes(before), 0.0)
    sums = sums._replace(nearest=_least(sums.nearest, overlaps, gap))
    return nearer, _push(sums, overlaps, change[:, :1], change[:, 1:])


def _pushes(unions: jax.Array) -> jax.Array:
    """Return overlaps and forces of pairs of frames, zero where there is a gap."""
    gap, force = unions[:, :1], unions[:, 1:7]
    return jnp.where(gap < 0, jnp.concatenate([-gap, force], -1), 0.0)


def _add_unions(unions: jax.Array, sums: _Sums) -> _Sums:
    """Add the overlaps of the nearest bodies of each pair of frames."""

    def add(end: Array, is_valid: Array, sums: _Sums) -> _Sums:
        entry = gather(unions, end)
        row, a, b = (entry[:, 7 + k].astype(np.int32) for k in range(3))
        overlaps = _Overlaps(row, -entry[:, 0], entry[:, 1:7], a, b)
        return _add_overlaps(sums, overlaps, end, is_valid)

    measured = compact(unions[:, 0] < jnp.inf)
    return fold_chunks(measured, CONTACT_CHUNK_SIZE, add, sums)
