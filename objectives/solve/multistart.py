"""From problems and starts to solutions, all with one compiled program."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from posewise.robots.errors import unknown_name
from posewise.robots.validation import integer, number
from posewise.solvers import (
    BatchInputs,
    Options,
    ProgressReporter,
    Result,
    Status,
    solve_interruptible,
    solve_multistart,
)
from posewise.solvers.first_order import solve_first_order
from posewise.solvers.interruptible import ProgressCallback

from ..objective import OT, ObjectiveError
from ..path_problem import PathProblem
from ..solution import Solution
from .batch_result import BatchResult
from .penalties import initial_penalties
from .problem_batch import ProblemBatch, make_problem_batch
from .sensitivity import SolveRecord

AUGMENTED_LAGRANGIAN = "augmented_lagrangian"
FIRST_ORDER_ITERATIONS = 20000
"""Default limit of first-order methods: their steps are many and cheap."""
PATH_OPTIONS = {"early_exit_factor": 20.0}
"""For several slices: a step takes an evaluation, which takes longer than a subproblem
is worth that is nearly solved."""


def solve_starts(
    komo: PathProblem,
    seed: Any,
    starts: Any,
    method: Any,
    chosen: "SolveSettings",
    max_solutions: int | None = None,
    retry: bool = False,
) -> list[Solution]:
    """What the starts of a problem end at, in their order.

    Without costs, starts after the first one that ends feasible are left out, unless
    `max_solutions` says otherwise.

    Args:
        komo: the problem.
        seed: see `KOMO.solve`, as for all below.
        starts: how many.
        method: see `KOMO.solve`.
        chosen: tolerance and options.
        max_solutions: leave out the starts after so many that end feasible.
        retry: if the only start stalls, solve once more, from a random one.
    """
    seed, starts = check_starts(komo, seed, starts)
    began = time.perf_counter()
    watch = ProgressReporter(chosen.progress)
    if _is_newton(method) and starts > 1:
        problems = make_problem_batch([komo], {})
        solves = solve_problems(
            problems, [0], seed, starts, chosen, watch, max_solutions
        )
        return make_solutions(problems, solves, chosen.tolerance)
    chain, data, placed = komo.chain()
    frozen = komo.frozen()

    def solution(end: Result, start: int) -> Solution:
        made = SolveRecord(frozen, chain, data, placed, end.x, end.y, end.multipliers)
        seconds = time.perf_counter() - began
        return make_solution(komo, end, made, chosen.tolerance, seconds, start)

    def paths(count: int) -> np.ndarray:
        return np.asarray(komo.starts(seed, count), data.prefix.dtype)

    if not _is_newton(method):
        given = (jnp.asarray(paths(starts)), chosen.numbers, watch)
        result = solve_first_order(chain, method, data, *given)
        return [solution(_row(result, i), i) for i in range(starts)]
    found: list[Solution] = []
    for i in range(2 if retry else 1):
        numbers = chosen.numbers
        if i:
            numbers = replace(numbers, mu=initial_penalty(numbers, i))
        end = solve_interruptible(chain, data, paths(i + 1)[i], numbers, watch)
        found.append(solution(end, i))
        if found[0].status is not Status.INFEASIBLE:
            break
    return found


def solve_problems(
    problems: ProblemBatch,
    which: Sequence[int],
    seed: int,
    starts: int,
    chosen: "SolveSettings",
    watch: ProgressCallback,
    max_solutions: int | None = None,
    mesh: Mesh | None = None,
    first: int = 0,
    like: int | None = None,
) -> BatchResult:
    """Solve some of the problems, each from many starts; see `solve_starts`.

    Args:
        problems: all.
        which: those to be solved.
        seed: of the random starts, the same for each problem.
        starts: of each.
        chosen: tolerance and options.
        watch: is told how far all have come.
        max_solutions: number of feasible starts of a problem after which its remaining
            starts are skipped.
        mesh: see `solve_multistart`.
        first: the first of the starts.
        like: see `solve_multistart`.

    Returns:
        A row for each start that was not left out, in the order of `which`.
    """
    began = time.perf_counter()
    leaves = problems.leaves_of(which)
    komos = [problems.komo(b) for b in which]
    end = first + starts
    paths = {k: k.starts(seed, end)[first:] for k in dict.fromkeys(komos)}
    x = np.concatenate([paths[k] for k in komos]).astype(problems.dtype)
    owner = np.repeat(np.arange(len(which)), starts)
    if max_solutions is None and all(o.type is not OT.sos for o in komos[0].objectives):
        max_solutions = 1
    mu = [initial_penalty(chosen.numbers, k) for k in range(first, end)] * len(which)
    inputs = BatchInputs(
        problems.chain,
        problems.tree,
        leaves,
        problems.varied,
        problem_index=owner,
        initial_paths=x,
        penalties=np.asarray(mu, x.dtype),
    )
    result, kept = solve_multistart(
        inputs,
        chosen.numbers,
        on_progress=watch,
        max_solutions=max_solutions,
        program_size=like,
        mesh=mesh,
    )
    seconds = time.perf_counter() - began
    at, start = np.divmod(kept, starts)
    start += first
    return BatchResult(np.asarray(which)[at], start, np.full(len(at), seconds), result)


def initial_penalty(numbers: Options, start: int) -> float:
    """The initial one of a start."""
    return numbers.mu * (numbers.alternate_start_penalty_factor if start % 2 else 1.0)


def solve_with_retry(
    problems: ProblemBatch,
    which: Sequence[int],
    seed: int,
    starts: int,
    chosen: "SolveSettings",
    watch: ProgressCallback,
    mesh: Mesh | None = None,
) -> BatchResult:
    """`solve_problems`; a problem's only start that stalls is followed by a random one.

    All of `which`, in ascending order, by the same program.
    """
    given = (seed, starts, chosen, watch, None, mesh)
    found = solve_problems(problems, which, *given)
    stalled = found.problem[np.asarray(found.result.status) == Status.INFEASIBLE]
    if starts > 1 or not len(stalled):
        return found
    lost = stalled.tolist()
    more = solve_problems(problems, lost, *given, first=1, like=len(which))
    both = jax.tree.map(lambda *a: np.concatenate(a), found, more)
    return both.rows(np.argsort(both.problem, kind="stable"))


def make_solutions(
    problems: ProblemBatch, solves: BatchResult, tolerance: float
) -> list[Solution]:
    """The solution in each row."""
    komos = [problems.komo(b) for b in solves.problem.tolist()]
    frozen = {k: k.frozen() for k in dict.fromkeys(komos)}
    solutions = []
    for j, (k, b) in enumerate(zip(komos, solves.problem.tolist(), strict=True)):
        end, data = _row(solves.result, j), problems.data(b)
        given = frozen[k], problems.chain, data, problems.placed
        made = SolveRecord(*given, end.x, end.y, end.multipliers)
        own = float(solves.seconds[j]), int(solves.start[j])
        solutions.append(make_solution(k, end, made, tolerance, *own))
    return solutions


def check_starts(komo: PathProblem, seed: Any, starts: Any) -> tuple[int, int]:
    """A user's seed and number of starts.

    Raises:
        ObjectiveError: for numbers out of range, or without objectives.
    """
    seed = integer("seed", seed, "an integer >= 0", lambda n: n >= 0, ObjectiveError)
    starts = integer("starts", starts, "at least 1", lambda n: n >= 1, ObjectiveError)
    if not komo.objectives:
        raise ObjectiveError("There is no objective; add one before solving.")
    return seed, starts


class SolveSettings(NamedTuple):
    """How a problem is to be solved."""

    tolerance: float
    """Of rows, in a solution that counts as feasible."""
    numbers: Options
    progress: Any = False
    """See `KOMO.solve`."""


def make_settings(
    komo: PathProblem,
    method: Any,
    tolerance: Any,
    progress: Any,
    options: Mapping[str, Any],
) -> SolveSettings:
    """A user's tolerance and options, checked; others as they suit the problem.

    Raises:
        ObjectiveError: for unknown options or methods, and numbers out of range.
    """
    if not _is_newton(method) and not hasattr(method, "update"):
        raise ObjectiveError(
            f"method is {method!r}, expected {AUGMENTED_LAGRANGIAN!r} or an optax"
            " optimiser, e.g. optax.lbfgs()."
        )
    if not isinstance(progress, bool) and not callable(progress):
        raise ObjectiveError(
            f"progress is {progress!r}, expected True, False, or a function that gets"
            " a posewise.solvers.Progress."
        )
    tolerance = _positive("tolerance", tolerance)
    known = Options.__dataclass_fields__
    for option, value in options.items():
        if option not in known:
            raise ObjectiveError(unknown_name("solver option", option, known))
        _positive(option, value)
    given = {"tolerance": 0.1 * tolerance, **options}
    if "mu" in given:
        given.setdefault("alternate_start_penalty_factor", 1.0)  # chosen for all starts
    if not _is_newton(method):
        given.setdefault("max_iterations", FIRST_ORDER_ITERATIONS)
    given = {**initial_penalties(komo), **given}
    if komo.T > 1 and not komo.contacts:
        given = {**PATH_OPTIONS, **given}
    return SolveSettings(tolerance, Options(**given), progress)


def _is_newton(method: Any) -> bool:
    return isinstance(method, str) and method == AUGMENTED_LAGRANGIAN


def best_solution(solutions: Sequence[Solution]) -> Solution:
    """Feasible before infeasible, then by cost, or by violation."""
    return min(solutions, key=Solution.rank) if len(solutions) > 1 else solutions[0]


def _row(result: Result, k: int) -> Result:
    """That of one solve."""
    return Result(*(a[k] for a in result))


def make_solution(
    komo: PathProblem,
    end: Result,
    made: SolveRecord,
    tolerance: float,
    seconds: float,
    start: int,
) -> Solution:
    """Where a solve ended as a solution from one of the starts."""
    return Solution(
        np.asarray(end.x, float),
        Status(int(end.status)),
        tolerance,
        int(end.iterations),
        seconds,
        komo.config,
        komo.tau,
        start,
        komo.modes(),
        komo.alternatives,
        made,
    )


def _positive(what: str, value: Any) -> float:
    return number(what, value, "a number > 0", lambda x: x > 0, ObjectiveError)
