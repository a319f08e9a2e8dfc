"""`SolverReturn` with rai's names and rai's rule of feasibility."""

from dataclasses import dataclass
from typing import Any

import numpy as np

import posewise as pw

from .nlp_problem import row_error

FEASIBLE_LIMIT = 0.1
"""Sum of violations below which rai calls a solution feasible [scaled units]; a larger
one accepts worse solutions."""
STRICT_LIMIT = 1e-3
"""Largest violation of a row with which posewise calls a solution feasible [scaled
units]; a larger one accepts worse solutions."""


@dataclass(frozen=True, eq=False, repr=False)
class SolverReturn:
    """Result of a solve; errors are rai's sums over rows."""

    x: np.ndarray
    """Variables."""
    evals: int
    """Number of evaluations, or of iterations of posewise's solver."""
    time: float
    """Wall time, with compilation [s]."""
    done: bool
    """Whether the solver ended by itself, and not at a limit."""
    f: float
    """Sum of the rows of type f."""
    sos: float
    """Sum of squares of cost rows."""
    ineq: float
    """Sum of the positive rows of inequalities."""
    eq: float
    """Sum of |φ| of equalities."""
    every_row_holds: bool
    """Whether every row is within 1e-3, which is posewise's `feasible`."""
    solution: pw.Solution | None = None
    """posewise's solution of a `KOMO`; None for other problems."""

    @property
    def feasible(self) -> bool:
        """Whether `eq` and `ineq` are below 0.1 each, as in rai."""
        return max(self.eq, self.ineq) < FEASIBLE_LIMIT

    def dict(self) -> dict[str, Any]:
        """Return all of rai's values except x."""
        names = ("evals", "time", "done", "feasible", "f", "sos", "ineq", "eq")
        return {name: getattr(self, name) for name in names}

    def __repr__(self) -> str:
        names = ("time", "evals", "done", "feasible", "eq", "ineq", "sos", "f")
        parts = ", ".join(f"{k}: {getattr(self, k):g}" for k in names)
        shape = ", ".join(map(str, self.x.shape))
        return f"{{ {parts}, x-dim: [{shape}] }}"


def komo_return(solution: pw.Solution) -> SolverReturn:
    """Return the result of posewise's solver."""
    limits = pw.Status.ITERATION_LIMIT, pw.Status.TIME_LIMIT
    return SolverReturn(
        solution.path.reshape(-1),
        solution.iterations,
        solution.seconds,
        solution.status not in limits,
        **totals(solution),
        every_row_holds=solution.feasible,
        solution=solution,
    )


def totals(solution: pw.Solution) -> dict[str, float]:
    """Return the sums of the errors of all objectives, by type."""
    sums = {"sos": 0.0, "ineq": 0.0, "eq": 0.0, "f": 0.0}
    for report in solution.objectives:
        kind = report.objective.type.name
        sums[kind] += row_error(report.values, kind)
    return sums
