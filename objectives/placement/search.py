"""Search of placements: from some starts first, then by insertion, then from the rest.

A start or two are often enough, and are the cheapest; where several objects get in each
other's way, insertion finds what hundreds of starts do not.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from posewise.compilation.compile_time import total_compile_seconds
from posewise.solvers import Result
from posewise.solvers.deadline import passed_deadline

from ..problem.spec import ProblemSpec
from ..solution.solution import Solution
from ..solve.batch_result import BatchResult
from ..solve.multistart import make_solutions, solve_starts
from ..solve.problem_batch import make_problem_batch
from ..solve.settings import SolveSettings
from ..solve.solutions import with_compile_seconds
from .insertion import Insertion
from .sampler import PlacementSampler

JOINT_STARTS = 2
"""Number of starts that are solved before objects are inserted one by one, unless all
are asked for. More find easy placements from a later start, but delay hard ones."""
INSERTIONS = 4
"""Number of attempts to insert all objects. More find rarer placements, slower."""


@dataclass(frozen=True, eq=False)
class PlacementSearch:
    """Search of placements that meet the constraints of a problem."""

    spec: ProblemSpec
    """The problem, without choices."""
    settings: SolveSettings
    sampler: PlacementSampler
    max_solutions: int | None
    """Number of feasible solutions after which the search ends; None: all starts are
    solved."""

    def solutions(self) -> list[Solution]:
        """Return the solutions of all starts and insertions that were tried."""
        began, count = total_compile_seconds(), self.settings.starts
        starts = self.sampler(self.settings.seed, count)
        inserts = len(self.sampler.names) > 1
        is_brief = inserts and self.max_solutions is not None
        # A single start would be solved by another program.
        first = JOINT_STARTS if is_brief and count > JOINT_STARTS + 1 else count
        solutions = self._solve(starts[:first], 0)
        if inserts and self._goes_on(solutions):
            solutions += self._insert(len(solutions))
        if first < count and self._goes_on(solutions):
            solutions += self._solve(starts[first:], len(solutions))
        return with_compile_seconds(solutions, began)

    def _goes_on(self, solutions: Sequence[Solution]) -> bool:
        """Return whether there is no solution yet, and time for one."""
        is_stopped = any(s.status.is_stopped for s in solutions) or passed_deadline()
        return not is_stopped and not any(s.feasible for s in solutions)

    def _solve(
        self, starts: Float[np.ndarray, "n 1 nq"], number: int
    ) -> list[Solution]:
        """Return the solutions from some starts.

        Args:
            starts: the placements to start from.
            number: of the first one.
        """
        spec = replace(self.spec, sampler=lambda seed, count: starts[:count])
        settings = replace(self.settings, starts=len(starts))
        most = len(starts) if self.max_solutions is None else self.max_solutions
        solutions = solve_starts(spec, settings, most)
        return [replace(s, start=s.start + number) for s in solutions]

    def _insert(self, number: int) -> list[Solution]:
        """Return the solutions of insertions, until one is feasible."""
        began = time.perf_counter()
        problems = make_problem_batch([self.spec], {})
        solutions: list[Solution] = []
        insertion = Insertion(
            self.sampler,
            problems,
            self.settings,
            self.max_solutions,
            np.random.default_rng(self.settings.seed),
        )
        for k in range(INSERTIONS):
            end = insertion.end()
            if end is not None:
                seconds = np.array([time.perf_counter() - began])
                result = Result(*(a[None] for a in end))
                row = BatchResult(
                    np.array([0]), np.array([number + k]), seconds, result
                )
                tolerance = self.settings.tolerance
                solutions += make_solutions(problems, row, tolerance)
            if passed_deadline() or any(s.feasible for s in solutions):
                break
        return solutions
