"""The start in each lane of a batch, and the results of all starts.

A lane holds one start until that has ended, or is not needed any more; then it gets the
next one. Several workers, each with its own lanes, share one schedule. Nothing here
computes anything with JAX.
"""

import threading

import numpy as np
from jaxtyping import Bool, Int

from .augmented_lagrangian import Result
from .status import Status

IDLE_INDEX = -1
"""Index of the start in a lane that holds none: below those of all starts."""
NUM_AHEAD = 256
"""Number of starts beyond those missing that are looked at together (count), since some
may not be needed; fewer take more steps where most are not."""


class StartQueue:
    """Order of the starts, and which of them are still needed.

    The first start of each problem comes first, then the second starts, and so on.

    Args:
        problem_index: the problem of each start, ascending.
        max_solutions: number of feasible starts of a problem after which its later
            starts are not needed; None: all are.
    """

    def __init__(
        self, problem_index: Int[np.ndarray, " n"], max_solutions: int | None
    ) -> None:
        n = len(problem_index)
        self.problem_index = problem_index
        self.max_solutions = max_solutions
        rank = _ranks(problem_index)
        self.order = np.argsort(rank, kind="stable")
        """Starts in their order."""
        self.taken = 0
        """Number of starts, of these, that have begun or are not needed."""
        width = min(max_solutions or 1, rank.max() + 1)
        self.solutions = np.full((problem_index[-1] + 1, width), n)
        """For each problem its first starts that have ended feasible, ascending; n, of
        those that are not known. Starts after the last one are not needed."""

    def is_needed(self, starts: Int[np.ndarray, " k"]) -> Bool[np.ndarray, " k"]:
        """Return which starts are still needed."""
        needed: np.ndarray = starts <= self.solutions[self.problem_index[starts], -1]
        return needed

    def take(self, count: int) -> Int[np.ndarray, " k"]:
        """Take at most some of the next starts that are needed."""
        starts = self.order[:0]
        while (missing := count - len(starts)) and self.taken < len(self.order):
            following = self.order[self.taken : self.taken + missing + NUM_AHEAD]
            needed = np.flatnonzero(self.is_needed(following))[:missing]
            is_enough = len(needed) == missing
            self.taken += int(needed[-1]) + 1 if is_enough else len(following)
            starts = np.append(starts, following[needed])
        return starts

    def count_solutions(self, starts: Int[np.ndarray, " k"]) -> None:
        """Note starts that ended feasible; later ones may not be needed then."""
        if not self.max_solutions or not len(starts):
            return
        starts = np.sort(starts)
        problems, row = np.unique(self.problem_index[starts], return_inverse=True)
        rank = _ranks(row)
        new = np.full((len(problems), rank.max() + 1), len(self.problem_index))
        new[row, rank] = starts
        first = np.sort(np.concatenate([self.solutions[problems], new], 1), 1)
        self.solutions[problems] = first[:, : self.solutions.shape[1]]


def _ranks(problem: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
    """Return the position of each start among those of its problem, its neighbours.

    Args:
        problem: of each start, ascending from 0.
    """
    first = np.searchsorted(problem, np.arange(problem[-1] + 1))
    ranks: np.ndarray = np.arange(len(problem)) - first[problem]
    return ranks


class LaneSchedule:
    """The starts in the lanes of all workers, and the results of all starts.

    Args:
        queue: the starts.
        results: NumPy arrays with a row for each start, of status INTERRUPTED; they are
            overwritten as the starts advance.
        workers: number of workers, which may be threads.
        lane_count: number of lanes of each worker.
    """

    def __init__(
        self, queue: StartQueue, results: Result, workers: int, lane_count: int
    ) -> None:
        self.queue, self.results = queue, results
        self.lanes = np.full((workers, lane_count), IDLE_INDEX)
        """The start in each lane."""
        self.has_begun = False
        """True once a round has ended."""
        self._running: dict[int, tuple[Result, np.ndarray]] = {}
        """For each worker its last round, and the starts in it that go on."""
        self._lock = threading.Lock()

    def refill(
        self, worker: int
    ) -> tuple[Int[np.ndarray, " lanes"], Bool[np.ndarray, " lanes"]]:
        """Give the next starts to lanes that are idle, or hold a start not needed.

        Returns:
            The start in each lane, and which lanes begin one.
        """
        with self._lock:
            lanes = self.lanes[worker]
            lanes[~self.queue.is_needed(lanes)] = IDLE_INDEX
            is_fresh = np.zeros(len(lanes), bool)
            idle = np.flatnonzero(lanes == IDLE_INDEX)
            starts = self.queue.take(len(idle))
            idle = idle[: len(starts)]
            lanes[idle], is_fresh[idle] = starts, True
            return lanes.copy(), is_fresh

    def record(self, worker: int, out: Result) -> None:
        """Take the results of a worker's lanes after a round; free those that ended."""
        with self._lock:
            lanes = self.lanes[worker]
            has_ended = (lanes != IDLE_INDEX) & (out.status != Status.INTERRUPTED)
            self._copy(out, has_ended, lanes)
            is_feasible = out.status == Status.CONVERGED
            is_feasible |= out.status == Status.FEASIBLE
            self.queue.count_solutions(lanes[has_ended & is_feasible])
            lanes[has_ended] = IDLE_INDEX
            self._running[worker] = out, lanes.copy()
            self.has_begun = True

    def read(self) -> tuple[Result, Bool[np.ndarray, " n"]]:
        """Return the results up to now, and which starts are not waited for."""
        with self._lock:
            for out, lanes in self._running.values():
                self._copy(out, lanes != IDLE_INDEX, lanes)
            has_ended = np.not_equal(self.results.status, Status.INTERRUPTED)
            return self.results, has_ended | ~self._needed()

    def needed_results(self) -> tuple[Result, Int[np.ndarray, " k"]]:
        """Return the results of the starts that were needed, and their indices."""
        results, _ = self.read()
        needed = np.flatnonzero(self._needed())
        return Result(*(a.take(needed, 0) for a in results)), needed

    def _needed(self) -> Bool[np.ndarray, " n"]:
        return self.queue.is_needed(np.arange(len(self.queue.problem_index)))

    def _copy(self, out: Result, which: np.ndarray, lanes: np.ndarray) -> None:
        """Copy the results of some lanes to those of their starts."""
        rows = np.flatnonzero(which)
        starts = lanes[rows]
        for all_starts, all_lanes in zip(self.results, out, strict=True):
            # `take` is several times faster than an index.
            all_starts[starts] = all_lanes.take(rows, 0)
