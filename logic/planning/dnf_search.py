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
from ..exact.support import OnTopOf
from ..formulas.connectives import AtLeast
from ..formulas.messages import format_predicate
from ..formulas.predicate import And, Formula, Not, Or, Predicate
from ..geometry.frame_groups import closest_separation, find_object

RESTING_PREDICATES = (InsideOf, OnFloor, OnTopOf)
"""Where a thing rests: rarely in two of them at a time."""
SECOND_PLACE_COST = 4
"""A second place of a thing costs as much as so many literals to be made true."""


@dataclass(frozen=True)
class Branch:
    """Literals that together make a formula true."""

    literals: tuple[Predicate, ...]
    """Predicates of one moment, or Not of such."""
    cost: int
    """How many do not hold yet; more where one thing is asked to be in two places."""

    def __str__(self) -> str:
        return " & ".join(map(format_predicate, self.literals)) or "nothing"


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
    table = _LiteralTable(C)
    root = table.need(formula.ground(C).nnf())
    order, seen = count(), set[frozenset[int]]()
    heap: list[tuple[tuple[float, int], int, _SearchState]] = []
    new = [_SearchState(0, 0, frozenset(), (root,))]
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


class _Requirement(NamedTuple):
    """At least n of the parts, literals (numbers) or needs, are to be true."""

    n: int
    parts: "tuple[_Part, ...]"
    """The cheapest first."""
    costs: tuple[float, ...]

    @property
    def least(self) -> float:
        """What it costs at least, if nothing else is true yet."""
        return sum(self.costs[: self.n]) if self.n <= len(self.parts) else float("inf")

    def rest(self, n: int) -> "_Requirement":
        """n of the parts but the first."""
        return _Requirement(n, self.parts[1:], self.costs[1:])


_Part = int | _Requirement


@dataclass(frozen=True)
class _SearchState:
    """What was chosen so far, and what is still open."""

    depth: int
    cost: int
    chosen: frozenset[int]
    open: tuple[_Requirement, ...]

    @property
    def priority(self) -> tuple[float, int]:
        """What it costs in the end, about; the deeper first among equals."""
        return self.cost + sum(need.least for need in self.open), -self.depth


def _split(state: _SearchState) -> list[_SearchState]:
    """The first open need: its cheapest part is made true, or does not count."""
    first, *rest = state.open
    taken = _Requirement(1, first.parts[:1], first.costs[:1])
    return [
        _SearchState(state.depth + 1, state.cost, state.chosen, (*needs, *rest))
        for needs in ((taken, first.rest(first.n - 1)), (first.rest(first.n),))
    ]


class _LiteralTable:
    """Literals by number: 2 k is a leaf, 2 k + 1 its negation."""

    def __init__(self, C: Config) -> None:
        self.C = C
        self.leaves: list[Predicate] = []
        self.costs: list[tuple[int, int]] = []
        self.gaps: list[float] = []
        self.names: list[tuple[str, ...]] = []

    def need(self, formula: Predicate) -> _Requirement:
        """A formula in negation normal form, of numbers."""
        found = self._part(formula)
        if isinstance(found, _Requirement):
            return found
        return _Requirement(1, (found,), (self._cost(found)[0],))

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
                    f"{format_predicate(formula)} is about a path; branches are about"
                    " one moment."
                )
            case _:
                return 2 * self._index(formula)
        made = sorted(map(self._part, parts), key=self._cost)
        return _Requirement(n, tuple(made), tuple(self._cost(p)[0] for p in made))

    def _index(self, leaf: Predicate) -> int:
        if leaf not in self.leaves:
            holds = leaf.holds(self.C)
            self.leaves.append(leaf)
            self.names.append(object_names(leaf))
            self.costs.append((int(not holds), int(holds)))
            self.gaps.append(0.0 if holds else _object_distance(leaf, self.C))
        return self.leaves.index(leaf)

    def _cost(self, part: _Part) -> tuple[float, float]:
        """How much there is to be done, and how far things are apart."""
        if isinstance(part, _Requirement):
            gaps = [self._cost(p)[1] for p in part.parts[: part.n]]
            return part.least, sum(gaps)
        return self.costs[part // 2][part % 2], self.gaps[part // 2]

    def settled(self, state: _SearchState) -> _SearchState | None:
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
                if isinstance(part, _Requirement):
                    needs.append(part)
                elif part ^ 1 in chosen:
                    return None
                elif part not in chosen:
                    cost += int(self._cost(part)[0])
                    cost += SECOND_PLACE_COST * self._crowds(part, chosen)[0]
                    chosen.add(part)
        return _SearchState(state.depth, cost, frozenset(chosen), tuple(needs))

    def _reduced(self, need: _Requirement, chosen: set[int]) -> _Requirement:
        """Without the parts that are true already, or cannot become so."""
        n, parts = need.n, list[_Part]()
        for part in need.parts:
            if isinstance(part, _Requirement):
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
            return _Requirement(0, (), ())
        crowds = [self._crowds(p, chosen) for p in parts]
        costs = [
            self._cost(p)[0] + SECOND_PLACE_COST * places
            for p, (places, _) in zip(parts, crowds, strict=True)
        ]
        order = sorted(range(len(parts)), key=lambda k: (costs[k], crowds[k][1]))
        return _Requirement(
            n, tuple(parts[k] for k in order), tuple(costs[k] for k in order)
        )

    def _crowds(self, part: _Part, chosen: set[int]) -> tuple[int, int]:
        """How many other places its thing has, and how often its things are in such a
        relation already.
        """
        if isinstance(part, _Requirement) or part % 2:
            return 0, 0
        leaf, names = self.leaves[part // 2], self.names[part // 2]
        if len(names) != 2:
            return 0, 0
        others = [k // 2 for k in chosen if k % 2 == 0 and k != part]
        alike = [k for k in others if isinstance(self.leaves[k], type(leaf))]
        again = sum(len({*names} & {*self.names[k]}) for k in alike)
        if not isinstance(leaf, RESTING_PREDICATES):
            return 0, again
        own = [k for k in others if self.names[k][:1] == names[:1]]
        return sum(isinstance(self.leaves[k], RESTING_PREDICATES) for k in own), again

    def branch(self, state: _SearchState) -> Branch:
        found = [
            self.leaves[k // 2] if k % 2 == 0 else ~self.leaves[k // 2]
            for k in sorted(state.chosen)
        ]
        return Branch(tuple(found), state.cost)


def object_names(literal: Predicate) -> tuple[str, ...]:
    """Names that a literal speaks of."""
    leaf = literal.part if isinstance(literal, Not) else literal
    named: Sequence[Any] = fields(leaf) if is_dataclass(leaf) else ()
    values = [getattr(leaf, f.name) for f in named if not f.kw_only]
    return tuple(v for v in values if isinstance(v, str))


def _object_distance(leaf: Predicate, C: Config) -> float:
    """How far the two things of a predicate are apart [m]; 0 where it is not known."""
    names = object_names(leaf)
    if len(names) != 2:
        return 0.0
    try:
        return closest_separation(
            find_object(C, *names), find_object(C, *names[::-1])
        ).distance
    except ConfigError:
        return 0.0
