"""A batch of problems: solved in chunks, on one process or several, kept in a store."""

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Int

from posewise.robots.validation import integer
from posewise.solvers import Progress, ProgressReporter
from posewise.solvers.interruptible import ProgressCallback

from ..objective import ObjectiveError
from ..solution import Solution
from .batch_result import BatchResult, from_bytes, to_bytes, unsolved_result
from .checkpoint import Checkpoint, batch_fingerprint, open_checkpoint
from .distributed import allgather_bytes, check_mesh, is_distributed, local_mesh
from .multistart import SolveSettings, make_solutions, solve_with_retry
from .problem_batch import ProblemBatch


class BatchSettings(NamedTuple):
    """Where a batch is solved, and kept."""

    mesh: Mesh | None
    checkpoint_dir: Path | None
    chunk_size: int
    """Problems between two writes to the store."""


def make_batch_settings(
    mesh: Any, checkpoint_dir: Any, chunk_size: Any
) -> BatchSettings:
    """See `KOMO.solve_batch`.

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
    problems: ProblemBatch,
    seed: int,
    starts: int,
    chosen: SolveSettings,
    place: BatchSettings,
) -> list[Solution]:
    """The best solution of each problem; see `KOMO.solve_batch`."""
    if not problems.count:
        return []
    mesh = place.mesh
    store = _opened(problems, seed, starts, chosen, place)
    done = store.read() if store else []
    done, share = _dealt(done, problems.count, mesh)
    size = place.chunk_size if store else problems.count
    found: dict[int, Solution] = {}
    watch = ProgressReporter(chosen.progress)
    for which in _chunks(share, size):
        before = len(found) * starts
        so_far = _further(watch, before, len(share) * starts)
        numbers = (seed, starts, chosen, so_far, local_mesh(mesh))
        try:
            solves = solve_with_retry(problems, which, *numbers)
        except KeyboardInterrupt:
            if not done:
                raise
            break
        solutions = make_solutions(problems, solves, chosen.tolerance)
        groups = solves.groups
        rows = [min(group, key=lambda j: solutions[j].rank()) for group in groups]
        found |= zip(which, (solutions[j] for j in rows), strict=True)
        stopped = [bool(solves.interrupted[list(group)].any()) for group in groups]
        finished = [j for j, s in zip(rows, stopped, strict=True) if not s]
        done.append(solves.rows(rows))
        if store and finished:
            store.write(solves.rows(finished))
        if any(stopped):
            break
    rest = np.setdiff1d(share, _problems(done)).tolist()
    done += [unsolved_result(problems, rest, done[0])] if rest else []
    if is_distributed(mesh):
        every = allgather_bytes(to_bytes(done), mesh)
        done = [solves for data in every for solves in from_bytes(data)]
    for solves in done:
        others = solves.rows([b not in found for b in solves.problem.tolist()])
        made = make_solutions(problems, others, chosen.tolerance)
        found |= zip(others.problem.tolist(), made, strict=True)
    return [found[b] for b in range(problems.count)]


def _opened(
    problems: ProblemBatch,
    seed: int,
    starts: int,
    chosen: SolveSettings,
    place: BatchSettings,
) -> Checkpoint | None:
    """The store, if there is one; all processes agree on what is solved."""
    mesh, folder, _ = place
    if not folder and not is_distributed(mesh):
        return None
    numbers = dict(vars(chosen.numbers), tolerance=chosen.tolerance)
    given = {"seed": seed, "number of starts": starts, "options": numbers}
    marks = batch_fingerprint(problems, given)
    every = [json.loads(m) for m in allgather_bytes(json.dumps(marks).encode(), mesh)]
    other = [name for name in marks if any(m[name] != marks[name] for m in every)]
    if other:
        raise ObjectiveError(
            "The processes of the mesh solve different problems: other"
            f" {', '.join(other)}. Call solve_batch with the same arguments in each."
        )
    return open_checkpoint(folder, marks) if folder else None


def _dealt(
    done: list[BatchResult], count: int, mesh: Mesh | None
) -> tuple[list[BatchResult], list[int]]:
    """What this process has found and none before it has, and what it shall solve."""
    own = _problems(done)
    if not is_distributed(mesh):
        return done, np.setdiff1d(np.arange(count), own).tolist()
    every = [np.frombuffer(b, int) for b in allgather_bytes(own.tobytes(), mesh)]
    rank = jax.process_index()
    before = np.concatenate([*every[:rank], np.zeros(0, int)])
    done = [s.rows(~np.isin(s.problem, before)) for s in done]
    left = np.setdiff1d(np.arange(count), np.concatenate(every))
    return done, left[rank :: len(every)].tolist()


def _chunks(share: list[int], size: int) -> list[list[int]]:
    """As many in each, or one more, so that one compiled program solves them all."""
    count = -(-len(share) // size)
    ends = [k * len(share) // count for k in range(count + 1)] if count else [0]
    return [share[slice(*at)] for at in pairwise(ends)]


def _problems(done: list[BatchResult]) -> Int[np.ndarray, " k"]:
    return np.concatenate([np.zeros(0, int), *(s.problem for s in done)])


def _further(watch: ProgressReporter, before: int, solves: int) -> ProgressCallback:
    """Tells of all chunks, not only of this one."""

    def ahead(look: Callable[[], Progress]) -> None:
        def whole() -> Progress:
            p = look()
            return p._replace(finished=before + p.finished, solves=solves)

        watch(whole)

    return ahead
