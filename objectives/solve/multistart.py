"""Solves from many starts with one compiled program, and their solutions."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

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
from ..problem_spec import ProblemSpec, compile_chain, initial_paths, mode_sequence
from ..solution import Solution
from ..typing import ProgressLike, SolveMethod
from .batch_result import BatchResult
from .penalties import initial_penalties
from .problem_batch import ProblemBatch, make_problem_batch
from .record import SolveRecord
from .warm_start import WarmStart

AUGMENTED_LAGRANGIAN: Literal["augmented_lagrangian"] = "augmented_lagrangian"
"""Name of the solver with Newton steps."""
FIRST_ORDER_ITERATIONS = 20000
"""Default iteration limit of first-order methods, whose steps are many and cheap."""
PATH_OPTIONS = {"early_exit_factor": 20.0}
"""Solver options for several slices.

Trying the last step of a subproblem evaluates all slices, which takes longer than the
step is worth, so subproblems end early.
"""


@dataclass(frozen=True)
class SolveSettings:
    """Settings of a solve; see `KOMO.solve`."""

    tolerance: float
    """Largest violation of a solution that counts as feasible, in scaled units."""
    options: Options
    method: SolveMethod = AUGMENTED_LAGRANGIAN
    seed: int = 0
    starts: int = 1
    progress: ProgressLike = False
    warm: WarmStart | None = None
    """Beginning of a single start by Newton steps, instead of the initial path."""

    @property
    def uses_newton_steps(self) -> bool:
        """Whether the method is the augmented Lagrangian."""
        return _is_augmented_lagrangian(self.method)

    def initial_penalty(self, start: int) -> float:
        """Return the penalty with which a start begins."""
        is_odd = start % 2
        factor = self.options.alternate_start_penalty_factor if is_odd else 1.0
        return self.options.mu * factor


def solve_starts(
    spec: ProblemSpec,
    settings: SolveSettings,
    max_solutions: int | None = None,
    retry: bool = False,
    findings: tuple[str, ...] = (),
) -> list[Solution]:
    """Return the solutions of the starts of a problem, in their order.

    Without costs, starts after the first feasible solution are skipped, unless
    `max_solutions` is given.

    Args:
        spec: the problem, without choices.
        settings: number of starts, tolerance and options.
        max_solutions: number of feasible solutions after which the remaining starts are
            skipped.
        retry: whether a single start that stalls is followed by a random one.
        findings: on the problem, for reports.

    Raises:
        ObjectiveError: without objectives.
    """
    require_objectives(spec)
    began = time.perf_counter()
    report_progress = ProgressReporter(settings.progress)
    if settings.uses_newton_steps and settings.starts > 1:
        problems = make_problem_batch([spec], {})
        result = solve_problems(
            problems, [0], settings, report_progress, max_solutions=max_solutions
        )
        return make_solutions(problems, result, settings.tolerance, findings)
    compiled = compile_chain(spec)
    chain, data = compiled.chain, compiled.data
    frozen = spec.frozen()

    def solution(end: Result, start: int) -> Solution:
        record = SolveRecord(
            frozen, *compiled, end.x, end.y, end.multipliers, float(end.mu)
        )
        seconds = time.perf_counter() - began
        return _make_solution(
            spec, end, record, settings.tolerance, seconds, start, findings
        )

    def paths(count: int) -> np.ndarray:
        return np.asarray(initial_paths(spec, settings.seed, count), data.prefix.dtype)

    if not settings.uses_newton_steps:
        ends = solve_first_order(
            chain,
            settings.method,
            data,
            jnp.asarray(paths(settings.starts)),
            settings.options,
            report_progress,
        )
        return [solution(_result_of(ends, i), i) for i in range(settings.starts)]
    warm = settings.warm
    if warm is not None and not warm.fits(compiled):
        warm = None
    solutions: list[Solution] = []
    for start in range(2 if retry else 1):
        options, multipliers = settings.options, None
        if start:
            options = replace(options, mu=settings.initial_penalty(start))
        if start or warm is None:
            path = paths(start + 1)[start]
        else:
            path = warm.path(compiled)
            multipliers = warm.multipliers(spec, compiled)
            options = replace(options, mu=warm.penalty(options.mu))
        end = solve_interruptible(
            chain, data, path, options, report_progress, multipliers
        )
        solutions.append(solution(end, start))
        if solutions[0].status is not Status.INFEASIBLE:
            break
    return solutions


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
    x = np.concatenate(_first_paths(problems, which, settings.seed, first_start, end))
    x = x.astype(problems.dtype)
    problem_index = np.repeat(np.arange(len(which)), settings.starts)
    if max_solutions is None and all(
        o.type is not OT.sos for o in problems.specs[0].objectives
    ):
        max_solutions = 1
    mu = [settings.initial_penalty(k) for k in range(first_start, end)] * len(which)
    inputs = BatchInputs(
        problems.chain,
        problems.tree,
        leaves,
        problems.varied,
        problem_index=problem_index,
        initial_paths=x,
        penalties=np.asarray(mu, x.dtype),
    )
    result, kept = solve_multistart(
        inputs,
        settings.options,
        on_progress=report_progress,
        max_solutions=max_solutions,
        program_size=program_size,
        mesh=mesh,
    )
    seconds = time.perf_counter() - began
    row, start = np.divmod(kept, settings.starts)
    start += first_start
    return BatchResult(
        np.asarray(which)[row], start, np.full(len(row), seconds), result
    )


def _first_paths(
    problems: ProblemBatch, which: Sequence[int], seed: int, first: int, end: int
) -> list[np.ndarray]:
    """Return the initial paths (starts, T, nq) of some starts of each problem."""
    worlds = [problems.world_spec(b) for b in which]
    # Problems in the same world share their random paths.
    shared = {
        spec: initial_paths(spec, seed, end)[first:] for spec in dict.fromkeys(worlds)
    }
    paths = [shared[spec] for spec in worlds]
    if problems.initial is None or first:
        return paths
    given = [initial_paths(problems.spec(b), seed, 1) for b in which]
    pairs = zip(given, paths, strict=True)
    return [np.concatenate([own, random[1:]]) for own, random in pairs]


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
    both = jax.tree.map(lambda *a: np.concatenate(a), first, second)
    return both.select(np.argsort(both.problem, kind="stable"))


def make_solutions(
    problems: ProblemBatch,
    result: BatchResult,
    tolerance: float,
    findings: tuple[str, ...] = (),
) -> list[Solution]:
    """Return the solution in each row of a batch result."""
    which = result.problem.tolist()
    worlds = [problems.world_spec(b) for b in which]
    frozen = {spec: spec.frozen() for spec in dict.fromkeys(worlds)}
    initial, solutions = problems.initial, []
    for row, (spec, b) in enumerate(zip(worlds, which, strict=True)):
        end = _result_of(result.result, row)
        solved = frozen[spec]
        record = SolveRecord(
            solved if initial is None else solved.from_path(initial[b]),
            problems.chain,
            problems.data(b),
            problems.locations,
            end.x,
            end.y,
            end.multipliers,
            float(end.mu),
        )
        seconds, start = float(result.seconds[row]), int(result.start[row])
        solutions.append(
            _make_solution(spec, end, record, tolerance, seconds, start, findings)
        )
    return solutions


def require_objectives(spec: ProblemSpec) -> None:
    """Raise an ObjectiveError for a problem without objectives."""
    if not spec.objectives:
        raise ObjectiveError("There is no objective; add one before solving.")


def make_settings(
    spec: ProblemSpec,
    tolerance: float,
    progress: ProgressLike,
    options: Mapping[str, Any],
    method: SolveMethod = AUGMENTED_LAGRANGIAN,
    seed: int = 0,
    starts: int = 1,
    warm: WarmStart | None = None,
) -> SolveSettings:
    """Return checked settings, with defaults that suit the problem.

    Args:
        spec: the problem.
        tolerance: see `KOMO.solve`, as for all below.
        progress: how progress is reported.
        options: fields of `Options`.
        method: the augmented Lagrangian or an optax optimiser.
        seed: of the random starts.
        starts: number of starts.
        warm: where a single start begins.

    Raises:
        ObjectiveError: for unknown options or methods, and numbers out of range.
    """
    is_newton = _is_augmented_lagrangian(method)
    if not is_newton and not hasattr(method, "update"):
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
    seed = integer("seed", seed, "an integer >= 0", lambda n: n >= 0, ObjectiveError)
    starts = integer("starts", starts, "at least 1", lambda n: n >= 1, ObjectiveError)
    chosen = {"tolerance": 0.1 * tolerance, **options}
    if "mu" in chosen:
        # A penalty that the user chose is meant for all starts.
        chosen.setdefault("alternate_start_penalty_factor", 1.0)
    if not is_newton:
        chosen.setdefault("max_iterations", FIRST_ORDER_ITERATIONS)
    chosen = {**initial_penalties(spec), **chosen}
    if spec.T > 1 and not spec.contacts:
        chosen = {**PATH_OPTIONS, **chosen}
    chosen_options = Options(**chosen)
    return SolveSettings(
        tolerance, chosen_options, method, seed, starts, progress, warm
    )


def _is_augmented_lagrangian(method: Any) -> bool:
    return isinstance(method, str) and method == AUGMENTED_LAGRANGIAN


def best_solution(solutions: Sequence[Solution]) -> Solution:
    """Return the best solution: feasible before infeasible, then by cost."""
    return min(solutions, key=Solution.rank) if len(solutions) > 1 else solutions[0]


def _result_of(result: Result, k: int) -> Result:
    """Return the result of solve k of a batch."""
    return Result(*(a[k] for a in result))


def _make_solution(
    spec: ProblemSpec,
    end: Result,
    record: SolveRecord,
    tolerance: float,
    seconds: float,
    start: int,
    findings: tuple[str, ...],
) -> Solution:
    """Return a solver's result as a solution from one of the starts."""
    return Solution(
        x=np.asarray(end.x, float),
        status=Status(int(end.status)),
        tolerance=tolerance,
        iterations=int(end.iterations),
        seconds=seconds,
        config=spec.config,
        tau=spec.tau,
        kkt_residual=float(end.kkt_residual),
        start=start,
        modes=mode_sequence(spec),
        alternatives=spec.alternatives,
        findings=findings,
        _record=record,
    )


def _positive(option: str, value: float) -> float:
    return number(option, value, "a number > 0", lambda x: x > 0, ObjectiveError)
