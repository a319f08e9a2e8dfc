"""Making literals true in a world: states are set, and objects placed one by one."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from posewise.robots.config import Config
from posewise.robots.contact.gjk_numpy import PosedFrame, min_distance
from posewise.robots.errors import ConfigError
from posewise.solvers.deadline import check_deadline

from ..formulas.connectives import Not
from ..formulas.predicate import Predicate
from ..geometry.frame_groups import (
    FrameGroup,
    bounding_box,
    find_object,
    subtree_group,
)
from ..planning.dnf_search import object_names
from ..predicates.attachment import Attached
from ..predicates.contact import InContactWith
from ..predicates.joint_openness import Open
from ..predicates.next_to import NextTo
from ..states.dirt_predicates import Covered
from ..states.existence_predicates import Real
from ..states.state_predicate import StatePredicate
from ..states.water_predicates import Contains, Filled, Saturated
from .object_placement import carried_objects, optimize_placement, place_object
from .production import Production

MAX_ROUNDS = 3
"""Number of passes over unsatisfied literals; more repair more of them, slower."""
SYMMETRIC_RELATIONS = (NextTo, InContactWith, Attached)
"""Relations that either object can be moved to satisfy."""
OPENING_FRACTIONS = (0.9, 0.5, 0.2, 0.08)
"""Fractions of a joint's range; the first one without a collision opens the object."""

IsMovable: TypeAlias = Callable[[Config, str], bool]
"""A function of a world and a name that returns whether the object may be moved."""


