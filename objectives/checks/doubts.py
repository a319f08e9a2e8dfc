"""Doubts of constraints about themselves, such as of swapped objects."""

import warnings
from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

from posewise.robots.config import Config
from posewise.robots.errors import ProblemWarning


@runtime_checkable
class HasDoubts(Protocol):
    """A constraint that can tell that it is very likely not meant as it is."""

    def doubts(self, C: Config) -> Iterator[str]:
        """Yield sentences on what is doubtful in a world whose movables have joints."""
        ...


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
