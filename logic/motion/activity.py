"""Activities: the steps that a goal of BDDL needs, in an order that works.

Only what the goal needs is moved: what stands on an object before the object, supports
before what comes onto them, and containers are opened before and closed at the end.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, product

from posewise.objectives.solve.stops import check_max_time
from posewise.robots.config import Config
from posewise.robots.typing import FrameName
from posewise.robots.validation import integer
from posewise.solvers.deadline import time_limit

from ..bddl.object_placement import carried_objects
from ..bddl.problem import Problem
from ..bddl.solving import is_loose
from ..bddl.task import Report, Task, bind
from ..errors import PredicateError
from ..formulas.connectives import Not
from ..formulas.messages import format_predicate
from ..formulas.predicate import Predicate
from ..planning.dnf_search import Branch, branches, object_names
from ..predicates.contact import InContactWith
from ..predicates.containment import InsideOf
from ..predicates.joint_openness import Open
from ..predicates.next_to import NextTo
from ..predicates.support import OnTopOf
from ..states.state_predicate import StatePredicate
from .plan import MotionPlan, MotionStatus
from .planner import plan_motion
from .step_types import CloseJoint, OpenJoint, Pick, Place, Step

MAX_ORDERS = 4
"""Number of sequences of steps that are tried for each alternative of a goal; more of
them find one that works more often, and take longer where none does."""


@dataclass(frozen=True, eq=False)
class ActivityPlan:
    """The motion of a robot that makes a goal true."""

    motion: MotionPlan
    holds: bool
    """Whether the goal holds in the world at the end, exactly."""
    report: Report = field(repr=False)
    """The conditions of the goal at the end, with reasons."""
    branch: str
    """The literals that were to make the goal true."""
    stopped: str = ""
    """A sentence on the time limit or the interrupt that ended the search before all
    was tried; empty: none did."""

    def __str__(self) -> str:
        result = "solved" if self.holds else "not solved"
        lines = [f"{result}: {self.branch}"]
        lines += [self.stopped] if self.stopped else []
        return "\n".join([*lines, self.motion.report(), str(self.report)])


def solve_activity(
    C: Config,
    problem: Problem,
    robot: FrameName,
    *,
    names: Mapping[str, str] | None = None,
    seed: int = 0,
    limit: int = 3,
    max_time: float | None = None,
) -> ActivityPlan:
    """Plan the motion of a robot that makes the goal of a problem true.

    Args:
        C: a world with an object for each instance, and the robot; not changed.
        problem: as `logic.bddl.load` reads it.
        robot: see `plan_motion`.
        names: objects by instance, as of `logic.bddl.bind`.
        seed: of all random choices.
        limit: largest number of alternatives of the goal that are tried.
        max_time: wall time [s] of the whole search; see `plan_motion`.

    Returns:
        The motion after which the goal holds; or the one that comes farthest.

    Raises:
        ConfigError: if an instance has no matching object, or there is no such robot.
        PredicateError: if the goal speaks of what no motion brings about, such as
            states.
        KeyboardInterrupt: for an interrupt before a step is planned.
    """
    limited = time_limit(check_max_time(max_time, PredicateError))
    if not isinstance(problem, Problem):
        raise PredicateError(
            f"problem is {problem!r}, expected a problem as logic.bddl.load or parse"
            " returns it."
        )
    integer("limit", limit, "an integer >= 1", lambda n: n >= 1, PredicateError)
    task = bind(problem, C, names)
    best: ActivityPlan | None = None
    try:
        with limited:
            for plan in _plans(C, task, robot, seed, limit):
                if best is None or plan.holds or _length(plan) > _length(best):
                    best = plan
                if plan.holds:
                    return plan
                if plan.motion.status.is_stopped:
                    return replace(best, stopped=plan.motion.reason)
    except KeyboardInterrupt:
        if best is None:
            raise
        return replace(best, stopped="Interrupted.")
    if best is not None:
        return best
    reason = "No change of the world can make the goal true."
    motion = MotionPlan(MotionStatus.FAILED, (), C.copy(), C.copy(), (), reason=reason)
    return ActivityPlan(motion, False, task.goal_report(C), "nothing")


def _plans(
    C: Config, task: Task, robot: FrameName, seed: int, limit: int
) -> Iterator[ActivityPlan]:
    """Yield the motions for alternatives of a goal, in different orders of steps.

    Arguments are those of `solve_activity`, with the problem bound to the world.
    """
    for branch in islice(branches(task.goal, C), limit):
        for steps in islice(_sequences(C, branch), MAX_ORDERS):
            motion = plan_motion(C, robot, steps, seed=seed)
            holds = task.goal.holds(motion.world)
            report = task.goal_report(motion.world)
            yield ActivityPlan(motion, holds, report, str(branch))


def _length(plan: ActivityPlan) -> int:
    """Return the number of steps that are planned."""
    return len(plan.motion.steps)


def _sequences(C: Config, branch: Branch) -> Iterator[list[Step]]:
    """Yield sequences of steps that make literals true, in different doors' order."""
    moves = _moves(C, branch.literals)
    opened = _containers(C, moves)
    unmet = [p for p in branch.literals if not p.holds(C)]
    opened += [p.a for p in unmet if isinstance(p, Open)]
    closed = [
        p.part.a
        for p in branch.literals
        if isinstance(p, Not) and isinstance(p.part, Open)
    ]
    containers = list(dict.fromkeys(opened))
    choices = [[joint.name for joint in Open(c).joints(C)] for c in containers]
    for joints in product(*choices):
        doors = dict(zip(containers, joints, strict=True))
        steps: list[Step] = [OpenJoint(c, joint) for c, joint in doors.items()]
        for obj, predicates in moves.items():
            steps += [Pick(obj), Place(obj, predicates)]
        for c in closed:
            steps += [
                CloseJoint(c, joint.name)
                for joint in Open(c).joints(C)
                if joint.margin(float(C.joints.value(joint.name)[0])) > 0
                or doors.get(c) == joint.name
            ]
        yield steps


