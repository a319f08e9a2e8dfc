"""The penalties that starts begin with, by what a problem's motion costs.

From small penalties costs lead, to good minima, but through what is in the way: where
they weigh more than it, a path is bent into obstacles that it was clear of, and stays
there. Hence no start begins with less than costs call for, and every second one of a
path with so much that it keeps out of them.
"""

from ..solvers import Options
from .objective import OT, Objective
from .path_problem import PathProblem

SLICE, PATH = 0.01, 0.1
"""The least penalties, of single slices and of paths."""
SLICE_AWARE, PATH_AWARE = 5.0, 3.0
"""They are at least so many times the motion's cost."""
SPREAD, KEPT_OUT = 100.0, 3.2e4
"""Of every second start of a path: at least so many times `PATH`, and so many times
the motion's cost."""
DEAREST = 1e8
"""Motion that costs more counts as that."""
FORCES = {"mu": 10.0, "mu_factor": 8.0, "max_step": 0.05}
"""For paths with contact forces: from afar, and by long steps, laws of physics lead
elsewhere."""


def first_penalties(komo: PathProblem) -> dict[str, float]:
    """Fields of `solvers.Options`.

    Paths on which objects change hands are solved faster, and more often, from a
    smaller penalty than others.
    """
    if komo.T > 1 and komo.exchanges:
        return FORCES
    if komo.T > 1 and komo.switches:
        return {"mu": SLICE}
    motion = min(max((_cost(komo, o) for o in komo.objectives), default=0.0), DEAREST)
    most = {"mu_max": Options.mu_max * max(1.0, motion)}
    if komo.T == 1:
        return {"mu": max(SLICE, SLICE_AWARE * motion), **most}
    mu = max(PATH, PATH_AWARE * motion)
    return {"mu": mu, "mu_spread": max(SPREAD * PATH, KEPT_OUT * motion) / mu, **most}


def _cost(komo: PathProblem, o: Objective) -> float:
    """About what it costs in a slice to move a joint by one unit within a phase."""
    if o.type is not OT.sos or not o.feature.symbol.each:
        return 0.0
    cost = o.steepness
    if cost and o.feature.order:
        rate = komo.T / komo.slices_per_phase / float(komo.tau.sum())
        for _ in range(o.feature.order):
            cost *= rate * rate  # infinite rather than an error
    return cost
