"""Solves with more slices, until a path keeps to constraints between them."""

from dataclasses import replace

import numpy as np

from posewise.solvers.deadline import check_deadline
from posewise.solvers.interruptible import ProgressCallback

from ..problem.spec import compile_chain
from ..solution.solution import Solution
from .certified import solve_certified
from .refinement import (
    MAX_FACTOR,
    refined_path,
    refined_problem,
    refinement_factor,
)
from .settings import SolveSettings
from .solutions import certified_solution

MAX_REFINEMENTS = 3
"""Number of times that a path is solved again with more slices (count)."""


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
    coarse, slices = solution._require_record(), 1
    for _ in range(MAX_REFINEMENTS):
        record = solution._require_record()
        more = refinement_factor(record.spec, record.deviations)
        if more == 1 or not solution.holds_in_slices:
            break
        check_deadline()
        slices = min(slices * more, MAX_FACTOR)
        frozen = refined_problem(coarse.spec, slices)
        path = refined_path(coarse.spec, np.asarray(coarse.x, float), slices)
        compiled = compile_chain(frozen)
        mu = settings.initial_penalty(1)
        options = replace(settings.options, mu=mu)
        end = solve_certified(
            frozen, compiled, path, options, settings, report_progress
        )
        spec = replace(frozen, config=solution.config)
        finer = certified_solution(
            *(spec, frozen, compiled, end, settings),
            *(began, solution.start, solution.findings),
        )
        if finer.status.is_stopped:
            return replace(solution, status=finer.status)
        if not finer.holds_in_slices:
            break
        solution = finer
    return solution
