"""Options of the solver: tolerances, penalty, damping and limits."""

from dataclasses import dataclass
from typing import TypeAlias, TypedDict

import jax

from posewise.compilation.arrays import Array

Number: TypeAlias = float | Array
"""A number, or an array that holds one: options are data of compiled programs."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Options:
    """Options of the augmented Lagrangian solver.

    All are data of the compiled program, so that new values compile nothing.
    """

    tolerance: Number = 1e-4
    """Largest violation at convergence, in scaled units."""
    feasibility_tolerance: Number = 1e-3
    """Largest violation of a result that counts as feasible, in scaled units; larger
    than `tolerance`, so that a solve that ends early may still be feasible."""
    step_tolerance: Number = 1e-7
    """A step (max norm) below this ends a subproblem [rad, m]."""
    cost_tolerance: Number = 1e-7
    """A predicted relative decrease below this ends the solve once it is feasible."""
    kkt_tolerance: Number = 1e-2
    """Largest residual of the conditions of optimality at convergence, relative to the
    largest gradient of a row."""
    inner_tolerance: Number = 1e-2
    """A predicted relative decrease below this ends an infeasible subproblem."""
    early_exit_factor: Number = 1.0
    """A subproblem ends before its step is tried if the predicted decrease is below
    `early_exit_factor * inner_tolerance` times the penalty of all violations."""
    progress_tolerance: Number = 2e-3
    """A relative decrease of the cost below this, over eight feasible iterations, ends
    the solve."""
    max_step: Number = 0.5
    """Largest change of a coordinate in one step [rad, m]."""
    mu: Number = 0.01
    """Initial penalty; `KOMO.solve` chooses a larger one where motion costs more."""
    alternate_start_penalty_factor: Number = 100.0
    """Every second start begins with a penalty that is larger by this factor: a small
    penalty favours low costs, a large one small violations."""
    mu_factor: Number = 32.0
    """Growth of the penalty, each time that it is raised."""
    sufficient_violation_decrease: Number = 0.1
    """The penalty is raised if a subproblem leaves more than this share of the largest
    violation."""
    mu_max: Number = 1e10
    """Largest penalty; if violations stall there, the solve ends as infeasible."""
    damping: Number = 1e-2
    """Levenberg–Marquardt damping at first, and the least one of a new subproblem."""
    damping_min: Number = 1e-8
    """Smallest damping: it keeps the linear system positive definite."""
    max_iterations: Number = 500
    """Largest number of evaluated points."""


class SolverOptions(TypedDict, total=False):
    """Keywords that solves accept: the fields of `Options` but two.

    Solves have a `tolerance` parameter, which is `Options.feasibility_tolerance`;
    `Options.tolerance` is a tenth of it.
    """

    step_tolerance: float
    cost_tolerance: float
    kkt_tolerance: float
    inner_tolerance: float
    early_exit_factor: float
    progress_tolerance: float
    max_step: float
    mu: float
    alternate_start_penalty_factor: float
    mu_factor: float
    sufficient_violation_decrease: float
    mu_max: float
    damping: float
    damping_min: float
    max_iterations: int
