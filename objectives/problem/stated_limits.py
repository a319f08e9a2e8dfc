"""Limits of motion that a problem states, as numbers."""

from collections.abc import Collection, Sequence

import numpy as np
from jaxtyping import Float

from posewise.features.table import FS

from ..terms.objective import OT, Objective
from .spec import ProblemSpec, mode_sequence

ORDERS = {
    "velocity": (FS.velocityBounds, 1),
    "acceleration": (FS.accelerationBounds, 2),
}
"""Symbol and order of each kind of limit."""


def stated_limits(
    spec: ProblemSpec, kind: str, names: Sequence[str], slices: Collection[int] = ()
) -> Float[np.ndarray, " n"]:
    """Return the least limit of each coordinate in the objectives; inf where none is.

    Args:
        spec: the problem.
        kind: "velocity" or "acceleration".
        names: of the coordinates.
        slices: all of these must be limited for a limit to count.
    """
    limits = np.full(len(names), np.inf)
    for objective in spec.objectives:
        if not _limits(objective, kind) or not {*slices} <= {*objective.slices}:
            continue
        mode = mode_sequence(spec).at(objective.slices[0])
        bound = mode.bind(objective.feature)
        for i, limit in zip(bound.coordinates, bound.params["limits"], strict=True):
            if (name := mode.config.joints.coordinate_names[i]) in names:
                k = names.index(name)
                limits[k] = min(limits[k], limit)
    return limits


def _limits(objective: Objective, kind: str) -> bool:
    symbol, order = ORDERS[kind]
    feature = objective.feature
    is_kind = feature.symbol is symbol.symbol and feature.order == order
    return is_kind and objective.type is OT.ineq
