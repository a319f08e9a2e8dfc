"""The penalties that starts begin with, by what a problem's motion costs.

From small penalties costs lead, to good minima, but through what is in the way: where
they weigh more than it, a path is bent into obstacles that it was clear of, and stays
there. Hence no start begins with less than costs call for, and every second one with so
much that it keeps out of them.
"""

from typing import NamedTuple

from posewise.solvers import Options

from ..objective import OT, Objective
from ..path_problem import PathProblem


class PenaltyRule(NamedTuple):
    """A penalty is at least a number, and so many times the motion's cost."""

    number: float
    times: float

    def __call__(self, motion: float) -> float:
        return max(self.number, self.times * motion)


SLICE_PENALTIES = PenaltyRule(0.01, 5.0), PenaltyRule(1.0, 100.0)
"""Of single slices, for every first start and every second one,"""
PATH_PENALTIES = PenaltyRule(0.1, 3.0), PenaltyRule(10.0, 3200.0)
"""and of paths."""
MAX_MOTION_COST = 1e8
"""Motion that costs more counts as that."""
CONTACT_FORCE_OPTIONS = {"mu": 10.0, "mu_factor": 8.0, "max_step": 0.05}
"""For paths with contact forces: from afar, and by long steps, laws of physics lead
elsewhere."""


def initial_penalties(komo: PathProblem) -> dict[str, float]:
    """Fields of `solvers.Options`.

    Its own small penalties serve paths on which objects change hands: they are solved
    faster, and more often, from these.
    """
    if komo.T > 1 and komo.contacts:
        return CONTACT_FORCE_OPTIONS
    if komo.T > 1 and komo.switches:
        return {}
    motion = min(
        max((_cost(komo, o) for o in komo.objectives), default=0.0), MAX_MOTION_COST
    )
    first, second = (
        least(motion) for least in (SLICE_PENALTIES if komo.T == 1 else PATH_PENALTIES)
    )
    most = Options.mu_max * max(1.0, motion)
    return {
        "mu": first,
        "alternate_start_penalty_factor": second / first,
        "mu_max": most,
    }


def _cost(komo: PathProblem, o: Objective) -> float:
    """About what it costs in a slice to move a joint by one unit within a phase."""
    if o.type is not OT.sos or not o.feature.symbol.rows_per_coordinate:
        return 0.0
    cost = o.steepness
    if cost and o.feature.order:
        rate = komo.T / komo.slices_per_phase / float(komo.tau.sum())
        for _ in range(o.feature.order):
            cost *= rate * rate  # infinite rather than an error
    return cost
