"""Solutions of many problems: a sequence, and arrays of all of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import overload

import numpy as np
from jaxtyping import Bool, Float, Int

from posewise.solvers import Result, Status

from ..solution.solution import Solution
from .stops import Stop, marked_as_stopped


@dataclass(frozen=True, eq=False, repr=False)
class SolutionBatch(Sequence[Solution]):
    """One solution of each problem of a batch, and arrays of all of them.

    A solution is made when it is asked for, which takes some 0.1 ms; arrays cost
    nothing.
    """

    _make: Callable[[int], Solution]
    _result: Result
    """Ends of the solves, with a leading axis of problems."""
    _tolerance: float
    _is_simple: bool
    """Whether the ends tell all: no distances between slices, no mode switches."""
    _stops: Mapping[int, Stop] = field(default_factory=dict)
    """Reasons why problems have no end, by their indices."""
    _compile_seconds: float = 0.0
    _known: dict[int, Solution] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"SolutionBatch({len(self)} problems, {self.feasible.sum()} feasible)"

    def __len__(self) -> int:
        return len(self._result.status)

    @overload
    def __getitem__(self, index: int) -> Solution: ...

    @overload
    def __getitem__(self, index: slice) -> list[Solution]: ...

    def __getitem__(self, index: int | slice) -> Solution | list[Solution]:
        if isinstance(index, slice):
            return [self[k] for k in range(len(self))[index]]
        k = range(len(self))[index]
        if k not in self._known:
            solution = replace(self._make(k), compile_seconds=self._compile_seconds)
            if stop := self._stops.get(k):
                solution = marked_as_stopped(solution, *stop)
            self._known[k] = solution
        return self._known[k]

    def with_compile_seconds(self, seconds: float) -> "SolutionBatch":
        """Return the batch with the time that its call spent on compiling [s]."""
        known = {k: replace(s, compile_seconds=seconds) for k, s in self._known.items()}
        return replace(self, _compile_seconds=seconds, _known=known)

    @cached_property
    def path(self) -> Float[np.ndarray, "problems T nq"]:
        """Coordinates of all slices of all problems."""
        if self._is_simple:
            return np.asarray(self._result.x, float)
        return np.stack([solution.path for solution in self])

    @property
    def q(self) -> Float[np.ndarray, "problems nq"]:
        """Coordinates of the last slice of all problems."""
        return self.path[:, -1]

    @cached_property
    def cost(self) -> Float[np.ndarray, " problems"]:
        """Sum of squares of the cost rows of each problem."""
        return np.asarray(self._result.cost, float)

    @cached_property
    def violation(self) -> Float[np.ndarray, " problems"]:
        """Largest violation of a constraint of each problem, in scaled units."""
        if self._is_simple:
            return np.asarray(self._result.violation, float)
        return np.array([max(solution.eq, solution.ineq) for solution in self])

    @cached_property
    def feasible(self) -> Bool[np.ndarray, " problems"]:
        """Whether all constraints of each problem hold; see `Solution.feasible`."""
        if self._is_simple:
            is_valid = np.not_equal(self._result.status, Status.BAD_INPUT)
            return is_valid & (self.violation <= self._tolerance)
        return np.array([solution.feasible for solution in self])

    @cached_property
    def status(self) -> Int[np.ndarray, " problems"]:
        """Number of the `Status` of each problem."""
        if self._is_simple and not self._stops:
            return np.asarray(self._result.status)
        return np.array([int(solution.status) for solution in self])

    @cached_property
    def iterations(self) -> Int[np.ndarray, " problems"]:
        """Number of iterations of the solve that each solution comes from."""
        return np.asarray(self._result.iterations)


def batch_of_solutions(solutions: Sequence[Solution]) -> SolutionBatch:
    """Return solutions that have been made already as a batch."""
    no_rows = np.zeros((len(solutions), 0))
    result = Result(
        no_rows,
        no_rows,
        no_rows,
        np.array([max(s.eq, s.ineq) for s in solutions]),
        np.array([s.sos for s in solutions]),
        np.array([s.kkt_residual for s in solutions]),
        np.array([s.iterations for s in solutions], int),
        np.array([int(s.status) for s in solutions], int),
        no_rows,
    )
    tolerance = solutions[0].tolerance if solutions else 0.0
    known = dict(enumerate(solutions))
    return SolutionBatch(known.__getitem__, result, tolerance, False, _known=known)
