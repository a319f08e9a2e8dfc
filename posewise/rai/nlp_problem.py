"""`NLP` with rai's names, and the one of a `KOMO`."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum

import numpy as np

import posewise as pw
from posewise.robots.typing import MatrixLike, VectorLike

from .coverage import Absent
from .enums import OT

DIFFERENCE_STEP = 1e-6
"""Step of finite differences [the variable's unit]; a larger one is less exact."""


class NLP(Absent, ABC):
    """Nonlinear program over x in R^n, with rows φ of four types: `OT`."""

    # -- what problems define ----------------------------------------------------

    @abstractmethod
    def evaluate(self, x: VectorLike) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows φ (m,) and their Jacobian."""

    @abstractmethod
    def getTypes(self) -> list[Enum]:
        """Return the objective type of each row."""

    @abstractmethod
    def getBounds(self) -> np.ndarray:
        """Return the limits (2, n), lower row first; ±inf without limits."""

    def dense(self, x: VectorLike) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows φ (m,) and their Jacobian (m, n)."""
        return self.evaluate(x)

    def as_KOMO(self) -> object:
        """Return the `KOMO` that the problem comes from, if any."""
        return None

    # -- what follows from it ----------------------------------------------------

    def getDimension(self) -> int:
        """Return the number of variables."""
        return self.getBounds().shape[1]

    dimension = property(lambda self: self.getDimension(), doc="Number of variables.")
    bounds = property(lambda self: self.getBounds(), doc="Limits (2, n).")

    @property
    def types(self) -> np.ndarray:
        """Objective types as rai's numbers: 0 f, 1 sos, 2 ineq, 3 eq."""
        order = list(OT.__members__)
        return np.array([order.index(t.name) for t in self.getTypes()], int)

    def getUniformSample(self) -> np.ndarray:
        """Return a random x, uniform within limits, or within ±1 without limits."""
        low, high = self.getBounds()
        is_finite = np.isfinite(low) & np.isfinite(high)
        low, high = np.where(is_finite, low, -1.0), np.where(is_finite, high, 1.0)
        return np.random.uniform(low, high)

    def getInitializationSample(self) -> np.ndarray:
        """Return a start of a solve: a random x, uniform within limits."""
        return self.getUniformSample()

    def summarizeErrors(self, phi: VectorLike) -> np.ndarray:
        """Return the totals of f, sos, ineq and eq: sums over rows, as in rai."""
        rows, types = np.ravel(np.asarray(phi, float)), self.getTypes()
        kinds = (OT.f, OT.sos, OT.ineq, OT.eq)
        return np.array(
            [row_error(rows[[t is kind for t in types]], kind.name) for kind in kinds]
        )

    def eval_scalar(self, x: VectorLike) -> tuple[float, np.ndarray, np.ndarray]:
        """Return cost, gradient (n,) and Gauss-Newton Hessian (n, n) of f and sos.

        Raises:
            ObjectiveError: for a problem with constraints.
        """
        phi, J = self.dense(x)
        types = self.getTypes()
        if not all(t in (OT.f, OT.sos) for t in types):
            raise pw.ObjectiveError(
                "eval_scalar: the problem has constraints, expected costs (f, sos)"
                " only; use evaluate."
            )
        is_sos = np.array([t is OT.sos for t in types], bool)
        y, A = phi[is_sos], J[is_sos]
        cost = float(y @ y + phi[~is_sos].sum())
        return cost, 2 * y @ A + J[~is_sos].sum(0), 2 * A.T @ A

    def checkJacobian(
        self, x: VectorLike, tolerance: float, featureNames: list[str] | None = None
    ) -> bool:
        """Print and return whether the Jacobian is that of finite differences.

        Args:
            x: where.
            tolerance: largest difference that passes.
            featureNames: names of rows, to tell the worst one.
        """
        point = np.ravel(np.asarray(x, float))
        J = self.dense(point)[1]
        steps = DIFFERENCE_STEP * np.eye(len(point))
        ahead, behind = (
            np.stack([self.dense(point + sign * s)[0] for s in steps], 1)
            for sign in (1, -1)
        )
        errors = np.abs((ahead - behind) / (2 * DIFFERENCE_STEP) - J)
        worst = float(errors.max(initial=0.0))
        word = "SUCCESS" if worst <= tolerance else "FAILURE"
        row = "" if not featureNames else f" in {featureNames[errors.max(1).argmax()]}"
        print(f"checkJacobian -- {word} (max diff error={worst:g}{row})")
        return worst <= tolerance

    def report(self, verbose: int = 0) -> str:
        """Return the numbers of variables and of rows by type."""
        types = self.getTypes()
        rows = ", ".join(f"{types.count(t)} {t.name}" for t in OT if t in types)
        return f"NLP of {self.getDimension()} variables and rows: {rows}\n"


@dataclass
class SharedProblem:
    """Problem of a `KOMO` with its last solution, shared with its solver."""

    komo: pw.KOMO
    solution: pw.Solution | None = None

    def initialize(self, path: VectorLike | MatrixLike) -> None:
        """Start the next solve from a configuration (n,) or a path (T, n)."""
        self.komo.initialize(path)
        self.solution = None


class KomoNLP(NLP):
    """Nonlinear program of a `KOMO`.

    Variables are those of slice 0, then of slice 1, …, then what all slices share.
    """

    def __init__(self, state: SharedProblem, owner: object) -> None:
        self.state = state
        self._owner = owner
        self._nlp: pw.NLP | None = None

    @property
    def nlp(self) -> pw.NLP:
        """The posewise problem, as it was at the first access."""
        if self._nlp is None:
            self._nlp = self.state.komo.nlp()
        return self._nlp

    def as_KOMO(self) -> object:
        return self._owner

    def evaluate(self, x: VectorLike) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows φ, and their Jacobian as (row, column, value) triplets."""
        phi, values = self.nlp.values(x)
        return phi, np.stack([self.nlp.row, self.nlp.column, values], 1)

    def dense(self, x: VectorLike) -> tuple[np.ndarray, np.ndarray]:
        phi, J = self.nlp.evaluate(x)
        return phi, J.toarray()

    def getTypes(self) -> list[Enum]:
        return [getattr(OT, t.name) for t in self.nlp.types]

    def getBounds(self) -> np.ndarray:
        return self.nlp.bounds

    def getInitializationSample(self) -> np.ndarray:
        """Return the initial path with a little noise; all calls return the same."""
        noise = np.random.default_rng(0).normal(scale=0.01, size=self.getDimension())
        return self.nlp.initial + noise


def row_error(values: np.ndarray, type: str) -> float:
    """Return rai's error of rows of a type.

    The error is Σ φ² of costs, Σ |φ| of equalities, the sum of the positive rows of
    inequalities, and the sum of all rows of type f.
    """
    parts = {
        "sos": lambda: values**2,
        "eq": lambda: np.abs(values),
        "ineq": lambda: np.maximum(values, 0),
        "f": lambda: values,
    }
    return float(np.sum(parts[type]()))
