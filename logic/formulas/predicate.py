"""What every predicate answers: does it hold, exactly, why not, and how to reach it."""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float

from posewise.objectives.interval import Alternative, ObjectiveSpecs, SliceInterval
from posewise.robots.config import Config

from ..errors import PredicateError
from ..planning.schedule import Plans, Schedule, schedule_over
from ..relaxed import constraint_terms

Witnesses = dict[str, dict[str, str]]
"""By what is added to a world, joints of that with those that stand for them."""


class Predicate(ABC):
    """A statement about objects of a world, with an exact check.

    Predicates are frozen dataclasses of names and numbers; the world is an argument, so
    that one predicate can be asked of many worlds. `~p`, `p & q` and `p | q` are the
    formulas Not, And and Or.
    """

    is_momentary: ClassVar[bool] = True
    """It is about one configuration, whatever was before."""

    @abstractmethod
    def holds(self, C: Config) -> bool:
        """Whether it is true of the world as it is now: computed exactly."""

    @abstractmethod
    def explain(self, C: Config) -> str:
        """One English sentence: what makes it true or false, with the numbers."""

    def relaxed(self, C: Config, truth: bool = True) -> constraint_terms.ConstraintTerm:
        """Rows that are at most 0 only where it is true (or only where it is false).

        Raises:
            PredicateError: where there are no such rows.
        """
        what = "" if truth else "The negation of "
        raise PredicateError(
            f"{what}{self!r} has no rows for a solver: it can only be checked."
        )

    def violation(self, C: Config) -> float:
        """The largest of its rows [m, or 1]: at most 0 only where it holds.

        Raises:
            PredicateError: where it has no rows.
        """
        return constraint_terms.violation(self.relaxed(C), C)

    def objectives(self, C: Config, interval: SliceInterval) -> ObjectiveSpecs:
        """Its rows as inequalities; see `posewise.objectives.interval`.

        Raises:
            PredicateError: where it has no rows.
        """
        return constraint_terms.objectives(self.relaxed(C), C, interval)

    def alternatives(self, C: Config, span: SliceInterval) -> list[Alternative]:
        """Ways to make it true of a path, for `KOMO.add`.

        What is about one moment holds on all slices of the span; what depends on the
        past (extended states) at its end, by what happens in it.

        Raises:
            PredicateError: where there are none.
        """
        plans = self.plans(C, schedule_over(span))
        return [Alternative(plan.name, plan.objectives) for plan in plans]

    def plans(self, C: Config, when: Schedule, truth: bool = True) -> Plans:
        """Ways to make it true (or false) at given times; see `plans`.

        Raises:
            PredicateError: where there are none.
        """
        return [when.rows(self, C, truth)]

    def start_region(self, C: Config, name: str) -> np.ndarray | None:
        """Where to look for that thing: a box (2, 3) for its origin in the world [m].

        A hint for random starts, no more; None: anywhere.
        """
        return None

    def admits_poses(
        self, C: Config, name: str, poses: Float[np.ndarray, "n 7"]
    ) -> Bool[np.ndarray, " n"]:
        """Which poses of that thing's root frame do not rule it out by their place.

        A hint for random starts, no more: all else of the world as it is now.
        """
        return np.ones(len(poses), bool)

    def add_witnesses(self, C: Config, world: Config) -> Witnesses:
        """Add to a copy of a world what its rows need besides, such as an arm that
        reaches while the arm itself stays as it is.

        Args:
            C: the world.
            world: the copy, in which joints may be locked.

        Returns:
            By what was added, joints of the world with those that stand for them.
        """
        return {}

    def improve_starts(
        self, C: Config, q: Float[np.ndarray, "n nq"]
    ) -> Float[np.ndarray, "n nq"]:
        """Starts of a solver, its witnesses moved to where it is likelier to hold."""
        return q

    def ground(self, C: Config) -> "Predicate":
        """The same for this world, made of And, Or, Not and AtLeast of predicates."""
        return self

    def nnf(self, negate: bool = False) -> "Predicate":
        """Negation normal form: the same, or its negation, with Not on leaves only.

        Raises:
            PredicateError: for quantifiers, which are to be grounded before.
        """
        return ~self if negate else self

    def __invert__(self) -> "Predicate":
        from .connectives import Not

        return Not(self)

    def __and__(self, other: "Predicate") -> "Predicate":
        from .connectives import And

        return And(self, other)

    def __or__(self, other: "Predicate") -> "Predicate":
        from .connectives import Or

        return Or(self, other)

    def __bool__(self) -> bool:
        raise PredicateError(
            f"{type(self).__name__} is true or false of a world only: ask holds(C), and"
            " join predicates by &, | and ~, not by and, or and not."
        )
