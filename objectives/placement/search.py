"""Search of placements: from some starts first, then by insertion, then from the rest.

A start or two are often enough, and are the cheapest; where several objects get in each
other's way, insertion finds what hundreds of starts do not.
"""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from posewise.compilation.compile_time import total_compile_seconds
from posewise.robots.errors import ConfigError
from posewise.robots.typing import FrameName
from posewise.solvers import Options, Result, Status
from posewise.solvers.deadline import check_deadline, passed_deadline

from ..problem.spec import ProblemSpec
from ..solution.solution import Solution
from ..solve.batch_result import BatchResult
from ..solve.multistart import make_solutions, solve_starts
from ..solve.problem_batch import make_problem_batch
from ..solve.settings import SolveSettings
from ..solve.solutions import with_compile_seconds
from ..solve.stops import mark_stopped, pass_on_stop, stop_sentence
from .insertion import Insertion
from .partial_placement import PartialPlacement
from .resting import resting_state
from .sampler import PlacementSampler
from .settling import SETTLING_CHOICES, settled_state

JOINT_STARTS = 2
"""Number of starts that are solved before objects are inserted, unless all are asked
for. More find easy placements from a later start, but delay hard ones."""
JOINT_ITERATIONS = 60
"""Largest number of iterations of these starts [1]; more follow slow ways to the end,
but delay hard placements."""
MIN_CHANGE = 1e-4
"""Least change of a coordinate for which a placement is solved again [m or 1]; a
smaller one solves again what stands already."""
COST_TOLERANCE = 1e-6
"""Cost that an object may take to stand on a face rather than lean [1]; a larger one
spoils what costs ask for."""
INSERTIONS_PER_SOLUTION = 3
"""Number of insertions for each placement that is wanted. More find rarer placements,
but take longer where there is none."""


class Found(NamedTuple):
    """Result of a search."""

    solutions: list[Solution]
    """Solutions of all starts and insertions."""
    failure: str
    """A sentence on what was not found; empty: something was."""


