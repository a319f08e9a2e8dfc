"""Solves whose paths also keep their distances between slices.

A path has infinitely many configurations, and rows hold at some: in the slices, and at
one place between each two of them. Where a solved path fails its check, the rows around
ask for more distance, a row that does not see what is there moves to the deepest place,
and the path is solved again from where it is (an exchange method of semi-infinite
programming; Hettich and Kortanek 1993). Where rows exclude a goal that is a little
inside of a margin, they ask for less at last. Places and distances are data, so that
nothing is compiled again.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from threading import Thread
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from posewise.compilation.threads import in_this_precision
from posewise.solvers import EQ, Options, Result, Status, solve_interruptible
from posewise.solvers.deadline import check_deadline
from posewise.solvers.interruptible import ProgressCallback
from posewise.solvers.memo import Memo
from posewise.solvers.options import Number

from ..chain.groups import ChainData
from ..clearance.certificate import Certificate
from ..clearance.interval_distances import interval_distances
from ..planning.planned_starts import free_start, is_on_equations, planned_path
from ..problem.spec import (
    CompiledProblem,
    ProblemSpec,
    certify_path,
    initial_paths,
    mode_sequence,
    required_distances,
    whole_path,
)
from ..solution.warm_start import MAX_PENALTY_GROWTH
from .avoidance_rows import ROW_EXCHANGE, loosen_rows, tighten_rows
from .goal_starts import goal_paths, row_types
from .settings import SolveSettings

_COMPILING: Memo[Thread] = Memo(64)
"""The thread that compiles the check of a world, or the solver of a structure, or has.
"""


class CertifiedResult(NamedTuple):
    """End of a solve, and the check of its path."""

    result: Result
    certificate: Certificate | None
    data: ChainData
    """Numbers of the problem, with the places of the rows between slices."""


def solve_in_sequence(
    spec: ProblemSpec,
    compiled: CompiledProblem,
    settings: SolveSettings,
    count: int,
    report_progress: ProgressCallback,
) -> Iterator[CertifiedResult]:
    """Yield where the solves from some starts end, one after the other.

    The first start is the initial path, with detours where it is straight and collides.
    If the path is certified, further ones lead to goals that the one found last misses,
    or take detours where it collides, and where the initial one does, in turns; all
    others are random.

    Args:
        spec: the problem.
        compiled: the problem for the solver.
        settings: of the solves.
        count: number of starts.
        report_progress: see `solve_interruptible`.
    """
    path, multipliers = initial_paths(spec, settings.seed, 1)[0], None
    _compile_check(spec)
    penalty, warm = settings.initial_penalty(0), settings.warm
    goals: list[np.ndarray] | None = None
    if warm is not None and warm.fits(compiled):
        path, multipliers = warm.path(compiled), warm.multipliers(spec, compiled)
        penalty = warm.penalty(penalty)
    elif spec.needs_certificate:
        with _compiling_solver(compiled, path, settings.options):
            planned = free_start(spec, path, settings.seed)
        if planned is not None:
            path, penalty = planned, settings.large_penalty
    for start in range(count):
        options = settings.options
        if penalty != options.mu:
            options = replace(options, mu=penalty)
        end = solve_certified(
            spec, compiled, path, options, settings, report_progress, multipliers
        )
        yield end
        if start + 1 < count:
            solved_path = np.asarray(end.result.x, float)
            if goals is None and _calls_for_goals(spec, compiled, settings, end):
                goals = goal_paths(
                    spec, compiled, solved_path, settings, report_progress
                )
            path, is_found = _next_path(
                spec, settings.seed, start + 1, solved_path, goals or []
            )
            # A small penalty lets go of what a path that was looked for meets.
            penalty = settings.initial_penalty(1 if is_found else start + 1)
            multipliers = None


def _compile_check(spec: ProblemSpec) -> None:
    """Begin to compile the check of paths, beside the program of the solver."""
    if not spec.needs_certificate:
        return
    _COMPILING.get(mode_sequence(spec), lambda: _started(_check_start, spec))


@contextmanager
def _compiling_solver(
    compiled: CompiledProblem, path: Float[np.ndarray, "T nq"], options: Options
) -> Iterator[None]:
    """Compile the solver of a new structure beside what is done within."""
    x = np.asarray(path, compiled.data.prefix.dtype)
    nothing = replace(options, max_iterations=0)
    arguments = compiled.chain, compiled.data, x, nothing
    thread = _COMPILING.get(
        compiled.chain, lambda: _started(solve_interruptible, *arguments)
    )
    try:
        yield
    finally:
        # Both use the state that solves of a problem share.
        thread.join()


def _started(function: Callable[..., object], *arguments: object) -> Thread:
    """Return a thread that calls a function."""
    thread = Thread(target=in_this_precision(function), args=arguments)
    thread.start()
    return thread


def _check_start(spec: ProblemSpec) -> None:
    """Measure all pairs in the start, by the program that checks paths."""
    K = mode_sequence(spec).world.tree.model.unnamed_kinematics
    q = whole_path(spec, initial_paths(spec, 0, 1)[0])[:1]
    for part in required_distances(spec):
        no_motion = np.zeros((1, K.nv))
        interval_distances(K, part.pairs, q, no_motion, part.required[:1])


def _check(spec: ProblemSpec, end: Result) -> Certificate | None:
    """Return the check of the path at which a solve ended."""
    if spec.needs_certificate:
        thread = _COMPILING.find(mode_sequence(spec))
        if thread is not None:
            thread.join()
    return certify_path(spec, np.asarray(end.x))


def _next_path(
    spec: ProblemSpec,
    seed: int,
    start: int,
    solved_path: Float[np.ndarray, "T nq"],
    goals: list[Float[np.ndarray, "T nq"]],
) -> tuple[Float[np.ndarray, "T nq"], bool]:
    """Return the initial path of a start after the first one; goals lose theirs.

    Returns:
        The path, and whether it was found by what it meets, and is not random.
    """
    if spec.needs_certificate:
        if goals:
            path = goals.pop(0)
            # Detours know nothing of equations on the way.
            planned = None if is_on_equations(spec) else planned_path(spec, path, seed)
            return path if planned is None else planned, True
        initial = initial_paths(spec, seed, 1)[0]
        # A path that was solved meets its goals, which the initial one may not know.
        paths = (solved_path, initial) if start % 2 else (initial, solved_path)
        for path in paths:
            planned = planned_path(spec, path, seed + start)
            if planned is not None:
                return planned, True
    return initial_paths(spec, seed, start + 1)[start], False


def _calls_for_goals(
    spec: ProblemSpec,
    compiled: CompiledProblem,
    settings: SolveSettings,
    end: CertifiedResult,
) -> bool:
    """Return whether starts lead to goals: this path or detours miss equations."""
    if not spec.needs_certificate:
        return False
    return is_on_equations(spec) or _misses_goals(compiled, settings, end)


def _misses_goals(
    compiled: CompiledProblem, settings: SolveSettings, end: CertifiedResult
) -> bool:
    """Return whether a path violates equations."""
    y = np.asarray(end.result.y)[row_types(compiled) == EQ]
    return bool(np.abs(y).max(initial=0.0) > settings.tolerance)


def solve_certified(
    spec: ProblemSpec,
    compiled: CompiledProblem,
    path: Float[np.ndarray, "T nq"],
    options: Options,
    settings: SolveSettings,
    report_progress: ProgressCallback,
    multipliers: Float[np.ndarray, " N"] | None = None,
) -> CertifiedResult:
    """Solve from a path, again and again until the result is certified, or fails.

    Args:
        spec: the problem.
        compiled: the problem for the solver.
        path: the initial path, in the solved world.
        options: of the first solve.
        settings: of all solves; further ones begin with multipliers and penalty of the
            last, at least that of every second start, which keeps what holds already.
        report_progress: see `solve_interruptible`.
        multipliers: those of a similar problem's solution; None: zeros.

    Raises:
        KeyboardInterrupt: for an interrupt before there is a result; a later one, or a
            deadline, ends the solves with the last result, INTERRUPTED.
    """
    path = np.asarray(path, compiled.data.prefix.dtype)
    chain, data = compiled.chain, compiled.data
    end = solve_interruptible(chain, data, path, options, report_progress, multipliers)
    best = CertifiedResult(end, None, data)

    def solve_again(best: CertifiedResult, data: ChainData) -> CertifiedResult:
        return _solve_again(
            spec, compiled, best, data, options, settings, report_progress
        )

    try:
        best = best._replace(certificate=_check(spec, end))
        for _ in range(ROW_EXCHANGE.max_exchanges):
            if not _is_worth_an_exchange(best, options.feasibility_tolerance):
                break
            check_deadline()
            shortfalls = () if best.certificate is None else best.certificate.every
            data = tighten_rows(spec, compiled, best.data, shortfalls)
            again = solve_again(best, data)
            if not _is_better(again, best, options.feasibility_tolerance):
                break
            best = again
        best = _towards_goals(spec, compiled, best, settings, solve_again)
    except KeyboardInterrupt:
        status = np.asarray(int(Status.INTERRUPTED))
        return best._replace(result=best.result._replace(status=status))
    return best


def _is_worth_an_exchange(best: CertifiedResult, tolerance: Number) -> bool:
    """Return whether a path only misses distances that its rows do not ask for."""
    result, certificate, _ = best
    is_near = result.violation <= tolerance
    is_interrupted = int(result.status) == Status.INTERRUPTED
    is_kept = certificate is None or not certificate.every
    return bool(is_near and not is_interrupted and not is_kept)


def _is_better(
    again: CertifiedResult, best: CertifiedResult, tolerance: Number
) -> bool:
    """Return whether a path solved again replaces one that may be good enough.

    One whose distances are tolerated, such as that from a start a little inside of a
    margin, only gives way to one that misses less.
    """
    if again.certificate is None or best.certificate is None:
        return True
    if not best.certificate.is_kept:
        return True
    is_near = again.result.violation <= tolerance
    missing = (again.certificate.missing.sum(), best.certificate.missing.sum())
    return bool(is_near and again.certificate.is_kept and missing[0] < missing[1])


def _towards_goals(
    spec: ProblemSpec,
    compiled: CompiledProblem,
    best: CertifiedResult,
    settings: SolveSettings,
    solve_again: Callable[[CertifiedResult, ChainData], CertifiedResult],
) -> CertifiedResult:
    """Return a path that meets goals which only the rows for distances exclude.

    These aim at more than the margin, but goals may be a little inside of it. Where a
    path is certified and misses equations, rows ask for what is accepted only.
    """
    is_interrupted = int(best.result.status) == Status.INTERRUPTED
    is_missed = _is_kept(best) and _misses_goals(compiled, settings, best)
    if is_interrupted or not is_missed:
        return best
    check_deadline()
    again = solve_again(best, loosen_rows(spec, compiled, best.data))
    is_met = _is_kept(again) and not _misses_goals(compiled, settings, again)
    return again if is_met else best


def _is_kept(end: CertifiedResult) -> bool:
    """Return whether a path is certified."""
    return end.certificate is not None and end.certificate.is_kept


def _solve_again(
    spec: ProblemSpec,
    compiled: CompiledProblem,
    best: CertifiedResult,
    data: ChainData,
    options: Options,
    settings: SolveSettings,
    report_progress: ProgressCallback,
) -> CertifiedResult:
    """Solve from a path with other numbers of its rows."""
    end = best.result
    least = settings.large_penalty
    mu = max(min(float(end.mu), MAX_PENALTY_GROWTH * least), least)
    again = solve_interruptible(
        compiled.chain,
        data,
        end.x,
        replace(options, mu=mu),
        report_progress,
        np.asarray(end.multipliers),
    )
    again = again._replace(iterations=end.iterations + again.iterations)
    return CertifiedResult(again, _check(spec, again), data)
