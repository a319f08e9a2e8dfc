"""`NLP_Solver` with rai's names."""

import warnings
from enum import Enum
from typing import Any

import numpy as np

import posewise as pw
from posewise.robots.errors import unknown_name
from posewise.robots.typing import MatrixLike, VectorLike

from .coverage import Absent
from .lagrange import lagrange_gradients
from .nlp_factory import EvaluationTrace, PyProblem, factory_of, solve_factory
from .nlp_problem import NLP, KomoNLP
from .results import SolverReturn as SolverReturn
from .results import komo_return

OptMethod = Enum(
    "OptMethod",
    "none GradientDescent Rprop LBFGS Newton AugmentedLag LogBarrier"
    " slackGN_logBarrier SquaredPenalty singleSquaredPenalty slackGN NLopt Ipopt"
    " slackGN_Ipopt Ceres LSBO greedy NelderMead CMA LS_CMA ES",
    start=0,
)
"""rai's methods, all of which stand for the one solver of a problem."""

MAX_EVALS = 1000
"""Number of iterations after which a solve of a Python function gives up; more may find
better solutions."""

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


class NLP_Solver(Absent):
    """Solver: posewise's own for the problem of a `KOMO`, SciPy's SLSQP for others."""

    def __init__(self, problem: NLP | None = None, verbose: int = 0) -> None:
        self.problem = problem
        self.verbose = verbose
        self.options: dict[str, Any] = {}
        self._trace: EvaluationTrace | None = None
        self._start: np.ndarray | None = None
        self._x: np.ndarray | None = None

    def setProblem(self, problem: NLP) -> "NLP_Solver":
        """Set the problem."""
        self.problem, self._start, self._x = problem, None, None
        return self

    def setPyProblem(self, problem: PyProblem) -> None:
        """Set an object with dimension, bounds, types and evaluate as the problem."""
        self.setProblem(factory_of(problem))

    def getProblem(self) -> NLP:
        """Return the problem.

        Raises:
            ObjectiveError: without a problem.
        """
        if self.problem is None:
            raise pw.ObjectiveError("NLP_Solver has no problem; call setProblem(nlp).")
        return self.problem

    def setSolver(self, method: Enum) -> "NLP_Solver":
        """Accept any method of `OptMethod`; the solver stays the one of the problem."""
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
        problem = self.getProblem()
        if isinstance(problem, KomoNLP):
            problem.state.initialize(problem.nlp.path(x))
        else:
            self._start = np.ravel(np.asarray(x, float))
        return self

    def solve(
        self, resampleInitialization: int = -1, verbose: int = -100
    ) -> SolverReturn:
        """Solve, and leave the solution in the `KOMO`.

        A solve starts from the path of the `KOMO`, or from a random x.

        Args:
            resampleInitialization: whether problems of Python functions start from
                another random x than the last solution; -1 stands for only at first.
            verbose: from 1 on a report is printed; -100 stands for what was set.
        """
        problem = self.getProblem()
        level = self.verbose if verbose == -100 else verbose
        if isinstance(problem, KomoNLP):
            state = problem.state
            solution = state.komo.solve(**self.options)
            state.initialize(solution.path)
            state.solution = solution
            if level > 0:
                print(solution.report())
            result = komo_return(solution)
        else:
            self._trace = EvaluationTrace(problem)
            start = self._start if resampleInitialization <= 0 else None
            start = problem.getInitializationSample() if start is None else start
            limit = int(self.options.get("max_iterations", MAX_EVALS))
            result = solve_factory(self._trace, start, limit)
            self._start = result.x
            if level > 0:
                print(result)
        self._x = result.x
        return result

    @property
    def x(self) -> np.ndarray:
        """Variables of the last solution; without one an empty array."""
        return np.zeros(0) if self._x is None else self._x

    def reportLagrangeGradients(
        self, featureNames: list[str] | None = None
    ) -> dict[str, dict[str, Any]]:
        """Return error and pull of each objective on the last solution.

        Args:
            featureNames: names of the rows, such as of `KOMO.getFeatureNames`.

        Raises:
            ObjectiveError: before a solve.
        """
        if self._x is None:
            raise pw.ObjectiveError("There is no solution yet; call solve() first.")
        return lagrange_gradients(self.getProblem(), self._x, featureNames or ())

    # -- traces ------------------------------------------------------------------

    def setTracing(
        self,
        trace_x: bool = True,
        trace_errs: bool = True,
        trace_phi: bool = False,
        trace_J: bool = False,
    ) -> "NLP_Solver":
        """Do nothing, because solves of Python functions are always traced."""
        return self

    def clearTracing(self) -> "NLP_Solver":
        """Forget the evaluations of the last solve."""
        self._trace = None
        return self

    def getTrace_x(self) -> np.ndarray:
        """Return x (k, n) of all evaluations of the last solve."""
        return np.stack(self._traced().points)

    def getTrace_errs(self) -> np.ndarray:
        """Return f, sos, ineq and eq (k, 4) of all evaluations."""
        problem, values = self.getProblem(), self._traced().values
        return np.stack([problem.summarizeErrors(phi) for phi, _ in values])

    def getTrace_best(self) -> np.ndarray:
        """Return the least sum of errors until each evaluation (k, 1)."""
        return np.minimum.accumulate(self.getTrace_errs().sum(1))[:, None]

    def getTrace_phi(self) -> np.ndarray:
        """Return the rows (k, m) of all evaluations."""
        return np.stack([phi for phi, _ in self._traced().values])

    def getTrace_J(self) -> np.ndarray:
        """Return the Jacobians (k, m, n) of all evaluations."""
        return np.stack([J for _, J in self._traced().values])

    def _traced(self) -> EvaluationTrace:
        if self._trace is None or not self._trace.points:
            raise pw.ObjectiveError(
                "There is no trace: posewise solves the problem of a KOMO in one"
                " compiled program, and other problems are traced after solve()."
            )
        return self._trace