@dataclass(frozen=True, eq=False)
class PlacementSearch:
    """Search of placements that meet the constraints of a problem."""

    spec: ProblemSpec
    """The problem, without choices."""
    settings: SolveSettings
    sampler: PlacementSampler
    count: int | None
    """Number of distinct feasible solutions that are enough; None: all starts are
    solved."""
    supports: Mapping[FrameName, FrameName]
    """Movables that constraints want in or on something, each with its support."""
    contents: Collection[FrameName]
    """Movables that constraints want in something, and what they carry."""
    count_distinct: Callable[[Sequence[Solution]], int]
    """Counts the distinct ones of feasible solutions."""
    easier: ProblemSpec | None = None
    """The problem without constraints that settled objects likely meet; None: there are
    none."""

    def run(self) -> Found:
        """Return the solutions of all starts and insertions that were tried."""
        began, solutions, failure = total_compile_seconds(), list[Solution](), ""
        try:
            if self.easier is not None:
                self._solve_settled(self.easier, solutions)
            if not self.count or self._goes_on(solutions):
                failure = self._search(solutions)
            if self.supports:
                self._settle(solutions)
        except KeyboardInterrupt:
            if not (solutions or passed_deadline()):
                raise
            solutions = self._stopped(solutions)
        if not solutions:
            # The time was over before the first solve.
            starts = self.sampler(self.settings.seed, self.settings.starts)
            solutions = self._solve(starts[:JOINT_STARTS], 0, self.settings.options)
        is_marked = any(s.stopped for s in solutions)
        if passed_deadline() and not (self._are_enough(solutions) or is_marked):
            # Between two solves.
            solutions, failure = self._stopped(solutions), ""
        if any(s.feasible for s in solutions):
            failure = ""
        return Found(with_compile_seconds(solutions, began), failure)

    def _search(self, solutions: list[Solution]) -> str:
        """Append solutions until there are enough; return what was not found.

        Raises:
            KeyboardInterrupt: for an interrupt or a deadline between or in solves.
        """
        starts = self.sampler(self.settings.seed, self.settings.starts)
        if self._inserts and self.count and len(starts) > JOINT_STARTS:
            joint = self._solve(starts[:JOINT_STARTS], 0, self._short(JOINT_ITERATIONS))
            # Those that were given up are solved to their end if all else fails.
            given_up = [s.start for s in joint if s.status is Status.ITERATION_LIMIT]
            solutions += joint
            starts = np.concatenate([starts[given_up], starts[JOINT_STARTS:]])
        elif not self.count:
            solutions += self._solve(starts, 0, self.settings.options)
            starts = starts[:0]
        failure = ""
        if self._inserts and self._goes_on(solutions):
            failure = self._insert(solutions)
        while len(starts) and self._goes_on(solutions):
            more = self._solve(starts, len(solutions), self.settings.options)
            starts = starts[1 + more[-1].start - len(solutions) :]
            solutions += more
        return failure

    def _solve_settled(self, easier: ProblemSpec, solutions: list[Solution]) -> None:
        """Append solutions from settled ones of an easier problem.

        Far from where objects stand, rows of equilibrium lead nowhere.

        Raises:
            KeyboardInterrupt: for an interrupt or a deadline.
        """
        # All are at rest then, whatever carries them.
        on_anything = dict.fromkeys(self.sampler.names, "")
        supports = {**on_anything, **self.supports}
        search = replace(self, spec=easier, supports=supports)
        options = self._short(SETTLING_CHOICES.iterations_of_try)
        for k in range(SETTLING_CHOICES.tries):
            settings = replace(self.settings, seed=self.settings.seed + k)
            placed: list[Solution] = []
            search = replace(search, settings=settings)
            search._search(placed)
            pass_on_stop(placed)
            search._settle(placed)
            for solution in placed:
                if solution.feasible and self._goes_on(solutions):
                    start = solution.q[None, None]
                    solutions += self._solve(start, len(solutions), options)
            if not self._goes_on(solutions):
                break

    def _settle(self, solutions: list[Solution]) -> None:
        """Replace solutions by ones in which objects stand, where that costs nothing.

        Raises:
            KeyboardInterrupt: for an interrupt or a deadline; what is settled stays.
        """
        chosen = [k for k, s in enumerate(solutions) if s.feasible]
        least = MIN_CHANGE
        for _ in range(SETTLING_CHOICES.rounds):
            before = [*solutions]
            self._settle_objects(solutions, chosen, [*self.supports], least)
            least = SETTLING_CHOICES.rest_shift
            # What was moved aside may stand on something else now, or on nothing.
            chosen = [k for k in chosen if solutions[k] is not before[k]]

    def _settle_objects(
        self,
        solutions: list[Solution],
        chosen: Sequence[int],
        names: Sequence[FrameName],
        least_change: float,
    ) -> None:
        """Replace the chosen solutions by ones in which some objects stand.

        Where they cannot together, the lower half of them is settled first, then the
        other, each in the same way: only what has no room to stand stays as it was.

        Args:
            solutions: all solutions.
            chosen: indices of feasible ones.
            names: the objects.
            least_change: of a coordinate, with which a solution is solved again.
        """
        before = [*solutions]
        states = {
            k: self._settled_state(solutions[k], names)
            for k in chosen
            if not passed_deadline()
        }
        starts = {
            k: q
            for k, q in states.items()
            if np.abs(q - solutions[k].q).max() > least_change
        }
        self._solve_from(solutions, starts)
        if self.count and len(names) > 1:
            world = self.sampler.world.copy()
            for k in [k for k in starts if solutions[k] is before[k]]:
                world.q = solutions[k].q
                ordered = sorted(names, key=lambda x: float(world.pose(x)[2]))
                middle = len(names) // 2
                for half in (ordered[:middle], ordered[middle:]):
                    self._settle_objects(solutions, [k], half, least_change)

    def _settled_state(
        self, solution: Solution, names: Sequence[FrameName]
    ) -> Float[np.ndarray, " nq"]:
        """Return a state near a solution in which some objects stand firmly.

        Without MuJoCo, contents of containers do by rules of geometry, as all others.
        """
        world = self.sampler.world
        # Some of the contents alone would fall onto what is yet to settle.
        if self.contents and len(names) == len(self.supports):
            with suppress(ImportError, ConfigError):
                # The others would fall in a simulation where they lean.
                others = [x for x in self.supports if x not in self.contents]
                q = settled_state(world, solution.q, self.supports, others)
                containers = {self.supports[x] for x in self.contents}
                resting = self.supports.keys() & {*self.contents, *containers}
                return resting_state(world, q, resting)
        return settled_state(world, solution.q, self.supports, names)

    def _solve_from(
        self,
        solutions: list[Solution],
        starts: Mapping[int, Float[np.ndarray, " nq"]],
    ) -> None:
        """Replace solutions by better ones from some starts.

        Raises:
            KeyboardInterrupt: for an interrupt or a deadline.
        """
        size = 1 if self.count else self.settings.starts
        numbers = [*starts]
        for first in range(0, len(numbers), size):
            check_deadline()
            group = numbers[first : first + size]
            q = np.stack([starts[k][None] for k in group])
            if self.count:
                options = self._short(SETTLING_CHOICES.max_iterations)
                # Lanes from one start may end differently.
                others = sorted(self._solve(q, 0, options), key=lambda s: -s.feasible)
            else:
                # Another number of starts would be solved by another program.
                q = np.resize(q, (self.settings.starts, *q.shape[1:]))
                others = self._solve(q, 0, self.settings.options)
            for k, other in zip(group, others, strict=False):
                old = solutions[k]
                if other.feasible and other.sos <= old.sos + COST_TOLERANCE:
                    after = [*solutions]
                    after[k] = replace(other, start=old.start)
                    # Several above each other come down to the same place.
                    if self._num_distinct(after) >= min(
                        self._num_distinct(solutions), self.count or 0
                    ):
                        solutions[k] = after[k]
            pass_on_stop(others)

    def _short(self, count: int) -> Options:
        """Return options of the solver with a number of iterations at most."""
        options = self.settings.options
        return replace(options, max_iterations=min(count, int(options.max_iterations)))

    def _num_distinct(self, solutions: Sequence[Solution]) -> int:
        return self.count_distinct([s for s in solutions if s.feasible])

    def _stopped(self, solutions: Sequence[Solution]) -> list[Solution]:
        """Return solutions with what stopped the search."""
        count = self.settings.starts
        # Insertions are no starts, and what was given up may be tried twice.
        ended = min(len(solutions), count)
        return mark_stopped(solutions, stop_sentence(ended, count))

    @property
    def _inserts(self) -> bool:
        """Whether insertion is tried: it takes several objects, and Newton steps."""
        return len(self.sampler.names) > 1 and self.settings.uses_newton_steps

    def _goes_on(self, solutions: Sequence[Solution]) -> bool:
        """Return whether there are fewer solutions than wanted, and time for more."""
        if any(s.status.is_stopped for s in solutions) or passed_deadline():
            return False
        return not self._are_enough(solutions)

    def _are_enough(self, solutions: Sequence[Solution]) -> bool:
        return self._num_distinct(solutions) >= (self.count or 1)

    def _solve(
        self, starts: Float[np.ndarray, "n 1 nq"], number: int, options: Options
    ) -> list[Solution]:
        """Return the solutions from some starts, up to the first feasible one.

        If all starts are to be solved, return the solutions of all.

        Args:
            starts: the placements to start from.
            number: of the first one.
            options: of the solver.
        """
        if len(starts) == 1 < self.settings.starts:
            # A single start would be solved by another program.
            starts = np.repeat(starts, 2, 0)
        spec = replace(self.spec, sampler=lambda seed, count: starts[:count])
        settings = replace(self.settings, starts=len(starts), options=options)
        solutions = solve_starts(spec, settings, 1 if self.count else len(starts))
        return [replace(s, start=s.start + number) for s in solutions]

    def _insert(self, solutions: list[Solution]) -> str:
        """Append the solutions of insertions until there are enough.

        Returns:
            A sentence on what found no place.
        """
        began = time.perf_counter()
        problems = make_problem_batch([self.spec], {})
        scene = PartialPlacement(
            self.sampler,
            problems,
            self.settings,
            1 if self.count else None,
            np.random.default_rng(self.settings.seed),
        )
        insertion = Insertion(scene, self.supports)
        for _ in range(INSERTIONS_PER_SOLUTION * (self.count or 1)):
            end = insertion.end()
            if end is not None:
                row = BatchResult(
                    np.array([0]),
                    np.array([len(solutions)]),
                    np.array([time.perf_counter() - began]),
                    Result(*(a[None] for a in end)),
                )
                solutions += make_solutions(problems, row, self.settings.tolerance)
            if insertion.is_hopeless or not self._goes_on(solutions):
                break
        return insertion.failure(self.settings.starts)
