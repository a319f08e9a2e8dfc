"""Worlds in which :init, or the goal, of a problem holds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice

import numpy as np

from posewise.objectives.solve.stops import check_max_time, stop_cause
from posewise.robots.config import Config
from posewise.robots.validation import integer
from posewise.solvers.deadline import time_limit

from ..errors import PredicateError
from ..formulas.connectives import Not
from ..formulas.messages import format_predicate
from ..formulas.predicate import Predicate
from ..planning.dnf_search import Branch, branches, object_names
from ..states.existence_predicates import Real
from .grammar import FLOOR
from .literal_solver import IsMovable, LiteralSolver
from .problem import Problem
from .production import Production
from .rest_doubts import rest_doubts
from .task import ConditionResult, Report, bind

TRIES_PER_BRANCH = 2
"""Number of attempts at each branch: in the first objects are placed anywhere, in later
ones beside each other. More take longer where a branch has no solution."""


@dataclass(frozen=True, eq=False)
class ActivitySolution:
    """A world that was searched for, and the result of each literal."""

    config: Config
    """The world in which all literals hold, or else most of those tried."""
    holds: bool
    """Whether the formula holds in that world, exactly."""
    report: Report
    """Results of the literals that were tried, with reasons."""
    branch: str
    """The literals that were to make the formula true, one alternative of several."""
    branches_tried: int
    """Number of alternatives that were tried."""
    literals: tuple[Predicate, ...] = ()
    """The same literals as predicates."""
    stopped: str = ""
    """A sentence on the time limit or the interrupt that ended the search, if the
    formula does not hold; empty: none did."""

    def __str__(self) -> str:
        result = "solved" if self.holds else "not solved"
        lines = [f"{result}, {self.branches_tried} tried: {self.branch}"]
        lines += [self.stopped] if self.stopped else []
        lines += [str(self.report), *(f"! {doubt}" for doubt in self.doubts)]
        return "\n".join(lines)

    @cached_property
    def doubts(self) -> tuple[str, ...]:
        """Sentences on loose objects that do not stay where they are when simulated.

        Of a world in which the formula does not hold there are none, nor without MuJoCo
        (extra `mujoco`). They are found when they are asked for first.
        """
        if not self.holds:
            return ()
        loose = [name for name in self.config.objects if is_loose(self.config, name)]
        return rest_doubts(self.config, loose, self.literals)


def solve_init(
    C: Config,
    problem: Problem,
    *,
    seed: int = 0,
    names: Mapping[str, str] | None = None,
    limit: int = 8,
    max_time: float | None = None,
) -> ActivitySolution:
    """Return a world in which all of :init holds.

    Objects are placed one by one, supports first, at free poses where they rest;
    furniture may be moved, too, floors may not. States are set.

    Args:
        C: a world with an object for each instance, e.g. of `make_scene`; it is not
            changed.
        problem: as `load` reads it.
        seed: of the places of objects.
        names: objects, frames or rooms by instance, as of `bind`.
        limit: maximum number of alternatives tried.
        max_time: wall time [s] after which the search ends with the best world of those
            tried; None: no limit. It is heard between two objects that are placed.

    Raises:
        ConfigError: if an instance has no matching object, or a predicate no class.
        PredicateError: if the seed, limit or max_time is no such number.
    """
    with time_limit(check_max_time(max_time, PredicateError)):
        formula = bind(problem, C, names).init
        return satisfy_formula(
            C, formula, seed=seed, limit=limit, is_movable=is_placeable
        )


def solve_goal(
    C: Config,
    problem: Problem,
    *,
    seed: int = 0,
    names: Mapping[str, str] | None = None,
    limit: int = 8,
    max_time: float | None = None,
) -> ActivitySolution:
    """Return a world in which the goal holds.

    Alternatives that need the fewest changes are tried first. Loose objects, on free
    joints, are placed one by one as in `solve_init`, with their loads, and objects that
    are in place stay there.

    Args:
        C: a world with an object for each instance; it is not changed.
        problem: as `load` reads it.
        seed: of the places of objects.
        names: objects, frames or rooms by instance, as of `bind`.
        limit: maximum number of alternatives tried.
        max_time: wall time [s] after which the search ends with the best world of those
            tried; None: no limit. It is heard between two objects that are placed.

    Raises:
        ConfigError: if an instance has no matching object, or a predicate no class.
        PredicateError: if the seed, limit or max_time is no such number.
    """
    with time_limit(check_max_time(max_time, PredicateError)):
        formula = bind(problem, C, names).goal
        return satisfy_formula(
            C, formula, seed=seed, limit=limit, is_movable=is_loose, is_given=False
        )


def sample_condition(C: Config, formula: Predicate, seed: int = 0) -> bool:
    """Make a formula true in a world, which is not changed if that fails.

    Args:
        C: the world, which is changed.
        formula: momentary.
        seed: of the places of objects.

    Returns:
        Whether it is true now.
    """
    solution = satisfy_formula(C, formula, seed=seed, limit=1, is_movable=is_placeable)
    if solution.holds:
        copy_world_state(C, solution.config)
    return solution.holds


def copy_world_state(C: Config, source: Config) -> None:
    """Give a world the poses, joint values and states of a changed copy.

    Args:
        C: the world, which is changed.
        source: a copy of it, with the same objects.
    """
    for name in C.objects:
        if not np.array_equal(C.pose(name), source.pose(name)):
            C.set_pose(name, source.pose(name))
    for name in C.objects:
        for frame in map(C.frame, C.objects[name].parts):
            joint = frame.joint
            if joint is not None and joint.dim == 1 and joint.mimic is None:
                C.set_joint(joint.name, source.joints.value(joint.name))
    C.annotations.states = source.annotations.states


def is_placeable(C: Config, name: str) -> bool:
    """Return whether an object is attached to the world alone, and is no floor."""
    obj = C.objects.get(name)
    return obj is not None and C.frame(name).parent is None and obj.category != FLOOR


def is_loose(C: Config, name: str) -> bool:
    """Return whether there is an object of that name on a free joint."""
    joint = C.frame(name).joint if name in C.objects else None
    return joint is not None and joint.type == "free"


def satisfy_formula(
    C: Config,
    formula: Predicate,
    *,
    seed: int,
    limit: int,
    is_movable: IsMovable,
    is_given: bool = True,
) -> ActivitySolution:
    """Return a world in which a formula holds, as of `solve_goal`.

    If all sampled placements fail, objects without a free pose are placed by
    optimization. An interrupt or a deadline ends the search.

    Args:
        C: the world; it is not changed.
        formula: momentary.
        seed: of the places of objects.
        limit: maximum number of branches tried.
        is_movable: function that says which objects may be moved.
        is_given: whether objects and substances exist because the formula says so;
            otherwise rules must make what does not exist, from what does.

    Raises:
        PredicateError: if the seed or limit is no such number.
    """
    seed = _checked_integer("seed", seed, 0)
    limit = _checked_integer("limit", limit, 1)
    best: ActivitySolution | None = None
    alternatives = list(islice(branches(formula, C), limit))
    for branch, solver, tried in _attempts(C, alternatives, seed, is_movable, is_given):
        stopped = ""
        try:
            done = solver.solve() and formula.holds(solver.world)
        except KeyboardInterrupt:
            stopped = f"{stop_cause()} in alternative {tried} of {len(alternatives)}."
            done = not solver.unplaced and formula.holds(solver.world)
        solution = _solution(branch, solver, done, tried)
        if best is None or done or _num_satisfied(solution) > _num_satisfied(best):
            best = solution
        if done:
            break
        if stopped:
            best = replace(best, stopped=stopped)
            break
    if best is None:
        reason = "No change of the world can make it true."
        result = ConditionResult(format_predicate(formula), False, reason)
        return ActivitySolution(C.copy(), False, Report((result,)), "nothing", 0)
    return best


def _checked_integer(name: str, value: object, least: int) -> int:
    expected = f"an integer >= {least}"
    return integer(name, value, expected, lambda n: n >= least, PredicateError)


def _attempts(
    C: Config,
    alternatives: Sequence[Branch],
    seed: int,
    is_movable: IsMovable,
    is_given: bool,
) -> Iterator[tuple[Branch, LiteralSolver, int]]:
    """Yield attempts at each branch; finally at the first one with optimization.

    Each with its branch, and the number of the branch from 1.
    """
    sampled = (
        (k, branch, seed + t, t % 2 == 1, False)
        for k, branch in enumerate(alternatives, 1)
        for t in range(TRIES_PER_BRANCH)
    )
    # Optimization is slow, so it comes last, and only for the most promising branch.
    optimized = (
        (len(alternatives), branch, seed, True, True) for branch in alternatives[:1]
    )
    for k, branch, own_seed, adjacent, optimal in chain(sampled, optimized):
        world = C.copy()
        solver = LiteralSolver(
            world,
            branch.literals,
            is_movable,
            production=None if is_given else _production(world, branch),
            seed=own_seed,
            prefer_adjacent=adjacent,
            use_optimization=optimal,
        )
        yield branch, solver, k


def _production(world: Config, branch: Branch) -> Production:
    """Return the rules at work for a branch, which says what must be there."""
    unwanted = {
        p.part.object
        for p in branch.literals
        if isinstance(p, Not) and isinstance(p.part, Real)
    }
    required = {
        name
        for p in branch.literals
        if not isinstance(p, Not)
        for name in object_names(p)
    }
    return Production(world, required, unwanted)


def _solution(
    branch: Branch, solver: LiteralSolver, done: bool, tried: int
) -> ActivitySolution:
    """Return the result of an attempt."""
    results = [
        ConditionResult(format_predicate(p), p.holds(solver.world), solver.explain(p))
        for p in branch.literals
    ]
    return ActivitySolution(
        config=solver.world,
        holds=done,
        report=Report(tuple(results)),
        branch=str(branch),
        branches_tried=tried,
        literals=tuple(branch.literals),
    )


def _num_satisfied(solution: ActivitySolution) -> int:
    return len(solution.report.satisfied)
