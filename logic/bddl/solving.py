"""Worlds in which :init, or the goal, of a problem holds."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import numpy as np

from posewise.robots.config import Config
from posewise.robots.validation import integer

from ..errors import PredicateError
from ..formulas.messages import format_predicate
from ..formulas.predicate import Predicate
from ..planning.dnf_search import Branch, branches
from .binding import FLOOR
from .literal_solver import IsMovable, LiteralSolver
from .problem import Problem
from .task import ConditionResult, Report, bind

TRIES_PER_BRANCH = 2
"""How often a branch is tried: things anywhere, then beside each other."""


@dataclass(frozen=True, eq=False)
class ActivitySolution:
    """A world that was looked for, and what came of each literal."""

    config: Config
    """Where all holds, or else most of the literals that were tried."""
    holds: bool
    """Whether what was asked for is true of it, exactly."""
    report: Report
    """Of each literal that was tried: whether it holds, and why not."""
    branch: str
    """Which literals were to make it true, one of the alternatives."""
    branches_tried: int
    """How many alternatives were tried."""

    def __str__(self) -> str:
        made = "solved" if self.holds else "not solved"
        return f"{made}, {self.branches_tried} tried: {self.branch}\n{self.report}"


def solve_init(
    C: Config, problem: Problem, *, seed: Any = 0, names: Any = None, limit: Any = 8
) -> ActivitySolution:
    """A world in which all of :init holds.

    Things are placed one by one, what carries others first, on free spots where they
    rest; furniture may be moved too, floors may not. States are set.

    Args:
        C: a world with a thing for each object, e.g. of `make_scene`; it stays as it
            is.
        problem: as `load` reads it.
        seed: of where things are placed.
        names: see `bind`.
        limit: how many times at most it is begun anew.

    Raises:
        ConfigError: for objects that nothing is found for, and predicates without a
            class.
        PredicateError: for a seed or limit that is no such number.
    """
    formula = bind(problem, C, names).init
    return satisfy_formula(C, formula, seed=seed, limit=limit, movable=is_placeable)


def solve_goal(
    C: Config, problem: Problem, *, seed: Any = 0, names: Any = None, limit: Any = 8
) -> ActivitySolution:
    """A world in which the goal holds.

    Of its alternatives those come first for which the least has to be changed. Loose
    things, on free joints, are placed one by one as in `solve_init`, with what they
    carry, and whatever is in place stays there.

    Args:
        C: a world with a thing for each object; it stays as it is.
        problem: as `load` reads it.
        seed: of where things are placed.
        names: see `bind`.
        limit: how many alternatives are tried.

    Raises:
        ConfigError: for objects that nothing is found for, and predicates without a
            class.
        PredicateError: for a seed or limit that is no such number.
    """
    formula = bind(problem, C, names).goal
    return satisfy_formula(C, formula, seed=seed, limit=limit, movable=is_loose)


def sample_condition(C: Config, formula: Predicate, seed: Any = 0) -> bool:
    """Make a formula true in a world itself, which stays as it is where that fails.

    Args:
        C: the world, which is changed.
        formula: of one moment.
        seed: of where things are placed.

    Returns:
        Whether it is true now.
    """
    found = satisfy_formula(C, formula, seed=seed, limit=1, movable=is_placeable)
    if found.holds:
        copy_world_state(C, found.config)
    return found.holds


def copy_world_state(C: Config, world: Config) -> None:
    """Give a world the poses, joint values and states of a changed copy."""
    for name in C.objects:
        if not np.array_equal(C.pose(name), world.pose(name)):
            C.set_pose(name, world.pose(name))
    for name in C.objects:
        for frame in map(C.frame, C.objects[name].parts):
            joint = frame.joint
            if joint is not None and joint.dim == 1 and joint.mimic is None:
                C.set_joint(joint.name, world.joint_value(joint.name))
    C.states = world.states


def is_placeable(C: Config, name: str) -> bool:
    """Whether an object hangs on nothing, and is no floor."""
    thing = C.objects.get(name)
    return (
        thing is not None and C.frame(name).parent is None and thing.category != FLOOR
    )


def is_loose(C: Config, name: str) -> bool:
    """Whether a thing of that name stands free."""
    joint = C.frame(name).joint if name in C.objects else None
    return joint is not None and joint.type == "free"


def satisfy_formula(
    C: Config, formula: Predicate, *, seed: Any, limit: Any, movable: IsMovable
) -> ActivitySolution:
    """A world in which a formula holds; see `solve_goal`.

    Schedule nothing else helps, things without a free spot are placed by optimization.

    Args:
        C: the world; it stays as it is.
        formula: of one moment.
        seed: of where things are placed.
        limit: how many branches are tried.
        movable: which things may be moved.
    """
    whole = lambda what, x, least: integer(
        what, x, f"an integer >= {least}", lambda n: n >= least, PredicateError
    )
    seed, limit = whole("seed", seed, 0), whole("limit", limit, 1)
    best: ActivitySolution | None = None
    found = list(islice(branches(formula, C), limit))
    for branch, attempt, tried in _attempts(C, found, seed, movable):
        done = attempt.solve() and formula.holds(attempt.world)
        solved = _solution(branch, attempt, done, tried)
        if best is None or done or _num_satisfied(solved) > _num_satisfied(best):
            best = solved
        if done:
            break
    if best is None:
        why = "It cannot become true, whatever is done."
        finding = ConditionResult(format_predicate(formula), False, why)
        return ActivitySolution(C.copy(), False, Report((finding,)), "nothing", 0)
    return best


def _attempts(
    C: Config, found: list[Branch], seed: int, movable: IsMovable
) -> Iterator[tuple[Branch, LiteralSolver, int]]:
    """Each branch a few times; then the first one with optimization."""
    plain = (
        (k, branch, seed + t, t % 2 == 1, False)
        for k, branch in enumerate(found, 1)
        for t in range(TRIES_PER_BRANCH)
    )
    last = ((len(found), branch, seed, True, True) for branch in found[:1])
    for k, branch, own, snug, optimal in chain(plain, last):
        yield (
            branch,
            LiteralSolver(C.copy(), branch.literals, movable, own, snug, optimal),
            k,
        )


def _solution(
    branch: Branch, attempt: LiteralSolver, done: bool, tried: int
) -> ActivitySolution:
    findings = [
        ConditionResult(format_predicate(p), p.holds(attempt.world), attempt.explain(p))
        for p in branch.literals
    ]
    return ActivitySolution(
        attempt.world, done, Report(tuple(findings)), str(branch), tried
    )


def _num_satisfied(solved: ActivitySolution) -> int:
    return len(solved.report.satisfied)
