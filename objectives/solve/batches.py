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
from .batch_result import Solves, from_bytes, to_bytes, untouched
from .checkpoint import Store, identity, open_store
from .distributed import check_mesh, exchanged, own_devices, together
from .multistart import Chosen, solutions_of, solve_with_second
from .problem_batch import Problems


class Place(NamedTuple):
    """Where a batch is solved, and kept."""

    mesh: Mesh | None
    store: Path | None
    chunk: int
    """Problems between two writes to the store."""


def make_place(mesh: Any, store: Any, chunk: Any) -> Place:
    """See `KOMO.solve_batch`.

    Raises:
        ObjectiveError: saying what does not fit.
    """
    chunk = integer("chunk", chunk, "at least 1", lambda n: n >= 1, ObjectiveError)
    try:
        folder = None if store is None else Path(store)
    except TypeError:
        raise ObjectiveError(f"store is {store!r}, expected a folder's path.") from None
    return Place(check_mesh(mesh), folder, chunk)


def solve_batch(
    problems: Problems, seed: int, starts: int, chosen: Chosen, place: Place
) -> list[Solution]:
    """The best solution of each problem; see `KOMO.solve_batch`."""
    if not problems.count:
        return []
    mesh = place.mesh
    store = _opened(problems, seed, starts, chosen, place)
    done = store.read() if store else []
    done, share = _dealt(done, problems.count, mesh)
    size = place.chunk if store else problems.count
    found: dict[int, Solution] = {}
    watch = ProgressReporter(chosen.progress)
    for which in _chunks(share, size):
        before = len(found) * starts
        so_far = _further(watch, before, len(share) * starts)
        numbers = (seed, starts, chosen, so_far, own_devices(mesh))
        try:
            solves = solve_with_second(problems, which, *numbers)
        except KeyboardInterrupt:
            if not done:
                raise
            break
        solutions = solutions_of(problems, solves, chosen.tolerance)
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
    done += [untouched(problems, rest, done[0])] if rest else []
    if together(mesh):
        every = exchanged(to_bytes(done), mesh)
        done = [solves for data in every for solves in from_bytes(data)]
    for solves in done:
        others = solves.rows([b not in found for b in solves.problem.tolist()])
        made = solutions_of(problems, others, chosen.tolerance)
        found |= zip(others.problem.tolist(), made, strict=True)
    return [found[b] for b in range(problems.count)]


def _opened(
    problems: Problems, seed: int, starts: int, chosen: Chosen, place: Place
) -> Store | None:
    """The store, if there is one; all processes agree on what is solved."""
    mesh, folder, _ = place
    if not folder and not together(mesh):
        return None
    numbers = dict(vars(chosen.numbers), tolerance=chosen.tolerance)
    given = {"seed": seed, "number of starts": starts, "options": numbers}
    marks = identity(problems, given)
    every = [json.loads(m) for m in exchanged(json.dumps(marks).encode(), mesh)]
    other = [name for name in marks if any(m[name] != marks[name] for m in every)]
    if other:
        raise ObjectiveError(
            "The processes of the mesh solve different problems: other"
            f" {', '.join(other)}. Call solve_batch with the same arguments in each."
        )
    return open_store(folder, marks) if folder else None


def _dealt(
    done: list[Solves], count: int, mesh: Mesh | None
) -> tuple[list[Solves], list[int]]:
    """What this process has found and none before it has, and what it shall solve."""
    own = _problems(done)
    if not together(mesh):
        return done, np.setdiff1d(np.arange(count), own).tolist()
    every = [np.frombuffer(b, int) for b in exchanged(own.tobytes(), mesh)]
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


def _problems(done: list[Solves]) -> Int[np.ndarray, " k"]:
    return np.concatenate([np.zeros(0, int), *(s.problem for s in done)])


def _further(watch: ProgressReporter, before: int, solves: int) -> ProgressCallback:
    """Tells of all chunks, not only of this one."""

    def ahead(look: Callable[[], Progress]) -> None:
        def whole() -> Progress:
            p = look()
            return p._replace(finished=before + p.finished, solves=solves)

        watch(whole)

    return ahead