def _moves(C: Config, literals: Sequence[Predicate]) -> dict[str, list[Predicate]]:
    """Return the objects that move, in order, each with what holds at its place.

    Raises:
        PredicateError: for literals that no motion brings about.
    """
    movable: list[Predicate] = []
    goals: dict[str, list[Predicate]] = {}
    for stated in literals:
        literal = _loose_first(C, stated)
        movable.append(literal)
        atom = literal.part if isinstance(literal, Not) else literal
        if isinstance(atom, Open) or literal.holds(C):
            continue
        first = object_names(literal)[:1]
        is_loose_first = bool(first) and is_loose(C, first[0])
        if isinstance(atom, StatePredicate) or not is_loose_first:
            raise PredicateError(
                f"{format_predicate(stated)} does not hold, and moving objects cannot"
                " bring it about; make it true before, or leave it out of the goal."
            )
        goals.setdefault(first[0], [])
    for literal in movable:
        for name in object_names(literal)[:1]:
            if name in goals:
                goals[name].append(literal)
    return _ordered(C, goals)


def _loose_first(C: Config, literal: Predicate) -> Predicate:
    """Return a symmetric literal with an object that can be moved named first."""
    atom = literal.part if isinstance(literal, Not) else literal
    if not isinstance(atom, NextTo | InContactWith):
        return literal
    if is_loose(C, atom.a) or not is_loose(C, atom.b):
        return literal
    swapped = replace(atom, a=atom.b, b=atom.a)
    return ~swapped if isinstance(literal, Not) else swapped


def _ordered(
    C: Config, goals: Mapping[str, list[Predicate]]
) -> dict[str, list[Predicate]]:
    """Return objects with their goals, in an order in which they can be moved.

    What stands on an object that moves is put aside before, unless it moves anyway.
    """
    ordered: dict[str, list[Predicate]] = {}

    def add(obj: str, waiting: tuple[str, ...] = ()) -> None:
        if obj in ordered or obj in waiting:
            return
        for above in carried_objects(C, obj):
            if above not in goals:
                ordered.setdefault(above, _aside(C, above, obj))
            elif obj not in _supports(goals[above]):
                add(above, (*waiting, obj))
        for below in _supports(goals[obj]):
            if below in goals:
                add(below, (*waiting, obj))
        ordered[obj] = goals[obj]

    for obj in goals:
        add(obj)
    return ordered


def _supports(predicates: Sequence[Predicate]) -> list[str]:
    """Return the other objects that predicates of an object's place name."""
    return [name for p in predicates for name in object_names(p)[1:]]


def _aside(C: Config, obj: str, below: str) -> list[Predicate]:
    """Return a place for an object that is in the way: where its support stands."""
    for other in C.objects:
        if other not in (obj, below) and OnTopOf(below, other).holds(C):
            return [OnTopOf(obj, other)]
    raise PredicateError(
        f"{obj!r} stands on {below!r}, which has to be moved, and there is nothing else"
        " to put it on."
    )


def _containers(C: Config, moves: Mapping[str, Sequence[Predicate]]) -> list[str]:
    """Return the closed containers from which or into which objects move."""
    containers = []
    for name, obj in C.objects.items():
        if "openable" not in obj.abilities or Open(name).holds(C):
            continue
        into = any(
            isinstance(p, InsideOf) and p.b == name for ps in moves.values() for p in ps
        )
        if into or any(InsideOf(moved, name).holds(C) for moved in moves):
            containers.append(name)
    return containers
