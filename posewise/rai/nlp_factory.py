"""`NLP_Factory` and `NLP_Sampler` with rai's names: problems of Python functions.

SciPy solves them: by SLSQP, and their constraints alone by least squares.
"""

import time
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, Protocol, runtime_checkable

import numpy as np
from scipy import optimize

import posewise as pw
from posewise.robots.typing import VectorLike
from posewise.robots.validation import float_array

from .coverage import Absent
from .enums import OT
from .nlp_problem import NLP
from .results import STRICT_LIMIT, SolverReturn

SOLVE_TOLERANCE = 1e-10
"""Change of the cost below which SLSQP ends [the cost's unit]; a larger one ends
earlier."""

Evaluation = tuple[np.ndarray, np.ndarray]
"""Rows φ (m,) and their Jacobian (m, n)."""


class NLP_Factory(NLP):
    """Nonlinear program of a Python function."""

    def __init__(self) -> None:
        self._bounds = np.zeros((2, 0))
        self._types: list[Enum] = []
        self._evaluate: Callable[[np.ndarray], Evaluation] | None = None

    def setDimension(self, dimension: int) -> None:
        """Set the number of variables, which are unlimited until `setBounds`."""
        self._bounds = np.full((2, dimension), [[-np.inf], [np.inf]])

    def setBounds(self, lower: VectorLike, upper: VectorLike) -> None:
        """Set limits (n,) of the variables.

        Raises:
            ObjectiveError: for another number of limits than of variables.
        """
        bounds = [np.ravel(np.asarray(b, float)) for b in (lower, upper)]
        n = self.getDimension()
        if any(len(b) != n for b in bounds):
            raise pw.ObjectiveError(
                f"setBounds: got {len(bounds[0])} lower and {len(bounds[1])} upper"
                f" limits, expected {n} each, as setDimension says."
            )
        self._bounds = np.stack(bounds)

    def setTypes(self, types: Sequence[Enum]) -> None:
        """Set the objective type of each row."""
        self._types = list(types)

    def setEvalCallback(self, evaluate: Callable[[np.ndarray], Evaluation]) -> None:
        """Set the function that returns the rows (m,) and their Jacobian (m, n)."""
        self._evaluate = evaluate

    def testCallingEvalCallback(self, x: VectorLike) -> Evaluation:
        """Return rows and Jacobian, as `evaluate` does."""
        return self.evaluate(x)

    def evaluate(self, x: VectorLike) -> Evaluation:
        """Return the rows φ (m,) and their Jacobian (m, n).

        Raises:
            ObjectiveError: without a callback, and for arrays of other shapes than
                types and variables ask for.
        """
        if self._evaluate is None:
            raise pw.ObjectiveError("The NLP has no function; call setEvalCallback.")
        expected = "a number for each variable"
        q = np.ravel(float_array("x", x, expected, pw.ObjectiveError))
        if q.size != self.getDimension():
            raise pw.ObjectiveError(
                f"x has {q.size} numbers, expected {self.getDimension()}, one for each"
                " variable."
            )
        phi, J = map(np.asarray, self._evaluate(q))
        shape = (len(self._types), self.getDimension())
        if phi.shape != shape[:1] or J.shape != shape:
            raise pw.ObjectiveError(
                f"The callback returned arrays of shapes {phi.shape} and {J.shape},"
                f" expected {shape[:1]} and {shape}: a row for each of setTypes,"
                " a column for each variable."
            )
        return phi.astype(float), J.astype(float)

    def getTypes(self) -> list[Enum]:
        return list(self._types)

    def getBounds(self) -> np.ndarray:
        return self._bounds.copy()


@runtime_checkable
class PyProblem(Protocol):
    """Problem that `NLP_Solver.setPyProblem` takes; `featureTypes` may be `types`."""

    dimension: int
    bounds: np.ndarray

    def evaluate(self, x: np.ndarray) -> Evaluation:
        """Return rows and Jacobian."""
        ...


def factory_of(problem: PyProblem) -> NLP_Factory:
    """Return the nonlinear program of an object."""
    nlp = NLP_Factory()
    nlp.setDimension(problem.dimension)
    if np.size(problem.bounds):
        nlp.setBounds(*problem.bounds)
    nlp.setTypes(getattr(problem, "types", getattr(problem, "featureTypes", ())))
    nlp.setEvalCallback(problem.evaluate)
    return nlp


