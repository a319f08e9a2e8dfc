"""Chunks dealt out to the workers of any executor of `concurrent.futures`.

Files are the only truth: a worker stores its chunk and returns nothing, so that a chunk
is lost with its worker and no more, and is given out again.
"""

from collections import Counter
from concurrent.futures import BrokenExecutor, Executor, Future
from math import inf
from pathlib import Path
from queue import Empty, Queue

import jax.numpy as jnp
import numpy as np

from posewise.solvers import Progress, ProgressReporter
from posewise.solvers.deadline import check_deadline, remaining_seconds
from posewise.solvers.interruptible import REPORT_INTERVAL

from ..terms.objective import ObjectiveError
from .folder import ChunkFolder
from .worker import solve_chunk

MAX_TRIES = 3
"""Number of workers that may die of a chunk before its call ends (count). More of them
may wait longer for a chunk that needs too much memory."""


def check_executor(executor: object, folder: Path | None) -> Executor | None:
    """Return a checked executor; None: chunks are solved in this process.

    Raises:
        ObjectiveError: for anything else, or without a folder for its results.
    """
    if executor is None:
        return None
    if not callable(getattr(executor, "submit", None)):
        raise ObjectiveError(
            f"executor is {executor!r}, expected a concurrent.futures.Executor, such as"
            " a ProcessPoolExecutor, or Client().get_executor() of Dask."
        )
    if folder is None:
        raise ObjectiveError(
            "executor is given without checkpoint_dir; give a folder that all workers"
            " see, for the problem and its results."
        )
    return executor  # type: ignore[return-value]


def solve_on_executor(
    executor: Executor,
    folder: ChunkFolder,
    work: object,
    problems: range,
    chunk_size: int,
    reporter: ProgressReporter,
) -> None:
    """Solve the problems that are not stored yet, each chunk by a worker.

    Args:
        executor: the workers.
        folder: of the chunks, that all workers see.
        work: a function of a chunk, a range, that returns its results.
        problems: those to solve.
        chunk_size: largest number of problems in a chunk.
        reporter: of the problems that are done.

    Raises:
        KeyboardInterrupt: for an interrupt or a deadline; chunks that have not begun
            are cancelled.
        ObjectiveError: if the workers end.
        Exception: what the work raises.
    """
    name, missing = folder.write_work(work), folder.missing(problems, chunk_size)
    run = _Run(executor, folder, name, problems)
    try:
        for chunk in missing:
            run.submit(chunk)
        run.wait(sum(map(len, missing)), reporter)
    finally:
        run.cancel()


class _Run:
    """Chunks that have been given out."""

    def __init__(
        self, executor: Executor, folder: ChunkFolder, name: str, problems: range
    ) -> None:
        self.executor, self.folder = executor, folder
        self.name, self.problems = name, problems
        self.futures: dict[range, Future] = {}
        """Chunks that have not ended."""
        self.tries: Counter[range] = Counter()
        self.ended: Queue[tuple[range, Future]] = Queue()

    def submit(self, chunk: range) -> None:
        """Give a chunk to a worker."""
        where = str(self.folder.path), self.name, chunk.start, chunk.stop
        x64 = jnp.result_type(float) == np.float64
        self.tries[chunk] += 1
        try:
            future = self.executor.submit(solve_chunk, *where, x64)
        except RuntimeError as error:
            # Also of executors that are broken or shut down.
            raise self._workers_ended(error) from error
        self.futures[chunk] = future
        future.add_done_callback(lambda done: self.ended.put((chunk, done)))

    def wait(self, total: int, reporter: ProgressReporter) -> None:
        """Wait until all chunks are stored."""
        finished = 0

        def look() -> Progress:
            return Progress(0, inf, inf, finished, total)

        while self.futures:
            check_deadline()
            try:
                seconds = min(remaining_seconds(), REPORT_INTERVAL)
                chunk, future = self.ended.get(timeout=seconds)
            except Empty:
                reporter(look)
                continue
            del self.futures[chunk]
            if self._is_done(chunk, future):
                finished += len(chunk)
                reporter(look)

    def cancel(self) -> None:
        """Cancel the chunks that have not begun."""
        for future in self.futures.values():
            future.cancel()

    def _is_done(self, chunk: range, future: Future) -> bool:
        """Return whether a chunk has been solved; if its worker died, try it again."""
        try:
            failure: Exception | None = future.result()
        except BrokenExecutor as error:
            raise self._workers_ended(error) from error
        except Exception as error:
            if self.tries[chunk] >= MAX_TRIES:
                raise self._workers_ended(error, chunk) from error
            self.submit(chunk)
            return False
        if failure is not None:
            raise failure
        return True

    def _workers_ended(
        self, error: Exception, chunk: range | None = None
    ) -> ObjectiveError:
        """Return the error that tells what is stored."""
        is_stored = self.folder.is_stored(self.problems.stop)[self.problems.start :]
        cause = "The executor's workers have ended"
        if chunk is not None:
            cause = (
                f"Problems {chunk.start} to {chunk.stop - 1} failed {MAX_TRIES} times,"
                " each time with their worker"
            )
        return ObjectiveError(
            f"{cause} ({type(error).__name__}: {error}). {is_stored.sum()} of"
            f" {len(is_stored)} problems are stored in {str(self.folder.path)!r}, and"
            " the same call goes on with the others."
        )
