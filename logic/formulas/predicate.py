"""Predicates, and the formulas that their operators `~`, `&` and `|` make.

Both are in one module because each needs the other: `p & q` of two predicates is an
`And`, and an `And` is a predicate.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import combinations
from math import comb
from typing import Any, ClassVar

import jax
import numpy as np
from jaxtyping import Bool, Float

from posewise.objectives.terms.interval import (
    Alternative,
    ObjectiveSpecs,
    SliceInterval,
)
from posewise.robots.annotations.object_states import ObjectState
from posewise.robots.config import Config
from posewise.robots.typing import FrameName, MatrixLike, VectorLike

from ..errors import PredicateError
from ..relaxed import constraint_terms
from ..relaxed.constraint_terms import Conjunction, ConstraintTerm, Disjunction
from .messages import Case, describe_cases, format_predicate
from .schedule import Plan, Plans, Schedule, plans_for_all, plans_for_any, schedule_over
from .trajectory import StateTrajectory, state_trajectory

DISJUNCTION_ERROR = 1e-3
"""Bound on how far a disjunction's smooth minimum is above the minimum [m, or 1].

A larger value makes rows smoother and less complete.
"""
MAX_COMBINATIONS = 64
"""Maximum number of choices of n parts out of m that become alternatives (count)."""

Witnesses = dict[str, dict[str, str]]
"""For each ghost arm added to a world, the real joint names mapped to their copies."""


class Predicate(ABC):
    """A statement about objects of a world, with an exact check.

    Predicates are frozen dataclasses of names and numbers; the world is an argument, so
    that one predicate can be checked in many worlds. `~p`, `p & q` and `p | q` are the
    formulas Not, And and Or.
    """

    is_momentary: ClassVar[bool] = True
    """Whether the truth depends on one configuration alone, not on the past."""
    needs_history: ClassVar[bool] = False
    """Whether the truth along a path depends on a roll-out of extended states."""

    @abstractmethod
    def holds(self, C: Config) -> bool:
        """Return whether the predicate is true of the world, computed exactly."""

    @abstractmethod
    def explain(self, C: Config) -> str:
        """Return one sentence that says why it is true or false, with the numbers."""

    def relaxed(self, C: Config, truth: bool = True) -> ConstraintTerm:
        """Return inequalities that hold only where the predicate does.

        Args:
            C: the world.
            truth: False for inequalities that hold only where the predicate does not.

        Raises:
            PredicateError: when there are no such inequalities.
        """
        subject = "" if truth else "The negation of "
        raise PredicateError(
            f"{subject}{self!r} has no rows for a solver: it can only be checked, by"
            " holds(C)."
        )

    def term(self, C: Config) -> ConstraintTerm:
        """Return `relaxed(C)` of a predicate in negation normal form.

        Raises:
            PredicateError: when there are no such inequalities.
        """
        return self.relaxed(C)

    def violation(self, C: Config) -> float:
        """Return the largest row [m, or 1]; at most 0 only where the predicate holds.

        Raises:
            PredicateError: when the predicate has no rows.
        """
        return constraint_terms.violation(self.relaxed(C), C)

    def function(
        self, C: Config
    ) -> Callable[[Float[jax.Array, " nq"]], Float[jax.Array, " rows"]]:
        """Return the rows as a pure JAX function of q (nq,).

        All are at most 0 only where the predicate holds: their largest is the
        violation, and the sum of their positive parts a loss. The function works under
        `jit`, `vmap`, `grad`, `jacfwd` and `jacrev`.

        Args:
            C: the world, whose structure and fixed poses the rows keep.

        Raises:
            PredicateError: when the predicate has no rows.
        """
        return constraint_terms.row_function(self.relaxed(C), C)

    def objectives(self, C: Config, interval: SliceInterval) -> ObjectiveSpecs:
        """Yield the rows as inequalities; see `posewise.objectives.terms.interval`.

        Raises:
            PredicateError: when the predicate has no rows.
        """
        return constraint_terms.objectives(self.relaxed(C), C, interval)

    def alternatives(self, C: Config, interval: SliceInterval) -> list[Alternative]:
        """Return the alternatives that make it true of a path, for `KOMO.add`.

        A momentary predicate holds on all slices of the interval. A predicate of
        extended states holds at the end of the interval, by actions within it.

        Raises:
            PredicateError: when there is none.
        """
        plans = self.plans(C, schedule_over(interval))
        return [Alternative(plan.name, plan.objectives) for plan in plans]

    def plans(self, C: Config, schedule: Schedule, truth: bool = True) -> Plans:
        """Return the plans that make it true, or false, on a schedule.

        Raises:
            PredicateError: when there is none.
        """
        return [self._momentary_plan(C, schedule, truth)]

    def normal_form_plans(self, C: Config, schedule: Schedule) -> Plans:
        """Return `plans` of a predicate in negation normal form.

        Raises:
            PredicateError: when there is none.
        """
        return self.plans(C, schedule)

    def _momentary_plan(
        self, C: Config, schedule: Schedule, truth: bool = True
    ) -> Plan:
        """Return the plan whose rows hold on all slices of the schedule."""

        def specs() -> ObjectiveSpecs:
            if truth:
                return self.objectives(C, schedule.interval)
            term = self.relaxed(C, truth)
            return constraint_terms.objectives(term, C, schedule.interval)

        return Plan("", schedule.timed_objectives((self, truth), specs))

    def doubts(self, C: Config) -> Iterator[str]:
        """Yield sentences on why it is very likely not meant as it is; here none."""
        yield from ()

    def solution_doubts(self, C: Config) -> Iterator[str]:
        """Yield sentences on what is doubtful in a world where it holds; here none."""
        yield from ()

    def impediments(self, C: Config) -> Iterator[str]:
        """Yield sentences on what in the world hardly lets it hold; here none."""
        yield from ()

    def rests_on(self, C: Config) -> Iterator[tuple[FrameName, FrameName]]:
        """Yield objects with what they must be on or in, side by side; here none."""
        yield from ()

    def start_region(
        self, C: Config, name: FrameName
    ) -> Float[np.ndarray, "2 3"] | None:
        """Return a box for the origin of an object in the world [m]; None: anywhere.

        The box is only a hint for random starts.
        """
        return None

    def admits_poses(
        self, C: Config, name: FrameName, poses: Float[np.ndarray, "n 7"]
    ) -> Bool[np.ndarray, " n"]:
        """Return which poses of an object's root frame may satisfy the predicate.

        The answer is only a hint for random starts; all other frames stay where they
        are in the world.
        """
        return np.ones(len(poses), bool)

    def add_witnesses(self, C: Config, world: Config) -> Witnesses:
        """Add frames to a copy of the world that the rows need, such as a ghost arm.

        A ghost arm reaches for a target while the real arm stays where it is.

        Args:
            C: the world.
            world: the copy, in which joints may be locked.

        Returns:
            For each addition, joints of the world mapped to their copies.
        """
        return {}

    def improve_starts(
        self, C: Config, q: Float[np.ndarray, "n nq"]
    ) -> Float[np.ndarray, "n nq"]:
        """Return starts, moved to where the predicate is likelier to hold."""
        return q

    def ground(self, C: Config) -> "Predicate":
        """Return an equivalent formula without quantifiers and Implies for this world.

        Its connectives are And, Or, Not and AtLeast.
        """
        return self

    def nnf(self, negate: bool = False) -> "Predicate":
        """Return the negation normal form: an equivalent with Not on leaves only.

        Args:
            negate: return the normal form of the negation.

        Raises:
            PredicateError: for quantifiers, which must be grounded before.
        """
        return ~self if negate else self

    def __invert__(self) -> "Predicate":
        return Not(self)

    def __and__(self, other: "Predicate") -> "Predicate":
        return And(self, other)

    def __or__(self, other: "Predicate") -> "Predicate":
        return Or(self, other)

    def __bool__(self) -> bool:
        raise PredicateError(
            f"{type(self).__name__} is true or false only of a world: call holds(C),"
            " and join predicates by &, | and ~ instead of and, or and not."
        )


class Formula(Predicate):
    """A predicate composed of other predicates, about one moment or about a path."""

    parts: tuple[Predicate, ...]
    """The predicates that it is composed of."""

    @abstractmethod
    def holds_on(self, trajectory: StateTrajectory) -> bool:
        """Return its truth along a path; see `holds_along`."""

    @abstractmethod
    def explain_on(self, trajectory: StateTrajectory) -> str:
        """Return the sentence of `explain_along`."""

    @property
    def is_momentary(self) -> bool:  # type: ignore[override]
        return all(part.is_momentary for part in self.parts)

    def relaxed(self, C: Config, truth: bool = True) -> ConstraintTerm:
        return self.ground(C).nnf(not truth).term(C)

    def term(self, C: Config) -> ConstraintTerm:
        raise PredicateError(
            f"{format_predicate(self)} has no rows for a solver, because it is about a"
            f" path, never holds, or has more than {MAX_COMBINATIONS} alternatives: it"
            " can only be checked, by holds or holds_along."
        )

    def plans(self, C: Config, schedule: Schedule, truth: bool = True) -> Plans:
        return self.ground(C).nnf(not truth).normal_form_plans(C, schedule)

    def normal_form_plans(self, C: Config, schedule: Schedule) -> Plans:
        if self.is_momentary:
            return [self._momentary_plan(C, schedule)]
        return self.path_plans(C, schedule)

    def doubts(self, C: Config) -> Iterator[str]:
        for part in self._demanded(C):
            yield from part.doubts(C)

    def solution_doubts(self, C: Config) -> Iterator[str]:
        for part in self._demanded(C):
            yield from part.solution_doubts(C)

    def impediments(self, C: Config) -> Iterator[str]:
        for part in self._demanded(C):
            yield from part.impediments(C)

    def _demanded(self, C: Config) -> tuple[Predicate, ...]:
        """Return the predicates that it demands for certain: none of alternatives."""
        grounded = self.ground(C)
        if isinstance(grounded, And):
            return grounded.parts
        return () if isinstance(grounded, Formula) else (grounded,)

    def path_plans(self, C: Config, schedule: Schedule) -> Plans:
        """Return plans of a formula that is in normal form and not momentary.

        Raises:
            PredicateError: when there is none.
        """
        return [self._momentary_plan(C, schedule)]

    def add_witnesses(self, C: Config, world: Config) -> Witnesses:
        witnesses: Witnesses = {}
        for leaf in leaves(self.ground(C)):
            witnesses |= leaf.add_witnesses(C, world)
        return witnesses

    def improve_starts(
        self, C: Config, q: Float[np.ndarray, "n nq"]
    ) -> Float[np.ndarray, "n nq"]:
        for leaf in leaves(self.ground(C)):
            q = leaf.improve_starts(C, q)
        return q

    def holds_along(
        self,
        C: Config,
        path: MatrixLike,
        times: VectorLike,
        states: Mapping[str, ObjectState] | None = None,
    ) -> bool:
        """Return whether Always, Eventually, Until or Sequence formulas hold on a path.

        Only the slices decide; motion between slices is not checked.

        Args:
            C: the world, which is not changed.
            path: configurations (T, nq).
            times: one for each slice (T,), in the unit of the formula's times: those of
                KOMO count in phases, `numpy.arange(1, T + 1) / slices_per_phase`.
            states: extended states along the path, from `rollout(C, path)`.

        Raises:
            PredicateError: for momentary predicates outside Always, Eventually, Until
                and Sequence; predicates of extended states without `states`; and times
                that select no slice.
            ConfigError: as the predicates raise.
        """
        formula, trajectory = self._along(C, path, times, states)
        return formula.holds_on(trajectory)

    def explain_along(
        self,
        C: Config,
        path: MatrixLike,
        times: VectorLike,
        states: Mapping[str, ObjectState] | None = None,
    ) -> str:
        """Return why it is true or false of a path, and when; see `holds_along`."""
        formula, trajectory = self._along(C, path, times, states)
        return formula.explain_on(trajectory)

    def _along(
        self,
        C: Config,
        path: MatrixLike,
        times: VectorLike,
        states: Mapping[str, ObjectState] | None,
    ) -> tuple["Formula", StateTrajectory]:
        formula = _path_formula(self.ground(C))
        for leaf in leaves(formula):
            if leaf.needs_history and states is None:
                raise PredicateError(
                    f"{format_predicate(leaf)} depends on how states develop; give"
                    " states=logic.rollout(C, path)."
                )
        return formula, state_trajectory(C, path, times, states)


class Connective(Formula):
    """A formula whose truth is a function of the truths of its parts."""

    @abstractmethod
    def decide(self, truths: Iterator[bool]) -> bool:
        """Return its truth from those of its parts, taking no more than needed."""

    @abstractmethod
    def reason(
        self, truth: Callable[[Predicate], bool], why: Callable[[Predicate], str]
    ) -> str:
        """Return the sentence of `explain` from the truths and reasons of its parts."""

    def holds(self, C: Config) -> bool:
        return self.decide(p.holds(C) for p in self.parts)

    def explain(self, C: Config) -> str:
        return self.reason(lambda p: p.holds(C), lambda p: p.explain(C))

    def holds_on(self, trajectory: StateTrajectory) -> bool:
        return self.decide(_path_formula(p).holds_on(trajectory) for p in self.parts)

    def explain_on(self, trajectory: StateTrajectory) -> str:
        return self.reason(
            lambda p: _path_formula(p).holds_on(trajectory),
            lambda p: _path_formula(p).explain_on(trajectory),
        )


@dataclass(frozen=True, repr=False)
class Not(Connective):
    """The negation of a predicate, `~p`.

    Args:
        part: a predicate.

    Raises:
        PredicateError: when `part` is not a predicate.
    """

    part: Predicate

    def __post_init__(self) -> None:
        set_parts(self, self.part)

    def decide(self, truths: Iterator[bool]) -> bool:
        return not next(truths)

    def reason(
        self, truth: Callable[[Predicate], bool], why: Callable[[Predicate], str]
    ) -> str:
        rule = "holds and should not" if truth(self.part) else "does not hold, rightly"
        return f"{format_predicate(self.part)} {rule}: {why(self.part)}"

    def ground(self, C: Config) -> Predicate:
        return ~self.part.ground(C)

    def nnf(self, negate: bool = False) -> Predicate:
        return self.part.nnf(not negate)

    def term(self, C: Config) -> ConstraintTerm:
        if isinstance(self.part, Formula):
            return super().term(C)
        return self.part.relaxed(C, False)

    def path_plans(self, C: Config, schedule: Schedule) -> Plans:
        if isinstance(self.part, Formula):
            return super().path_plans(C, schedule)
        return self.part.plans(C, schedule, False)

    def __invert__(self) -> Predicate:
        return self.part

    def __repr__(self) -> str:
        return f"~{_bracketed(self.part)}"


class CountingConnective(Connective):
    """A connective that holds when at least `needed` of its parts do.

    And, Or and AtLeast differ only in that number.
    """

    @property
    @abstractmethod
    def needed(self) -> int:
        """The number of parts that must hold."""

    def decide(self, truths: Iterator[bool]) -> bool:
        missing, left = self.needed, len(self.parts)
        while 0 < missing <= left:
            missing -= next(truths)
            left -= 1
        return missing <= 0

    def reason(
        self, truth: Callable[[Predicate], bool], why: Callable[[Predicate], str]
    ) -> str:
        if len(self.parts) == 1 == self.needed:
            return why(self.parts[0])
        cases = [Case("", truth(p), partial(why, p)) for p in self.parts]
        holds = self.decide(case.truth for case in cases)
        return describe_cases(cases, holds, "part", self._demand())

    def _demand(self) -> str:
        return ""

    def ground(self, C: Config) -> Predicate:
        return self._rebuild(self.needed, [p.ground(C) for p in self.parts])

    def nnf(self, negate: bool = False) -> Predicate:
        # Fewer than n of m parts hold exactly where m + 1 - n or more do not.
        opposite = max(len(self.parts) + 1 - self.needed, 0)
        needed = opposite if negate else self.needed
        return self._rebuild(needed, [p.nnf(negate) for p in self.parts])

    def _rebuild(self, needed: int, parts: Sequence[Predicate]) -> Predicate:
        """Return the simplest formula that `needed` of some parts hold."""
        if needed == 0:
            return And()
        if needed > len(parts):
            return Or()
        return And(*parts) if needed == len(parts) else Or(*parts)

    def term(self, C: Config) -> ConstraintTerm:
        if not self._is_enumerable():
            return super().term(C)
        terms = [p.term(C) for p in self.parts]
        chosen = tuple(map(Conjunction, combinations(terms, self.needed)))
        return chosen[0] if len(chosen) == 1 else Disjunction(chosen, DISJUNCTION_ERROR)

    def path_plans(self, C: Config, schedule: Schedule) -> Plans:
        if not self._is_enumerable():
            return super().path_plans(C, schedule)
        # Each part is planned when the first combination needs it, and only once.
        plans = [cache(partial(p.normal_form_plans, C, schedule)) for p in self.parts]
        chosen = combinations(plans, self.needed)
        return plans_for_any([partial(_plan_together, c) for c in chosen])

    def _is_enumerable(self) -> bool:
        """Return whether there are combinations of parts, and not too many."""
        count = comb(len(self.parts), self.needed)
        return 0 < count <= max(MAX_COMBINATIONS, len(self.parts))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(format_predicate, self.parts))})"


@dataclass(frozen=True, init=False, repr=False)
class And(CountingConnective):
    """A conjunction, `p & q`; And() always holds.

    Parts that are And themselves are replaced by their parts.

    Args:
        *parts: predicates.

    Raises:
        PredicateError: when a part is not a predicate.
    """

    parts: tuple[Predicate, ...]

    def __init__(self, *parts: Predicate) -> None:
        set_parts(self, *_flatten(And, parts))

    @property
    def needed(self) -> int:
        return len(self.parts)

    def rests_on(self, C: Config) -> Iterator[tuple[FrameName, FrameName]]:
        for part in self.parts:
            yield from part.rests_on(C)

    def start_region(
        self, C: Config, name: FrameName
    ) -> Float[np.ndarray, "2 3"] | None:
        regions = [p.start_region(C, name) for p in self.parts]
        boxes = np.array([box for box in regions if box is not None])
        if not len(boxes):
            return None
        shared = np.stack([boxes[:, 0].max(0), boxes[:, 1].min(0)])
        return shared if (shared[0] <= shared[1]).all() else boxes[0]

    def admits_poses(
        self, C: Config, name: FrameName, poses: Float[np.ndarray, "n 7"]
    ) -> Bool[np.ndarray, " n"]:
        every = [p.admits_poses(C, name, poses) for p in self.parts]
        return np.all([super().admits_poses(C, name, poses), *every], axis=0)

    def __repr__(self) -> str:
        return _infix(" & ", self.parts) or super().__repr__()


@dataclass(frozen=True, init=False, repr=False)
class Or(CountingConnective):
    """A disjunction, `p | q`; Or() never holds.

    Parts that are Or themselves are replaced by their parts.

    Args:
        *parts: predicates.

    Raises:
        PredicateError: when a part is not a predicate.
    """

    parts: tuple[Predicate, ...]

    def __init__(self, *parts: Predicate) -> None:
        set_parts(self, *_flatten(Or, parts))

    @property
    def needed(self) -> int:
        return 1

    def __repr__(self) -> str:
        return _infix(" | ", self.parts) or super().__repr__()


def set_parts(formula: Formula, *parts: Predicate) -> None:
    """Set the parts of a frozen formula while it is being constructed.

    Raises:
        PredicateError: when a part is not a predicate.
    """
    for part in parts:
        if not isinstance(part, Predicate):
            raise PredicateError(
                f"{type(formula).__name__}: {part!r} is no predicate; expected e.g."
                " logic.OnTopOf('mug', 'table')."
            )
    object.__setattr__(formula, "parts", parts)


def leaves(predicate: Predicate) -> Iterator[Predicate]:
    """Yield the predicates at the leaves of a quantifier-free formula, in order."""
    if not isinstance(predicate, Formula):
        yield predicate
        return
    for part in predicate.parts:
        yield from leaves(part)


def _path_formula(part: Predicate) -> Formula:
    """Return a formula after checking that all of it is about a path."""
    if not isinstance(part, Formula):
        raise PredicateError(
            f"{format_predicate(part)} is about one moment, not about a path; put it"
            " into Always, Eventually, Until or Sequence."
        )
    if isinstance(part, Connective):
        for inner in part.parts:
            _path_formula(inner)
    return part


def _plan_together(parts: Iterable[Callable[[], Plans]]) -> Plans:
    """Return the plans that make all of some parts true."""
    return plans_for_all([part() for part in parts])


def _flatten(kind: type[CountingConnective], parts: tuple[Any, ...]) -> Iterator[Any]:
    for part in parts:
        yield from part.parts if isinstance(part, kind) else (part,)


def _infix(operator: str, parts: tuple[Predicate, ...]) -> str:
    """Return the parts as operands; an empty text for fewer than two."""
    return operator.join(map(_bracketed, parts)) if len(parts) > 1 else ""


def _bracketed(part: Predicate) -> str:
    is_compound = isinstance(part, And | Or) and len(part.parts) > 1
    return f"({part!r})" if is_compound else format_predicate(part)
