"""Targets of axes that no unit vector equals."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool

from posewise.features.table import FS

from ..problem.spec import ProblemSpec, mode_sequence
from ..terms.objective import OT, Objective

AXES = frozenset(
    symbol.symbol
    for symbol in (
        *(FS.vectorX, FS.vectorY, FS.vectorZ),
        *(FS.vectorXRel, FS.vectorYRel, FS.vectorZRel),
    )
)
"""Symbols whose value is an axis of a frame, and so of length 1."""


def axes_of_other_length(spec: ProblemSpec, tolerance: float) -> Iterator[str]:
    """Yield a sentence for each target of an axis that is no vector of length 1."""
    modes = mode_sequence(spec)
    for objective in filter(_is_axis_goal, spec.objectives):
        bound = modes.at(objective.slices[-1]).bind(objective.feature)
        if bound.scale.ndim != 1:
            continue
        chosen = bound.scale != 0
        length = float(np.linalg.norm(bound.target[chosen]))
        least = np.abs(bound.scale[chosen]).min(initial=np.inf)
        slack = float(tolerance * np.sqrt(3) / least)
        if _is_too_far(length, chosen, slack):
            remedy = "a direction"
            if length and chosen.all():
                remedy = str((bound.target / length).round(4).tolist())
            elif length:
                remedy = "smaller components"
            yield (
                f"{objective.name}: its target {bound.target.tolist()} has length"
                f" {length:.4g}, but an axis has length 1. It cannot be met; give"
                f" {remedy}."
            )


def _is_too_far(length: float, chosen: Bool[np.ndarray, "3"], slack: float) -> bool:
    """Return whether an axis differs from a target of that length by more than slack.

    Components that are left out can make up for what is missing to length 1.
    """
    return length > 1 + slack or bool(chosen.all()) and length < 1 - slack


def _is_axis_goal(objective: Objective) -> bool:
    feature = objective.feature
    is_goal = objective.type is OT.eq and feature.order == 0
    return is_goal and feature.symbol in AXES and feature.target is not None
