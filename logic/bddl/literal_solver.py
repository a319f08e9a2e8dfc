"""Literals made true in a world: states are set, and things are placed one by one."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from posewise.robots.config import Config
from posewise.robots.contact.gjk_numpy import min_distance
from posewise.robots.errors import ConfigError

from ..exact.contact import InContactWith
from ..exact.joint_openness import Open
from ..exact.next_to import NextTo
from ..formulas.predicate import Not, Predicate
from ..geometry.frame_groups import bounding_box, find_object, subtree_group
from ..planning.dnf_search import object_names
from ..states.state_predicate import StatePredicate
from .object_placement import carried_objects, optimize_placement, place_object

MAX_ROUNDS = 3
"""How often what does not hold yet is seen to."""
SYMMETRIC_RELATIONS = (NextTo, InContactWith)
"""Relations for which either thing can be moved."""
OPENING_FRACTIONS = (0.9, 0.5, 0.2, 0.08)
"""Shares of a joint's range, the first at which nothing is met is taken."""

IsMovable = Callable[[Config, str], bool]
Place = Callable[[Config, str, Sequence[Predicate], Sequence[str], int], bool]


@dataclass(eq=False)
class LiteralSolver:
    """One try to make literals true, in a world of its own."""

    world: Config
    literals: tuple[Predicate, ...]
    movable: IsMovable
    """Whether a thing may be moved."""
    seed: int = 0
    prefer_adjacent: bool = False
    """Whether things are placed beside each other first."""
    use_optimization: bool = False
    """Whether things without a free spot are placed by optimization."""
    failures: dict[Predicate, str] = field(default_factory=dict)
    """Why literals could not be made true."""
    unplaced: list[str] = field(default_factory=list)
    """Things that are in the way where they are, and found no other place."""
    crowded_out: set[str] = field(default_factory=set)
    """Things for which room was to be left, in vain."""

    def solve(self) -> bool:
        """Whether all hold in the end, exactly."""
        for _ in range(MAX_ROUNDS):
            unmet = self.unsatisfied()
            if not unmet and not self.unplaced:
                return True
            blocked, self.failures = set(self.failures), {}
            for literal in unmet:
                self._set_state(literal)
            self._place_all([p for p in unmet if not p.holds(self.world)], blocked)
        return not self.unsatisfied() and not self.unplaced

    def unsatisfied(self) -> list[Predicate]:
        """Those that do not hold."""
        return [p for p in self.literals if not p.holds(self.world)]

    def explain(self, literal: Predicate) -> str:
        """What is known of a literal: what failed, or why it holds or does not."""
        told = literal.explain(self.world)
        return f"{self.failures[literal]} {told}" if literal in self.failures else told

    def _set_state(self, literal: Predicate) -> None:
        """Make a state what it should be; of relations nothing."""
        leaf, truth = _split_negation(literal)
        try:
            if isinstance(leaf, Open):
                open_or_close(self.world, leaf, truth)
            elif isinstance(leaf, StatePredicate):
                state: Any = leaf
                state.set(self.world, truth)
        except ConfigError as error:
            self.failures[literal] = str(error)

    def _place_all(
        self, unmet: Sequence[Predicate], blocked: Collection[Predicate]
    ) -> None:
        relations = [p for p in self.literals if not _is_state(p)]
        wrong = [p for p in unmet if p in relations]
        movers = [*self.unplaced, *self._objects_to_move(wrong, blocked)]
        pending = self._placement_order(list(dict.fromkeys(movers)))
        self.unplaced, staying, promised = list(pending), list[str](), set[str]()
        while pending:
            name, *pending = pending
            wanted = _applicable_relations(relations, name, pending)
            later = self._pending_neighbours(relations, name, pending)
            resting = [p for p in wanted if not isinstance(p, SYMMETRIC_RELATIONS)]
            tries = [wanted] if resting in ([], wanted) else [wanted, resting]
            promised |= later.keys()
            around = (pending, tuple(staying), later)
            if any(self._place(name, these, *around) for these in tries):
                self.unplaced.remove(name)
                staying += [
                    name,
                    *carried_objects(self.world, name, (*pending, *staying)),
                ]
            elif name in promised:
                self.crowded_out.add(name)
            for p in wanted:
                if not p.holds(self.world):
                    self.failures[p] = f"No free spot was found for {name}."

    def _pending_neighbours(
        self, relations: Sequence[Predicate], name: str, pending: Sequence[str]
    ) -> dict[str, list[Predicate]]:
        """Of things that are to be placed beside or on one: what is to hold then.

        Not of those for which that has not helped before.
        """
        found: dict[str, list[Predicate]] = {}
        for other in [x for x in pending if x not in self.crowded_out]:
            absent = [x for x in pending if x != other]
            asked = _applicable_relations(relations, other, absent)
            if any(name in object_names(p) for p in asked):
                found[other] = asked
        return found

    def _place(
        self,
        name: str,
        literals: Sequence[Predicate],
        absent: Sequence[str],
        staying: Sequence[str],
        later: Mapping[str, Sequence[Predicate]],
    ) -> bool:
        how: Any = dict(
            pending_literals=later, seed=self.seed, prefer_adjacent=self.prefer_adjacent
        )
        if place_object(self.world, name, literals, absent, staying, **how):
            return True
        return self.use_optimization and optimize_placement(
            self.world, name, literals, seed=self.seed
        )

    def _objects_to_move(
        self, unmet: Iterable[Predicate], blocked: Collection[Predicate]
    ) -> list[str]:
        """Things to be moved: those that shall be somewhere, and all but one of those
        that shall be beside each other; where that failed before all, and what
        stands on them.
        """
        movers: list[str] = []
        mutual: list[tuple[str, ...]] = []
        for literal in unmet:
            leaf, truth = _split_negation(literal)
            names = [n for n in object_names(literal) if self.movable(self.world, n)]
            stuck = (
                truth
                and not isinstance(leaf, SYMMETRIC_RELATIONS)
                and not self.movable(self.world, object_names(literal)[0])
            )
            if stuck or not names:
                fixed = " and ".join(object_names(literal))
                self.failures[literal] = f"Nothing of {fixed} can be moved."
            elif literal in blocked:
                riders = [
                    x for name in names[1:] for x in carried_objects(self.world, name)
                ]
                movers += [*names, *riders]
            elif truth and isinstance(leaf, SYMMETRIC_RELATIONS) and len(names) == 2:
                mutual.append(tuple(names))
            else:
                movers.append(names[0])
        degree = Counter(name for names in mutual for name in names)
        placed = self._located_objects()
        for a, b in sorted(mutual, key=lambda names: -max(degree[n] for n in names)):
            anchor = max((a, b), key=lambda n: (n in movers, n in placed, degree[n]))
            movers.append(b if anchor == a else a)
        return list(dict.fromkeys(movers))

    def _located_objects(self) -> set[str]:
        """Things that shall be somewhere, whatever they are beside."""
        places = [p for p in self.literals if not isinstance(p, Not) | _is_state(p)]
        return {
            object_names(p)[0] for p in places if not isinstance(p, SYMMETRIC_RELATIONS)
        }

    def _placement_order(self, movers: Sequence[str]) -> list[str]:
        """What carries others first, then what is to be beside what already stands, or
        has a place; among equals the larger.
        """
        below = {name: set[str]() for name in movers}
        beside = {name: set[str]() for name in movers}
        for literal in self.literals:
            leaf, truth = _split_negation(literal)
            names = object_names(literal)
            if truth and isinstance(leaf, SYMMETRIC_RELATIONS):
                for name in set(names) & set(movers):
                    beside[name] |= set(names) - {name}
            elif truth and set(names) <= set(movers):
                below[names[0]] |= set(names[1:])
        box = lambda name: bounding_box(find_object(self.world, name))
        size = {name: float(np.prod(np.ptp(box(name), axis=0))) for name in movers}
        left, found, placed = list(movers), list[str](), self._located_objects()

        def late(name: str) -> tuple[bool, bool, bool, float]:
            waits = bool(beside[name]) and beside[name] <= set(left)
            free = name not in placed
            return bool(below[name] & set(left)), waits, waits and free, -size[name]

        while left:
            found.append(min(left, key=late))
            left.remove(found[-1])
        return found


