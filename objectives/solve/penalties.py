"""Initial penalties of starts, from the cost of a problem's motion.

A small initial penalty favours the cost and reaches good minima, but where costs
outweigh the constraints it bends a path into obstacles that it was clear of, and the
path stays there. A large initial penalty favours feasibility. Hence no start begins
with a smaller penalty than its costs call for, and every second start with one so large
that the path keeps out of obstacles.
"""

from dataclasses import dataclass
from typing import Any

from posewise.solvers import Options

from ..problem.spec import ProblemSpec
from ..terms.objective import OT, Objective

MAX_MOTION_COST = 1e8
"""Upper bound of the cost of motion from which penalties are computed, which may be
infinite."""


@dataclass(frozen=True, slots=True)
class FirstPenalties:
    """Choices of the penalties that starts begin with, varied in docs/evidence.md."""

    least: float = 0.03
    """Smallest initial penalty of a single configuration [1]. Paths begin with it times
    the cube root of their slices, as the costs of all slices pull at a constraint in
    one."""
    cost_factor: float = 3.0
    """Smallest ratio of the initial penalty and the cost of motion [1]. Higher values
    keep paths out of obstacles, lower ones reach lower costs."""
    alternate_least: float = 10.0
    """Smallest initial penalty of every second start [1], large enough for paths of any
    number of slices. Higher values lose low costs, lower ones resemble the first
    start."""
    alternate_cost_factor: float = 3200.0
    """Smallest ratio of that penalty and the cost of motion [1]. Higher values hold
    constraints sooner."""


FIRST_PENALTIES = FirstPenalties()


def initial_penalties(spec: ProblemSpec) -> dict[str, Any]:
    """Return fields of `solvers.Options` that suit a problem."""
    costs = (_motion_cost(spec, o) for o in spec.objectives)
    motion_cost = min(max(costs, default=0.0), MAX_MOTION_COST)
    first = FIRST_PENALTIES
    even = max(first.least * spec.T ** (1 / 3), first.cost_factor * motion_cost)
    odd = max(first.alternate_least, first.alternate_cost_factor * motion_cost)
    return {
        "mu": even,
        "alternate_start_penalty_factor": odd / even,
        "mu_max": Options.mu_max * max(1.0, motion_cost),
    }


def _motion_cost(spec: ProblemSpec, o: Objective) -> float:
    """Return the cost, in a slice, of moving a joint by one unit within a phase."""
    if o.type is not OT.sos or not o.feature.symbol.rows_per_coordinate:
        return 0.0
    cost = o.max_unit_cost
    if cost and o.feature.order:
        rate = spec.T / spec.slices_per_phase / float(spec.tau.sum())
        # Repeated products overflow to infinity, whereas a power raises an error.
        for _ in range(o.feature.order):
            cost *= rate * rate
    return cost
