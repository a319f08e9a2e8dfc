"""Results of a batch as arrays: in memory, in files and between processes."""

import io
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Bool, Float, Int

from posewise.robots.typing import Array
from posewise.solvers import Result, Status

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


def unsolved_result(
    problems: ProblemBatch, which: Sequence[int], y: Float[Array, " rows"]
) -> BatchResult:
    """Return results of problems that an interrupt left at their initial paths.

    Args:
        problems: the batch.
        which: indices of the problems.
        y: rows of a solution, whose shape and type count.
    """
    k = len(which)
    paths = [initial_paths(problems.spec(b), 0, 1)[0] for b in which]
    rows = k, len(y)
    return BatchResult(
        np.asarray(which, int),
        np.zeros(k, int),
        np.zeros(k),
        Result(
            np.asarray(paths, y.dtype),
            np.full(rows, np.inf, y.dtype),
            np.zeros(rows, y.dtype),
            np.full(k, np.inf),
            np.full(k, np.inf),
            np.full(k, np.inf),
            np.zeros(k, int),
            np.full(k, int(Status.INTERRUPTED)),
            np.ones(k),
        ),
    )


ARRAY_NAMES = *BatchResult._fields[:-1], *Result._fields
"""Names of the arrays of a batch result."""


def to_arrays(result: BatchResult) -> dict[str, np.ndarray]:
    """Return the arrays of a batch result by name."""
    every = {**result._asdict(), **result.result._asdict()}
    return {name: np.asarray(every[name]) for name in ARRAY_NAMES}


def from_arrays(arrays: Mapping[str, Any]) -> BatchResult:
    """Return a batch result from its arrays, the inverse of `to_arrays`."""
    own = [arrays[name] for name in BatchResult._fields[:-1]]
    result = Result(*(arrays[name] for name in Result._fields))
    return BatchResult._make([*own, result])


def to_bytes(results: Sequence[BatchResult]) -> bytes:
    """Serialize batch results for another process."""
    packed = io.BytesIO()
    named = {
        f"{i}/{name}": array
        for i, result in enumerate(results)
        for name, array in to_arrays(result).items()
    }
    np.savez(packed, count=len(results), **named)  # type: ignore[arg-type]
    return packed.getvalue()


def from_bytes(packed: bytes) -> list[BatchResult]:
    """Return batch results from bytes, the inverse of `to_bytes`."""
    with np.load(io.BytesIO(packed), allow_pickle=False) as file:
        parts: list[dict[str, np.ndarray]] = [{} for _ in range(int(file["count"]))]
        for name in file.files:
            index, _, array_name = name.partition("/")
            if array_name:
                parts[int(index)][array_name] = file[name]
        return [from_arrays(part) for part in parts]
