"""A function of many items, each of which takes a solve: in chunks, on any executor."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from math import inf
from typing import Any, Generic, TypeVar

from posewise.compilation.fingerprint import fingerprint
from posewise.robots.typing import StrPath
from posewise.solvers import Progress, ProgressReporter

from ..terms.objective import ObjectiveError
from ..terms.typing import ProgressLike
from .executor import check_executor, solve_on_executor
from .folder import ChunkFolder, make_chunk_size, make_folder_path, open_folder
from .interrupts import interrupts_heard
from .pickling import stable_pickle

Item = TypeVar("Item")
Solved = TypeVar("Solved")


@dataclass(frozen=True)
class _MapWork(Generic[Item, Solved]):
    """A function, and the items that it is called with."""

    function: Callable[[Item], Solved]
    items: list[Item]

    def __call__(self, chunk: range) -> list[Solved]:
        """Return the results of a chunk, solved by a worker."""
        return list(self.solved(chunk))

    def solved(self, chunk: range) -> Iterator[Solved]:
        """Yield the result of each item of a chunk."""
        for k in chunk:
            try:
                yield self.function(self.items[k])
            except Exception as error:
                error.add_note(f"map_solves called the function with item {k}.")
                raise


def map_solves(
    function: Callable[[Item], Solved],
    items: Iterable[Item],
    *,
    executor: Executor | None = None,
    checkpoint_dir: StrPath | None = None,
    chunk_size: int = 16,
    progress: ProgressLike = True,
) -> list[Solved]:
    """Return the function of each item: placements, plans, or other long solves.

    For problems that differ in numbers only, `KOMO.solve_batch` is faster.

    Args:
        function: of an item. With an executor it is pickled, as the items and results
            are: a function of a module, or any function if "posewise[cluster]" is
            installed.
        items: what it is called with.
        executor: any `concurrent.futures.Executor` whose workers are processes that see
            `checkpoint_dir`; None: this process solves.
        checkpoint_dir: a folder for finished results, from which the same call goes on
            after an interrupt or a crash. It is the folder of these items and this
            function: changes of what the function calls are not noticed. Its files are
            pickles: give a folder in which only those whom you trust may write.
        chunk_size: largest number of items in a file of the folder, which one worker
            solves.
        progress: True prints progress on stderr, False does not; a function is called
            with a `posewise.solvers.Progress` of numbers of items.

    Returns:
        The results, in the order of the items.

    Raises:
        ObjectiveError: for an executor without a folder, or whose workers end, a folder
            of other items or that cannot be written, and what cannot be pickled.
        Exception: what the function raises, with a note that names the item.
    """
    if not callable(function):
        raise ObjectiveError(f"function is {function!r}, expected a function.")
    size, path = make_chunk_size(chunk_size), make_folder_path(checkpoint_dir)
    workers = check_executor(executor, path)
    work = _MapWork(function, list(items))
    count, reporter = len(work.items), ProgressReporter(progress)
    if path is None:
        return _solve_in_turn(work, range(count), reporter, 0, count)
    if not count:
        return []
    folder = open_folder(path, _digests(work))
    if workers is None:
        _store_in_turn(work, folder, size, reporter)
    else:
        solve_on_executor(workers, folder, work, range(count), size, reporter)
    by_item = {
        k: result
        for chunk, results in folder.read()
        for k, result in zip(chunk, results, strict=True)
    }
    return [by_item[k] for k in range(count)]


def _solve_in_turn(
    work: _MapWork[Item, Solved],
    chunk: range,
    reporter: ProgressReporter,
    finished: int,
    total: int,
    folder: ChunkFolder | None = None,
) -> list[Solved]:
    """Return the results of a chunk; those that there are at an end are stored."""
    solved: list[Solved] = []

    def look() -> Progress:
        return Progress(0, inf, inf, finished + len(solved), total)

    try:
        with interrupts_heard() as heard:
            for result in work.solved(chunk):
                # A solve that hears Ctrl-C returns what it has come to.
                if heard.is_set():
                    raise KeyboardInterrupt
                solved.append(result)
                reporter(look)
    finally:
        if folder is not None and solved:
            folder.write(range(chunk.start, chunk.start + len(solved)), solved)
    return solved


def _store_in_turn(
    work: _MapWork[Any, Any],
    folder: ChunkFolder,
    size: int,
    reporter: ProgressReporter,
) -> None:
    """Solve the items that are not stored yet, in this process."""
    missing = folder.missing(range(len(work.items)), size)
    total, finished = sum(map(len, missing)), 0
    for chunk in missing:
        if not folder.has(chunk):
            _solve_in_turn(work, chunk, reporter, finished, total, folder)
        finished += len(chunk)


def _digests(work: _MapWork[Any, Any]) -> dict[str, str]:
    """Return digests of the function and of the items."""
    code = getattr(work.function, "__code__", None)
    return {
        "function": fingerprint(
            (code, stable_pickle(work.function, "The function of map_solves"))
        ),
        "items": fingerprint(stable_pickle(work.items, "A list of items")),
    }
