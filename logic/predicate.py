"""What every predicate answers: does it hold, exactly, and why not."""

from abc import ABC, abstractmethod

from ..robots.config import Config
from ..robots.errors import PosewiseError


class PredicateError(PosewiseError):
    """A predicate that makes no statement, or none of this world."""


class Predicate(ABC):
    """A statement about objects of a world, with an exact check.

    Predicates are frozen dataclasses of names and numbers; the world is an argument, so
    that one predicate can be asked of many worlds.
    """

    @abstractmethod
    def holds(self, C: Config) -> bool:
        """Whether it is true of the world as it is now: computed exactly."""

    @abstractmethod
    def explain(self, C: Config) -> str:
        """One English sentence: what makes it true or false, with the numbers."""
