"""Doubts of constraints about themselves, such as of swapped objects.

A kind of constraint registers its own, `@doubts_of.register(MyPredicate)`.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import singledispatch

from posewise.robots.config import Config
from posewise.robots.typing import FrameName

from .floating import floating_doubts


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


@singledispatch
def containers_of(
    constraint: object, C: Config
) -> Iterator[tuple[FrameName, FrameName]]:
    """Yield objects, each with another one in which it must be, on anything in it."""
    yield from ()


@singledispatch
def held_by(constraint: object, C: Config) -> Iterator[FrameName]:
    """Yield objects of which a constraint says what carries or holds them."""
    yield from ()


def solution_doubts(constraints: Sequence[object], world: Config) -> tuple[str, ...]:
    """Return what is doubtful in a world where all constraints hold."""
    doubts = [doubt for c in constraints for doubt in solution_doubts_of(c, world)]
    return tuple(dict.fromkeys(doubts))


def doubts_of_rest(
    constraints: Sequence[object], world: Config, names: Iterable[FrameName]
) -> tuple[str, ...]:
    """Return a sentence for each object in the air that no constraint wants held.

    Of the others `solution_doubts` tells more.

    Args:
        constraints: that hold in the world.
        world: the world.
        names: of loose objects.
    """
    carried = {name for c in constraints for name in held_by(c, world)}
    others = [name for name in names if name not in carried]
    return tuple(floating_doubts(world, others))


def impediments(constraints: Sequence[object], world: Config) -> tuple[str, ...]:
    """Return what in a world is in the way of constraints, once each."""
    sentences = [text for c in constraints for text in impediments_of(c, world)]
    return tuple(dict.fromkeys(sentences))
