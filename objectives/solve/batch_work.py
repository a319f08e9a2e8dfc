"""Work on the chunks of a batch: problems solved together, or certified one by one."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import jax
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Bool, Int

from posewise.solvers import Progress, ProgressReporter
from posewise.solvers.interruptible import NO_PROGRESS, ProgressCallback

from ..solution.solution import Solution
from .batch_result import BatchResult, unsolved_result
from .multistart import (
    make_solution_batch,
    make_solutions,
    solve_certified_problems,
)
from .problem_batch import ProblemBatch
from .settings import SolveSettings
from .solution_batch import SolutionBatch, batch_of_solutions
from .start_batches import solve_with_retry
from .stops import marked_as_stopped, stops_of_problems


@dataclass(frozen=True)
class CertifiedSolutions:
    """Solutions of k problems of a batch."""

    problem: Int[np.ndarray, " k"]
    """Index of the problem of each solution."""
    solutions: list[Solution]

    def select(self, rows: Int[np.ndarray, " n"]) -> "CertifiedSolutions":
        """Return some of them."""
        return CertifiedSolutions(
            self.problem[rows], [self.solutions[row] for row in rows.tolist()]
        )


Ends = TypeVar("Ends", BatchResult, CertifiedSolutions)
"""Ends of the solves of some problems."""


@dataclass(frozen=True)
class BatchWork(ABC, Generic[Ends]):
    """A batch whose chunks can be solved, in this process or in others."""

    problems: ProblemBatch
    settings: SolveSettings

    def __call__(self, chunk: range) -> Ends:
        """Return the ends of a chunk, solved by a worker.

        Raises:
            KeyboardInterrupt: for an interrupt.
        """
        ends, is_complete = self.solve(chunk, NO_PROGRESS, 0, len(chunk))
        if is_complete.sum() < len(chunk):
            raise KeyboardInterrupt
        return ends

    @abstractmethod
    def solve(
        self,
        chunk: range,
        reporter: ProgressReporter,
        solved: int,
        total: int,
        mesh: Mesh | None = None,
    ) -> tuple[Ends, Bool[np.ndarray, " k"]]:
        """Return the ends of k problems of a chunk, and which were not stopped.

        Args:
            chunk: indices of problems.
            reporter: of the progress.
            solved: number of problems that have been solved before.
            total: number of problems to be solved in all.
            mesh: see `solve_problems`.

        Raises:
            KeyboardInterrupt: for an interrupt before there is a result.
        """

    @abstractmethod
    def solution_batch(
        self, parts: Sequence[Ends], unfinished: set[int], share: range
    ) -> SolutionBatch:
        """Return the solutions of all problems.

        Args:
            parts: ends of problems; of a problem's ends the first one counts.
            unfinished: problems among them that were stopped.
            share: indices of the problems that were to be solved.
        """

    def sent(self) -> "BatchWork[Ends]":
        """Return the work as it is sent to workers: they report nothing."""
        return replace(self, settings=replace(self.settings, progress=False))


class LaneWork(BatchWork[BatchResult]):
    """Problems that are solved together, by lanes of one program."""

    def solve(
        self,
        chunk: range,
        reporter: ProgressReporter,
        solved: int,
        total: int,
        mesh: Mesh | None = None,
    ) -> tuple[BatchResult, Bool[np.ndarray, " k"]]:
        """Return the best end of each problem; see `BatchWork.solve`."""
        starts = self.settings.starts
        report = _report_all_chunks(reporter, solved * starts, total * starts)
        ends = solve_with_retry(self.problems, chunk, self.settings, report, mesh)
        best = ends.select(ends.best_rows(self.settings.tolerance))
        return best, ~np.isin(best.problem, ends.problem[ends.is_interrupted])

    def solution_batch(
        self, parts: Sequence[BatchResult], unfinished: set[int], share: range
    ) -> SolutionBatch:
        """Return the solutions of all problems; see `BatchWork.solution_batch`."""
        count = self.problems.count
        is_missing = np.ones(count, bool)
        for part in parts:
            is_missing[part.problem] = False
        missing = np.flatnonzero(is_missing)
        if missing.size:
            parts = [*parts, unsolved_result(self.problems, missing.tolist())]
        rows: BatchResult = jax.tree.map(lambda *a: np.concatenate(a), *parts)
        rows = rows.select(np.unique(rows.problem, return_index=True)[1])
        stopped = {*unfinished, *np.flatnonzero(rows.is_interrupted).tolist()}
        stops = stops_of_problems(stopped, share, count)
        return make_solution_batch(self.problems, rows, self.settings.tolerance, stops)


class CertifiedWork(BatchWork[CertifiedSolutions]):
    """Problems whose paths are certified, one by one."""

    def solve(
        self,
        chunk: range,
        reporter: ProgressReporter,
        solved: int,
        total: int,
        mesh: Mesh | None = None,
    ) -> tuple[CertifiedSolutions, Bool[np.ndarray, " k"]]:
        """Return solutions of the problems that have begun; see `BatchWork.solve`."""
        solutions = solve_certified_problems(
            self.problems, chunk, self.settings, reporter
        )
        is_complete = [not (s.stopped or s.status.is_stopped) for s in solutions]
        indices = np.asarray(chunk)[: len(solutions)]
        return CertifiedSolutions(indices, solutions), np.array(is_complete, bool)

    def solution_batch(
        self, parts: Sequence[CertifiedSolutions], unfinished: set[int], share: range
    ) -> SolutionBatch:
        """Return the solutions of all problems; see `BatchWork.solution_batch`."""
        problems, by_problem = self.problems, dict[int, Solution]()
        for part in parts:
            for b, solution in zip(part.problem.tolist(), part.solutions, strict=True):
                # Those read from files have copies of the world.
                config = problems.world_spec(b).config
                by_problem.setdefault(b, replace(solution, config=config))
        missing = [b for b in range(problems.count) if b not in by_problem]
        if missing:
            ends = unsolved_result(problems, missing)
            unsolved = make_solutions(problems, ends, self.settings.tolerance)
            by_problem |= dict(zip(missing, unsolved, strict=True))
        every = [by_problem[b] for b in range(problems.count)]
        stopped = [b for b, s in enumerate(every) if s.stopped or s.status.is_stopped]
        for b, stop in stops_of_problems(stopped, share, problems.count).items():
            every[b] = marked_as_stopped(every[b], *stop)
        return batch_of_solutions(every)


def _report_all_chunks(
    reporter: ProgressReporter, finished: int, solves: int
) -> ProgressCallback:
    """Return a callback that adds the solves of earlier chunks to the progress."""

    def callback(look: Callable[[], Progress]) -> None:
        def total() -> Progress:
            chunk = look()
            return chunk._replace(finished=finished + chunk.finished, solves=solves)

        reporter(total)

    return callback
