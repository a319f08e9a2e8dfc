"""Rows of objectives in single slices, with features bound in the modes of slices."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from posewise.features.bound_feature import BoundFeature
from posewise.features.collisions import MAX_COLLISION_SLACK

from ..terms.objective import OT, Objective
from .groups import FeatureGroup
from .modes import Mode, ModeSequence


class SliceObjective(NamedTuple):
    """An objective in one slice."""

    t: int
    objective: Objective
    feature: BoundFeature
    frames: np.ndarray
    """Indices (window, m) of the frames in each slice of the window."""
    type: int
    """Type of the row for the solver; see `_row_type`."""
    slack: float
    """Distance within which a satisfied inequality returns its slack [m]."""
    weight: float
    fraction: float | None
    """Fraction of the way from the slice before; None: in the slice."""


GroupMembers = dict[FeatureGroup, list[tuple[int, SliceObjective]]]
"""By group the objectives in slices, each with its index among all objectives."""


def bind_objectives(
    modes: ModeSequence, objectives: Sequence[Objective]
) -> GroupMembers:
    """Return objectives in single slices, by the group that they belong to."""
    members: GroupMembers = {}
    for i, objective in enumerate(objectives):
        weights = objective.weights or (1.0,) * len(objective.slices)
        windows: dict[tuple[Mode, ...], BoundWindow] = {}
        for t, weight in zip(objective.slices, weights, strict=True):
            window = _window_modes(modes, objective, t)
            if window not in windows:
                windows[window] = _bind_window(modes, objective, window)
            group, feature, frames, kind, slack = windows[window]
            row = SliceObjective(
                t, objective, feature, frames, kind, slack, weight, objective.fraction
            )
            members.setdefault(group, []).append((i, row))
    return members


def rows_of_alternatives(
    modes: ModeSequence,
    members: GroupMembers,
    room: Sequence[Sequence[Objective]],
) -> dict[FeatureGroup, list[list[SliceObjective]]]:
    """Return all rows of each group, with each of several alternatives in turn.

    Args:
        modes: the world with its mode switches.
        members: of the problem, with one of the alternatives.
        room: objectives of each alternative; empty: there is only this one.
    """
    chosen_ids = {id(objective) for chosen in room for objective in chosen}
    common = {
        group: [row for _, row in rows if id(row.objective) not in chosen_ids]
        for group, rows in members.items()
    }
    bound = [bind_objectives(modes, chosen) for chosen in room] or [{}]
    # The order of groups is the same with each of the alternatives.
    groups = [group for group, rows in common.items() if rows]
    groups += [group for chosen in bound for group in chosen]
    return {
        group: [
            common.get(group, []) + [row for _, row in chosen.get(group, [])]
            for chosen in bound
        ]
        for group in dict.fromkeys(groups)
    }


def _window_modes(
    modes: ModeSequence, objective: Objective, t: int
) -> tuple[Mode, ...]:
    """Return the modes of the slices that a feature depends on, the oldest first.

    Until a slice is reached, the mode is that of the slice before.
    """
    newest = t if objective.fraction is None else t - 1
    return tuple(
        modes.at(k) for k in range(newest - objective.feature.order, newest + 1)
    )


class BoundWindow(NamedTuple):
    """A feature bound in the modes of its window; see `SliceObjective`."""

    group: FeatureGroup
    feature: BoundFeature
    frames: np.ndarray
    type: int
    slack: float


def _bind_window(
    modes: ModeSequence, objective: Objective, window: tuple[Mode, ...]
) -> BoundWindow:
    """Return the feature of an objective with the frames of its window.

    Frames in older slices are those of the mode of that slice, if the feature has the
    same structure there; otherwise those of the newest slice.
    """
    bound = [mode.bind(objective.feature) for mode in window]
    feature, group = bound[-1], _group_of(bound[-1])
    is_uniform = all(_group_of(b) == group for b in bound)
    frames = np.stack([b.frames if is_uniform else feature.frames for b in bound])
    if feature.symbol.vector_form:
        frames = feature.symbol.vector_form.select_frames(
            frames, len(modes.world.frames)
        )
    group = replace(group, is_between=objective.fraction is not None)
    kind = _row_type(feature, objective.type)
    return BoundWindow(group, feature, frames, kind, _slack(feature, kind))


def _row_type(feature: BoundFeature, kind: OT) -> int:
    """Return the type of a row; for a nonnegative feature φ = 0 becomes φ <= 0.

    Both are equivalent, and the solver treats inactive inequalities better.
    """
    has_zero_target = not feature.target.any()
    is_equivalent = feature.symbol.is_nonnegative and _is_upper(feature)
    is_equivalent &= kind is OT.eq and has_zero_target
    return OT.ineq.value if is_equivalent else kind.value


def _slack(feature: BoundFeature, kind: int) -> float:
    """Return the distance [m] within which a satisfied inequality returns its slack.

    Without slack a collision row has a zero gradient when nothing collides, so that
    steps ignore it; see `features.collisions.MAX_COLLISION_SLACK`.
    """
    if "slack" not in feature.params or feature.order > 0 or kind != OT.ineq.value:
        return 0.0
    has_slack = _is_upper(feature) and (feature.target >= 0).all()
    return MAX_COLLISION_SLACK if has_slack else 0.0


def _is_upper(feature: BoundFeature) -> bool:
    """Return whether larger values of a feature are larger values of its rows."""
    return feature.scale.ndim == 1 and bool((feature.scale >= 0).all())


def _group_of(feature: BoundFeature) -> FeatureGroup:
    """Return the group of a bound feature, without its capacity."""
    # All vectors are one symbol with three frames, so that they share a computation.
    is_vector = bool(feature.symbol.vector_form)
    params = {} if is_vector else feature.params
    return FeatureGroup(
        symbol=feature.symbol,
        order=feature.order,
        num_frames=3 if is_vector else len(feature.frames),
        num_coordinates=len(feature.coordinates),
        scale_shape=feature.scale.shape,
        param_shapes=tuple((k, np.shape(v)) for k, v in sorted(params.items())),
    )