@dataclass(eq=False)
class LiteralSolver:
    """One attempt to make literals true, in a world that it changes."""

    world: Config
    literals: tuple[Predicate, ...]
    is_movable: IsMovable
    seed: int = 0
    prefer_adjacent: bool = False
    """Whether objects are placed beside each other first."""
    use_optimization: bool = False
    """Whether objects without a free sampled pose are placed by optimization."""
    failures: dict[Predicate, str] = field(default_factory=dict)
    """Reasons why literals could not be made true."""
    production: Production | None = None
    """The rules that make what does not exist; None: states are given, not made."""
    unplaced: list[str] = field(default_factory=list)
    """Objects that were to be moved, and found no other place."""
    crowded_out: set[str] = field(default_factory=set)
    """Objects for which place was reserved in vain."""

    def solve(self) -> bool:
        """Make the literals true, and return whether all hold exactly.

        Raises:
            KeyboardInterrupt: for an interrupt or a deadline, with the objects where
                they have been placed up to then.
        """
        for _ in range(MAX_ROUNDS):
            check_deadline()
            unsatisfied = self.unsatisfied()
            if not unsatisfied and not self.unplaced:
                return True
            blocked, self.failures = set(self.failures), {}
            for literal in sorted(unsatisfied, key=_creation_order):
                self._set_state(literal)
            pending = [p for p in unsatisfied if not p.holds(self.world)]
            self._place_all(pending, blocked)
        return not self.unsatisfied() and not self.unplaced

    def unsatisfied(self) -> list[Predicate]:
        """Return the literals that do not hold."""
        return [p for p in self.literals if not p.holds(self.world)]

    def explain(self, literal: Predicate) -> str:
        """Return why a literal failed, and why it holds or does not."""
        reason = literal.explain(self.world)
        if literal in self.failures:
            return f"{self.failures[literal]} {reason}"
        return reason

    def _set_state(self, literal: Predicate) -> None:
        """Set the state that a literal is about; relations are left alone."""
        atom, truth = _split_negation(literal)
        try:
            if isinstance(atom, Open):
                open_or_close(self.world, atom, truth)
            elif isinstance(atom, StatePredicate | Attached):
                why = self._provide(atom, truth)
                if why:
                    self.failures[literal] = why
                elif atom.holds(self.world) != truth:
                    atom.set(self.world, truth)
        except ConfigError as error:
            self.failures[literal] = str(error)

    def _provide(self, atom: StatePredicate | Attached, truth: bool) -> str:
        """Make what a state needs, and return why that is impossible, if so."""
        if self.production is None:
            return ""
        match atom:
            case Real(name) if name in self.world.objects:
                if not truth:
                    return self.production.use_up(name)
                why = self.production.make(name)
                if not why and self.is_movable(self.world, name):
                    self.unplaced.append(name)
                return why
            case Real(substance) if truth:
                why = self.production.supply(substance)
                if not why and not atom.holds(self.world):
                    unwanted = [p.part for p in self.literals if isinstance(p, Not)]
                    self.production.store(substance, unwanted)
                return why
            case Contains() | Filled() if truth:
                return self.production.supply(atom.liquid)
            case Covered() | Saturated() if truth:
                return self.production.supply(atom.substance)
        return ""

    def _place_all(
        self, unsatisfied: Sequence[Predicate], blocked: Collection[Predicate]
    ) -> None:
        """Place objects one by one so that relations hold.

        Args:
            unsatisfied: literals that do not hold.
            blocked: literals that failed in the last round.
        """
        relations = [p for p in self.literals if not _is_state(p)]
        wrong = [p for p in unsatisfied if p in relations]
        names = [*self.unplaced, *self._objects_to_move(wrong, blocked)]
        pending = self._placement_order(list(dict.fromkeys(names)))
        self.unplaced, staying, reserved = list(pending), list[str](), set[str]()
        while pending:
            check_deadline()
            name, *pending = pending
            literals = _applicable_relations(relations, name, pending)
            later = self._pending_neighbours(relations, name, pending)
            # A place on its support alone is the fallback, because the neighbour may
            # be moved instead.
            located = [p for p in literals if not isinstance(p, SYMMETRIC_RELATIONS)]
            tries = [literals] if located in ([], literals) else [literals, located]
            reserved |= later.keys()
            if any(self._place(name, t, pending, staying, later) for t in tries):
                self.unplaced.remove(name)
                ignored = (*pending, *staying)
                staying += [name, *carried_objects(self.world, name, ignored)]
            elif name in reserved:
                self.crowded_out.add(name)
            for p in literals:
                if not p.holds(self.world):
                    self.failures[p] = f"No free place was found for {name}."

    def _pending_neighbours(
        self, relations: Sequence[Predicate], name: str, pending: Sequence[str]
    ) -> dict[str, list[Predicate]]:
        """Return pending objects that come beside or on one, with their literals.

        Objects for which reserving a place did not help before are left out.

        Args:
            relations: all literals that are relations.
            name: of the object that is placed now.
            pending: names of the objects that are placed later.
        """
        neighbours: dict[str, list[Predicate]] = {}
        for other in [x for x in pending if x not in self.crowded_out]:
            absent = [x for x in pending if x != other]
            literals = _applicable_relations(relations, other, absent)
            if any(name in object_names(p) for p in literals):
                neighbours[other] = literals
        return neighbours

    def _place(
        self,
        name: str,
        literals: Sequence[Predicate],
        pending: Sequence[str],
        staying: Sequence[str],
        later: Mapping[str, Sequence[Predicate]],
    ) -> bool:
        """Place an object, and return whether a place was found.

        Args:
            name: of the object.
            literals: that are to hold.
            pending: names of the objects that are placed later.
            staying: names of the objects that are in place.
            later: literals of pending objects that come beside or on it.
        """
        if place_object(
            self.world,
            name,
            literals,
            pending,
            tuple(staying),
            pending_literals=later,
            seed=self.seed,
            prefer_adjacent=self.prefer_adjacent,
        ):
            return True
        return self.use_optimization and optimize_placement(
            self.world, name, literals, seed=self.seed
        )

    def _objects_to_move(
        self, unsatisfied: Iterable[Predicate], blocked: Collection[Predicate]
    ) -> list[str]:
        """Return the names of the objects that have to be moved.

        The first object of each relation, and one object of each symmetric relation.
        If that failed before, all objects of the relation, and those on them.

        Args:
            unsatisfied: relations that do not hold.
            blocked: literals that failed in the last round.
        """
        moving: list[str] = []
        symmetric: list[tuple[str, ...]] = []
        for literal in unsatisfied:
            atom, truth = _split_negation(literal)
            involved = object_names(literal)
            names = [n for n in involved if self.is_movable(self.world, n)]
            is_symmetric = isinstance(atom, SYMMETRIC_RELATIONS)
            stuck = (
                truth
                and not is_symmetric
                and not self.is_movable(self.world, involved[0])
            )
            if stuck or not names:
                fixed = " and ".join(involved)
                self.failures[literal] = f"None of {fixed} can be moved."
            elif literal in blocked:
                upper = [x for n in names[1:] for x in carried_objects(self.world, n)]
                moving += [*names, *upper]
            elif truth and is_symmetric and len(names) == 2:
                symmetric.append(tuple(names))
            else:
                moving.append(names[0])
        # The object with the most neighbours stays as an anchor, so that few are moved.
        degree = Counter(name for names in symmetric for name in names)
        located = self._located_objects()
        for a, b in sorted(symmetric, key=lambda names: -max(degree[n] for n in names)):
            anchor = max((a, b), key=lambda n: (n in moving, n in located, degree[n]))
            moving.append(b if anchor == a else a)
        return list(dict.fromkeys(moving))

    def _located_objects(self) -> set[str]:
        """Return the objects that a literal puts on, in or under another one."""
        located = [p for p in self.literals if not isinstance(p, Not) | _is_state(p)]
        return {
            object_names(p)[0]
            for p in located
            if not isinstance(p, SYMMETRIC_RELATIONS)
        }

    def _placement_order(self, names: Sequence[str]) -> list[str]:
        """Return names in the order of placement.

        Supports come first, then objects beside others that stand already or have a
        place; among equals the larger object.
        """
        supports = {name: set[str]() for name in names}
        neighbours = {name: set[str]() for name in names}
        for literal in self.literals:
            atom, truth = _split_negation(literal)
            involved = object_names(literal)
            if truth and isinstance(atom, SYMMETRIC_RELATIONS):
                for name in set(involved) & set(names):
                    neighbours[name] |= set(involved) - {name}
            elif truth and set(involved) <= set(names):
                supports[involved[0]] |= set(involved[1:])
        boxes = {name: bounding_box(find_object(self.world, name)) for name in names}
        volume = {n: float(np.prod(np.ptp(box, axis=0))) for n, box in boxes.items()}
        waiting, order, located = list(names), list[str](), self._located_objects()

        def lateness(name: str) -> tuple[bool, bool, bool, float]:
            """Return a key that is smaller for objects to place earlier."""
            waits = bool(neighbours[name]) and neighbours[name] <= set(waiting)
            has_place = name in located
            return (
                bool(supports[name] & set(waiting)),
                waits,
                waits and not has_place,
                -volume[name],
            )

        while waiting:
            order.append(min(waiting, key=lateness))
            waiting.remove(order[-1])
        return order


