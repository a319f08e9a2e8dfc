"""Formulas: predicates joined by not, and, or, if, and at least n of."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from ..robots.checks import integer
from ..robots.config import Config
from ..robots.object_states import ObjectState
from .course import Course, course
from .errors import PredicateError
from .predicate import Predicate
from .relaxed.terms import AllOf, AnyOf, Term
from .states.state_predicate import StatePredicate
from .wording import Case, tally, written


class Formula(Predicate):
    """A predicate made of others; of one moment, or of a path where they are."""

    parts: tuple[Predicate, ...]
    """The predicates it is made of."""

    @abstractmethod
    def holds_on(self, course: Course) -> bool:
        """Its truth along a path; see `holds_along`."""

    @abstractmethod
    def explain_on(self, course: Course) -> str:
        """The sentence of `explain_along`."""

    def relaxed(self, C: Config, truth: bool = True) -> Term:
        """The rows of its parts; see `Predicate`."""
        return _rows(self.ground(C).nnf(not truth), C)

    def holds_along(
        self,
        C: Config,
        path: Any,
        times: Any,
        states: Mapping[str, ObjectState] | None = None,
    ) -> bool:
        """Whether a formula of Always, Eventually, Until, Sequence is true of a path.

        It is true or false of the slices alone: nothing is said of what is between.

        Args:
            C: the world; it is not changed.
            path: configurations (T, nq).
            times: one for each (T,), in the units of the formula's own: those of KOMO
                count in phases, `numpy.arange(1, T + 1) / slices_per_phase`.
            states: extended states along the path, by `rollout(C, path)`.

        Raises:
            PredicateError: for predicates of one moment, that are not within Always or
                the like, those of extended states without `states`, and times that
                select no slice.
            ConfigError: as the predicates raise.
        """
        formula, on = self._along(C, path, times, states)
        return formula.holds_on(on)

    def explain_along(
        self,
        C: Config,
        path: Any,
        times: Any,
        states: Mapping[str, ObjectState] | None = None,
    ) -> str:
        """What makes it true or false of a path, and when; see `holds_along`."""
        formula, on = self._along(C, path, times, states)
        return formula.explain_on(on)

    def _along(
        self, C: Config, path: Any, times: Any, states: Any
    ) -> tuple["Formula", Course]:
        formula = _of_path(self.ground(C))
        for leaf in leaves(formula):
            if isinstance(leaf, StatePredicate) and states is None:
                raise PredicateError(
                    f"{written(leaf)} depends on how states develop; give"
                    " states=logic.rollout(C, path)."
                )
        return formula, course(C, path, times, states)


def leaves(predicate: Predicate) -> Iterator[Predicate]:
    """The predicates that a quantifier-free formula is made of in the end, in order."""
    if not isinstance(predicate, Formula):
        yield predicate
        return
    for part in predicate.parts:
        yield from leaves(part)


ERROR = 1e-3
"""How far the smooth minimum of alternatives may be above the least [m, or 1]."""
WAYS = 64
"""So many ways to choose n of m are tried as alternatives."""


def _rows(part: Predicate, C: Config) -> Term:
    """Of a formula in negation normal form.

    Raises:
        PredicateError: where there are none.
    """
    match part:
        case And(parts):
            return AllOf(tuple(_rows(p, C) for p in parts))
        case Or(parts) if parts:
            return AnyOf(tuple(_rows(p, C) for p in parts), ERROR)
        case AtLeast(n, parts) if 0 < n <= len(parts) and comb(len(parts), n) <= WAYS:
            ways = combinations([_rows(p, C) for p in parts], n)
            return AnyOf(tuple(AllOf(way) for way in ways), ERROR)
        case Not(inner) if not isinstance(inner, Formula):
            return inner.relaxed(C, False)
        case _ if not isinstance(part, Formula):
            return part.relaxed(C)
    raise PredicateError(
        f"{written(part)} has no rows for a solver: it never holds, has more than"
        f" {WAYS} ways to, or speaks of a path; it can only be checked."
    )


def _of_path(part: Predicate) -> Formula:
    """The formula itself, when all of it speaks of paths."""
    if not isinstance(part, Formula):
        raise PredicateError(
            f"{written(part)} speaks of one moment, not of a path; put it into Always,"
            " Eventually, Until or Sequence."
        )
    if isinstance(part, Connective):
        for inner in part.parts:
            _of_path(inner)
    return part


class Connective(Formula):
    """A formula whose truth is a function of the truths of its parts."""

    @abstractmethod
    def decide(self, truths: Iterator[bool]) -> bool:
        """Its truth, from those of its parts in order; asks for no more than needed."""

    @abstractmethod
    def reason(
        self, truth: Callable[[Predicate], bool], why: Callable[[Predicate], str]
    ) -> str:
        """The sentence of `explain`, from the truths and reasons of its parts."""

    def holds(self, C: Config) -> bool:
        """See `Predicate`."""
        return self.decide(p.holds(C) for p in self.parts)

    def explain(self, C: Config) -> str:
        """See `Predicate`."""
        return self.reason(lambda p: p.holds(C), lambda p: p.explain(C))

    def holds_on(self, course: Course) -> bool:
        """See `Formula`."""
        return self.decide(_of_path(p).holds_on(course) for p in self.parts)

    def explain_on(self, course: Course) -> str:
        """See `Formula`."""
        return self.reason(
            lambda p: _of_path(p).holds_on(course),
            lambda p: _of_path(p).explain_on(course),
        )


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
        return f"{written(self.part)} {rule}: {why(self.part)}"

    def ground(self, C: Config) -> Predicate:
        """See `Predicate`."""
        return ~self.part.ground(C)

    def nnf(self, negate: bool = False) -> Predicate:
        """See `Predicate`."""
        return self.part.nnf(not negate)

    def __invert__(self) -> Predicate:
        return self.part

    def __repr__(self) -> str:
        return f"~{_bracketed(self.part)}"


class _Counted(Connective):
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
        return tally(cases, holds, "part", self._demand())

    def _demand(self) -> str:
        return ""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(written, self.parts))})"


@dataclass(frozen=True, init=False, repr=False)
class And(_Counted):
    """All its parts hold, as `p & q`; And() holds always.

    Parts that are And themselves count as their parts.

    Args:
        *parts: predicates.

    Raises:
        PredicateError: for what is no predicate.
    """

    parts: tuple[Predicate, ...]

    def __init__(self, *parts: Any) -> None:
        set_parts(self, *_flat(And, parts))

    @property
    def needed(self) -> int:
        """See `_Counted`."""
        return len(self.parts)

    def ground(self, C: Config) -> Predicate:
        """See `Predicate`."""
        return And(*(p.ground(C) for p in self.parts))

    def nnf(self, negate: bool = False) -> Predicate:
        """See `Predicate`."""
        return (Or if negate else And)(*(p.nnf(negate) for p in self.parts))

    def region_of(self, C: Config, name: str) -> np.ndarray | None:
        """See `Predicate`: what the regions of the parts share."""
        found = [p.region_of(C, name) for p in self.parts]
        boxes = np.array([box for box in found if box is not None])
        if not len(boxes):
            return None
        shared = np.stack([boxes[:, 0].max(0), boxes[:, 1].min(0)])
        return shared if (shared[0] <= shared[1]).all() else boxes[0]

    def __repr__(self) -> str:
        return _joined(" & ", self.parts) or super().__repr__()


@dataclass(frozen=True, init=False, repr=False)
class Or(_Counted):
    """One of its parts holds, or more, as `p | q`; Or() never does.

    Parts that are Or themselves count as their parts.

    Args:
        *parts: predicates.

    Raises:
        PredicateError: for what is no predicate.
    """

    parts: tuple[Predicate, ...]

    def __init__(self, *parts: Any) -> None:
        set_parts(self, *_flat(Or, parts))

    @property
    def needed(self) -> int:
        """See `_Counted`."""
        return 1

    def ground(self, C: Config) -> Predicate:
        """See `Predicate`."""
        return Or(*(p.ground(C) for p in self.parts))

    def nnf(self, negate: bool = False) -> Predicate:
        """See `Predicate`."""
        return (And if negate else Or)(*(p.nnf(negate) for p in self.parts))

    def __repr__(self) -> str:
        return _joined(" | ", self.parts) or super().__repr__()


@dataclass(frozen=True, init=False, repr=False)
class AtLeast(_Counted):
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
        object.__setattr__(self, "n", whole("AtLeast: n", n))
        set_parts(self, *parts)

    @property
    def needed(self) -> int:
        """See `_Counted`."""
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

    def __repr__(self) -> str:
        return f"AtLeast({', '.join([str(self.n), *map(written, self.parts)])})"


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
        return f"Implies({', '.join(map(written, self.parts))})"


def set_parts(formula: Formula, *parts: Any) -> None:
    """Give a formula its parts, as it is made.

    Raises:
        PredicateError: for what is no predicate.
    """
    for part in parts:
        if not isinstance(part, Predicate):
            raise PredicateError(
                f"{type(formula).__name__}: {part!r} is no predicate; expected e.g."
                " logic.OnTopOf('mug', 'table')."
            )
    object.__setattr__(formula, "parts", parts)


def whole(what: str, n: Any) -> int:
    """A whole number >= 0.

    Raises:
        PredicateError: with what was got.
    """
    return integer(what, n, "a whole number >= 0", lambda x: x >= 0, PredicateError)


def _flat(kind: type[_Counted], parts: tuple[Any, ...]) -> Iterator[Any]:
    for part in parts:
        yield from part.parts if isinstance(part, kind) else (part,)


def _joined(operator: str, parts: tuple[Predicate, ...]) -> str:
    """Parts as operands; nothing where there are less than two."""
    return operator.join(map(_bracketed, parts)) if len(parts) > 1 else ""


def _bracketed(part: Predicate) -> str:
    joined = isinstance(part, And | Or) and len(part.parts) > 1
    return f"({part!r})" if joined else written(part)
