"""Lazy enumeration of the disjunctive normal form of a formula, the cheapest first."""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from itertools import count
from operator import itemgetter
from typing import Any, NamedTuple

from posewise.robots.config import Config
from posewise.robots.errors import ConfigError

from ..errors import PredicateError
from ..formulas.connectives import And, AtLeast, Not, Or
from ..formulas.formula import Formula
from ..formulas.matching import Matching
from ..formulas.messages import format_predicate
from ..formulas.predicate import Predicate
from ..geometry.frame_groups import closest_separation, find_object
from ..predicates.containment import InsideOf
from ..predicates.floors import OnFloor
from ..predicates.support import OnTopOf

RESTING_PREDICATES = (InsideOf, OnFloor, OnTopOf)
"""Predicates of the place where an object rests; an object rarely has two places."""
SECOND_PLACE_COST = 4
"""Number of literals that do not hold yet that a second resting place of an object
counts as; with a larger one such branches come later."""


@dataclass(frozen=True)
class Branch:
    """A conjunction of literals that makes a formula true."""

    literals: tuple[Predicate, ...]
    """Predicates of one moment, or Not of such."""
    cost: int
    """Number of literals that do not hold yet, plus the costs of second places."""

    def __str__(self) -> str:
        return " & ".join(map(format_predicate, self.literals)) or "nothing"


def branches(formula: Predicate, C: Config) -> Iterator[Branch]:
    """Yield the alternatives that make a formula true, computed on demand.

    Branches with the fewest literals that do not hold in the world come first; among
    equal ones, those whose objects are nearer. The search is best-first over sets of
    literals: what is decided already makes other literals true, or impossible.

    Args:
        formula: of one moment; quantifiers are grounded in the world.
        C: the world.

    Raises:
        PredicateError: when `formula` is not a predicate, or is about a path.
    """
    if not isinstance(formula, Predicate):
        raise PredicateError(f"formula is {formula!r}, expected a predicate.")
    table = _LiteralTable(C)
    root = table.requirement(formula.ground(C).nnf())
    order, yielded = count(), set[frozenset[int]]()
    heap: list[tuple[tuple[float, int], int, _BranchState]] = []
    new = [_BranchState(0, 0, frozenset(), (root,))]
    while new or heap:
        for state in filter(None, map(table.propagate, new)):
            heapq.heappush(heap, (state.priority, next(order), state))
        new = []
        if heap:
            state = heapq.heappop(heap)[-1]
            if state.open:
                new = _split(state)
            elif state.chosen not in yielded:
                yielded.add(state.chosen)
                yield table.branch(state)


class _Requirement(NamedTuple):
    """A requirement that at least n of some parts are true."""

    n: int
    parts: "tuple[_Part, ...]"
    """Literals, by number, and requirements; the cheapest first."""
    costs: tuple[float, ...]
    """Lower bounds of the costs of the parts."""

    @property
    def min_cost(self) -> float:
        """Lower bound of the cost; inf if it cannot be met."""
        return sum(self.costs[: self.n]) if self.n <= len(self.parts) else float("inf")

    def without_first(self, n: int) -> "_Requirement":
        """Return the requirement of n of the parts after the first."""
        return _Requirement(n, self.parts[1:], self.costs[1:])


@dataclass(frozen=True)
class _DisjointRequirement:
    """A requirement that n parts are true, of which no two share a row or a column.

    It becomes a requirement of one row at a time, because all choices together are too
    many.
    """

    n: int
    rows: "tuple[tuple[tuple[str, _Part, float], ...], ...]"
    """For each row the names of its columns, parts and their costs, cheapest first."""

    @property
    def min_cost(self) -> float:
        """Lower bound of the cost; inf if it cannot be met."""
        cheapest = sorted(row[0][-1] for row in self.rows if row)
        return sum(cheapest[: self.n]) if self.n <= len(cheapest) else float("inf")

    def first_row(self) -> _Requirement:
        """Return the requirement to use a part of the first row, or to skip the row."""
        row, *rows = self.rows
        cases: list[tuple[_Part, float]] = []
        for column, part, cost in row:
            rows_left = [tuple(c for c in other if c[0] != column) for other in rows]
            smaller = _DisjointRequirement(self.n - 1, tuple(rows_left))
            case = _Requirement(2, (part, smaller), (cost, smaller.min_cost))
            cases.append((case, case.min_cost))
        skipping = _DisjointRequirement(self.n, tuple(rows))
        cases.append((skipping, skipping.min_cost))
        possible = sorted((c for c in cases if c[1] < float("inf")), key=itemgetter(1))
        return _Requirement(
            1, tuple(part for part, _ in possible), tuple(cost for _, cost in possible)
        )


