"""`NLP_Solver`, the problems it solves and what it returns, with rai's names."""

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

import posewise as pw
from posewise.robots.errors import unknown_name

from .enums import OT

if TYPE_CHECKING:
    from .komo import KOMO

_SOLVER_OPTIONS = {
    "stopTolerance": "step_tolerance",
    "stopEvals": "max_iterations",
    "stepMax": "max_step",
    "damping": "damping",
    "muInit": "mu",
    "muInc": "mu_factor",
    "muMax": "mu_max",
}
"""rai's options that mean the same in `posewise.solvers.Options`."""

_IGNORED_OPTIONS = (
    *("stopFTolerance", "stopGTolerance", "stopInners", "stopOuters", "stopLineSteps"),
    *("stopTinySteps", "stepInit", "stepMin", "stepInc", "stepDec", "wolfe"),
    *("muLBInit", "muLBDec", "lambdaMax", "interiorPadding", "boundedNewton"),
    *("method", "finiteDifference"),
)
"""rai's options without counterpart: `setOptions` warns that they are ignored."""


class NLP:
    """A `KOMO`'s problem."""

    def __init__(self, komo: "KOMO") -> None:
        self.komo = komo
        self._nlp: pw.NLP | None = None

    @property
    def nlp(self) -> pw.NLP:
        """The posewise problem behind it, as it was when first asked for."""
        if self._nlp is None:
            self._nlp = self.komo.komo.nlp()
        return self._nlp

    def evaluate(self, x: Any) -> tuple[np.ndarray, np.ndarray]:
        """Rows φ, and their Jacobian as triplets (nonzeros, 3): row, column, value."""
        phi, values = self.nlp.values(x)
        return phi, np.stack([self.nlp.row, self.nlp.column, values], 1)

    def getTypes(self) -> list[Any]:
        """What each row means."""
        return [getattr(OT, t.name) for t in self.nlp.types]

    def getInitializationSample(self) -> np.ndarray:
        """The present path with a little noise; the same at every call."""
        noise = np.random.default_rng(0).normal(scale=0.01, size=self.getDimension())
        return self.nlp.initial + noise

    def summarizeErrors(self, phi: Any) -> tuple[float, float, float, float]:
        """Totals of f, sos, ineq and eq, as in rai: sums over rows."""
        y, types = np.ravel(phi), np.array([t.name for t in self.nlp.types])
        total = lambda t: row_error(y[types == t.name], t)
        sos, ineq, eq = (total(t) for t in (pw.OT.sos, pw.OT.ineq, pw.OT.eq))
        return 0.0, sos, ineq, eq

    def as_KOMO(self) -> "KOMO":
        """The `KOMO` it came from."""
        return self.komo

    def getDimension(self) -> int:
        """Number of variables, slice by slice, then what all slices share."""
        return self.nlp.dimension

    def getBounds(self) -> np.ndarray:
        """Limits (2, variables), lower row first, ±inf where none."""
        return self.nlp.bounds


class NLP_Solver:
    """Solves a `KOMO`'s problem with posewise's solver."""

    def __init__(self, problem: NLP | None = None, verbose: int = 0) -> None:
        self.problem = problem
        self.verbose = verbose
        self.options: dict[str, Any] = {}

    def setProblem(self, problem: NLP) -> "NLP_Solver":
        """Set the problem."""
        self.problem = problem
        return self

    def setOptions(self, verbose: int = 0, **options: Any) -> "NLP_Solver":
        """Set rai's options; those not given are posewise's defaults.

        `stopTolerance` (of steps), `stopEvals`, `stepMax`, `damping`, `muInit`,
        `muInc` and `muMax` are used; rai's others are ignored, with a warning.

        Raises:
            ObjectiveError: for an option that rai does not have either.
        """
        for name in options:
            if name not in _SOLVER_OPTIONS and name not in _IGNORED_OPTIONS:
                raise pw.ObjectiveError(
                    unknown_name("option", name, (*_SOLVER_OPTIONS, *_IGNORED_OPTIONS))
                )
        ignored = sorted(set(options) & {*_IGNORED_OPTIONS})
        if ignored:
            warnings.warn(
                f"NLP_Solver ignores {', '.join(ignored)}: posewise's solver has no"
                " counterpart.",
                stacklevel=2,
            )
        self.verbose = verbose
        self.options = {
            _SOLVER_OPTIONS[k]: v for k, v in options.items() if k in _SOLVER_OPTIONS
        }
        return self

    def setInitialization(self, x: Any) -> "NLP_Solver":
        """Start from values of the variables, or a path (T, n)."""
        problem = self._problem()
        problem.komo.initWithPath(problem.nlp.path(x))
        return self

    def solve(self) -> "SolverReturn":
        """Solve from the path in the `KOMO`, and leave the solution there."""
        komo = self._problem().komo
        solution = komo.komo.solve(**self.options)
        komo.initWithPath(solution.path)
        komo.solution = solution
        if self.verbose > 0:
            print(solution.report())
        return SolverReturn(solution)

    def _problem(self) -> NLP:
        if self.problem is None:
            raise pw.ObjectiveError("NLP_Solver has no problem; call setProblem(nlp).")
        return self.problem


class SolverReturn:
    """How a solve ended; errors are rai's sums over rows."""

    def __init__(self, solution: pw.Solution) -> None:
        self.solution = solution
        self.x = solution.path.reshape(-1)
        self.feasible = solution.feasible
        self.done = solution.status is not pw.Status.ITERATION_LIMIT
        self.evals = solution.iterations
        self.time = solution.seconds
        self.f = 0.0
        self.sos, self.eq, self.ineq = (self._total(t) for t in "sos eq ineq".split())

    def _total(self, type: str) -> float:
        reports = self.solution.objectives
        errors = [
            row_error(o.values, o.objective.type)
            for o in reports
            if o.objective.type.name == type
        ]
        return float(sum(errors))

    def totals(self) -> dict[str, float]:
        """Sums of squares, of |φ| of equalities and of violated inequalities."""
        return {"sos": self.sos, "ineq": self.ineq, "eq": self.eq, "f": self.f}

    def dict(self) -> dict[str, Any]:
        """All but x."""
        names = ("evals", "time", "done", "feasible", "f", "sos", "ineq", "eq")
        return {name: getattr(self, name) for name in names}

    def __repr__(self) -> str:
        parts = ", ".join(f"{k}: {v:.6g}" for k, v in self.dict().items())
        return f"{{ {parts}, x-dim: [{self.x.size}] }}"


def row_error(values: np.ndarray, type: pw.OT) -> float:
    """rai's error of rows: Σφ² of costs, Σ|φ| of equalities, Σφ > 0 of inequalities."""
    if type is pw.OT.sos:
        return float(np.sum(values**2))
    return float(np.sum(np.abs(values) if type is pw.OT.eq else np.maximum(values, 0)))
