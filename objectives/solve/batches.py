"""Batches of problems: solved in chunks, on one or several processes."""

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Int

from posewise.compilation.progress import break_silence
from posewise.robots.typing import StrPath
from posewise.robots.validation import integer
from posewise.solvers import Progress, ProgressReporter
from posewise.solvers.deadline import passed_deadline
from posewise.solvers.interruptible import ProgressCallback

from ..terms.objective import ObjectiveError
from .batch_result import BatchResult, from_bytes, to_bytes, unsolved_result
from .checkpoint import Checkpoint, batch_fingerprint, open_checkpoint
from .distributed import allgather_bytes, check_mesh, is_distributed, local_mesh
from .multistart import make_solution_batch, solve_certified_batch
from .problem_batch import ProblemBatch
from .settings import SolveSettings
from .solution_batch import SolutionBatch, batch_of_solutions
from .start_batches import solve_with_retry
from .stops import stop_sentence


class BatchSettings(NamedTuple):
    """Devices on which a batch is solved, and where its solutions are stored."""

    mesh: Mesh | None
    checkpoint_dir: Path | None
    chunk_size: int
    """Number of problems between two writes to the checkpoint."""


def make_batch_settings(
    mesh: Mesh | None, checkpoint_dir: StrPath | None, chunk_size: int
) -> BatchSettings:
    """Return checked settings; see `KOMO.solve_batch`.

    Raises:
        ObjectiveError: saying what does not fit.
    """
    chunk_size = integer(
        "chunk_size", chunk_size, "at least 1", lambda n: n >= 1, ObjectiveError
    )
    try:
        folder = None if checkpoint_dir is None else Path(checkpoint_dir)
    except TypeError:
        raise ObjectiveError(
            f"checkpoint_dir is {checkpoint_dir!r}, expected a folder's path."
        ) from None
    return BatchSettings(check_mesh(mesh), folder, chunk_size)


def solve_batch(
    problems: ProblemBatch, settings: SolveSettings, batch_settings: BatchSettings
) -> SolutionBatch:
    """Return the best solution of each problem; see `KOMO.solve_batch`."""
    if not problems.count:
        return batch_of_solutions([])
    with break_silence("preparing and solving", settings.progress is True):
        if not problems.specs[0].is_bounded_between:
            return _solve_batch(problems, settings, batch_settings)
        _require_one_process(batch_settings)
        return batch_of_solutions(solve_certified_batch(problems, settings))


def _solve_batch(
    problems: ProblemBatch, settings: SolveSettings, batch_settings: BatchSettings
) -> SolutionBatch:
    mesh, tolerance = batch_settings.mesh, settings.tolerance
    checkpoint = _open_checkpoint(problems, settings, batch_settings)
    results = checkpoint.read() if checkpoint else []
    results, share = _share_of_process(results, problems.count, mesh)
    chunk_size = batch_settings.chunk_size if checkpoint else problems.count
    solved, unfinished = 0, set[int]()
    reporter = ProgressReporter(settings.progress)
    for which in _chunks(share, chunk_size):
        starts = settings.starts
        report = _report_all_chunks(reporter, solved * starts, len(share) * starts)
        try:
            result = solve_with_retry(
                problems, which, settings, report, local_mesh(mesh)
            )
        except KeyboardInterrupt:
            if not results:
                raise
            break
        solved += len(which)
        best = result.select(result.best_rows(tolerance))
        results.append(best)
        stopped = result.problem[result.is_interrupted]
        unfinished |= set(stopped.tolist())
        is_complete = ~np.isin(best.problem, stopped)
        if checkpoint and is_complete.any():
            checkpoint.write(best.select(is_complete))
        if len(stopped) or passed_deadline():
            break
    missing = np.setdiff1d(share, _solved_problems(results)).tolist()
    if missing:
        results.append(unsolved_result(problems, missing, results[0].result.y[0]))
    if is_distributed(mesh):
        every = allgather_bytes(to_bytes(results), mesh)
        results = [result for data in every for result in from_bytes(data)]
    rows: BatchResult = jax.tree.map(lambda *a: np.concatenate(a), *results)
    rows = rows.select(np.argsort(rows.problem, kind="stable"))
    stopped = {*unfinished, *np.flatnonzero(rows.is_interrupted).tolist()}
    sentence = ""
    if stopped:
        ended = problems.count - len(stopped)
        sentence = stop_sentence(ended, problems.count, "problems")
    return make_solution_batch(problems, rows, tolerance, stopped, sentence)


def _require_one_process(batch_settings: BatchSettings) -> None:
    """Raise an ObjectiveError for settings that certified solves do not have."""
    given = {
        "mesh": batch_settings.mesh,
        "checkpoint_dir": batch_settings.checkpoint_dir,
    }
    unused = [name for name, value in given.items() if value is not None]
    if unused:
        raise ObjectiveError(
            f"{unused[0]} is given, but problems that avoid collisions between slices"
            " are solved one after the other in this process, since each path is"
            " certified. Leave it out, or avoid_collisions(between=False)."
        )


def _open_checkpoint(
    problems: ProblemBatch, settings: SolveSettings, batch_settings: BatchSettings
) -> Checkpoint | None:
    """Return the checkpoint, if any, after all processes agree on the batch."""
    mesh, folder = batch_settings.mesh, batch_settings.checkpoint_dir
    if not folder and not is_distributed(mesh):
        return None
    options = dict(vars(settings.options), tolerance=settings.tolerance)
    settings_by_name = {
        "seed": settings.seed,
        "number of starts": settings.starts,
        "options": options,
    }
    digests = batch_fingerprint(problems, settings_by_name)
    encoded = json.dumps(digests).encode()
    every = [json.loads(data) for data in allgather_bytes(encoded, mesh)]
    differing = [n for n in digests if any(d[n] != digests[n] for d in every)]
    if differing:
        raise ObjectiveError(
            "The processes of the mesh solve different problems: other"
            f" {', '.join(differing)}. Call solve_batch with the same arguments in"
            " each."
        )
    return open_checkpoint(folder, digests) if folder else None


def _share_of_process(
    results: list[BatchResult], count: int, mesh: Mesh | None
) -> tuple[list[BatchResult], list[int]]:
    """Return the stored results that this process contributes, and its share to solve.

    A result that several processes have read is contributed by the first of them.
    """
    stored = _solved_problems(results)
    if not is_distributed(mesh):
        return results, np.setdiff1d(np.arange(count), stored).tolist()
    every = [np.frombuffer(b, int) for b in allgather_bytes(stored.tobytes(), mesh)]
    rank = jax.process_index()
    earlier = np.concatenate([*every[:rank], np.zeros(0, int)])
    results = [result.select(~np.isin(result.problem, earlier)) for result in results]
    unsolved = np.setdiff1d(np.arange(count), np.concatenate(every))
    return results, unsolved[rank :: len(every)].tolist()


def _chunks(share: list[int], size: int) -> list[list[int]]:
    """Split problems into chunks whose lengths differ by at most one.

    Chunks of about the same length are solved by one compiled program.
    """
    count = -(-len(share) // size)
    ends = [k * len(share) // count for k in range(count + 1)] if count else [0]
    return [share[slice(*bounds)] for bounds in pairwise(ends)]


def _solved_problems(results: list[BatchResult]) -> Int[np.ndarray, " k"]:
    return np.concatenate([np.zeros(0, int), *(result.problem for result in results)])


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
