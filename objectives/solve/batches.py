"""Batches of problems: solved in chunks, in this process or by workers."""

from concurrent.futures import Executor
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jax.sharding import Mesh

from posewise.compilation.progress import break_silence
from posewise.robots.typing import StrPath
from posewise.solvers import ProgressReporter
from posewise.solvers.deadline import passed_deadline

from ..chunks.executor import check_executor, solve_on_executor
from ..chunks.folder import (
    ChunkFolder,
    make_chunk_size,
    make_folder_path,
    make_share,
    open_folder,
    part_of,
    true_runs,
)
from ..terms.objective import ObjectiveError
from .batch_fingerprint import batch_fingerprint
from .batch_work import BatchWork, CertifiedWork, Ends, LaneWork
from .mesh import check_mesh, lane_mesh
from .problem_batch import ProblemBatch
from .settings import SolveSettings
from .solution_batch import SolutionBatch, batch_of_solutions

CHUNK_SIZE, CERTIFIED_CHUNK_SIZE = 256, 16
"""Numbers of problems in a chunk (count), for those solved together and for those whose
paths are certified one by one, which take longer. With more, less is stored when a
process dies, and fewer workers have something to do; fewer are slower together."""


class BatchSettings(NamedTuple):
    """Devices or workers that solve a batch, and the folder of its solutions."""

    mesh: Mesh | None
    checkpoint_dir: Path | None
    chunk_size: int | None
    """Largest number of problems in a file of the folder; None: as suits them."""
    executor: Executor | None
    share: tuple[int, int]
    """The k-th of n shares of the problems is solved, (k, n); (1, 1): all."""

    def problems(self, count: int) -> range:
        """Return which of all problems are to be solved."""
        k, n = self.share
        return part_of(range(count), k, n)


def make_batch_settings(
    mesh: Mesh | None,
    checkpoint_dir: StrPath | None,
    chunk_size: int | None,
    executor: Executor | None,
    share: tuple[int, int] | None,
) -> BatchSettings:
    """Return checked settings; see `KOMO.solve_batch`.

    Raises:
        ObjectiveError: saying what does not fit.
    """
    size = None if chunk_size is None else make_chunk_size(chunk_size)
    folder = make_folder_path(checkpoint_dir)
    settings = BatchSettings(
        check_mesh(mesh),
        folder,
        size,
        check_executor(executor, folder),
        make_share(share, folder),
    )
    if mesh is not None and executor is not None:
        raise ObjectiveError(
            "mesh and executor are both given, expected one of them: a mesh has devices"
            " of this process, and each worker solves on its default device."
        )
    return settings


def solve_batch(
    problems: ProblemBatch, settings: SolveSettings, batch_settings: BatchSettings
) -> SolutionBatch:
    """Return the best solution of each problem; see `KOMO.solve_batch`."""
    if not problems.count:
        return batch_of_solutions([])
    with break_silence("preparing and solving", settings.progress is True):
        if not problems.specs[0].is_bounded_between:
            size = batch_settings.chunk_size or CHUNK_SIZE
            return _solve(LaneWork(problems, settings), batch_settings, size)
        if batch_settings.mesh is not None:
            raise ObjectiveError(
                "mesh is given, but problems that avoid collisions between slices are"
                " solved one after the other, since each path is certified. Leave it"
                " out, give an executor, or avoid_collisions(between=False)."
            )
        size = batch_settings.chunk_size or CERTIFIED_CHUNK_SIZE
        return _solve(CertifiedWork(problems, settings), batch_settings, size)


def _solve(
    work: BatchWork[Ends], batch_settings: BatchSettings, chunk_size: int
) -> SolutionBatch:
    """Return the solutions of all problems, of which a folder may have some."""
    path, executor = batch_settings.checkpoint_dir, batch_settings.executor
    reporter = ProgressReporter(work.settings.progress)
    count, mesh = work.problems.count, lane_mesh(batch_settings.mesh)
    if path is None:
        ends, is_complete = work.solve(range(count), reporter, 0, count, mesh)
        incomplete = set(ends.problem[~is_complete].tolist())
        return work.solution_batch([ends], incomplete, range(count))
    folder = open_folder(path, batch_fingerprint(work.problems, work.settings))
    stopped: list[Ends] = []
    share = batch_settings.problems(count)
    try:
        if executor is None:
            _solve_chunks(work, folder, share, chunk_size, reporter, mesh, stopped)
        else:
            solve_on_executor(
                executor, folder, work.sent(), share, chunk_size, reporter
            )
    except KeyboardInterrupt:
        is_nothing = not stopped and not folder.is_stored(count).any()
        if is_nothing and not passed_deadline():
            raise
    # In the order of files: each is whole, and what was stopped may be there by now.
    stored: list[Ends] = [ends for _, ends in folder.read()]
    unfinished = {b for ends in stopped for b in ends.problem.tolist()}
    unfinished -= set(np.flatnonzero(folder.is_stored(count)).tolist())
    return work.solution_batch(stored + stopped, unfinished, share)


def _solve_chunks(
    work: BatchWork[Ends],
    folder: ChunkFolder,
    problems: range,
    chunk_size: int,
    reporter: ProgressReporter,
    mesh: Mesh | None,
    stopped: list[Ends],
) -> None:
    """Solve and store the problems that are not stored yet, in this process.

    Args:
        work: the batch.
        folder: of its chunks.
        problems: those to solve.
        chunk_size: largest number of problems in a chunk.
        reporter: of the progress.
        mesh: see `BatchWork.solve`.
        stopped: gets the ends of problems that were stopped, which are not stored.

    Raises:
        KeyboardInterrupt: for an interrupt before there is a result of a chunk.
    """
    missing = folder.missing(problems, chunk_size)
    total, solved = sum(map(len, missing)), 0
    for chunk in missing:
        if not folder.has(chunk):
            ends, is_complete = work.solve(chunk, reporter, solved, total, mesh)
            whole = np.isin(np.asarray(chunk), ends.problem[is_complete])
            for run in true_runs(whole):
                indices = range(chunk.start + run.start, chunk.start + run.stop)
                rows = np.flatnonzero(np.isin(ends.problem, np.asarray(indices)))
                folder.write(indices, ends.select(rows))
            if not whole.all():
                stopped.append(ends.select(np.flatnonzero(~is_complete)))
                return
        solved += len(chunk)
        if passed_deadline():
            return
