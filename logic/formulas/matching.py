"""A connective of pairs: n of them hold that share no partner."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, permutations
from math import comb, perm
from typing import TypeAlias

from posewise.robots.config import Config

from ..relaxed.constraint_terms import Conjunction, ConstraintTerm, Disjunction
from .connectives import DISJUNCTION_ERROR, And, Or, natural_number
from .formula import MAX_COMBINATIONS, Connective, set_parts
from .messages import format_predicate
from .predicate import Predicate
from .schedule import Plans, Schedule, plans_for_any

Pair: TypeAlias = tuple[str, str]
"""The names of a row and a column."""


@dataclass(frozen=True, init=False, repr=False)
class Matching(Connective):
    """At least n pairs hold, of which no two share a partner.

    In the words of graph theory, the pairs that hold are the edges of a bipartite graph
    that has a matching of size n.

    Args:
        n: the number of pairs; 0 always holds.
        pairs: a predicate for each pair of a row's and a column's name.

    Raises:
        PredicateError: when a part is not a predicate, or n not an integer >= 0.
    """

    n: int
    pairs: tuple[Pair, ...]
    parts: tuple[Predicate, ...]

    def __init__(self, n: int, pairs: Mapping[Pair, Predicate]) -> None:
        object.__setattr__(self, "n", natural_number("Matching: n", n))
        object.__setattr__(self, "pairs", tuple(pairs))
        set_parts(self, *pairs.values())

    @property
    def rows(self) -> list[str]:
        """The first partners, each once."""
        return list(dict.fromkeys(a for a, _ in self.pairs))

    @property
    def columns(self) -> list[str]:
        """The second partners, each once."""
        return list(dict.fromkeys(b for _, b in self.pairs))

    @property
    def cells(self) -> dict[Pair, Predicate]:
        """The predicate of each pair."""
        return dict(zip(self.pairs, self.parts, strict=True))

    def decide(self, truths: Iterator[bool]) -> bool:
        edges = [pair for pair, truth in zip(self.pairs, truths, strict=True) if truth]
        return len(largest_matching(edges)) >= self.n

    def reason(
        self, truth: Callable[[Predicate], bool], why: Callable[[Predicate], str]
    ) -> str:
        cells = self.cells
        true_pairs = [pair for pair, p in cells.items() if truth(p)]
        matched = largest_matching(true_pairs)
        listed = ", ".join(map(" and ".join, matched)) or "none"
        text = f"Pairs that hold and share no partner: {listed} ({self.n} should)."
        if len(matched) >= self.n:
            return text
        alone = set(self.rows) - {a for a, _ in matched}
        cases = [
            f"{' and '.join(pair)}: {why(p)}"
            for pair, p in cells.items()
            if pair[0] in alone and pair not in true_pairs
        ]
        return " ".join([text, *cases])

    def ground(self, C: Config) -> Predicate:
        return self._rebuild([p.ground(C) for p in self.parts])

    def nnf(self, negate: bool = False) -> Predicate:
        if not negate:
            return self._rebuild([p.nnf() for p in self.parts])
        if self.n == 0:
            return Or()
        # No n pairs are disjoint exactly where n - 1 names cover all pairs that hold
        # (König 1931).
        vertices = [*((0, a) for a in self.rows), *((1, b) for b in self.columns)]
        covers = combinations(vertices, min(self.n - 1, len(vertices)))
        return Or(*(self._has_cover(set(cover)) for cover in covers))

    def _has_cover(self, cover: set[tuple[int, str]]) -> Predicate:
        """Return the formula that all pairs that hold have a name in a cover.

        Args:
            cover: names, with 0 for a row and 1 for a column.
        """
        outside = {
            (a, b): p
            for (a, b), p in self.cells.items()
            if not {(0, a), (1, b)} & cover
        }
        return And(*(p.nnf(True) for p in outside.values()))

    def term(self, C: Config) -> ConstraintTerm:
        if not self._is_enumerable():
            return super().term(C)
        terms = {p: p.term(C) for p in self.parts}
        chosen = tuple(
            Conjunction(tuple(terms[p] for p in assignment))
            for assignment in self._assignments()
        )
        return chosen[0] if len(chosen) == 1 else Disjunction(chosen, DISJUNCTION_ERROR)

    def path_plans(self, C: Config, schedule: Schedule) -> Plans:
        if not self._is_enumerable():
            return super().path_plans(C, schedule)
        chosen = [And(*assignment) for assignment in self._assignments()]
        return plans_for_any(
            [partial(p.normal_form_plans, C, schedule) for p in chosen]
        )

    def _assignments(self) -> Iterator[list[Predicate]]:
        """Yield the predicates of each choice of n disjoint pairs."""
        cells = self.cells
        for rows in combinations(self.rows, self.n):
            for columns in permutations(self.columns, self.n):
                pairs = list(zip(rows, columns, strict=True))
                if all(pair in cells for pair in pairs):
                    yield [cells[pair] for pair in pairs]

    def _is_enumerable(self) -> bool:
        """Return whether there are choices of pairs, and not too many."""
        rows, columns = len(self.rows), len(self.columns)
        return 0 < comb(rows, self.n) * perm(columns, self.n) <= MAX_COMBINATIONS

    def _rebuild(self, parts: Sequence[Predicate]) -> Predicate:
        """Return the simplest formula that n of some disjoint pairs hold."""
        if self.n == 0:
            return And()
        if len(largest_matching(self.pairs)) < self.n:
            return Or()
        if self.n == 1:
            return Or(*parts)
        return Matching(self.n, dict(zip(self.pairs, parts, strict=True)))

    def __repr__(self) -> str:
        shown = ", ".join(f"{k}: {format_predicate(p)}" for k, p in self.cells.items())
        return f"Matching({self.n}, {{{shown}}})"


def largest_matching(edges: Sequence[Pair]) -> list[Pair]:
    """Return the most edges of a bipartite graph of which no two share a vertex.

    They are found by augmenting paths, one from each row (Kuhn 1955).
    """
    partner: dict[str, str] = {}

    def augment(row: str, tried: set[str]) -> bool:
        for a, column in edges:
            if a == row and column not in tried:
                tried.add(column)
                if column not in partner or augment(partner[column], tried):
                    partner[column] = row
                    return True
        return False

    for row in dict.fromkeys(a for a, _ in edges):
        augment(row, set())
    return [(row, column) for column, row in partner.items()]