def open_or_close(C: Config, statement: Open, value: bool) -> None:
    """Set the joints that open an object; if possible without a collision.

    Args:
        C: the world, which is changed.
        statement: about the object.
        value: whether it is to be open.

    Raises:
        ConfigError: if the object has no such joint.
    """
    joints = statement.joints(C)
    if not joints:
        raise ConfigError(f"{statement.a} has no joint that opens it.")
    if not value:
        for joint in joints:
            C.set_joint(joint.name, joint.closed)
        return
    joint = joints[0]
    for fraction in OPENING_FRACTIONS:
        C.set_joint(joint.name, joint.closed + fraction * (joint.open - joint.closed))
        if not _joint_collides(C, statement.a, joint.name):
            return


def _joint_collides(C: Config, owner: str, joint: str) -> bool:
    """Return whether the frames that a joint moves meet other objects."""
    moving = next(f.name for f in C.frames if f.joint and f.joint.name == joint)
    leaf = _posed_parts(subtree_group(C, moving))
    others = [
        find_object(C, name)
        for name in C.objects
        if name != owner and C.annotations.states[name].real
    ]
    return any(
        _is_overlapping(leaf, _posed_parts(other))
        for other in others
        if other.collision_frames
    )


def _posed_parts(group: FrameGroup) -> list[PosedFrame]:
    """Return the frames of a group that have shapes, with their poses."""
    return [(group.C.frames[i], *group.pose(i)) for i in group.collision_frames]


def _is_overlapping(a: list[PosedFrame], b: list[PosedFrame]) -> bool:
    """Return whether two lists of frames meet; without shapes they do not."""
    separation = min_distance(a, b, 0.0) if a and b else None
    return separation is not None


def _applicable_relations(
    relations: Iterable[Predicate], name: str, pending: Collection[str]
) -> list[Predicate]:
    """Return the relations of an object to objects that are in place.

    Args:
        relations: all literals that are relations.
        name: of the object.
        pending: names of the objects that are not in place.
    """
    return [
        p
        for p in relations
        if name in object_names(p) and not set(object_names(p)) & set(pending)
    ]


def _split_negation(literal: Predicate) -> tuple[Predicate, bool]:
    """Return a literal without its negation, and whether there was none."""
    return (literal.part, False) if isinstance(literal, Not) else (literal, True)


def _creation_order(literal: Predicate) -> int:
    """Return a number that is smaller for literals whose states are set earlier.

    A substance comes from where it is before it is removed there, and what is made
    uses up what is to vanish.
    """
    atom, truth = _split_negation(literal)
    if not truth:
        return 2
    return 1 if isinstance(atom, Real) else 0


def _is_state(literal: Predicate) -> bool:
    """Return whether a literal is about a state or a joint, not about a place."""
    return isinstance(_split_negation(literal)[0], StatePredicate | Open)
