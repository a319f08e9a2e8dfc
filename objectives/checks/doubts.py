"""Doubts of constraints about themselves, such as of swapped objects.

A kind of constraint registers its own, `@doubts_of.register(MyPredicate)`.
"""

from collections.abc import Iterator, Sequence
from functools import singledispatch

from posewise.robots.config import Config
from posewise.robots.typing import FrameName


@singledispatch
def doubts_of(constraint: object, C: Config) -> Iterator[str]:
    """Yield sentences on why a constraint is very likely not meant as it is.

    Args:
        constraint: of any kind; a kind registers its own doubts.
        C: a world whose movables have joints.
    """
    yield from ()


@singledispatch
def solution_doubts_of(constraint: object, C: Config) -> Iterator[str]:
    """Yield sentences on what is doubtful in a world where a constraint holds."""
    yield from ()


@singledispatch
def impediments_of(constraint: object, C: Config) -> Iterator[str]:
    """Yield sentences on what in a world hardly lets a constraint hold.

    It is in the way wherever movables are.
    """
    yield from ()


@singledispatch
def supports_of(constraint: object, C: Config) -> Iterator[tuple[FrameName, FrameName]]:
    """Yield objects, each with another one in which or on which it must be.

    None of those in it can be on top of each other instead.
    """
    yield from ()


def solution_doubts(constraints: Sequence[object], world: Config) -> tuple[str, ...]:
    """Return what is doubtful in a world where all constraints hold.

    Without the libraries that it is found by (extra `mujoco`) there is none.
    """
    try:
        doubts = [doubt for c in constraints for doubt in solution_doubts_of(c, world)]
    except ImportError:
        return ()
    return tuple(dict.fromkeys(doubts))


def impediments(constraints: Sequence[object], world: Config) -> tuple[str, ...]:
    """Return what in a world is in the way of constraints, once each."""
    sentences = [text for c in constraints for text in impediments_of(c, world)]
    return tuple(dict.fromkeys(sentences))
