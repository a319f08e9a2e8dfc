"""Ways to make a formula true: conjunctions of literals, the cheapest first."""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from itertools import count
from typing import Any, NamedTuple

from posewise.robots.config import Config
from posewise.robots.errors import ConfigError

from ..errors import PredicateError
from ..exact.containment import InsideOf
from ..exact.floors import OnFloor
from ..exact.solids import nearest, thing
from ..exact.support import OnTopOf
from ..formulas.connectives import And, AtLeast, Not, Or
from ..formulas.formula import Formula
from ..formulas.messages import written
from ..formulas.predicate import Predicate

PLACES = (InsideOf, OnFloor, OnTopOf)
"""Where a thing rests: rarely in two of them at a time."""
CROWDED = 4
"""A second place of a thing costs as much as so many literals to be made true."""


@dataclass(frozen=True)
class Branch:
    """Literals that together make a formula true."""

    literals: tuple[Predicate, ...]
    """Predicates of one moment, or Not of such."""
    cost: int
    """How many do not hold yet; more where one thing is asked to be in two places."""

    def __str__(self) -> str:
        return " & ".join(map(written, self.literals)) or "nothing"


def branches(formula: Any, C: Config) -> Iterator[Branch]:
    """The ways to make a formula true, each when it is asked for.

    Those come first of which the fewest literals do not hold in the world as it is;
    where alternatives are equal, the one whose things are nearer. Best-first search
    over sets of literals: what is decided already makes others true, or impossible.

    Args:
        formula: of one moment; quantifiers are grounded in the world.
        C: the world.

    Raises:
        PredicateError: for what is no predicate, and formulas of a path.
    """
    if not isinstance(formula, Predicate):
        raise PredicateError(f"formula is {formula!r}, expected a predicate.")
    table = _Table(C)
    root = table.need(formula.ground(C).nnf())
    order, seen = count(), set[frozenset[int]]()
    heap: list[tuple[tuple[float, int], int, _Search]] = []
    new = [_Search(0, 0, frozenset(), (root,))]
    while new or heap:
        for state in filter(None, map(table.settled, new)):
            heapq.heappush(heap, (state.priority, next(order), state))
        new = []
        if heap:
            state = heapq.heappop(heap)[-1]
            if state.open:
                new = _split(state)
            elif state.chosen not in seen:
                seen.add(state.chosen)
                yield table.branch(state)


class _Need(NamedTuple):
    """At least n of the parts, literals (numbers) or needs, are to be true."""

    n: int
    parts: "tuple[_Part, ...]"
    """The cheapest first."""
    costs: tuple[float, ...]

    @property
    def least(self) -> float:
        """What it costs at least, if nothing else is true yet."""
        return sum(self.costs[: self.n]) if self.n <= len(self.parts) else float("inf")

    def rest(self, n: int) -> "_Need":
        """n of the parts but the first."""
        return _Need(n, self.parts[1:], self.costs[1:])


_Part = int | _Need


@dataclass(frozen=True)
class _Search:
    """What was chosen so far, and what is still open."""

    depth: int
    cost: int
    chosen: frozenset[int]
    open: tuple[_Need, ...]

    @property
    def priority(self) -> tuple[float, int]:
        """What it costs in the end, about; the deeper first among equals."""
        return self.cost + sum(need.least for need in self.open), -self.depth


def _split(state: _Search) -> list[_Search]:
    """The first open need: its cheapest part is made true, or does not count."""
    first, *rest = state.open
    taken = _Need(1, first.parts[:1], first.costs[:1])
    return [
        _Search(state.depth + 1, state.cost, state.chosen, (*needs, *rest))
        for needs in ((taken, first.rest(first.n - 1)), (first.rest(first.n),))
    ]


