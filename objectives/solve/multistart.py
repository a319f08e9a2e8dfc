"""Solves of a problem from many starts, and their solutions."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import jax.numpy as jnp
import numpy as np

from posewise.compilation.progress import break_silence
from posewise.solvers import (
    ProgressReporter,
    Result,
    Status,
)
from posewise.solvers.deadline import check_deadline, passed_deadline
from posewise.solvers.first_order import solve_first_order

from ..checks.findings import causes_for_any_start
from ..problem.spec import (
    CompiledProblem,
    ProblemSpec,
    certify_path,
    compile_chain,
    initial_paths,
    mode_sequence,
)
from ..solution.record import SolveRecord
from ..solution.solution import Solution
from ..terms.objective import ObjectiveError
from .batch_result import BatchResult
from .certified import CertifiedResult, solve_in_sequence
from .enough_slices import with_enough_slices
from .given_path import solved_path_as_solution
from .planned_path import plan_path, why_not_planned
from .problem_batch import ProblemBatch, make_problem_batch
from .settings import SolveSettings
from .solution_batch import SolutionBatch
from .solutions import certified_solution, make_solution
from .start_batches import solve_problems
from .stops import Stop, mark_stopped, stop_sentence


def solve_starts(
    spec: ProblemSpec,
    settings: SolveSettings,
    max_solutions: int | None = None,
    retry: bool = False,
    findings: tuple[str, ...] = (),
) -> list[Solution]:
    """Return the solutions of the starts of a problem, in their order.

    Without costs, or if the path is certified, starts after the first feasible solution
    are skipped, unless `max_solutions` is given.

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
    report_progress = ProgressReporter(settings.progress)
    in_sequence = settings.starts == 1 or spec.is_bounded_between
    with break_silence("preparing and solving", settings.progress is True):
        if settings.uses_newton_steps and not in_sequence:
            problems = make_problem_batch([spec], {})
            result = solve_problems(
                problems, [0], settings, report_progress, max_solutions=max_solutions
            )
            solutions = make_solutions(problems, result, settings.tolerance, findings)
            return _mark_if_stopped(solutions, settings.starts)
        return _solutions_in_sequence(
            spec,
            compile_chain(spec),
            settings,
            report_progress,
            max_solutions,
            retry,
            findings,
        )


def solve_certified_problems(
    problems: ProblemBatch,
    which: Sequence[int],
    settings: SolveSettings,
    report_progress: ProgressReporter,
) -> list[Solution]:
    """Return the best solution of each problem, solved and certified one by one.

    An interrupt or a deadline ends with the solutions so far.

    Args:
        problems: a batch of problems that avoid collisions between slices.
        which: indices of the problems to solve.
        settings: number of starts of each problem, tolerance and options.
        report_progress: is called with the progress of each solve.

    Raises:
        KeyboardInterrupt: for an interrupt before there is a solution.
    """
    solutions: list[Solution] = []
    for b in which:
        compiled = CompiledProblem(problems.chain, problems.data(b), problems.locations)
        try:
            tried = _solutions_in_sequence(
                problems.spec(b), compiled, settings, report_progress, retry=True
            )
        except KeyboardInterrupt:
            if not solutions:
                raise
            break
        solutions.append(best_solution(tried))
        if solutions[-1].stopped or passed_deadline():
            break
    return solutions


def _mark_if_stopped(solutions: list[Solution], count: int) -> list[Solution]:
    """Return the solutions of one problem's starts, marked if one was stopped.

    Args:
        solutions: of the starts that have begun.
        count: number of starts that were asked for.
    """
    ended = sum(not s.status.is_stopped for s in solutions)
    if ended == len(solutions):
        return solutions
    return mark_stopped(solutions, stop_sentence(ended, count))


def _solutions_in_sequence(
    spec: ProblemSpec,
    compiled: CompiledProblem,
    settings: SolveSettings,
    report_progress: ProgressReporter,
    max_solutions: int | None = None,
    retry: bool = False,
    findings: tuple[str, ...] = (),
) -> list[Solution]:
    """Return the solutions of starts that are solved one after the other.

    Args:
        spec: the problem.
        compiled: the problem for the solver.
        settings: see `solve_starts`, as for all below.
        report_progress: see `solve_problems`.
        max_solutions: number of feasible solutions that are wanted.
        retry: whether a single start that fails is followed by another one.
        findings: on the problem, for reports.
    """
    began = time.perf_counter()
    frozen = spec.frozen()

    def solution(end: CertifiedResult, start: int) -> Solution:
        return certified_solution(
            spec, frozen, compiled, end, settings, began, start, findings
        )

    if settings.uses_newton_steps:
        attempts = max(settings.starts, 2 if retry else 1)
        ends = solve_in_sequence(spec, compiled, settings, attempts, report_progress)
    else:
        ends = _first_order_ends(spec, compiled, settings, report_progress)
        attempts = settings.starts
    max_feasible = max_solutions
    if max_feasible is None:
        max_feasible = 1 if spec.is_bounded_between else settings.starts
    solutions: list[Solution] = []
    try:
        for start, end in enumerate(ends):
            solutions.append(solution(end, start))
            if settings.uses_newton_steps:
                solutions[-1] = with_enough_slices(
                    solutions[-1], settings, began, report_progress
                )
            is_retried = (
                spec.is_bounded_between or solutions[-1].status is Status.INFEASIBLE
            )
            is_last = settings.starts == 1 and not is_retried
            # A first-order method has advanced all starts before the first one is here.
            is_stopped = solutions[-1].status.is_stopped
            is_last |= is_stopped and settings.uses_newton_steps
            # Detours are planned for minutes where nothing can be found.
            is_last = is_last or _is_hopeless(spec, solutions[-1])
            if is_last or sum(s.feasible for s in solutions) >= max_feasible:
                break
            if start + 1 < attempts and settings.uses_newton_steps:
                check_deadline()
    except KeyboardInterrupt:
        # Between two starts, where the next initial path is planned.
        if not solutions:
            raise
        ended = sum(not s.status.is_stopped for s in solutions)
        return mark_stopped(solutions, stop_sentence(ended, settings.starts))
    solutions += _planned(spec, settings, began, solutions)
    return _mark_if_stopped(solutions, settings.starts)


