"""Predicates: statements about a world, checked exactly and relaxed for the solver.

What they hint to placements and doubt is in `placement_hints` and `doubts`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

import jax
from jaxtyping import Float

from posewise.objectives.terms.interval import (
    Alternative,
    ObjectiveSpecs,
    SliceInterval,
)
from posewise.robots.config import Config

from ..errors import PredicateError
from ..relaxed import constraint_terms
from ..relaxed.constraint_terms import ConstraintTerm
from .schedule import Plan, Plans, Schedule, schedule_over

FORMULAS_OF_OPERATORS: dict[str, Callable[..., "Predicate"]] = {}
"""The formulas that operators make, by the operator. They are predicates themselves, so
that their module, `connectives`, enters them."""

_HINTS, _DOUBTS = (
    "posewise.objectives.placement.hints",
    "posewise.objectives.checks.doubts",
)
MOVED_METHODS = {
    **dict.fromkeys(
        ("start_region", "admits_poses", "add_witnesses", "improve_starts"), _HINTS
    ),
    **dict.fromkeys(("doubts", "solution_doubts", "rests_on"), _DOUBTS),
}
"""Methods that predicates had before version 0.3, and where such functions are now."""


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

    def __init_subclass__(cls, **options: object) -> None:
        """Refuse methods that nothing calls any more, which would be silent.

        Raises:
            PredicateError: for a method that is a separate function now.
        """
        super().__init_subclass__(**options)
        for name in MOVED_METHODS.keys() & vars(cls).keys():
            raise PredicateError(
                f"{cls.__name__}.{name} is not called any more: register a function for"
                f" this class with those of {MOVED_METHODS[name]}."
            )

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
        return FORMULAS_OF_OPERATORS["~"](self)

    def __and__(self, other: "Predicate") -> "Predicate":
        return FORMULAS_OF_OPERATORS["&"](self, other)

    def __or__(self, other: "Predicate") -> "Predicate":
        return FORMULAS_OF_OPERATORS["|"](self, other)

    def __bool__(self) -> bool:
        raise PredicateError(
            f"{type(self).__name__} is true or false only of a world: call holds(C),"
            " and join predicates by &, | and ~ instead of and, or and not."
        )
