"""Quantifiers over pairs of objects, by the rule of BDDL."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

from posewise.robots.config import Config

from ..errors import PredicateError
from .connectives import And, AtLeast, Or
from .formula import Connective, natural_number
from .predicate import Predicate
from .quantifiers import Domain, Quantifier, check_domain, domain_names, make_case


class _PairQuantifier(Quantifier):
    """A quantifier with two variables, which never stand for the same object.

    Its body makes a matrix: a row for each object of the first domain, and in it, in
    order, one for each of the second that is another object. Thus over one category
    with itself, the columns of a row are those that the object leaves.
    """

    first: Domain
    second: Domain

    @property
    def domains(self) -> tuple[Domain, ...]:
        """See `Quantifier`."""
        return (self.first, self.second)

    def __post_init__(self) -> None:
        self._check()
        for which in ("first", "second"):
            domain = check_domain(type(self).__name__, getattr(self, which))
            object.__setattr__(self, which, domain)

    @abstractmethod
    def needed(self, rows: int, columns: int) -> int:
        """How many rows, and how many columns, are to have a pair that holds."""

    def matrix(self, C: Config) -> tuple[tuple[Predicate, ...], ...]:
        """The body for each pair.

        Raises:
            PredicateError: when the domains share some names, but not all.
        """
        return tuple(tuple(p for *_, p in row) for row in self._cells(C))

    def expand(self, C: Config) -> Connective:
        """See `Quantifier`."""
        rows = self.matrix(C)
        columns = tuple(zip(*rows, strict=True))
        n = self.needed(len(rows), len(columns))
        return And(*(AtLeast(n, *(Or(*line) for line in s)) for s in (rows, columns)))

    def explain(self, C: Config) -> str:
        """See `Predicate`."""
        rows = [
            [make_case(f"{a} and {b}", p, C) for a, b, p in row]
            for row in self._cells(C)
        ]
        columns = [list(column) for column in zip(*rows, strict=True)]
        lone = [
            [line for line in s if not any(c.truth for c in line)]
            for s in (rows, columns)
        ]
        have = [len(rows) - len(lone[0]), len(columns) - len(lone[1])]
        n = self.needed(len(rows), len(columns))
        text = (
            f"{have[0]} of {len(rows)} rows and {have[1]} of {len(columns)} columns"
            f" have a pair that holds (at least {n} of each should)"
        )
        if min(have) >= n:
            found = [case.label for row in rows for case in row if case.truth]
            return f"{text}: {', '.join(found)}." if found else f"{text}."
        tried = next(iter(lone[0] if have[0] < n else lone[1]), [])
        reasons = [f"{case.label}: {case.why()}" for case in tried]
        told = [f"{text}; e.g. none of these:", *reasons] if reasons else [f"{text}."]
        return " ".join(told)

    def _cells(self, C: Config) -> list[list[tuple[str, str, Predicate]]]:
        return [
            [(a, b, self._instance(a, b)) for a, b in row] for row in self._pairs(C)
        ]

    def _pairs(self, C: Config) -> list[list[tuple[str, str]]]:
        first, second = (domain_names(C, domain) for domain in self.domains)
        rows = [[(a, b) for b in second if b != a] for a in first]
        if len({len(row) for row in rows}) > 1:
            shared = sorted(set(first) & set(second))
            raise PredicateError(
                f"{type(self).__name__}: {', '.join(shared)} are in both domains and"
                " others are not; give the same names twice, or different ones."
            )
        return rows


@dataclass(frozen=True, repr=False)
class ForPairs(_PairQuantifier):
    """Objects of two domains can be paired off, by BDDL's rule.

    With L the number of objects in the smaller domain, at least L objects of the first
    are in a pair that holds, and at least L of the second. That is weaker than pairs
    that share no object. Nothing is paired with itself; over the same names twice, a
    column is a place among the other names, not a name.

    Args:
        first: a category, or a list of names; see `ForAll`.
        second: another one.
        body: a function from two names to a predicate.

    Raises:
        PredicateError: for what is no function, and names that are no strings; on
            asking, when the domains share some names but not all.
        ConfigError: on asking, for a category that no object has, with near matches.
    """

    first: Domain
    second: Domain
    body: Any

    def needed(self, rows: int, columns: int) -> int:
        """See `_PairQuantifier`."""
        return min(rows, columns)


@dataclass(frozen=True, repr=False)
class ForNPairs(_PairQuantifier):
    """At least n objects of each domain are in a pair that holds; see `ForPairs`.

    Args:
        n: how many.
        first: a category, or a list of names.
        second: another one.
        body: a function from two names to a predicate.

    Raises:
        PredicateError: as `ForPairs`, and for an n that is no whole number >= 0.
        ConfigError: on asking, for a category that no object has, with near matches.
    """

    n: Any
    first: Domain
    second: Domain
    body: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "n", natural_number("ForNPairs: n", self.n))

    def needed(self, rows: int, columns: int) -> int:
        """See `_PairQuantifier`."""
        return self.n

    def _head(self) -> tuple[Any, ...]:
        return (self.n, *self.domains)
