"""Doubts of formulas: those of the predicates that they demand for certain."""

from collections.abc import Iterator

from posewise.objectives.checks.doubts import (
    containers_of,
    doubts_of,
    held_by,
    impediments_of,
    solution_doubts_of,
    supports_of,
)
from posewise.robots.config import Config
from posewise.robots.typing import FrameName

from .connectives import And
from .formula import Formula
from .predicate import Predicate


@doubts_of.register(Formula)
def doubts_of_demands(formula: Formula, C: Config) -> Iterator[str]:
    """Yield the doubts of what a formula demands."""
    for part in _demanded(formula, C):
        yield from doubts_of(part, C)


@solution_doubts_of.register(Formula)
def solution_doubts_of_demands(formula: Formula, C: Config) -> Iterator[str]:
    """Yield what is doubtful, in a world where a formula holds, about its demands."""
    for part in _demanded(formula, C):
        yield from solution_doubts_of(part, C)


@impediments_of.register(Formula)
def impediments_of_demands(formula: Formula, C: Config) -> Iterator[str]:
    """Yield what is in the way of the demands of a formula."""
    for part in _demanded(formula, C):
        yield from impediments_of(part, C)


@held_by.register(Formula)
def held_by_demands(formula: Formula, C: Config) -> Iterator[FrameName]:
    """Yield what the demands of a formula say to be carried or held."""
    for part in _demanded(formula, C):
        yield from held_by(part, C)


@supports_of.register(And)
def supports_of_all(formula: And, C: Config) -> Iterator[tuple[FrameName, FrameName]]:
    """Yield what all parts name."""
    for part in formula.parts:
        yield from supports_of(part, C)


@containers_of.register(And)
def containers_of_all(formula: And, C: Config) -> Iterator[tuple[FrameName, FrameName]]:
    """Yield what all parts name."""
    for part in formula.parts:
        yield from containers_of(part, C)


def _demanded(formula: Formula, C: Config) -> tuple[Predicate, ...]:
    """Return the predicates that it demands for certain: none of alternatives."""
    grounded = formula.ground(C)
    if isinstance(grounded, And):
        return grounded.parts
    return () if isinstance(grounded, Formula) else (grounded,)
