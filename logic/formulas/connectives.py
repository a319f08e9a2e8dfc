"""Connectives: not, and, or, at least n of several predicates, and implication."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import combinations
from math import comb
from typing import Any

from posewise.robots.config import Config
from posewise.robots.validation import integer

from ..errors import PredicateError
from ..relaxed.constraint_terms import Conjunction, ConstraintTerm, Disjunction
from .formula import MAX_COMBINATIONS, Connective, Formula, set_parts
from .messages import Case, describe_cases, format_predicate
from .predicate import FORMULAS_OF_OPERATORS, Predicate
from .schedule import Plans, Schedule, plans_for_all, plans_for_any

DISJUNCTION_ERROR = 1e-4
"""Bound on how far a disjunction's smooth minimum is above the minimum [m, or 1].

A larger value makes rows smoother and less complete: bodies overlap by it where one of
several contacts holds, and a solver lets them overlap by 1 mm at most.
"""


@dataclass(frozen=True, repr=False)
class Not(Connective):
    """The negation of a predicate, `~p`.

    Args:
        part: a predicate.

    Raises:
        PredicateError: when `part` is not a predicate.
    """

    part: Predicate

    def __post_init__(self) -> None:
        set_parts(self, self.part)

    def decide(self, truths: Iterator[bool]) -> bool:
        return not next(truths)

    def reason(
        self, truth: Callable[[Predicate], bool], why: Callable[[Predicate], str]
    ) -> str:
        rule = "holds and should not" if truth(self.part) else "does not hold, rightly"
        return f"{format_predicate(self.part)} {rule}: {why(self.part)}"

    def ground(self, C: Config) -> Predicate:
        return ~self.part.ground(C)

    def nnf(self, negate: bool = False) -> Predicate:
        return self.part.nnf(not negate)

    def term(self, C: Config) -> ConstraintTerm:
        if isinstance(self.part, Formula):
            return super().term(C)
        return self.part.relaxed(C, False)

    def path_plans(self, C: Config, schedule: Schedule) -> Plans:
        if isinstance(self.part, Formula):
            return super().path_plans(C, schedule)
        return self.part.plans(C, schedule, False)

    def __invert__(self) -> Predicate:
        return self.part

    def __repr__(self) -> str:
        return f"~{_bracketed(self.part)}"


class CountingConnective(Connective):
    """A connective that holds when at least `needed` of its parts do.

    And, Or and AtLeast differ only in that number.
    """

    @property
    @abstractmethod
    def needed(self) -> int:
        """The number of parts that must hold."""

    def decide(self, truths: Iterator[bool]) -> bool:
        missing, undecided = self.needed, len(self.parts)
        while 0 < missing <= undecided:
            missing -= next(truths)
            undecided -= 1
        return missing <= 0

    def reason(
        self, truth: Callable[[Predicate], bool], why: Callable[[Predicate], str]
    ) -> str:
        if len(self.parts) == 1 == self.needed:
            return why(self.parts[0])
        cases = [Case("", truth(p), partial(why, p)) for p in self.parts]
        holds = self.decide(case.truth for case in cases)
        return describe_cases(cases, holds, "part", self._demand())

    def _demand(self) -> str:
        return ""

    def ground(self, C: Config) -> Predicate:
        return self._rebuild(self.needed, [p.ground(C) for p in self.parts])

    def nnf(self, negate: bool = False) -> Predicate:
        # Fewer than n of m parts hold exactly where m + 1 - n or more do not.
        opposite = max(len(self.parts) + 1 - self.needed, 0)
        needed = opposite if negate else self.needed
        return self._rebuild(needed, [p.nnf(negate) for p in self.parts])

    def _rebuild(self, needed: int, parts: Sequence[Predicate]) -> Predicate:
        """Return the simplest formula that `needed` of some parts hold."""
        if needed == 0:
            return And()
        if needed > len(parts):
            return Or()
        return And(*parts) if needed == len(parts) else Or(*parts)

    def term(self, C: Config) -> ConstraintTerm:
        if not self._is_enumerable():
            return super().term(C)
        terms = [p.term(C) for p in self.parts]
        chosen = tuple(map(Conjunction, combinations(terms, self.needed)))
        return chosen[0] if len(chosen) == 1 else Disjunction(chosen, DISJUNCTION_ERROR)

    def path_plans(self, C: Config, schedule: Schedule) -> Plans:
        if not self._is_enumerable():
            return super().path_plans(C, schedule)
        # Each part is planned when the first combination needs it, and only once.
        plans = [cache(partial(p.normal_form_plans, C, schedule)) for p in self.parts]
        chosen = combinations(plans, self.needed)
        return plans_for_any([partial(_plan_together, c) for c in chosen])

    def _is_enumerable(self) -> bool:
        """Return whether there are combinations of parts, and not too many."""
        count = comb(len(self.parts), self.needed)
        return 0 < count <= max(MAX_COMBINATIONS, len(self.parts))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(format_predicate, self.parts))})"


@dataclass(frozen=True, init=False, repr=False)
class And(CountingConnective):
    """A conjunction, `p & q`; And() always holds.

    Parts that are And themselves are replaced by their parts.

    Args:
        *parts: predicates.

    Raises:
        PredicateError: when a part is not a predicate.
    """

    parts: tuple[Predicate, ...]

    def __init__(self, *parts: Predicate) -> None:
        set_parts(self, *_flatten(And, parts))

    @property
    def needed(self) -> int:
        return len(self.parts)

    def __repr__(self) -> str:
        return _infix(" & ", self.parts) or super().__repr__()


@dataclass(frozen=True, init=False, repr=False)
class Or(CountingConnective):
    """A disjunction, `p | q`; Or() never holds.

    Parts that are Or themselves are replaced by their parts.

    Args:
        *parts: predicates.

    Raises:
        PredicateError: when a part is not a predicate.
    """

    parts: tuple[Predicate, ...]

    def __init__(self, *parts: Predicate) -> None:
        set_parts(self, *_flatten(Or, parts))

    @property
    def needed(self) -> int:
        return 1

    def __repr__(self) -> str:
        return _infix(" | ", self.parts) or super().__repr__()


FORMULAS_OF_OPERATORS |= {"~": Not, "&": And, "|": Or}


@dataclass(frozen=True, init=False, repr=False)
class AtLeast(CountingConnective):
    """At least n of some predicates hold.

    Args:
        n: the number; 0 always holds, more than there are parts never holds.
        *parts: predicates.

    Raises:
        PredicateError: when a part is not a predicate, or n not an integer >= 0.
    """

    n: int
    parts: tuple[Predicate, ...]

    def __init__(self, n: int, *parts: Predicate) -> None:
        object.__setattr__(self, "n", natural_number("AtLeast: n", n))
        set_parts(self, *parts)

    @property
    def needed(self) -> int:
        return self.n

    def _rebuild(self, needed: int, parts: Sequence[Predicate]) -> Predicate:
        if 1 < needed < len(parts):
            return AtLeast(needed, *parts)
        return super()._rebuild(needed, parts)

    def _demand(self) -> str:
        return f" (at least {self.n} should)"

    def __repr__(self) -> str:
        shown = [str(self.n), *map(format_predicate, self.parts)]
        return f"AtLeast({', '.join(shown)})"


@dataclass(frozen=True, repr=False)
class Implies(Connective):
    """An implication: the conclusion holds if the premise does.

    Args:
        premise: a predicate.
        conclusion: a predicate.

    Raises:
        PredicateError: when an argument is not a predicate.
    """

    premise: Predicate
    conclusion: Predicate

    def __post_init__(self) -> None:
        set_parts(self, self.premise, self.conclusion)

    def decide(self, truths: Iterator[bool]) -> bool:
        return not next(truths) or next(truths)

    def reason(
        self, truth: Callable[[Predicate], bool], why: Callable[[Predicate], str]
    ) -> str:
        if not truth(self.premise):
            return f"The premise does not hold: {why(self.premise)}"
        verb = "holds" if truth(self.conclusion) else "does not"
        premise, conclusion = map(why, self.parts)
        return f"The premise holds: {premise} The conclusion {verb}: {conclusion}"

    def ground(self, C: Config) -> Predicate:
        return ~self.premise.ground(C) | self.conclusion.ground(C)

    def nnf(self, negate: bool = False) -> Predicate:
        return (~self.premise | self.conclusion).nnf(negate)

    def __repr__(self) -> str:
        return f"Implies({', '.join(map(format_predicate, self.parts))})"


def natural_number(label: str, n: object) -> int:
    """Return an integer >= 0.

    Raises:
        PredicateError: when it is not one.
    """
    return integer(label, n, "a whole number >= 0", lambda x: x >= 0, PredicateError)


def _plan_together(parts: Iterable[Callable[[], Plans]]) -> Plans:
    """Return the plans that make all of some parts true."""
    return plans_for_all([part() for part in parts])


def _flatten(kind: type[CountingConnective], parts: tuple[Any, ...]) -> Iterator[Any]:
    for part in parts:
        yield from part.parts if isinstance(part, kind) else (part,)


def _infix(operator: str, parts: tuple[Predicate, ...]) -> str:
    """Return the parts as operands; an empty text for fewer than two."""
    return operator.join(map(_bracketed, parts)) if len(parts) > 1 else ""


def _bracketed(part: Predicate) -> str:
    is_compound = isinstance(part, And | Or) and len(part.parts) > 1
    return f"({part!r})" if is_compound else format_predicate(part)
