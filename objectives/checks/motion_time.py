"""Limits of motion that keep a path from its goals for want of time."""

from collections.abc import Sequence

import numpy as np

from posewise.features.table import FS

from ..terms.objective import OT, Objective
from ..terms.objective_report import ObjectiveReport

MOTION_LIMITS = frozenset(
    symbol.symbol
    for symbol in (
        *(FS.velocityBounds, FS.accelerationBounds, FS.jerkBounds),
        *(FS.linearSpeed, FS.angularSpeed),
    )
)
"""Symbols that more time makes smaller, for the same path."""


def needs_time(
    reports: Sequence[ObjectiveReport], has_free_durations: bool, tolerance: float
) -> str:
    """Return a sentence if a path that failed is at a limit of its motion; else "".

    Args:
        reports: of all objectives.
        has_free_durations: whether the durations of phases are variables.
        tolerance: largest violation that counts as satisfied, in scaled units.
    """
    reached = [
        report.label
        for report in reports
        if _limits_motion(report.objective) and np.max(report.values) > -tolerance
    ]
    if not reached:
        return ""
    remedy = "a larger max in KOMO.free_durations"
    if not has_free_durations:
        remedy = "a longer duration_per_phase, or KOMO.free_durations"
    return (
        f"The path reaches its {' and '.join(reached)}: if its goals are within reach,"
        f" it likely needs more time ({remedy})."
    )


def _limits_motion(objective: Objective) -> bool:
    is_bound = objective.type is OT.ineq
    return is_bound and objective.feature.symbol in MOTION_LIMITS
