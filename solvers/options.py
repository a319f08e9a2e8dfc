"""Numbers of the solver."""

from dataclasses import dataclass
from typing import Any

import jax

Number = Any
"""A Python number, or a traced one."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Options:
    """Numbers of the solver; all may be varied without compiling anew."""

    tolerance: Number = 1e-4
    """Largest violation at convergence, in scaled units."""
    step_tolerance: Number = 1e-7
    """A step (max norm) below this ends a subproblem."""
    cost_tolerance: Number = 1e-7
    """A predicted relative decrease below this ends the solve once feasible."""
    inner_tolerance: Number = 1e-2
    """A predicted relative decrease below this ends an infeasible subproblem."""
    early_exit_factor: Number = 1.0
    """A predicted decrease below so many times that, as a share of what violations
    cost, ends one before the step is tried."""
    progress_tolerance: Number = 2e-3
    """A relative decrease of the cost below this, in eight feasible passes, ends the
    solve."""
    max_step: Number = 0.5
    """Largest change of a coordinate in one step [rad, m]."""
    mu: Number = 0.01
    """Initial penalty; `KOMO.solve` chooses more where motion costs more."""
    alternate_start_penalty_factor: Number = 100.0
    """Every second start begins with so many times that: where one comes from low
    costs, the next one comes from small violations."""
    mu_factor: Number = 32.0
    sufficient_violation_decrease: Number = 0.1
    """The penalty rises where a subproblem leaves more than this of the violation."""
    mu_max: Number = 1e10
    damping: Number = 1e-2
    """Initial Levenberg-Marquardt damping, and the least one of a new subproblem."""
    damping_min: Number = 1e-8
    max_iterations: Number = 500