class _Table:
    """Literals by number: 2 k is a leaf, 2 k + 1 its negation."""

    def __init__(self, C: Config) -> None:
        self.C = C
        self.leaves: list[Predicate] = []
        self.costs: list[tuple[int, int]] = []
        self.gaps: list[float] = []
        self.names: list[tuple[str, ...]] = []

    def need(self, formula: Predicate) -> _Need:
        """A formula in negation normal form, of numbers."""
        found = self._part(formula)
        if isinstance(found, _Need):
            return found
        return _Need(1, (found,), (self._cost(found)[0],))

    def _part(self, formula: Predicate) -> _Part:
        match formula:
            case And(parts):
                n = len(parts)
            case Or(parts):
                n = 1
            case AtLeast(n, parts):
                pass
            case Not(leaf) if not isinstance(leaf, Formula):
                return 2 * self._index(leaf) + 1
            case Formula():
                raise PredicateError(
                    f"{written(formula)} speaks of a path; branches are of one moment."
                )
            case _:
                return 2 * self._index(formula)
        made = sorted(map(self._part, parts), key=self._cost)
        return _Need(n, tuple(made), tuple(self._cost(p)[0] for p in made))

    def _index(self, leaf: Predicate) -> int:
        if leaf not in self.leaves:
            holds = leaf.holds(self.C)
            self.leaves.append(leaf)
            self.names.append(things_in(leaf))
            self.costs.append((int(not holds), int(holds)))
            self.gaps.append(0.0 if holds else _gap(leaf, self.C))
        return self.leaves.index(leaf)

    def _cost(self, part: _Part) -> tuple[float, float]:
        """How much there is to be done, and how far things are apart."""
        if isinstance(part, _Need):
            gaps = [self._cost(p)[1] for p in part.parts[: part.n]]
            return part.least, sum(gaps)
        return self.costs[part // 2][part % 2], self.gaps[part // 2]

    def settled(self, state: _Search) -> _Search | None:
        """With all that has no alternative chosen; None: it cannot become true."""
        chosen, needs, cost = set(state.chosen), list(state.open), state.cost
        while True:
            reduced = [self._reduced(need, chosen) for need in needs]
            needs, forced = [], list[_Part]()
            for need in reduced:
                if need.n > len(need.parts):
                    return None
                if need.n == len(need.parts):
                    forced += need.parts
                elif need.n > 0:
                    needs.append(need)
            if not forced:
                break
            for part in forced:
                if isinstance(part, _Need):
                    needs.append(part)
                elif part ^ 1 in chosen:
                    return None
                elif part not in chosen:
                    cost += int(self._cost(part)[0])
                    cost += CROWDED * self._crowds(part, chosen)[0]
                    chosen.add(part)
        return _Search(state.depth, cost, frozenset(chosen), tuple(needs))

    def _reduced(self, need: _Need, chosen: set[int]) -> _Need:
        """Without the parts that are true already, or cannot become so."""
        n, parts = need.n, list[_Part]()
        for part in need.parts:
            if isinstance(part, _Need):
                part = self._reduced(part, chosen)
                if part.n <= 0:
                    n -= 1
                elif part.n <= len(part.parts):
                    parts.append(part)
            elif part in chosen:
                n -= 1
            elif part ^ 1 not in chosen:
                parts.append(part)
        if n <= 0:
            return _Need(0, (), ())
        crowds = [self._crowds(p, chosen) for p in parts]
        costs = [
            self._cost(p)[0] + CROWDED * places
            for p, (places, _) in zip(parts, crowds, strict=True)
        ]
        order = sorted(range(len(parts)), key=lambda k: (costs[k], crowds[k][1]))
        return _Need(n, tuple(parts[k] for k in order), tuple(costs[k] for k in order))

    def _crowds(self, part: _Part, chosen: set[int]) -> tuple[int, int]:
        """How many other places its thing has, and how often its things are in such a
        relation already.
        """
        if isinstance(part, _Need) or part % 2:
            return 0, 0
        leaf, names = self.leaves[part // 2], self.names[part // 2]
        if len(names) != 2:
            return 0, 0
        others = [k // 2 for k in chosen if k % 2 == 0 and k != part]
        alike = [k for k in others if isinstance(self.leaves[k], type(leaf))]
        again = sum(len({*names} & {*self.names[k]}) for k in alike)
        if not isinstance(leaf, PLACES):
            return 0, again
        own = [k for k in others if self.names[k][:1] == names[:1]]
        return sum(isinstance(self.leaves[k], PLACES) for k in own), again

    def branch(self, state: _Search) -> Branch:
        found = [
            self.leaves[k // 2] if k % 2 == 0 else ~self.leaves[k // 2]
            for k in sorted(state.chosen)
        ]
        return Branch(tuple(found), state.cost)


def things_in(literal: Predicate) -> tuple[str, ...]:
    """Names that a literal speaks of."""
    leaf = literal.part if isinstance(literal, Not) else literal
    named: Sequence[Any] = fields(leaf) if is_dataclass(leaf) else ()
    values = [getattr(leaf, f.name) for f in named if not f.kw_only]
    return tuple(v for v in values if isinstance(v, str))


def _gap(leaf: Predicate, C: Config) -> float:
    """How far the two things of a predicate are apart [m]; 0 where it is not known."""
    names = things_in(leaf)
    if len(names) != 2:
        return 0.0
    try:
        return nearest(thing(C, *names), thing(C, *names[::-1])).distance
    except ConfigError:
        return 0.0