def _planned(
    spec: ProblemSpec,
    settings: SolveSettings,
    began: float,
    solutions: Sequence[Solution],
) -> list[Solution]:
    """Return a planned path that meets everything, if no start of several does."""
    *_, last = solutions
    if settings.starts == 1 or any(s.feasible for s in solutions):
        return []
    if last.status.is_stopped or _is_hopeless(spec, last) or why_not_planned(spec):
        return []
    plan = solved_path_as_solution(
        spec, plan_path(spec, settings).x, settings.tolerance
    )
    low, high = spec.config.limits
    # A start far outside of its limits leads there through what is outside, too.
    is_inside = ((low <= plan.path) & (plan.path <= high)).all()
    if not (plan.feasible and is_inside):
        return []
    seconds, start = time.perf_counter() - began, len(solutions)
    return [replace(plan, seconds=seconds, start=start, findings=last.findings)]


def _is_hopeless(spec: ProblemSpec, solution: Solution) -> bool:
    """Return whether a solve failed, and no start can do better for certain."""
    is_failed = spec.needs_certificate and not solution.feasible
    return is_failed and any(True for _ in causes_for_any_start(spec))


def _first_order_ends(
    spec: ProblemSpec,
    compiled: CompiledProblem,
    settings: SolveSettings,
    report_progress: ProgressReporter,
) -> Iterator[CertifiedResult]:
    """Yield where a first-order method ended from each start."""
    chain, data = compiled.chain, compiled.data
    paths = initial_paths(spec, settings.seed, settings.starts)
    ends = solve_first_order(
        chain,
        settings.method,
        data,
        jnp.asarray(paths, data.prefix.dtype),
        settings.options,
        report_progress,
    )
    for start in range(settings.starts):
        end = _result_of(ends, start)
        yield CertifiedResult(end, certify_path(spec, np.asarray(end.x)), data)


def make_solutions(
    problems: ProblemBatch,
    result: BatchResult,
    tolerance: float,
    findings: tuple[str, ...] = (),
) -> list[Solution]:
    """Return the solution in each row of a batch result."""
    make = _solution_maker(problems, result, tolerance, findings)
    return [make(row) for row in range(len(result.problem))]


def make_solution_batch(
    problems: ProblemBatch,
    result: BatchResult,
    tolerance: float,
    stops: Mapping[int, Stop],
) -> SolutionBatch:
    """Return the solutions of a batch, each made when it is asked for.

    Args:
        problems: the batch.
        result: a row for each problem.
        tolerance: see `KOMO.solve`.
        stops: reasons why problems have no end, by their indices.
    """
    spec = problems.specs[0]
    # With mode switches the coordinates of the solved world are others.
    modes = mode_sequence(spec)
    is_simple = spec.avoidance is None and modes.world is modes.base
    make = _solution_maker(problems, result, tolerance, ())
    return SolutionBatch(make, result.result, tolerance, is_simple, stops)


def _solution_maker(
    problems: ProblemBatch,
    result: BatchResult,
    tolerance: float,
    findings: tuple[str, ...],
) -> Callable[[int], Solution]:
    """Return the function that makes the solution in a row of a batch result.

    What depends on the worlds is taken now, since they may change until it is called.
    """
    which = result.problem.tolist()
    worlds = problems.world_index(result.problem)
    specs = {k: problems.specs[k] for k in np.unique(worlds).tolist()}
    known = {k: (spec.frozen(), mode_sequence(spec)) for k, spec in specs.items()}

    def make(row: int) -> Solution:
        k, b, end = int(worlds[row]), which[row], _result_of(result.result, row)
        spec, (frozen, modes) = specs[k], known[k]
        initial = problems.initial
        record = SolveRecord(
            frozen if initial is None else frozen.from_path(initial[b]),
            problems.chain,
            problems.data(b),
            problems.locations,
            end.x,
            end.y,
            end.multipliers,
            float(end.mu),
        )
        seconds, start = float(result.seconds[row]), int(result.start[row])
        return make_solution(
            spec, modes, end, record, tolerance, seconds, start, findings
        )

    return make


def require_objectives(spec: ProblemSpec) -> None:
    """Raise an ObjectiveError for a problem without objectives."""
    if not spec.objectives:
        raise ObjectiveError("There is no objective; add one before solving.")


def best_solution(solutions: Sequence[Solution]) -> Solution:
    """Return the best solution: feasible before infeasible, then by cost."""
    return min(solutions, key=Solution.rank) if len(solutions) > 1 else solutions[0]


def _result_of(result: Result, k: int) -> Result:
    """Return the result of solve k of a batch."""
    return Result(*(a[k] for a in result))
