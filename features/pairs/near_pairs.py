"""Pairs of bodies of several batches, numbered over all of their rows.

Lists of near pairs are lists of numbers. There are three stages, each on the survivors
of the one before: the ball about one body and the box about the other, then bounds of
distances, then the exact contact.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from posewise.collision import Body, Core
from posewise.collision.broad_phase import BoundingVolume, volume_distance
from posewise.collision.vec3_tuple import (
    column,
    dot,
    matrix_components,
    sub,
    vector_components,
)
from posewise.compilation.arrays import Array
from posewise.compilation.backend import is_cpu_backend
from posewise.compilation.compaction import (
    CompactIndices,
    append,
    empty_indices,
    fold_chunks,
    gather,
)
from posewise.compilation.materialize import materialize
from posewise.robots.contact.body_table import (
    CORES_OF_KIND,
    PLANE_KINDS,
    PairKind,
    make_core,
)

from .sources import PairSource, concatenate, flatten_axes

BOUND_CHUNK_SIZE = 32
"""Number of pairs whose distance is bounded at a time (count). More vectorise better,
but waste more work on the last ones."""
CONTACT_CHUNK_SIZE = 8
"""Number of pairs that are measured exactly at a time (count). More vectorise better,
but waste more work on the last ones."""
CLOSED_FORM_KINDS = (PairKind.BOXES, PairKind.ROUND_PLANE, PairKind.HULL_PLANE)
"""Kinds of pairs that are measured without iterations."""

T = TypeVar("T")


class PairLocation(NamedTuple):
    """Indices of pairs of bodies among those of all sources."""

    row: jax.Array
    end: jax.Array
    """Index among the pairs of frames of all rows."""
    pair: jax.Array
    """Index among the pairs of bodies in the params of all sources."""
    body_a: jax.Array
    """Index among the bodies of all rows."""
    body_b: jax.Array
    table_a: jax.Array
    """Index among the bodies in the params of all sources."""
    table_b: jax.Array
    frame_a: jax.Array
    """Index among the frames of all rows."""
    frame_b: jax.Array


class _First(NamedTuple):
    """Indices of what comes first in a source, among those of all sources."""

    row: int = 0
    frame: int = 0
    body: int = 0
    end: int = 0
    pair: int = 0
    """Among the pairs of bodies in the params."""
    table: int = 0
    """Among the bodies in the params."""
    hull: int = 0
    place: int = 0
    """Among the pairs of bodies of all rows."""

    def after(self, s: PairSource) -> "_First":
        """Return what comes first in the source after one."""
        return _First(
            self.row + s.n,
            self.frame + s.n * s.frames,
            self.body + s.n * s.bodies,
            self.end + s.n * s.ends,
            self.pair + s.sets * s.pairs,
            self.table + s.sets * s.bodies,
            self.hull + s.sets * s.hulls,
            self.place + s.n * s.pairs,
        )


class PairBatch:
    """The pairs of bodies of several sources, at their poses."""

    def __init__(self, sources: Sequence[PairSource]) -> None:
        self.sources = sources
        self.first = [_First()]
        for s in sources:
            self.first.append(self.first[-1].after(s))
        self.kinds = sorted({kind for s in sources for kind in s.types.kinds})
        self.R = concatenate([flatten_axes(s.R, 2) for s in sources])
        self.p = concatenate([flatten_axes(s.p, 2) for s in sources])

        def column(name: str) -> jax.Array:
            return concatenate([flatten_axes(s.params[name], 2) for s in sources])

        self.half, self.radii = column("half"), column("radii")
        self.radius, self.core_radius = column("radius"), column("core_radius")
        self.kind, self.body_pose = column("kind"), column("body_pose")
        firsts = zip(sources, self.first, strict=False)
        self.hull = concatenate([_global_hulls(s, first.hull) for s, first in firsts])
        self.vertices = _all_vertices(sources)

    @property
    def total(self) -> _First:
        """Numbers of all, which come first in one more source."""
        return self.first[-1]

    def locate(self, k: Array, source: int = -1) -> PairLocation:
        """Locate the k-th pairs, counted over all rows of all sources, or up to one."""
        index = source % len(self.sources)
        in_last = self._locate_in(index, jnp.maximum(k - self.first[index].place, 0))
        if index == 0:
            return in_last
        # Sources are few, so that a chain of selects is less code than a search. Both
        # sides are computed, so that each needs an index in bounds.
        begin = self.first[index].place
        before = self.locate(jnp.minimum(k, begin - 1), index - 1)
        located: PairLocation = jax.tree.map(
            partial(jnp.where, k < begin), before, in_last
        )
        return located

    def _locate_in(self, index: int, k: Array) -> PairLocation:
        # Division of 32-bit integers is faster.
        s, f, k = self.sources[index], self.first[index], k.astype(np.int32)
        # k counts an array (sets, pairs, shared), in the layout of `_balls_are_near`.
        pair = jax.lax.div(k, np.int32(s.shared))
        params_row = jax.lax.div(pair, np.int32(s.pairs))
        row = params_row * s.shared + k - pair * s.shared

        def take(name: str, place: jax.Array) -> jax.Array:
            return gather(s.params[name].reshape(-1), place)

        a, b = take("body_a", pair), take("body_b", pair)
        first = params_row * s.bodies
        frame_a, frame_b = (take("body_frame", first + x) for x in (a, b))
        end = pair - params_row * s.pairs
        if s.types.has_unions:
            end = take("end_row", pair)
        return PairLocation(
            row=row + f.row,
            end=row * s.ends + f.end + end,
            pair=pair + f.pair,
            body_a=row * s.bodies + f.body + a,
            body_b=row * s.bodies + f.body + b,
            table_a=first + f.table + a,
            table_b=first + f.table + b,
            frame_a=row * s.frames + f.frame + frame_a,
            frame_b=row * s.frames + f.frame + frame_b,
        )

    def bodies(self, kind: PairKind, location: PairLocation) -> tuple[Body, Body]:
        """Return the bodies of pairs of one kind, at their poses."""
        core_a, core_b = CORES_OF_KIND[kind]
        return (
            self._body(core_a, location.table_a, location.frame_a),
            self._body(core_b, location.table_b, location.frame_b),
        )

    def volumes(self, location: PairLocation) -> tuple[BoundingVolume, BoundingVolume]:
        """Return what encloses the bodies of pairs."""
        return (
            self._volume(location.table_a, location.frame_a),
            self._volume(location.table_b, location.frame_b),
        )

    def _body(self, core: type[Core], table: jax.Array, frame: jax.Array) -> Body:
        half, radii, hull = (
            gather(x, table) for x in (self.half, self.radii, self.hull)
        )
        cores = make_core(core, half, radii, hull, self.vertices)
        return Body(cores, gather(self.radius, table), *self._pose(table, frame))

    def _volume(self, table: jax.Array, frame: jax.Array) -> BoundingVolume:
        half = gather(self.half, table) + gather(self.radii, table)
        R, p = self._pose(table, frame)
        return BoundingVolume(
            vector_components(half),
            gather(self.core_radius, table),
            gather(self.radius, table),
            matrix_components(R),
            vector_components(p),
        )

    def _pose(self, table: jax.Array, frame: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Return rotations and origins of bodies in the world."""
        R, p, local = (
            gather(x, k)
            for x, k in ((self.R, frame), (self.p, frame), (self.body_pose, table))
        )
        # Sums of products instead of `@`, because element-wise operations fuse.
        pose: Any = sum(R[..., k, None] * local[..., k, None, :] for k in range(3))
        return pose[..., :3], pose[..., 3] + p

    def _distance_bound(self, a: BoundingVolume, b: BoundingVolume) -> Array:
        bound = volume_distance(a, b)[0]
        if PLANE_KINDS.isdisjoint(self.kinds):
            return bound
        # The only bodies without bounds are half-spaces, whose surface is at z = 0.
        height: Any = dot(column(b.R, 2), sub(a.p, b.p)) - a.reach
        return jnp.where(jnp.isinf(b.core_radius), height, bound)

    def near(self, reaches: Sequence[jax.Array]) -> CompactIndices:
        """Return the indices of pairs whose ball and box are near.

        Args:
            reaches: of each source the distances at which its pairs of bodies are near
                (sets, pairs) [m].
        """
        known = empty_indices(self.total.place)
        for s, first, reach in zip(self.sources, self.first, reaches, strict=False):
            known, _ = s.append_near(known, first.place, reach)
        return known

    def fold_near(
        self,
        near: CompactIndices,
        may_count: Callable[[PairLocation, Array], Array],
        add: Callable[[PairLocation, Body, Body, Array, T], T],
        state: T,
    ) -> T:
        """Return a state after all near pairs were added to it, kind after kind.

        There are three stages, each on the survivors of the one before: ball and box,
        then a lower bound of the distance, then what is added.

        Args:
            near: pairs of all rows whose ball and box are near.
            may_count: from pairs and lower bounds of their distances to which count.
            add: from pairs, their bodies, a mask of those that are no padding, and a
                state to the next state.
            state: the first one.
        """

        def select_by_bound(
            k: Array, is_valid: Array, lists: list[CompactIndices]
        ) -> list[CompactIndices]:
            location = materialize(self.locate, k)
            volumes = materialize(self.volumes, location)
            bound = materialize(self._distance_bound, *volumes)
            counts = is_valid & may_count(location, bound)
            kinds = gather(self.kind, location.pair)
            return [
                append(chosen, k, counts & (kinds == int(kind)))
                for chosen, kind in zip(lists, self.kinds, strict=True)
            ]

        if not is_cpu_backend():
            return self._fold_together(near, may_count, add, state)
        nothing = [empty_indices(self.total.place) for _ in self.kinds]
        lists = fold_chunks(near, BOUND_CHUNK_SIZE, select_by_bound, nothing)
        return self.fold_kinds(lists, add, state, CONTACT_CHUNK_SIZE)

    def _fold_together(
        self,
        near: CompactIndices,
        may_count: Callable[[PairLocation, Array], Array],
        add: Callable[[PairLocation, Body, Body, Array, T], T],
        state: T,
    ) -> T:
        """Return a state as `fold_near` does, by one loop for all stages and kinds.

        Before each step of a loop the host of an accelerator is asked whether to go on,
        which takes longer than to measure what is not near.
        """

        def add_chunk(k: Array, is_valid: Array, state: T) -> T:
            location = self.locate(k)
            bound = self._distance_bound(*self.volumes(location))
            counts = is_valid & may_count(location, bound)
            kinds = gather(self.kind, location.pair)
            for kind in self.kinds:
                is_kind = counts & (kinds == int(kind))
                if kind in CLOSED_FORM_KINDS:
                    a, b = self.bodies(kind, location)
                    state = add(location, a, b, is_kind, state)
                else:
                    chosen = append(empty_indices(len(k)), k, is_kind)
                    state = self._fold_kind(
                        kind, chosen, add, state, CONTACT_CHUNK_SIZE
                    )
            return state

        return fold_chunks(near, BOUND_CHUNK_SIZE, add_chunk, state)

    def places_of_kinds(self) -> list[CompactIndices]:
        """Return the indices of all pairs of each kind, near or not."""
        counts = [np.arange(s.sets * s.pairs * s.shared) for s in self.sources]
        places = np.concatenate(
            [first.place + k for first, k in zip(self.first, counts, strict=False)]
        )
        kinds = concatenate(
            [jnp.repeat(s.params["kind"].reshape(-1), s.shared) for s in self.sources]
        )
        nothing = empty_indices(self.total.place)
        return [append(nothing, places, kinds == int(kind)) for kind in self.kinds]

    def fold_kinds(
        self,
        lists: Sequence[CompactIndices],
        add: Callable[[PairLocation, Body, Body, Array, T], T],
        state: T,
        chunk_size: int,
    ) -> T:
        """Return a state after pairs were added to it, kind after kind.

        Args:
            lists: indices of pairs of each kind.
            add: see `fold_near`.
            state: the first one.
            chunk_size: number of pairs that are added at a time on CPUs (count).
        """
        for kind, chosen in zip(self.kinds, lists, strict=True):
            state = self._fold_kind(kind, chosen, add, state, chunk_size)
        return state

    def _fold_kind(
        self,
        kind: PairKind,
        chosen: CompactIndices,
        add: Callable[[PairLocation, Body, Body, Array, T], T],
        state: T,
        chunk_size: int,
    ) -> T:
        """Return a state after pairs of one kind were added to it; see `fold_kinds`."""

        def located(k: Array) -> tuple[PairLocation, Body, Body]:
            location = self.locate(k)
            return location, *self.bodies(kind, location)

        def add_chunk(k: Array, is_valid: Array, state: T) -> T:
            location, a, b = materialize(located, k)
            return add(location, a, b, is_valid, state)

        return fold_chunks(chosen, chunk_size, add_chunk, state)


def _global_hulls(s: PairSource, first: int) -> jax.Array:
    """Return the row of each body's hull among the hulls of all sources."""
    rows = s.params["hull"] + s.hulls * np.arange(s.sets)[:, None]
    return rows.reshape(-1) + first


def _all_vertices(sources: Sequence[PairSource]) -> jax.Array:
    """Return the vertices of all hulls, filled up with the first ones."""
    width = max(s.params["vertices"].shape[2] for s in sources)
    parts = []
    for s in sources:
        vertices = flatten_axes(s.params["vertices"], 2)
        missing = width - vertices.shape[1]
        if len(vertices) and missing:
            copies = jnp.repeat(vertices[:, :1], missing, 1)
            vertices = jnp.concatenate([vertices, copies], 1)
        parts.append(vertices.reshape(len(vertices), width, 3))
    return concatenate(parts)
