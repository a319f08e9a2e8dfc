"""`NLP_Solver`, its problem and its result, with rai's names."""

import warnings
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

import posewise as pw
from posewise.robots.errors import unknown_name
from posewise.robots.typing import MatrixLike, VectorLike

from .enums import OT

_SOLVER_OPTIONS = {
    "stopTolerance": "step_tolerance",
    "stopEvals": "max_iterations",
    "stepMax": "max_step",
    "damping": "damping",
    "muInit": "mu",
    "muInc": "mu_factor",
    "muMax": "mu_max",
}
"""rai's options, and the equivalent options of `posewise.solvers.Options`."""

_IGNORED_OPTIONS = (
    *("stopFTolerance", "stopGTolerance", "stopInners", "stopOuters", "stopLineSteps"),
    *("stopTinySteps", "stepInit", "stepMin", "stepInc", "stepDec", "wolfe"),
    *("muLBInit", "muLBDec", "lambdaMax", "interiorPadding", "boundedNewton"),
    *("method", "finiteDifference"),
)
"""rai's options without an equivalent; `setOptions` warns that it ignores them."""


@dataclass
class SharedProblem:
    """Problem of a `KOMO` with its last solution, shared with its solver."""

    komo: pw.KOMO
    solution: pw.Solution | None = None

    def initialize(self, path: VectorLike | MatrixLike) -> None:
        """Start the next solve from a configuration (n,) or a path (T, n)."""
        self.komo.initialize(path)
        self.solution = None


class NLP:
    """Nonlinear program of a `KOMO`."""

    def __init__(self, state: SharedProblem) -> None:
        self.state = state
        self._nlp: pw.NLP | None = None

    @property
    def nlp(self) -> pw.NLP:
        """The posewise problem, as it was at the first access."""
        if self._nlp is None:
            self._nlp = self.state.komo.nlp()
        return self._nlp

    def evaluate(self, x: VectorLike) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows φ, and their Jacobian as (row, column, value) triplets."""
        phi, values = self.nlp.values(x)
        return phi, np.stack([self.nlp.row, self.nlp.column, values], 1)

    def getTypes(self) -> list[Enum]:
        """Return the objective type of each row."""
        return [getattr(OT, t.name) for t in self.nlp.types]

    def getInitializationSample(self) -> np.ndarray:
        """Return the initial path with a little noise; all calls return the same."""
        noise = np.random.default_rng(0).normal(scale=0.01, size=self.getDimension())
        return self.nlp.initial + noise

    def summarizeErrors(self, phi: VectorLike) -> tuple[float, float, float, float]:
        """Return the totals of f, sos, ineq and eq: sums over rows, as in rai."""
        rows = np.ravel(phi)

        def total(type: pw.OT) -> float:
            return row_error(rows[[t is type for t in self.nlp.types]], type)

        return 0.0, total(pw.OT.sos), total(pw.OT.ineq), total(pw.OT.eq)

    def getDimension(self) -> int:
        """Return the number of variables, slice by slice, then the shared ones."""
        return self.nlp.dimension

    def getBounds(self) -> np.ndarray:
        """Return the limits (2, variables), lower row first; ±inf without limits."""
        return self.nlp.bounds


class NLP_Solver:
    """Solver of a `KOMO`'s problem, which is posewise's own solver."""

    def __init__(self, problem: NLP | None = None, verbose: int = 0) -> None:
        self.problem = problem
        self.verbose = verbose
        self.options: dict[str, Any] = {}

    def setProblem(self, problem: NLP) -> "NLP_Solver":
        """Set the problem."""
        self.problem = problem
        return self

    def setOptions(self, verbose: int = 0, **options: float) -> "NLP_Solver":
        """Set rai's options; the defaults of all others are posewise's.

        `stopTolerance` (of steps), `stopEvals`, `stepMax`, `damping`, `muInit`,
        `muInc` and `muMax` have an effect; rai's other options only cause a warning.

        Raises:
            ObjectiveError: for an option that rai does not have.
        """
        known = (*_SOLVER_OPTIONS, *_IGNORED_OPTIONS)
        for name in options:
            if name not in known:
                raise pw.ObjectiveError(unknown_name("option", name, known))
        ignored = sorted(set(options) & {*_IGNORED_OPTIONS})
        if ignored:
            warnings.warn(
                f"NLP_Solver ignores {', '.join(ignored)}, which posewise's solver does"
                " not have.",
                stacklevel=2,
            )
        self.verbose = verbose
        self.options = {
            _SOLVER_OPTIONS[name]: value
            for name, value in options.items()
            if name in _SOLVER_OPTIONS
        }
        return self

    def setInitialization(self, x: VectorLike | MatrixLike) -> "NLP_Solver":
        """Start from values of the variables, or from a path (T, n)."""
        problem = self._require_problem()
        problem.state.initialize(problem.nlp.path(x))
        return self

    def solve(self) -> "SolverReturn":
        """Solve from the path of the `KOMO`, and leave the solution there."""
        state = self._require_problem().state
        solution = state.komo.solve(**self.options)
        state.initialize(solution.path)
        state.solution = solution
        if self.verbose > 0:
            print(solution.report())
        return SolverReturn(solution)

    def _require_problem(self) -> NLP:
        if self.problem is None:
            raise pw.ObjectiveError("NLP_Solver has no problem; call setProblem(nlp).")
        return self.problem


class SolverReturn:
    """Result of a solve; errors are rai's sums over rows."""

    def __init__(self, solution: pw.Solution) -> None:
        self.solution = solution
        self.x = solution.path.reshape(-1)
        self.feasible = solution.feasible
        limits = pw.Status.ITERATION_LIMIT, pw.Status.TIME_LIMIT
        self.done = solution.status not in limits
        self.evals = solution.iterations
        self.time = solution.seconds
        self.f = 0.0
        self.sos = self._total_error(pw.OT.sos)
        self.eq = self._total_error(pw.OT.eq)
        self.ineq = self._total_error(pw.OT.ineq)

    def _total_error(self, type: pw.OT) -> float:
        errors = [
            row_error(report.values, type)
            for report in self.solution.objectives
            if report.objective.type is type
        ]
        return float(sum(errors))

    def totals(self) -> dict[str, float]:
        """Return sums of squares, of |φ| of equalities, of violated inequalities."""
        return {"sos": self.sos, "ineq": self.ineq, "eq": self.eq, "f": self.f}

    def dict(self) -> dict[str, Any]:
        """Return all values except x."""
        names = ("evals", "time", "done", "feasible", "f", "sos", "ineq", "eq")
        return {name: getattr(self, name) for name in names}

    def __repr__(self) -> str:
        parts = ", ".join(f"{k}: {v:.6g}" for k, v in self.dict().items())
        return f"{{ {parts}, x-dim: [{self.x.size}] }}"


def row_error(values: np.ndarray, type: pw.OT) -> float:
    """Return rai's error of rows.

    The error is Σ φ² of costs, Σ |φ| of equalities, and the sum of the positive rows of
    inequalities.
    """
    if type is pw.OT.sos:
        return float(np.sum(values**2))
    return float(np.sum(np.abs(values) if type is pw.OT.eq else np.maximum(values, 0)))
