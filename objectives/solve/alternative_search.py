"""The search over alternatives of a problem, in the time that a few solves take.

Alternatives share the starts and one program. Those after the first feasible path begin
at the best one, the most similar first: of windows of slices, the next one in time.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from posewise.compilation.progress import write_line
from posewise.solvers.deadline import check_deadline
from posewise.solvers.interruptible import REPORT_INTERVAL

from ..problem.spec import ProblemSpec
from ..solution.solution import Solution
from ..terms.objective import OT
from .alternatives import resolve_alternatives
from .multistart import best_solution
from .settings import SolveSettings
from .stops import mark_stopped, stop_sentence

Solve = Callable[[ProblemSpec, SolveSettings, bool], list[Solution]]
"""Solves a problem without choices; the last argument tells whether a single start that
stalls is followed by a random one."""


@dataclass(frozen=True, slots=True)
class SearchEffort:
    """Choices of the search, varied in docs/evidence.md."""

    further_iterations: float = 2.0
    """Ratio of the iterations after which no further alternative is tried to those
    until the first feasible path [1]. Larger values find better paths, and take longer.
    """
    vain_tries: int = 2
    """Number of alternatives in a row that are no better than the best, after which no
    further one is tried (count): of windows of slices, one earlier and one later. More
    find better paths, and take longer.
    """
    second_tries: int = 2
    """Number of alternatives that are solved from all starts if none is feasible from
    its share of them (count). More find more paths, and take longer if there is none.
    """


SEARCH_EFFORT = SearchEffort()


def solve_alternatives(
    spec: ProblemSpec, settings: SolveSettings, solve: Solve, retry: bool = False
) -> list[Solution]:
    """Return the solutions of all alternatives that are tried.

    Each gets a share of the starts. Without costs, alternatives after the first
    feasible path are skipped. If there is no feasible path, the least violated
    alternatives get all starts. An interrupt or a deadline ends the search with the
    solutions of those tried.

    Args:
        spec: the problem.
        settings: with the number of starts for all alternatives together.
        solve: solves one of them.
        retry: whether a single start that stalls is followed by a random one.

    Raises:
        KeyboardInterrupt: for an interrupt before there is a solution.
    """
    problems = resolve_alternatives(spec)
    if len(problems) == 1:
        return solve(problems[0], settings, retry)
    solutions: list[Solution] = []
    ended, began = 0, time.perf_counter()
    reported = began
    try:
        for solved in _tries(problems, settings, solve, retry):
            solutions += solved
            if any(s.stopped for s in solved):
                break
            ended = min(ended + 1, len(problems))
            now = time.perf_counter()
            if settings.progress is True and now - reported > REPORT_INTERVAL:
                good = sum(s.feasible for s in solutions)
                write_line(
                    f"posewise, {now - began:.0f} s: {ended} of {len(problems)}"
                    f" alternatives tried, {good} of {len(solutions)} paths feasible"
                )
                reported = now
        else:
            return solutions
    except KeyboardInterrupt:
        if not solutions:
            raise
    # Solutions of alternatives that ended have no sentence about it.
    sentence = stop_sentence(ended, len(problems), "alternatives")
    return mark_stopped(solutions, sentence)


def _tries(
    problems: Sequence[ProblemSpec],
    settings: SolveSettings,
    solve: Solve,
    retry: bool,
) -> Iterator[list[Solution]]:
    """Yield the solutions of one alternative after the other, as long as it pays.

    Args:
        problems: one for each alternative.
        settings: see `solve_alternatives`, as for all below.
        solve: solves one of them.
        retry: whether a single start that stalls is followed by a random one.

    Raises:
        KeyboardInterrupt: once the deadline has passed.
    """
    share = replace(settings, starts=-(-settings.starts // len(problems)))
    onward = share.going_on()
    remaining = [*problems]
    ends: list[tuple[Solution, ProblemSpec]] = []
    first_iterations = further_iterations = vain_tries = 0
    best: tuple[Solution, ProblemSpec] | None = None
    while remaining:
        if ends:
            check_deadline()
        problem = remaining[0] if best is None else _most_similar(remaining, best[1])
        remaining.remove(problem)
        if best is None:
            solved = solve(problem, share, False)
            first_iterations += sum(s.iterations for s in solved)
        else:
            solved = solve(problem.from_path(best[0].path), onward, False)
            further_iterations += sum(s.iterations for s in solved)
        yield solved
        ends.append((best_solution(solved), problem))
        leader = min(ends, key=lambda end: end[0].rank())
        vain_tries = 0 if leader is ends[-1] else vain_tries + 1
        best = leader if leader[0].feasible else None
        has_costs = any(o.type is OT.sos for o in problem.objectives)
        effort = SEARCH_EFFORT.further_iterations if has_costs else 0.0
        is_enough = further_iterations >= effort * first_iterations
        if best and (is_enough or vain_tries >= SEARCH_EFFORT.vain_tries):
            break
    if best is not None:
        return
    ends.sort(key=lambda end: end[0].rank())
    for _, problem in ends[: SEARCH_EFFORT.second_tries]:
        check_deadline()
        solved = solve(problem, settings, retry)
        yield solved
        if any(s.feasible for s in solved):
            return


def _most_similar(problems: Sequence[ProblemSpec], other: ProblemSpec) -> ProblemSpec:
    """Return the problem that differs from another one in the fewest rows.

    Among equals, such as a contact in any one slice, it is the one nearest in time.
    """
    rows, middle = _rows(other), _middle(other)

    def difference(problem: ProblemSpec) -> tuple[int, float]:
        return len(_rows(problem) ^ rows), abs(_middle(problem) - middle)

    return min(problems, key=difference)


def _rows(problem: ProblemSpec) -> set[tuple[int, OT, int]]:
    """Return what is asked: features, their types, and slices."""
    return {(id(o.feature), o.type, t) for o in problem.objectives for t in o.slices}


def _middle(problem: ProblemSpec) -> float:
    """Return the mean slice of what is asked."""
    return float(np.mean([t for o in problem.objectives for t in o.slices]))
