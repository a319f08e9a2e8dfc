"""What every predicate answers: does it hold, exactly, and why not."""

from abc import ABC, abstractmethod

from ..robots.config import Config
from ..robots.errors import PosewiseError


class PredicateError(PosewiseError):
    """A predicate that makes no statement, or none of this world."""


class Predicate(ABC):
    """A statement about objects of a world, with an exact check.

    Predicates are frozen dataclasses of names and numbers; the world is an argument, so
    that one predicate can be asked of many worlds. `~p`, `p & q` and `p | q` are the
    formulas Not, And and Or.
    """

    @abstractmethod
    def holds(self, C: Config) -> bool:
        """Whether it is true of the world as it is now: computed exactly."""

    @abstractmethod
    def explain(self, C: Config) -> str:
        """One English sentence: what makes it true or false, with the numbers."""

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
        from .formulas import Not

        return Not(self)

    def __and__(self, other: "Predicate") -> "Predicate":
        from .formulas import And

        return And(self, other)

    def __or__(self, other: "Predicate") -> "Predicate":
        from .formulas import Or

        return Or(self, other)

    def __bool__(self) -> bool:
        raise PredicateError(
            f"{type(self).__name__} is true or false of a world only: ask holds(C), and"
            " join predicates by &, | and ~, not by and, or and not."
        )
