"""Solves with more slices, so that a path keeps to constraints between them."""

from dataclasses import replace

import numpy as np

from posewise.solvers.deadline import check_deadline
from posewise.solvers.interruptible import ProgressCallback

from ..problem.spec import compile_chain
from ..solution.solution import Solution
from .certified import solve_certified
from .refinement import (
    refined_path,
    refined_problem,
    refinement_factor,
)
from .settings import SolveSettings
from .solutions import certified_solution


def with_enough_slices(
    solution: Solution,
    settings: SolveSettings,
    began: float,
    report_progress: ProgressCallback,
) -> Solution:
    """Return a solution with enough slices for what constraints allow between them.

    It is the given one if its deviations are small enough, if it is not feasible for
    other causes, or if more slices do not help.
    """
    record = solution._require_record()
    factor = refinement_factor(record.spec, record.deviations)
    if factor == 1 or not solution.holds_in_slices:
        return solution
    check_deadline()
    frozen = refined_problem(record.spec, factor)
    path = refined_path(record.spec, np.asarray(record.x, float), factor)
    compiled = compile_chain(frozen)
    options = replace(settings.options, mu=settings.large_penalty)
    end = solve_certified(frozen, compiled, path, options, settings, report_progress)
    finer = certified_solution(
        replace(frozen, config=solution.config),
        frozen,
        compiled,
        end,
        settings,
        began,
        solution.start,
        solution.findings,
    )
    if finer.status.is_stopped:
        return replace(solution, status=finer.status)
    return finer if finer.holds_in_slices else solution
