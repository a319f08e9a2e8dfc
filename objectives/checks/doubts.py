"""Doubts of constraints about themselves, such as of swapped objects."""

import warnings
from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

from posewise.robots.config import Config
from posewise.robots.errors import ProblemWarning
from posewise.robots.typing import FrameName


@runtime_checkable
class HasDoubts(Protocol):
    """A constraint that can tell that it is very likely not meant as it is."""

    def doubts(self, C: Config) -> Iterator[str]:
        """Yield sentences on what is doubtful in a world whose movables have joints."""
        ...


@runtime_checkable
class DoubtsSolutions(Protocol):
    """A constraint that can tell that a solution is very likely not what was meant."""

    def solution_doubts(self, C: Config) -> Iterator[str]:
        """Yield sentences on what is doubtful in a world where the constraint holds."""
        ...


@runtime_checkable
class TellsImpediments(Protocol):
    """A constraint that can tell why a world hardly lets it hold."""

    def impediments(self, C: Config) -> Iterator[str]:
        """Yield sentences on what in a world is in its way, wherever movables are."""
        ...


@runtime_checkable
class NamesSupports(Protocol):
    """A constraint that wants objects to be on or in others."""

    def rests_on(self, C: Config) -> Iterator[tuple[FrameName, FrameName]]:
        """Yield objects, each with another one in which or on which it must be.

        None of those in it can be on top of each other instead.
        """
        ...


def solution_doubts(constraints: Sequence[object], world: Config) -> tuple[str, ...]:
    """Return what is doubtful in a world where all constraints hold.

    Without the libraries that it is found by (extra `sim`) there is none.
    """
    doubters = [c for c in constraints if isinstance(c, DoubtsSolutions)]
    try:
        doubts = [doubt for c in doubters for doubt in c.solution_doubts(world)]
    except ImportError:
        return ()
    return tuple(dict.fromkeys(doubts))


def impediments(constraints: Sequence[object], world: Config) -> tuple[str, ...]:
    """Return what in a world is in the way of constraints, once each."""
    sources = [c for c in constraints if isinstance(c, TellsImpediments)]
    return tuple(dict.fromkeys(text for c in sources for text in c.impediments(world)))


def warn_of_doubts(constraints: Sequence[object], world: Config) -> None:
    """Warn of each doubt of the constraints of a placement.

    Args:
        constraints: of any kind.
        world: in which only the movables have joints.
    """
    for constraint in constraints:
        if isinstance(constraint, HasDoubts):
            for doubt in constraint.doubts(world):
                warnings.warn(doubt, ProblemWarning, stacklevel=3)
