"""Formulas: predicates joined by not, and, or, if, and at least n of."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from posewise.robots.config import Config

from ..planning.schedule import Plans, Schedule, plans_for_all, plans_for_any
from ..relaxed.constraint_terms import Conjunction, ConstraintTerm, Disjunction
from .formula import (
    MAX_COMBINATIONS,
    Connective,
    Formula,
    natural_number,
    plans_of,
    set_parts,
    term_of,
)
from .messages import Case, describe_cases, format_predicate
from .predicate import Predicate

DISJUNCTION_ERROR = 1e-3
"""How far the smooth minimum of alternatives may be above the least [m, or 1]."""


@dataclass(frozen=True, repr=False)
class Not(Connective):
    """Its part does not hold.

    Args:
        part: a predicate.

    Raises:
        PredicateError: for what is no predicate.
    """

    part: Any

    def __post_init__(self) -> None:
        set_parts(self, self.part)

    def decide(self, truths: Iterator[bool]) -> bool:
        """See `Connective`."""
        return not next(truths)

    def reason(
        self, truth: Callable[[Predicate], bool], why: Callable[[Predicate], str]
    ) -> str:
        """See `Connective`."""
        rule = "holds and should not" if truth(self.part) else "does not hold, rightly"
        return f"{format_predicate(self.part)} {rule}: {why(self.part)}"

    def ground(self, C: Config) -> Predicate:
        """See `Predicate`."""
        return ~self.part.ground(C)

    def nnf(self, negate: bool = False) -> Predicate:
        """See `Predicate`."""
        return self.part.nnf(not negate)

    def __invert__(self) -> Predicate:
        return self.part

    def rows(self, C: Config) -> ConstraintTerm:
        """See `Formula`."""
        if isinstance(self.part, Formula):
            return super().rows(C)
        return self.part.relaxed(C, False)

    def normal_plans(self, C: Config, when: Schedule) -> Plans:
        """See `Formula`."""
        if isinstance(self.part, Formula):
            return super().normal_plans(C, when)
        return self.part.plans(C, when, False)

    def __repr__(self) -> str:
        return f"~{_bracketed(self.part)}"


class _CountingConnective(Connective):
    """At least so many of its parts hold."""

    @property
    @abstractmethod
    def needed(self) -> int:
        """How many."""

    def decide(self, truths: Iterator[bool]) -> bool:
        """See `Connective`."""
        missing, left = self.needed, len(self.parts)
        while 0 < missing <= left:
            missing -= next(truths)
            left -= 1
        return missing <= 0

    def reason(
        self, truth: Callable[[Predicate], bool], why: Callable[[Predicate], str]
    ) -> str:
        """See `Connective`."""
        if len(self.parts) == 1 == self.needed:
            return why(self.parts[0])
        cases = [Case("", truth(p), partial(why, p)) for p in self.parts]
        holds = self.decide(case.truth for case in cases)
        return describe_cases(cases, holds, "part", self._demand())

    def _demand(self) -> str:
        return ""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(format_predicate, self.parts))})"


@dataclass(frozen=True, init=False, repr=False)
class And(_CountingConnective):
    """All its parts hold, as `p & q`; And() holds always.

    Parts that are And themselves count as their parts.

    Args:
        *parts: predicates.

    Raises:
        PredicateError: for what is no predicate.
    """

    parts: tuple[Predicate, ...]

    def __init__(self, *parts: Any) -> None:
        set_parts(self, *_flatten(And, parts))

    @property
    def needed(self) -> int:
        """See `_CountingConnective`."""
        return len(self.parts)

    def ground(self, C: Config) -> Predicate:
        """See `Predicate`."""
        return And(*(p.ground(C) for p in self.parts))

    def nnf(self, negate: bool = False) -> Predicate:
        """See `Predicate`."""
        return (Or if negate else And)(*(p.nnf(negate) for p in self.parts))

    def rows(self, C: Config) -> ConstraintTerm:
        """See `Formula`."""
        return Conjunction(tuple(term_of(p, C) for p in self.parts))

    def normal_plans(self, C: Config, when: Schedule) -> Plans:
        """See `Formula`."""
        return plans_for_all([plans_of(p, C, when) for p in self.parts])

    def start_region(self, C: Config, name: str) -> np.ndarray | None:
        """See `Predicate`: what the regions of the parts share."""
        found = [p.start_region(C, name) for p in self.parts]
        boxes = np.array([box for box in found if box is not None])
        if not len(boxes):
            return None
        shared = np.stack([boxes[:, 0].max(0), boxes[:, 1].min(0)])
        return shared if (shared[0] <= shared[1]).all() else boxes[0]

    def admits_poses(
        self, C: Config, name: str, poses: Float[np.ndarray, "n 7"]
    ) -> Bool[np.ndarray, " n"]:
        """See `Predicate`: those that all parts admit."""
        every = [p.admits_poses(C, name, poses) for p in self.parts]
        return np.all([super().admits_poses(C, name, poses), *every], axis=0)

    def __repr__(self) -> str:
        return _infix(" & ", self.parts) or super().__repr__()


@dataclass(frozen=True, init=False, repr=False)
class Or(_CountingConnective):
    """One of its parts holds, or more, as `p | q`; Or() never does.

    Parts that are Or themselves count as their parts.

    Args:
        *parts: predicates.

    Raises:
        PredicateError: for what is no predicate.
    """

    parts: tuple[Predicate, ...]

    def __init__(self, *parts: Any) -> None:
        set_parts(self, *_flatten(Or, parts))

    @property
    def needed(self) -> int:
        """See `_CountingConnective`."""
        return 1

    def ground(self, C: Config) -> Predicate:
        """See `Predicate`."""
        return Or(*(p.ground(C) for p in self.parts))

    def nnf(self, negate: bool = False) -> Predicate:
        """See `Predicate`."""
        return (And if negate else Or)(*(p.nnf(negate) for p in self.parts))

    def rows(self, C: Config) -> ConstraintTerm:
        """See `Formula`."""
        if not self.parts:
            return super().rows(C)
        return Disjunction(tuple(term_of(p, C) for p in self.parts), DISJUNCTION_ERROR)

    def normal_plans(self, C: Config, when: Schedule) -> Plans:
        """See `Formula`."""
        return plans_for_any([partial(plans_of, p, C, when) for p in self.parts])

    def __repr__(self) -> str:
        return _infix(" | ", self.parts) or super().__repr__()


@dataclass(frozen=True, init=False, repr=False)
class AtLeast(_CountingConnective):
    """n of its parts hold, or more.

    Args:
        n: how many; with 0 it holds always, with more than there are parts never.
        *parts: predicates.

    Raises:
        PredicateError: for what is no predicate, and an n that is no whole number >= 0.
    """

    n: int
    parts: tuple[Predicate, ...]

    def __init__(self, n: Any, *parts: Any) -> None:
        object.__setattr__(self, "n", natural_number("AtLeast: n", n))
        set_parts(self, *parts)

    @property
    def needed(self) -> int:
        """See `_CountingConnective`."""
        return self.n

    def ground(self, C: Config) -> Predicate:
        """See `Predicate`; And or Or where that says the same."""
        return self._simplest(p.ground(C) for p in self.parts)

    def nnf(self, negate: bool = False) -> Predicate:
        """See `Predicate`: fewer than n of m hold where m + 1 - n or more do not."""
        n = max(len(self.parts) + 1 - self.n, 0) if negate else self.n
        return AtLeast(n, *self.parts)._simplest(p.nnf(negate) for p in self.parts)

    def _simplest(self, parts: Iterable[Predicate]) -> Predicate:
        if self.n == 0:
            return And()
        if self.n > len(self.parts):
            return Or()
        if self.n == len(self.parts):
            return And(*parts)
        return Or(*parts) if self.n == 1 else AtLeast(self.n, *parts)

    def _demand(self) -> str:
        return f" (at least {self.n} should)"

    def rows(self, C: Config) -> ConstraintTerm:
        """See `Formula`: every way to choose n of the parts is an alternative."""
        if not 0 < comb(len(self.parts), self.n) <= MAX_COMBINATIONS:
            return super().rows(C)
        ways = combinations([term_of(p, C) for p in self.parts], self.n)
        return Disjunction(tuple(Conjunction(way) for way in ways), DISJUNCTION_ERROR)

    def normal_plans(self, C: Config, when: Schedule) -> Plans:
        """See `Formula`."""
        if not 0 < comb(len(self.parts), self.n) <= MAX_COMBINATIONS:
            return super().normal_plans(C, when)
        ways = combinations([plans_of(p, C, when) for p in self.parts], self.n)
        return plans_for_any([partial(plans_for_all, way) for way in ways])

    def __repr__(self) -> str:
        return (
            f"AtLeast({', '.join([str(self.n), *map(format_predicate, self.parts)])})"
        )


@dataclass(frozen=True, repr=False)
class Implies(Connective):
    """Where the premise holds, so does the conclusion.

    Args:
        premise: a predicate.
        conclusion: a predicate.

    Raises:
        PredicateError: for what is no predicate.
    """

    premise: Any
    conclusion: Any

    def __post_init__(self) -> None:
        set_parts(self, self.premise, self.conclusion)

    def decide(self, truths: Iterator[bool]) -> bool:
        """See `Connective`."""
        return not next(truths) or next(truths)

    def reason(
        self, truth: Callable[[Predicate], bool], why: Callable[[Predicate], str]
    ) -> str:
        """See `Connective`."""
        if not truth(self.premise):
            return f"The premise does not hold: {why(self.premise)}"
        does = "holds" if truth(self.conclusion) else "does not"
        premise, conclusion = map(why, self.parts)
        return f"The premise holds: {premise} The conclusion {does}: {conclusion}"

    def ground(self, C: Config) -> Predicate:
        """See `Predicate`."""
        return ~self.premise.ground(C) | self.conclusion.ground(C)

    def nnf(self, negate: bool = False) -> Predicate:
        """See `Predicate`."""
        return (~self.premise | self.conclusion).nnf(negate)

    def __repr__(self) -> str:
        return f"Implies({', '.join(map(format_predicate, self.parts))})"


def _flatten(kind: type[_CountingConnective], parts: tuple[Any, ...]) -> Iterator[Any]:
    for part in parts:
        yield from part.parts if isinstance(part, kind) else (part,)


def _infix(operator: str, parts: tuple[Predicate, ...]) -> str:
    """Parts as operands; nothing where there are less than two."""
    return operator.join(map(_bracketed, parts)) if len(parts) > 1 else ""


def _bracketed(part: Predicate) -> str:
    joined = isinstance(part, And | Or) and len(part.parts) > 1
    return f"({part!r})" if joined else format_predicate(part)
