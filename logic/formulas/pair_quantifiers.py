"""Quantifiers over pairs of objects: as a matching, or by the rule of BDDL."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

from posewise.robots.config import Config
from posewise.robots.errors import unknown_name

from ..errors import PredicateError
from .connectives import And, AtLeast, Or, natural_number
from .formula import Connective
from .matching import Matching, largest_matching
from .predicate import Predicate
from .quantifiers import Domain, Quantifier, check_domain, domain_names, make_case

PairSemantics: TypeAlias = Literal["posewise", "igibson"]
"""Name of a rule by which objects are paired; see `ForPairs`."""


class _PairQuantifier(Quantifier):
    """A quantifier with two variables, which never stand for the same object.

    Its body makes a matrix with a row for each object of the first domain, and a column
    for each of the second. By BDDL's rule a row holds, in order, one entry for each
    *different* object of the second domain: over one category with itself, its columns
    are positions among the other objects.
    """

    first: Domain
    second: Domain
    semantics: PairSemantics

    @property
    def domains(self) -> tuple[Domain, ...]:
        return (self.first, self.second)

    def __post_init__(self) -> None:
        self._check_body()
        kind, known = type(self).__name__, get_args(PairSemantics)
        if self.semantics not in known:
            raise PredicateError(
                f"{kind}: {unknown_name('semantics', self.semantics, known)}"
            )
        for name in ("first", "second"):
            domain = check_domain(kind, getattr(self, name))
            object.__setattr__(self, name, domain)

    @abstractmethod
    def min_pairs(self, most: int) -> int:
        """Return how many pairs have to hold, of the most that can."""

    def matrix(self, C: Config) -> tuple[tuple[Predicate, ...], ...]:
        """Return the body for each pair, by BDDL's rule.

        Raises:
            PredicateError: when the domains share some names, but not all.
        """
        return tuple(tuple(p for *_, p in row) for row in self._cells(C))

    def expand(self, C: Config) -> Connective:
        if self.semantics == "posewise":
            return self._matching(C)
        rows = self.matrix(C)
        columns = tuple(zip(*rows, strict=True))
        n = self.min_pairs(min(len(rows), len(columns)))
        sides = (rows, columns)
        return And(*(AtLeast(n, *(Or(*line) for line in side)) for side in sides))

    def _matching(self, C: Config) -> Matching:
        rows, columns = (domain_names(C, domain) for domain in self.domains)
        pairs = [(a, b) for a in rows for b in columns if a != b]
        # No object is its own partner: over one category, an odd one may be left over.
        most = len(largest_matching(pairs))
        n = self.min_pairs(min(most, len(rows) - (set(rows) == set(columns))))
        return Matching(n, {pair: self._instance(*pair) for pair in pairs})

    def explain(self, C: Config) -> str:
        if self.semantics == "posewise":
            return self._matching(C).explain(C)
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
        n = self.min_pairs(min(len(rows), len(columns)))
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
    """Pairing quantifier: the objects of the smaller domain have different partners.

    "posewise": with L objects in the smaller domain, L pairs hold that share no object.
    "igibson": the weaker rule of BDDL, by which at least L objects of each domain
    are in a pair that holds; two of them may have the same partner. No object is
    paired with itself, so that over one category all objects except one need
    different partners; by BDDL's rule, over the same names twice, a column is a
    position among the other names, not a name.

    The default is "posewise", because two glasses on one coaster are no pairs.

    Args:
        first: a category, or a list of names; see `ForAll`.
        second: another category, or a list of names.
        body: a function from two names to a predicate.

    Raises:
        PredicateError: when `body` is not a function, names are not strings, or
            semantics are unknown; when evaluated by BDDL's rule, for domains that share
            some names but not all.
        ConfigError: when evaluated, for a category that no object has.
    """

    first: Domain
    second: Domain
    body: Callable[[str, str], Predicate]
    semantics: PairSemantics = field(default="posewise", kw_only=True)

    def min_pairs(self, most: int) -> int:
        return most


@dataclass(frozen=True, repr=False)
class ForNPairs(_PairQuantifier):
    """Pairing quantifier: n pairs hold, of which no two share an object.

    See `ForPairs`.

    Args:
        n: the number of pairs.
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
    semantics: PairSemantics = field(default="posewise", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "n", natural_number("ForNPairs: n", self.n))

    def min_pairs(self, most: int) -> int:
        return self.n

    def _arguments(self) -> tuple[Any, ...]:
        return (self.n, *self.domains)
