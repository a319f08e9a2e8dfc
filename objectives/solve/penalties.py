"""Initial penalties of starts, from the cost of a problem's motion.

A small initial penalty favours the cost and reaches good minima, but where costs
outweigh the constraints it bends a path into obstacles that it was clear of, and the
path stays there. A large initial penalty favours feasibility. Hence no start begins
with a smaller penalty than its costs call for, and every second start with one so large
that the path keeps out of obstacles.
"""

from typing import Any

from posewise.solvers import Options

from ..problem.spec import ProblemSpec
from ..terms.objective import OT, Objective

LEAST_PENALTY = 0.03
"""Smallest initial penalty of a single configuration. Paths begin with it times the
cube root of their slices, as the costs of all slices pull at a constraint in one."""
COST_FACTOR = 3.0
"""Smallest ratio of the initial penalty and the cost of motion. Higher values keep
paths out of obstacles, lower ones reach lower costs."""
ALTERNATE_PENALTY = 10.0
"""Smallest initial penalty of every second start [1], large enough for paths of any
number of slices. Higher values lose low costs, lower ones resemble the first start."""
ALTERNATE_COST_FACTOR = 3200.0
"""Smallest ratio of that penalty and the cost of motion. Higher values hold constraints
sooner."""
MAX_MOTION_COST = 1e8
"""Upper bound of the cost of motion from which penalties are computed."""
CONTACT_FORCE_OPTIONS = {"mu": 10.0, "mu_factor": 8.0, "max_step": 0.05}
"""Solver options for paths with contact forces.

The laws of physics are bilinear in forces and positions, so that long steps from far
away end at other local minima.
"""


def initial_penalties(spec: ProblemSpec) -> dict[str, Any]:
    """Return fields of `solvers.Options` that suit a problem."""
    if spec.T > 1 and spec.contacts:
        return dict(CONTACT_FORCE_OPTIONS)
    costs = (_motion_cost(spec, o) for o in spec.objectives)
    motion_cost = min(max(costs, default=0.0), MAX_MOTION_COST)
    even = max(LEAST_PENALTY * spec.T ** (1 / 3), COST_FACTOR * motion_cost)
    odd = max(ALTERNATE_PENALTY, ALTERNATE_COST_FACTOR * motion_cost)
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
