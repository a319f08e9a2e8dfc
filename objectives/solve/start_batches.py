"""Batches of problems, each solved from many starts by one compiled program."""

import time
from collections.abc import Sequence

import jax
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Float

from posewise.solvers import BatchInputs, Status, solve_multistart
from posewise.solvers.deadline import check_deadline
from posewise.solvers.interruptible import ProgressCallback

from ..problem.spec import initial_paths
from ..terms.objective import OT
from .batch_result import BatchResult
from .problem_batch import ProblemBatch
from .settings import SolveSettings


def solve_problems(
    problems: ProblemBatch,
    which: Sequence[int],
    settings: SolveSettings,
    report_progress: ProgressCallback,
    *,
    max_solutions: int | None = None,
    mesh: Mesh | None = None,
    first_start: int = 0,
    program_size: int | None = None,
) -> BatchResult:
    """Solve some problems of a batch, each from many starts; see `solve_starts`.

    Args:
        problems: the batch.
        which: indices of the problems to solve.
        settings: number of starts of each problem, tolerance and options.
        report_progress: is called with the progress of all solves.
        max_solutions: number of feasible starts of a problem after which its remaining
            starts are skipped; None: 1 without costs, else all starts are solved.
        mesh: see `solve_multistart`.
        first_start: index of the first of the starts.
        program_size: see `solve_multistart`.

    Returns:
        A row for each start that was not skipped, in the order of `which`.
    """
    began = time.perf_counter()
    leaves = problems.leaves_of(which)
    end = first_start + settings.starts
    x = _first_paths(problems, which, settings.seed, first_start, end)
    x = x.reshape(-1, *x.shape[2:]).astype(problems.dtype)
    problem_index = np.repeat(np.arange(len(which)), settings.starts)
    if max_solutions is None and all(
        o.type is not OT.sos for o in problems.specs[0].objectives
    ):
        max_solutions = 1
    mu = [settings.initial_penalty(k) for k in range(first_start, end)]
    inputs = BatchInputs(
        problems.chain,
        problems.tree,
        leaves,
        problems.varied,
        problem_index=problem_index,
        initial_paths=x,
        penalties=np.tile(np.asarray(mu, x.dtype), len(which)),
    )
    result, lanes = solve_multistart(
        inputs,
        settings.options,
        on_progress=report_progress,
        max_solutions=max_solutions,
        program_size=program_size,
        mesh=mesh,
    )
    seconds = time.perf_counter() - began
    row, start = np.divmod(lanes, settings.starts)
    start += first_start
    return BatchResult(
        np.asarray(which)[row], start, np.full(len(row), seconds), result
    )


def _first_paths(
    problems: ProblemBatch, which: Sequence[int], seed: int, first: int, end: int
) -> Float[np.ndarray, "problems starts T nq"]:
    """Return the initial paths of some starts of each problem."""
    # Problems in the same world share their random paths.
    worlds, world = np.unique(problems.world_index(which), return_inverse=True)
    specs = [problems.specs[k] for k in worlds.tolist()]
    shared = np.stack([initial_paths(spec, seed, end)[first:] for spec in specs])
    paths = shared[world]
    if problems.initial is not None and not first:
        initial = [initial_paths(problems.spec(b), seed, 1)[0] for b in which]
        paths[:, 0] = initial
    return paths


def solve_with_retry(
    problems: ProblemBatch,
    which: Sequence[int],
    settings: SolveSettings,
    report_progress: ProgressCallback,
    mesh: Mesh | None = None,
) -> BatchResult:
    """Solve problems of a batch; a single start that stalls gets a random second one.

    Args:
        problems: the batch.
        which: indices of the problems to solve, ascending.
        settings: see `solve_problems`.
        report_progress: see `solve_problems`.
        mesh: see `solve_problems`.
    """
    first = solve_problems(problems, which, settings, report_progress, mesh=mesh)
    is_stalled = np.asarray(first.result.status) == Status.INFEASIBLE
    stalled = first.problem[is_stalled].tolist()
    if settings.starts > 1 or not stalled:
        return first
    try:
        check_deadline()
        # As many lanes as before, so that the compiled program is used again.
        second = solve_problems(
            problems,
            stalled,
            settings,
            report_progress,
            mesh=mesh,
            first_start=1,
            program_size=len(which),
        )
    except KeyboardInterrupt:
        # What has been solved is kept; those that stalled have not had their second.
        status = np.where(is_stalled, int(Status.INTERRUPTED), first.result.status)
        return first._replace(result=first.result._replace(status=status))
    merged = jax.tree.map(lambda *a: np.concatenate(a), first, second)
    return merged.select(np.argsort(merged.problem, kind="stable"))
