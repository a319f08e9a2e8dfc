"""Results of a batch as arrays."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Bool, Int

from posewise.solvers import Result, Status
from posewise.solvers.interruptible import zero_multipliers

from ..problem.spec import initial_paths
from .problem_batch import ProblemBatch


class BatchResult(NamedTuple):
    """Results of k solves, each of one problem from one of its starts."""

    problem: Int[np.ndarray, " k"]
    """Index of the problem of each row; rows of a problem are consecutive."""
    start: Int[np.ndarray, " k"]
    """Index of the start of each row."""
    seconds: Any
    """Wall time (k,) of the call in which the row was solved [s]."""
    result: Result
    """Final iterates, with a leading axis k."""

    def select(
        self, rows: list[int] | Int[np.ndarray, " k"] | Bool[np.ndarray, " n"]
    ) -> "BatchResult":
        """Return some rows, given by indices or a mask."""
        return jax.tree.map(lambda a: np.asarray(a)[rows], self)

    def best_rows(self, tolerance: float) -> Int[np.ndarray, " problems"]:
        """Return the best row of each problem, ranked as by `Solution.rank`.

        Args:
            tolerance: largest violation that counts as feasible, in scaled units.
        """
        r = self.result
        violation = np.where(np.isnan(r.violation), np.inf, r.violation)
        violation = np.where(violation <= tolerance, 0.0, violation)
        violation[np.asarray(r.status) == Status.BAD_INPUT] = np.inf
        order = np.lexsort((r.cost, violation, self.problem))
        _, first = np.unique(self.problem[order], return_index=True)
        return order[first]

    @property
    def is_interrupted(self) -> Bool[np.ndarray, " k"]:
        """Whether each solve was ended by an interrupt."""
        return np.asarray(self.result.status) == Status.INTERRUPTED


def unsolved_result(problems: ProblemBatch, which: Sequence[int]) -> BatchResult:
    """Return results of problems that an interrupt left at their initial paths.

    Args:
        problems: the batch.
        which: indices of the problems.
    """
    k, dtype = len(which), problems.dtype
    paths = [initial_paths(problems.spec(b), 0, 1)[0].astype(dtype) for b in which]
    rows = k, zero_multipliers(problems.chain, problems.data(0), paths[0]).size
    return BatchResult(
        np.asarray(which, int),
        np.zeros(k, int),
        np.zeros(k),
        Result(
            np.asarray(paths),
            np.full(rows, np.inf, dtype),
            np.zeros(rows, dtype),
            np.full(k, np.inf),
            np.full(k, np.inf),
            np.full(k, np.inf),
            np.zeros(k, int),
            np.full(k, int(Status.INTERRUPTED)),
            np.ones(k),
        ),
    )
