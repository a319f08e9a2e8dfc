"""A chain problem made of objectives: which instances are evaluated as one batch.

How many a batch has is rounded up to a bucket, so that one more objective compiles
nothing.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from posewise.features.bound_feature import BoundFeature
from posewise.features.collisions import MAX_COLLISION_SLACK
from posewise.features.vectors import row_directions
from posewise.robots.kinematics.tree import KinematicTree
from posewise.solvers import EQ, INEQ, SOS

from ..objective import Objective
from .groups import ChainData, FeatureBatch, FeatureGroup
from .modes import ModeSequence
from .problem import Chain


class RowLocation(NamedTuple):
    """Where rows of an objective stand: batch, and places in it, in order of slices."""

    batch: int
    rows: np.ndarray
    line: np.ndarray
    """Where their numbers are in the line of all rows (slices, D)."""
    floor: np.ndarray
    """The least that their features can be: numbers below it tell of gaps."""


class SliceObjective(NamedTuple):
    """An objective in one slice."""

    t: int
    objective: Objective
    g: BoundFeature
    frames: np.ndarray
    """(window, m)."""
    weight: float


def build_chain(
    modes: ModeSequence,
    objectives: Sequence[Objective],
    order: int,
    tau: Float[np.ndarray, " T"],
) -> tuple[Chain, ChainData, list[list[RowLocation]]]:
    """Structure, data, and where each objective's rows stand.

    The rows of an objective in slices where its feature is of another kind (another
    number of colliding pairs) stand in a batch of their own.
    """
    K, slices = modes.world.kinematics(), len(tau)
    grouped: dict[FeatureGroup, list[tuple[int, SliceObjective]]] = {}
    for i, objective in enumerate(objectives):
        weights = objective.weights or (1.0,) * len(objective.slices)
        for t, weight in zip(objective.slices, weights, strict=True):
            row = _row(modes, objective, t, weight)
            grouped.setdefault(_kind(row.g), []).append((i, row))
    alone = _own_coordinates(K.tree, modes.shared_columns)
    grouped = {replace(k, single=_single(k, m, alone)): m for k, m in grouped.items()}

    dtype = K.node_p.dtype
    placed: list[list[RowLocation]] = [[] for _ in objectives]
    kinds: list[FeatureGroup] = []
    batches: list[FeatureBatch] = []
    line = 0
    # those of which the rows are alike are neighbours: see `merge_like_blocks`
    for kind, members in sorted(grouped.items(), key=lambda item: _looks(item[0])):
        D = kind.scale[0]
        for i in dict.fromkeys(i for i, _ in members):
            at = np.array([k for k, (j, _) in enumerate(members) if j == i])
            numbers = line + at[:, None] * D + np.arange(D)
            own = [members[k][1] for k in at]
            floor = np.stack([_floor(row, D) for row in own])
            placed[i].append(RowLocation(len(kinds), at, numbers, floor))
        rows = [row for _, row in members]
        kind = replace(
            kind, capacity=_bucket(len(rows)), groundings=_groundings(kind, rows)
        )
        line += kind.capacity * D
        kinds.append(kind)
        batches.append(_batch(rows, kind, slices, dtype))
    chain = Chain(K.tree, slices, order, tuple(kinds), modes.shared_columns)
    prefix = np.tile(modes.widen(modes.base.q), (order, 1))
    data = ChainData(
        K.without_names(),
        np.asarray(prefix, dtype),
        *jax.device_put(
            (tau.astype(dtype), modes.limits(slices).astype(dtype), tuple(batches))
        ),
    )
    return chain, data, placed


def _row(
    modes: ModeSequence, objective: Objective, t: int, weight: float
) -> SliceObjective:
    """Frames of older slices are those of their own mode, where it is that simple."""
    feature = objective.feature
    g = modes.at(t).bind(feature)
    window = [modes.at(t - k).bind(feature) for k in range(feature.order, -1, -1)]
    alike = all(_kind(w) == _kind(g) for w in window)
    frames = np.stack([w.frames if alike else g.frames for w in window])
    if g.symbol.vector_form:
        frames = g.symbol.vector_form.select_frames(
            frames, modes.world.kinematics().tree.n_frames
        )
    return SliceObjective(t, objective, g, frames, weight)


def _kind(g: BoundFeature) -> FeatureGroup:
    own = {} if g.symbol.vector_form else g.params
    params = tuple((k, np.shape(v)) for k, v in sorted(own.items()))
    return FeatureGroup(
        g.symbol,
        g.order,
        3 if g.symbol.vector_form else len(g.frames),
        len(g.coordinates),
        g.scale.shape,
        params,
    )


def _looks(kind: FeatureGroup) -> tuple[int, bool]:
    """The same for kinds whose rows have Jacobians of the same shape."""
    return kind.order, kind.single


def _own_coordinates(tree: KinematicTree, shared: tuple[int, ...]) -> set[int]:
    """Those with a tangent column for each slice."""
    columns = enumerate(tree.column_coordinate)
    return {c for column, c in columns if c >= 0 and column not in shared}


def _single(
    kind: FeatureGroup, members: list[tuple[int, SliceObjective]], alone: set[int]
) -> bool:
    """See `FeatureGroup`."""
    if not kind.symbol.rows_per_coordinate or len(kind.scale) != 1:
        return False
    return all(alone.issuperset(row.g.coordinates) for _, row in members)


def _groundings(kind: FeatureGroup, rows: list[SliceObjective]) -> int:
    """Only of bodies that meet the params are so many that it is worth it."""
    count = len(_sets(rows))
    return _bucket(count) if kind.symbol.takes_frame_stack and count < len(rows) else 0


def _key(row: SliceObjective) -> tuple[int, float]:
    """The same for rows with the same params."""
    return id(row.g), _slack(row)


def _sets(rows: list[SliceObjective]) -> dict[tuple[int, float], SliceObjective]:
    """One row for each set of params."""
    return {_key(row): row for row in rows}


def _batch(
    rows: list[SliceObjective], kind: FeatureGroup, slices: int, dtype: Any
) -> FeatureBatch:
    pad = kind.capacity - len(rows)
    filled = rows + [rows[0]] * pad

    stack = lambda get, dtype: np.stack([get(row) for row in filled]).astype(dtype)
    scale = np.stack([row.weight * row.g.scale for row in filled])
    scale[len(rows) :] = 0.0
    sets = _sets(filled)
    places = {key: k for k, key in enumerate(sets)}
    own = [places[_key(row)] for row in filled]
    if kind.groundings:
        given = [*sets.values(), *rows[:1] * (kind.groundings - len(sets))]
    else:
        given = filled
    params = {
        k: np.stack([r.g.params[k] for r in given]).astype(_dtype(v, dtype))
        for k, v in rows[0].g.params.items()
    }
    if kind.symbol.vector_form:
        made = row_directions(kind.symbol.vector_form, kind.order, scale, params)
        params = {k: v.astype(dtype) for k, v in made.items()}
    if "slack" in params:
        params["slack"] = np.array([_slack(row) for row in given], dtype)
    last = [row.t for row in rows] + [slices - 1] * pad
    types = [_type(row) for row in rows] + [SOS] * pad
    return FeatureBatch(
        stack(lambda row: row.frames, int),
        stack(lambda row: row.g.coordinates, int),
        params,
        np.array(own),
        scale.astype(dtype),
        stack(lambda row: row.g.target, dtype),
        np.array(last),
        np.array(types),
    )


def _type(row: SliceObjective) -> int:
    """An inequality also where that is the same: a solver learns more of those."""
    g, kind = row.g, row.objective.type.value
    simple = g.scale.ndim == 1 and (g.scale >= 0).all() and not g.target.any()
    return INEQ if kind == EQ and g.symbol.is_nonnegative and simple else kind


def _slack(row: SliceObjective) -> float:
    """How far an inequality tells, where nothing collides, what is near [m]."""
    g = row.g
    if "slack" not in g.params or g.order > 0 or _type(row) != INEQ:
        return 0.0
    upper = g.scale.ndim == 1 and (g.scale >= 0).all() and (g.target >= 0).all()
    return MAX_COLLISION_SLACK if upper else 0.0


def without_slack(data: ChainData) -> ChainData:
    """Of which rows are what their features are, also where nothing collides."""
    alone = lambda b: {k: 0 * v if k == "slack" else v for k, v in b.params.items()}
    batches = tuple(b._replace(params=alone(b)) for b in data.batches)
    return data._replace(batches=batches)


def _floor(row: SliceObjective, D: int) -> np.ndarray:
    if not _slack(row):
        return np.full(D, -np.inf)
    return -row.weight * row.g.scale * row.g.target


def _bucket(n: int) -> int:
    """The next power of two, or multiple of 8 beyond that."""
    return 1 << (n - 1).bit_length() if n <= 8 else -(-n // 8) * 8


def _dtype(values: Any, dtype: Any) -> Any:
    kind = np.asarray(values).dtype
    return dtype if np.issubdtype(kind, np.floating) else kind
