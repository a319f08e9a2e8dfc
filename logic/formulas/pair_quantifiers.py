"""Quantifiers over pairs of objects, by the rules of BDDL."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from posewise.robots.config import Config

from ..errors import PredicateError
from .connectives import AtLeast, natural_number
from .predicate import And, Connective, Or, Predicate
from .quantifiers import Domain, Quantifier, check_domain, domain_names, make_case


class _PairQuantifier(Quantifier):
    """A quantifier with two variables, which never stand for the same object.

    Its body makes a matrix. A row belongs to an object of the first domain and holds,
    in order, one entry for each different object of the second domain. Thus over one
    category with itself, the columns of a row are the other objects of the category.
    """

    first: Domain
    second: Domain

    @property
    def domains(self) -> tuple[Domain, ...]:
        return (self.first, self.second)

    def __post_init__(self) -> None:
        self._check_body()
        for field in ("first", "second"):
            domain = check_domain(type(self).__name__, getattr(self, field))
            object.__setattr__(self, field, domain)

    @abstractmethod
    def min_lines(self, rows: int, columns: int) -> int:
        """Return how many rows, and how many columns, need a pair that holds."""

    def matrix(self, C: Config) -> tuple[tuple[Predicate, ...], ...]:
        """Return the body for each pair.

        Raises:
            PredicateError: when the domains share some names, but not all.
        """
        return tuple(tuple(p for *_, p in row) for row in self._cells(C))

    def expand(self, C: Config) -> Connective:
        rows = self.matrix(C)
        columns = tuple(zip(*rows, strict=True))
        n = self.min_lines(len(rows), len(columns))
        sides = (rows, columns)
        return And(*(AtLeast(n, *(Or(*line) for line in side)) for side in sides))

    def explain(self, C: Config) -> str:
        rows = [
            [make_case(f"{a} and {b}", p, C) for a, b, p in row]
            for row in self._cells(C)
        ]
        columns = [list(column) for column in zip(*rows, strict=True)]
        unmatched = [
            [line for line in side if not any(c.truth for c in line)]
            for side in (rows, columns)
        ]
        matched = [len(rows) - len(unmatched[0]), len(columns) - len(unmatched[1])]
        n = self.min_lines(len(rows), len(columns))
        text = (
            f"{matched[0]} of {len(rows)} rows and {matched[1]} of {len(columns)}"
            f" columns have a pair that holds (at least {n} of each should)"
        )
        if min(matched) >= n:
            pairs = [case.label for row in rows for case in row if case.truth]
            return f"{text}: {', '.join(pairs)}." if pairs else f"{text}."
        example = next(iter(unmatched[0] if matched[0] < n else unmatched[1]), [])
        if not example:
            return f"{text}."
        reasons = [f"{case.label}: {case.why()}" for case in example]
        return " ".join([f"{text}; e.g. none of these:", *reasons])

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
    """Pairing quantifier: objects of two domains can be paired, by BDDL's rule.

    Let L be the size of the smaller domain. At least L objects of the first domain must
    be in a pair that holds, and at least L of the second. This is weaker than L pairs
    that share no object. No object is paired with itself; over the same names twice, a
    column is a position among the other names, not a name.

    Args:
        first: a category, or a list of names; see `ForAll`.
        second: another category, or a list of names.
        body: a function from two names to a predicate.

    Raises:
        PredicateError: when `body` is not a function, or names are not strings; when
            evaluated, for domains that share some names but not all.
        ConfigError: when evaluated, for a category that no object has.
    """

    first: Domain
    second: Domain
    body: Callable[[str, str], Predicate]

    def min_lines(self, rows: int, columns: int) -> int:
        return min(rows, columns)


@dataclass(frozen=True, repr=False)
class ForNPairs(_PairQuantifier):
    """Pairing quantifier: n or more objects of each domain are in a pair that holds.

    See `ForPairs`.

    Args:
        n: the number of objects.
        first: a category, or a list of names.
        second: another category, or a list of names.
        body: a function from two names to a predicate.

    Raises:
        PredicateError: as `ForPairs`, and when n is not an integer >= 0.
        ConfigError: when evaluated, for a category that no object has.
    """

    n: int
    first: Domain
    second: Domain
    body: Callable[[str, str], Predicate]

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "n", natural_number("ForNPairs: n", self.n))

    def min_lines(self, rows: int, columns: int) -> int:
        return self.n

    def _arguments(self) -> tuple[Any, ...]:
        return (self.n, *self.domains)