_Part = int | _Requirement | _DisjointRequirement


@dataclass(frozen=True)
class _BranchState:
    """The literals chosen so far, and the requirements that are still open."""

    depth: int
    cost: int
    chosen: frozenset[int]
    open: tuple[_Requirement, ...]

    @property
    def priority(self) -> tuple[float, int]:
        """Estimate of the final cost; among equal ones the deeper state is first."""
        return self.cost + sum(r.min_cost for r in self.open), -self.depth


def _split(state: _BranchState) -> list[_BranchState]:
    """Return both cases of the first open requirement.

    Its cheapest part is made true, or is not used.
    """
    first, *others = state.open
    use_first = _Requirement(1, first.parts[:1], first.costs[:1])
    cases: list[tuple[_Requirement, ...]] = [
        (use_first, first.without_first(first.n - 1)),
        (first.without_first(first.n),),
    ]
    return [
        _BranchState(state.depth + 1, state.cost, state.chosen, (*case, *others))
        for case in cases
    ]


class _LiteralTable:
    """Literals by number: 2 k is leaf k, 2 k + 1 its negation."""

    def __init__(self, C: Config) -> None:
        self.C = C
        self.leaves: list[Predicate] = []
        self.costs: list[tuple[int, int]] = []
        self.distances: list[float] = []
        self.names: list[tuple[str, ...]] = []

    def requirement(self, formula: Predicate) -> _Requirement:
        """Return a formula in negation normal form as a requirement."""
        part = self._part(formula)
        if isinstance(part, _DisjointRequirement):
            return part.first_row()
        if isinstance(part, _Requirement):
            return part
        return _Requirement(1, (part,), (self._cost(part)[0],))

    def _part(self, formula: Predicate) -> _Part:
        match formula:
            case And(parts):
                n = len(parts)
            case Or(parts):
                n = 1
            case AtLeast(n, parts):
                pass
            case Matching():
                return self._disjoint_requirement(formula)
            case Not(leaf) if not isinstance(leaf, Formula):
                return 2 * self._index(leaf) + 1
            case Formula():
                raise PredicateError(
                    f"{format_predicate(formula)} is about a path; branches are about"
                    " one moment."
                )
            case _:
                return 2 * self._index(formula)
        ordered = sorted(map(self._part, parts), key=self._cost)
        costs = tuple(self._cost(p)[0] for p in ordered)
        return _Requirement(n, tuple(ordered), costs)

    def _disjoint_requirement(self, formula: Matching) -> _DisjointRequirement:
        rows: dict[str, list[tuple[str, _Part]]] = {row: [] for row in formula.rows}
        for (row, column), predicate in formula.cells.items():
            rows[row].append((column, self._part(predicate)))
        for cells in rows.values():
            cells.sort(key=lambda cell: self._cost(cell[1]))
        priced = (
            tuple((column, part, self._cost(part)[0]) for column, part in cells)
            for cells in rows.values()
        )
        return _DisjointRequirement(formula.n, tuple(priced))

    def _index(self, leaf: Predicate) -> int:
        """Return the number of a leaf, which is added if it is new."""
        if leaf not in self.leaves:
            holds = leaf.holds(self.C)
            self.leaves.append(leaf)
            self.names.append(object_names(leaf))
            self.costs.append((int(not holds), int(holds)))
            distance = 0.0 if holds else _object_distance(leaf, self.C)
            self.distances.append(distance)
        return self.leaves.index(leaf)

    def _cost(self, part: _Part) -> tuple[float, float]:
        """Return the number of literals to be made true, and distances [m]."""
        if isinstance(part, _Requirement):
            distances = [self._cost(p)[1] for p in part.parts[: part.n]]
            return part.min_cost, sum(distances)
        if isinstance(part, _DisjointRequirement):
            return part.min_cost, 0.0
        return self.costs[part // 2][part % 2], self.distances[part // 2]

    def propagate(self, state: _BranchState) -> _BranchState | None:
        """Choose all parts without alternatives, as in unit propagation.

        Returns:
            None when the state cannot make the formula true.
        """
        chosen, requirements, cost = set(state.chosen), list(state.open), state.cost
        while True:
            reduced = [self._reduce(r, chosen) for r in requirements]
            requirements, forced = [], list[_Part]()
            for requirement in reduced:
                if requirement.n > len(requirement.parts):
                    return None
                if requirement.n == len(requirement.parts):
                    forced += requirement.parts
                elif requirement.n > 0:
                    requirements.append(requirement)
            if not forced:
                break
            for part in forced:
                if isinstance(part, _Requirement):
                    requirements.append(part)
                elif isinstance(part, _DisjointRequirement):
                    if part.n > 0:
                        requirements.append(part.first_row())
                elif part ^ 1 in chosen:
                    # part ^ 1 is the negation of a literal.
                    return None
                elif part not in chosen:
                    cost += int(self._cost(part)[0])
                    cost += SECOND_PLACE_COST * self._conflicts(part, chosen)[0]
                    chosen.add(part)
        return _BranchState(state.depth, cost, frozenset(chosen), tuple(requirements))

    def _reduce(self, requirement: _Requirement, chosen: set[int]) -> _Requirement:
        """Return a requirement without parts that are already true, or impossible."""
        n, parts = requirement.n, list[_Part]()
        for part in requirement.parts:
            if isinstance(part, _Requirement):
                part = self._reduce(part, chosen)
                if part.n <= 0:
                    n -= 1
                elif part.n <= len(part.parts):
                    parts.append(part)
            elif isinstance(part, _DisjointRequirement):
                n -= part.n == 0
                if part.n > 0 and part.min_cost < float("inf"):
                    parts.append(part)
            elif part in chosen:
                n -= 1
            elif part ^ 1 not in chosen:
                parts.append(part)
        if n <= 0:
            return _Requirement(0, (), ())
        conflicts = [self._conflicts(p, chosen) for p in parts]
        costs = [
            self._cost(p)[0] + SECOND_PLACE_COST * places
            for p, (places, _) in zip(parts, conflicts, strict=True)
        ]
        order = sorted(range(len(parts)), key=lambda k: (costs[k], conflicts[k][1]))
        return _Requirement(
            n, tuple(parts[k] for k in order), tuple(costs[k] for k in order)
        )

    def _conflicts(self, part: _Part, chosen: set[int]) -> tuple[int, int]:
        """Return how a literal repeats what the chosen ones say of its objects.

        Returns:
            The number of other resting places of its first object, and how often its
            objects are in the same relation already.
        """
        if not isinstance(part, int) or part % 2:
            return 0, 0
        leaf, names = self.leaves[part // 2], self.names[part // 2]
        if len(names) != 2:
            return 0, 0
        others = [k // 2 for k in chosen if k % 2 == 0 and k != part]
        same_kind = [k for k in others if isinstance(self.leaves[k], type(leaf))]
        repeated = sum(len({*names} & {*self.names[k]}) for k in same_kind)
        if not isinstance(leaf, RESTING_PREDICATES):
            return 0, repeated
        same_object = [k for k in others if self.names[k][:1] == names[:1]]
        places = [
            k for k in same_object if isinstance(self.leaves[k], RESTING_PREDICATES)
        ]
        return len(places), repeated

    def branch(self, state: _BranchState) -> Branch:
        """Return the chosen literals of a state."""
        literals = [
            self.leaves[k // 2] if k % 2 == 0 else ~self.leaves[k // 2]
            for k in sorted(state.chosen)
        ]
        return Branch(tuple(literals), state.cost)


def object_names(literal: Predicate) -> tuple[str, ...]:
    """Return the names in the positional arguments of a literal."""
    leaf = literal.part if isinstance(literal, Not) else literal
    arguments: Sequence[Any] = fields(leaf) if is_dataclass(leaf) else ()
    values = [getattr(leaf, f.name) for f in arguments if not f.kw_only]
    return tuple(v for v in values if isinstance(v, str))


def _object_distance(leaf: Predicate, C: Config) -> float:
    """Return the distance of the two objects of a predicate [m]; 0 if unknown."""
    names = object_names(leaf)
    if len(names) != 2:
        return 0.0
    try:
        a, b = find_object(C, *names), find_object(C, *names[::-1])
        return closest_separation(a, b).distance
    except ConfigError:
        return 0.0
