"""Results of the solver as solutions, with the status that their checks give."""

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from posewise.compilation.compile_time import total_compile_seconds
from posewise.solvers import Result, Status

from ..chain.modes import ModeSequence
from ..problem.deviations import deviations
from ..problem.spec import CompiledProblem, ProblemSpec, mode_sequence, step_durations
from ..solution.record import SolveRecord
from ..solution.solution import Solution
from .certified import CertifiedResult
from .settings import SolveSettings


def make_solution(
    spec: ProblemSpec,
    modes: ModeSequence,
    end: Result,
    record: SolveRecord,
    tolerance: float,
    seconds: float,
    start: int,
    findings: tuple[str, ...],
) -> Solution:
    """Return a solver's result as a solution from one of the starts."""
    x = np.asarray(end.x, float)
    solution = Solution(
        x=x,
        status=Status(int(end.status)),
        tolerance=tolerance,
        iterations=int(end.iterations),
        seconds=seconds,
        config=spec.config,
        tau=step_durations(spec, x),
        kkt_residual=float(end.kkt_residual),
        start=start,
        modes=modes,
        alternatives=spec.alternatives,
        findings=findings,
        _record=record,
    )
    if spec.avoidance is None and not record.deviations:
        return solution
    return replace(solution, status=_checked_status(solution))


def certified_solution(
    spec: ProblemSpec,
    frozen: ProblemSpec,
    compiled: CompiledProblem,
    end: CertifiedResult,
    settings: SolveSettings,
    began: float,
    start: int,
    findings: tuple[str, ...],
) -> Solution:
    """Return the end of a solve as a solution, with what its path is between slices.

    Its world is that of the problem; its record has the world of the solve, frozen.
    """
    result, certificate, data = end
    record = SolveRecord(
        frozen,
        *compiled._replace(data=data),
        result.x,
        result.y,
        result.multipliers,
        float(result.mu),
        certificate,
        deviations(frozen, np.asarray(result.x, float)),
    )
    seconds = time.perf_counter() - began
    modes = mode_sequence(spec)
    return make_solution(
        spec, modes, result, record, settings.tolerance, seconds, start, findings
    )


def with_compile_seconds(solutions: Sequence[Solution], began: float) -> list[Solution]:
    """Return the solutions of a call, with the time that it spent on compiling.

    Args:
        solutions: of the call.
        began: `total_compile_seconds` when the call began.
    """
    spent = total_compile_seconds() - began
    if not spent:
        return list(solutions)
    return [replace(solution, compile_seconds=spent) for solution in solutions]


def _checked_status(solution: Solution) -> Status:
    """Return the status of a solution in view of what is required of its distances.

    Rows of avoidance ask for more than is required, and those between slices hold at
    one place each: what is required decides.
    """
    status = solution.status
    if status in (Status.CONVERGED, Status.FEASIBLE):
        return status if solution.feasible else Status.INFEASIBLE
    is_ended = status in (Status.INFEASIBLE, Status.ITERATION_LIMIT)
    return Status.FEASIBLE if is_ended and solution.feasible else status