class EvaluationTrace:
    """Evaluations of a problem during a solve."""

    def __init__(self, nlp: NLP) -> None:
        self.nlp = nlp
        self.points: list[np.ndarray] = []
        self.values: list[Evaluation] = []

    def __call__(self, x: np.ndarray) -> Evaluation:
        if not self.points or not np.array_equal(self.points[-1], x):
            self.values.append(self.nlp.dense(x))
            self.points.append(np.array(x))
        return self.values[-1]


def solve_factory(
    trace: EvaluationTrace, start: np.ndarray, max_evals: int
) -> SolverReturn:
    """Return a local optimum near a start, found by SLSQP.

    Args:
        trace: the problem, whose evaluations it records.
        start: first x (n,), clipped to the limits.
        max_evals: number of iterations after which the solver gives up.
    """
    began = time.perf_counter()
    bounds = trace.nlp.getBounds()
    types = trace.nlp.getTypes()
    rows = {t: np.array([k is t for k in types], bool) for t in OT}

    def cost(x: np.ndarray) -> tuple[float, np.ndarray]:
        phi, J = trace(x)
        y, A = phi[rows[OT.sos]], J[rows[OT.sos]]
        slope = 2 * y @ A + J[rows[OT.f]].sum(0)
        return float(y @ y + phi[rows[OT.f]].sum()), slope

    constraints = [
        {
            "type": kind.name,
            # SciPy wants inequalities that are at least 0.
            "fun": lambda x, s=sign, k=kind: s * trace(x)[0][rows[k]],
            "jac": lambda x, s=sign, k=kind: s * trace(x)[1][rows[k]],
        }
        for kind, sign in ((OT.eq, 1.0), (OT.ineq, -1.0))
        if rows[kind].any()
    ]
    optimum = optimize.minimize(
        cost,
        np.clip(start, *bounds),
        jac=True,
        method="SLSQP",
        bounds=bounds.T,
        constraints=constraints,
        options={"maxiter": max_evals, "ftol": SOLVE_TOLERANCE},
    )
    seconds = time.perf_counter() - began
    return _result(trace, np.array(optimum.x), seconds, bool(optimum.success))


def _result(
    trace: EvaluationTrace, x: np.ndarray, seconds: float, done: bool
) -> SolverReturn:
    phi, _ = trace(x)
    f, sos, ineq, eq = trace.nlp.summarizeErrors(phi).tolist()
    violations = [
        abs(y) if t is OT.eq else y
        for y, t in zip(phi, trace.nlp.getTypes(), strict=True)
        if t in (OT.eq, OT.ineq)
    ]
    holds = bool(max(violations, default=0.0) <= STRICT_LIMIT)
    return SolverReturn(x, len(trace.points), seconds, done, f, sos, ineq, eq, holds)


class NLP_Sampler(Absent):
    """Sampler of points at which constraints hold, whatever their costs."""

    def __init__(self, problem: NLP) -> None:
        self.problem = problem

    def setOptions(self, **options: Any) -> "NLP_Sampler":
        """Ignore rai's options; there is one method."""
        return self

    def sample(self) -> SolverReturn:
        """Return a random x, brought to the constraints by least squares.

        It may miss them: look at `feasible`.
        """
        began = time.perf_counter()
        trace = EvaluationTrace(self.problem)
        types = self.problem.getTypes()
        eq, ineq = (np.array([t is k for t in types], bool) for k in (OT.eq, OT.ineq))

        def violations(x: np.ndarray) -> np.ndarray:
            phi, _ = trace(x)
            return np.concatenate([phi[eq], np.maximum(phi[ineq], 0.0)])

        def slopes(x: np.ndarray) -> np.ndarray:
            phi, J = trace(x)
            return np.concatenate([J[eq], J[ineq] * (phi[ineq] > 0)[:, None]])

        x = self.problem.getUniformSample()
        if violations(x).size:
            bounds = tuple(self.problem.getBounds())
            x = optimize.least_squares(violations, x, slopes, bounds).x
        return _result(trace, x, time.perf_counter() - began, True)
