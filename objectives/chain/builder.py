"""Builds the chain problem of objectives: groups of features, and their data.

The number of instances of a group is rounded up to a bucket, so that adding one more
objective seldom recompiles.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from posewise.features.symbol import PERIOD
from posewise.features.vectors import row_directions
from posewise.robots.kinematics.tree import KinematicTree
from posewise.solvers import INEQ, SOS

from ..terms.objective import Objective
from .groups import ChainData, FeatureBatch, FeatureGroup
from .modes import ModeSequence
from .problem import Chain
from .slice_rows import SliceObjective, bind_objectives, rows_of_alternatives


class RowLocation(NamedTuple):
    """Location of the rows of an objective, in order of slices."""

    batch: int
    """Index of the batch."""
    rows: np.ndarray
    """Indices of the instances in the batch (slices,)."""
    positions: np.ndarray
    """Indices of the rows among all concatenated rows (slices, D)."""
    lower_bound: np.ndarray
    """Smallest value of the feature (slices, D); rows below it return slack."""


def build_chain(
    modes: ModeSequence,
    objectives: Sequence[Objective],
    order: int,
    tau: Float[np.ndarray, " T"],
    durations: tuple[int, ...] = (),
    room: Sequence[Sequence[Objective]] = (),
) -> tuple[Chain, ChainData, list[list[RowLocation]]]:
    """Return structure and data of a problem, and the rows of each objective.

    If the feature of an objective has another structure in some slices (another number
    of collision pairs), its rows in these slices are in another batch.

    Args:
        modes: the world with its mode switches.
        objectives: objectives of the problem.
        order: number of fixed slices before the first one.
        tau: duration of the step into each slice [s].
        durations: see `Chain.durations`.
        room: see `ProblemSpec.room`.
    """
    K, T = modes.world.tree.model.unnamed_kinematics, len(tau)
    members = bind_objectives(modes, objectives)
    separate = _separate_coordinates(K.tree, modes.shared_columns)

    dtype = K.node_p.dtype
    locations: list[list[RowLocation]] = [[] for _ in objectives]
    groups: list[FeatureGroup] = []
    batches: list[FeatureBatch] = []
    num_rows = 0
    # Groups with Jacobians of the same shape are neighbours, because the solver
    # concatenates such blocks; see `solvers.residuals.merge_like_blocks`.
    every = [
        (_sized(kind, choices, separate, bool(durations)), kind, choices)
        for kind, choices in rows_of_alternatives(modes, members, room).items()
    ]
    for group, kind, choices in sorted(every, key=lambda g: _jacobian_shape_key(g[0])):
        D, instances = group.num_rows, members.get(kind, [])
        for i in dict.fromkeys(i for i, _ in instances):
            rows = np.array([k for k, (j, _) in enumerate(instances) if j == i])
            positions = num_rows + rows[:, None] * D + np.arange(D)
            bounds = np.stack([_lower_bound(instances[k][1], D) for k in rows])
            location = RowLocation(len(groups), rows, positions, bounds)
            locations[i].append(location)
        num_rows += group.capacity * D
        groups.append(group)
        own_rows = [row for _, row in instances]
        spare = (own_rows or next(filter(None, choices)))[0]
        batches.append(_make_batch(own_rows, spare, group, T, dtype))
    shared = modes.shared_columns
    structure = Chain(K.tree, T, order, tuple(groups), shared, durations)
    prefix = np.tile(modes.from_base(modes.base.q), (order, 1))
    data = ChainData(
        K,
        np.asarray(prefix, dtype),
        *jax.device_put(
            (tau.astype(dtype), modes.limits(T).astype(dtype), tuple(batches))
        ),
    )
    return structure, data, locations


def _jacobian_shape_key(group: FeatureGroup) -> tuple[int, bool]:
    """Return a key that is equal for groups with Jacobians of the same shape."""
    return group.window, group.is_single_column


def _separate_coordinates(tree: KinematicTree, shared: tuple[int, ...]) -> set[int]:
    """Return the coordinates that have one tangent column in each slice."""
    columns = enumerate(tree.column_coordinate)
    return {c for column, c in columns if c >= 0 and column not in shared}


def _sized(
    group: FeatureGroup,
    choices: list[list[SliceObjective]],
    separate: set[int],
    has_durations: bool,
) -> FeatureGroup:
    """Return a group with room for its rows, whichever alternative is chosen.

    Args:
        group: without its capacity.
        choices: all its rows with each of the alternatives.
        separate: see `_separate_coordinates`.
        has_durations: whether durations are variables.
    """
    is_single = _is_single_column(group, chain(*choices), separate)
    return replace(
        group,
        is_single_column=is_single and not (has_durations and group.order),
        capacity=_round_up_to_bucket(max(map(len, choices))),
        num_param_sets=max(_num_param_sets(group, rows) for rows in choices),
    )


def _is_single_column(
    group: FeatureGroup, rows: Iterable[SliceObjective], separate: set[int]
) -> bool:
    """Return whether each row of a group depends on only one tangent column."""
    if not group.symbol.rows_per_coordinate or len(group.scale_shape) != 1:
        return False
    return all(separate.issuperset(row.feature.coordinates) for row in rows)


def _num_param_sets(group: FeatureGroup, rows: list[SliceObjective]) -> int:
    """Return the number of sets of parameters that instances share, or 0.

    Only the parameters of some symbols are large enough for sharing to pay off.
    """
    if not group.symbol.shares_params:
        return 0
    count = len(_param_sets(rows))
    return _round_up_to_bucket(count) if count < len(rows) else 0


def _param_set_key(row: SliceObjective) -> tuple[int, float]:
    """Return a key that is equal for instances with the same parameters."""
    return id(row.feature), row.slack


def _param_sets(rows: list[SliceObjective]) -> dict[tuple[int, float], SliceObjective]:
    """Return one instance for each set of parameters."""
    return {_param_set_key(row): row for row in rows}


def _make_batch(
    rows: list[SliceObjective],
    spare: SliceObjective,
    group: FeatureGroup,
    T: int,
    dtype: Any,
) -> FeatureBatch:
    """Return the data of a group, padded to its capacity by copies of scale 0.

    Args:
        rows: of the group.
        spare: the row that is copied, of the same group.
        group: with its capacity.
        T: number of slices.
        dtype: of the numbers.
    """
    padding = group.capacity - len(rows)
    padded = rows + [spare] * padding

    def stack(get: Callable[[SliceObjective], Any], dtype: Any) -> np.ndarray:
        return np.stack([get(row) for row in padded]).astype(dtype)

    scale = np.stack([row.weight * row.feature.scale for row in padded])
    scale[len(rows) :] = 0.0
    sets = _param_sets(padded)
    index_of = {key: k for k, key in enumerate(sets)}
    param_set = [index_of[_param_set_key(row)] for row in padded]
    if group.num_param_sets:
        sources = [*sets.values(), *[spare] * (group.num_param_sets - len(sets))]
    else:
        sources = padded
    params = {
        k: np.stack([row.feature.params[k] for row in sources]).astype(_dtype(v, dtype))
        for k, v in spare.feature.params.items()
    }
    if group.symbol.vector_form:
        directions = row_directions(
            group.symbol.vector_form, group.order, scale, params
        )
        params = {k: v.astype(dtype) for k, v in directions.items()}
    if "slack" in params:
        params["slack"] = np.array([row.slack for row in sources], dtype)
    if PERIOD in params:
        # Inequalities bound the coordinates themselves, e.g. the turns of a cable.
        differences = np.array([row.type != INEQ for row in padded])
        params[PERIOD] = params[PERIOD] * differences[:, None].astype(dtype)
    return FeatureBatch(
        frames=stack(lambda row: row.frames, int),
        coordinates=stack(lambda row: row.feature.coordinates, int),
        params=params,
        param_set=np.array(param_set),
        scale=scale.astype(dtype),
        target=stack(lambda row: row.feature.target, dtype),
        slices=np.array([row.t for row in rows] + [T - 1] * padding),
        types=np.array([row.type for row in rows] + [SOS] * padding),
        fractions=stack(lambda row: row.fraction, dtype)
        if group.is_between
        else np.zeros(0, dtype),
    )


def without_slack(data: ChainData) -> ChainData:
    """Return data with which collision rows are their features, without slack."""

    def params(b: FeatureBatch) -> dict[str, Any]:
        return {k: 0 * v if k == "slack" else v for k, v in b.params.items()}

    batches = tuple(b._replace(params=params(b)) for b in data.batches)
    return data._replace(batches=batches)


def _lower_bound(row: SliceObjective, D: int) -> np.ndarray:
    """Return the smallest scaled value (D,) of a feature; rows below it are slack."""
    if not row.slack:
        return np.full(D, -np.inf)
    return -row.weight * row.feature.scale * row.feature.target


def _round_up_to_bucket(n: int) -> int:
    """Return the next power of two up to 8, or the next multiple of 8."""
    return 1 << (n - 1).bit_length() if n <= 8 else -(-n // 8) * 8


def _dtype(values: Any, dtype: Any) -> Any:
    """Return the given floating type for floats, and their own type for others."""
    kind = np.asarray(values).dtype
    return dtype if np.issubdtype(kind, np.floating) else kind
