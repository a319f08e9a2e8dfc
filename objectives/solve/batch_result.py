"""Solves of several problems, as arrays in memory, in files and between processes."""

import io
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Bool, Int

from posewise.solvers import Result, Status

from .problem_batch import ProblemBatch


class BatchResult(NamedTuple):
    """Where solves ended, each of one problem from one of its starts."""

    problem: Int[np.ndarray, " k"]
    start: Int[np.ndarray, " k"]
    seconds: Any
    """Wall time (k,) of all that were solved together."""
    result: Result

    def rows(self, at: Any) -> "BatchResult":
        """Some of them."""
        return jax.tree.map(lambda a: np.asarray(a)[at], self)

    @property
    def groups(self) -> list[range]:
        """The rows of each problem, which stand together."""
        k = len(self.problem)
        first = [
            j for j in range(k) if j == 0 or self.problem[j] != self.problem[j - 1]
        ]
        return [range(*at) for at in pairwise([*first, k])]

    @property
    def interrupted(self) -> Bool[np.ndarray, " k"]:
        """Which are not finished."""
        return np.asarray(self.result.status) == Status.INTERRUPTED


def unsolved_result(
    problems: ProblemBatch, which: Sequence[int], like: BatchResult
) -> BatchResult:
    """Solves that an interrupt left at their initial paths."""
    k = len(which)
    paths = [problems.komo(b).starts(0, 1)[0] for b in which]
    r = like.result
    rows = k, *r.y.shape[1:]
    return BatchResult(
        np.asarray(which, int),
        np.zeros(k, int),
        np.zeros(k),
        Result(
            np.asarray(paths, r.x.dtype),
            np.full(rows, np.inf, r.y.dtype),
            np.zeros(rows, r.y.dtype),
            np.full(k, np.inf),
            np.full(k, np.inf),
            np.zeros(k, int),
            np.full(k, int(Status.INTERRUPTED)),
        ),
    )


ARRAY_NAMES = *BatchResult._fields[:-1], *Result._fields
"""Of the arrays of solves."""


def to_arrays(solves: BatchResult) -> dict[str, np.ndarray]:
    """By name."""
    every = {**solves._asdict(), **solves.result._asdict()}
    return {name: np.asarray(every[name]) for name in ARRAY_NAMES}


def from_arrays(arrays: Mapping[str, Any]) -> BatchResult:
    """The inverse of `to_arrays`."""
    own = [arrays[name] for name in BatchResult._fields[:-1]]
    result = Result(*(arrays[name] for name in Result._fields))
    return BatchResult._make([*own, result])


def to_bytes(every: Sequence[BatchResult]) -> bytes:
    """For another process."""
    packed = io.BytesIO()
    named = {
        f"{i}/{name}": array
        for i, solves in enumerate(every)
        for name, array in to_arrays(solves).items()
    }
    np.savez(packed, count=len(every), **named)  # type: ignore[arg-type]
    return packed.getvalue()


def from_bytes(packed: bytes) -> list[BatchResult]:
    """The inverse of `to_bytes`."""
    with np.load(io.BytesIO(packed), allow_pickle=False) as file:
        part = lambda i: {
            name.split("/")[1]: file[name]
            for name in file.files
            if name.startswith(f"{i}/")
        }
        return [from_arrays(part(i)) for i in range(int(file["count"]))]