def open_or_close(C: Config, statement: Open, wanted: bool) -> None:
    """Set the joints that open a thing; open, so far that nothing is met if possible.

    Raises:
        ConfigError: for a thing without such joints.
    """
    joints = statement.joints(C)
    if not joints:
        raise ConfigError(f"{statement.a} has no joint that opens it.")
    if not wanted:
        for joint in joints:
            C.set_joint(joint.name, joint.closed)
        return
    joint = joints[0]
    for share in OPENING_FRACTIONS:
        C.set_joint(joint.name, joint.closed + share * (joint.open - joint.closed))
        if not _joint_collides(C, statement.a, joint.name):
            return


def _joint_collides(C: Config, owner: str, joint: str) -> bool:
    """Whether what a joint moves meets other things."""
    moving = next(f.name for f in C.frames if f.joint and f.joint.name == joint)
    leaf = subtree_group(C, moving)
    others = [find_object(C, name) for name in C.objects if name != owner]
    placed = lambda solid: [
        (C.frames[i], *solid.pose(i)) for i in solid.collision_frames
    ]
    own = placed(leaf)
    return any(
        _is_overlapping(own, placed(other))
        for other in others
        if other.collision_frames
    )


def _is_overlapping(own: list, other: list) -> bool:
    gap = min_distance(own, other, 0.0) if own and other else None
    return gap is not None


def _applicable_relations(
    relations: Iterable[Predicate], name: str, pending: Collection[str]
) -> list[Predicate]:
    """Those of a thing and of others that are in place."""
    return [
        p
        for p in relations
        if name in object_names(p) and not set(object_names(p)) & set(pending)
    ]


def _split_negation(literal: Predicate) -> tuple[Predicate, bool]:
    """A literal without its negation, and whether there was none."""
    return (literal.part, False) if isinstance(literal, Not) else (literal, True)


def _is_state(literal: Predicate) -> bool:
    return isinstance(_split_negation(literal)[0], StatePredicate | Open)
