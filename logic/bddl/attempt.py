"""Literals made true in a world: states are set, and things are placed one by one."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...robots.config import Config
from ...robots.errors import ConfigError
from ...robots.gaps import nearest_gap
from ..branches import things_in
from ..formulas import Not
from ..geometry.contact import InContactWith
from ..geometry.nearness import NextTo
from ..geometry.opening import Open
from ..geometry.solids import Solid, bounding_box, branch, thing
from ..predicate import Predicate
from ..states.state_predicate import StatePredicate
from .placing import optimize, place

ROUNDS = 3
"""How often what does not hold yet is seen to."""
MUTUAL = (NextTo, InContactWith)
"""Relations for which either thing can be moved."""
OPENINGS = (0.9, 0.5, 0.2, 0.08)
"""Shares of a joint's range, the first at which nothing is met is taken."""

Movable = Callable[[Config, str], bool]
Place = Callable[[Config, str, Sequence[Predicate], Sequence[str], int], bool]


@dataclass(eq=False)
class Attempt:
    """One try to make literals true, in a world of its own."""

    world: Config
    literals: tuple[Predicate, ...]
    movable: Movable
    """Whether a thing may be moved."""
    seed: int = 0
    snug: bool = False
    """Whether things are placed beside each other first."""
    optimal: bool = False
    """Whether things without a free spot are placed by optimization."""
    failures: dict[Predicate, str] = field(default_factory=dict)
    """Why literals could not be made true."""

    def run(self) -> bool:
        """Whether all hold in the end, exactly."""
        for k in range(ROUNDS):
            unmet = self.unmet()
            if not unmet:
                return True
            self.failures.clear()
            for literal in unmet:
                self._set(literal)
            self._place_all([p for p in unmet if not p.holds(self.world)], k)
        return not self.unmet()

    def unmet(self) -> list[Predicate]:
        """Those that do not hold."""
        return [p for p in self.literals if not p.holds(self.world)]

    def why(self, literal: Predicate) -> str:
        """What is known of a literal: what failed, or why it holds or does not."""
        told = literal.explain(self.world)
        return f"{self.failures[literal]} {told}" if literal in self.failures else told

    def _set(self, literal: Predicate) -> None:
        """Make a state what it should be; of relations nothing."""
        leaf, truth = _leaf(literal)
        try:
            if isinstance(leaf, Open):
                open_or_close(self.world, leaf, truth)
            elif isinstance(leaf, StatePredicate):
                leaf.set(self.world, truth)
        except ConfigError as error:
            self.failures[literal] = str(error)

    def _place_all(self, unmet: Sequence[Predicate], round_: int) -> None:
        relations = [p for p in self.literals if not _is_state(p)]
        pending = self._order(self._movers([p for p in unmet if p in relations], round_))
        while pending:
            name, *pending = pending
            wanted = [
                p
                for p in relations
                if name in things_in(p) and not set(things_in(p)) & set(pending)
            ]
            resting = [p for p in wanted if not isinstance(p, MUTUAL)]
            if not self._place(name, wanted, pending):
                alone = bool(resting) and resting != wanted
                if not alone or not self._place(name, resting, pending):
                    for p in wanted:
                        self.failures[p] = f"No free spot was found for {name}."

    def _place(
        self, name: str, literals: Sequence[Predicate], absent: Sequence[str]
    ) -> bool:
        options = dict(seed=self.seed, snug=self.snug)
        if place(self.world, name, literals, absent, **options):
            return True
        return self.optimal and optimize(self.world, name, literals, seed=self.seed)

    def _movers(self, unmet: Iterable[Predicate], round_: int) -> list[str]:
        """Things to be moved: of each literal the first that can be.

        In every other round the last one, where either will do.
        """
        movers: list[str] = []
        for literal in unmet:
            leaf, _ = _leaf(literal)
            names = [n for n in things_in(literal) if self.movable(self.world, n)]
            if isinstance(leaf, MUTUAL) and round_ % 2:
                names = names[::-1]
            if not names:
                fixed = " and ".join(things_in(literal))
                self.failures[literal] = f"Nothing of {fixed} can be moved."
            elif not (isinstance(leaf, MUTUAL) and set(names) & set(movers)):
                movers += [names[0]] if names[0] not in movers else []
        return movers

    def _order(self, movers: Sequence[str]) -> list[str]:
        """What carries others first; among equals the larger."""
        below = {name: set[str]() for name in movers}
        for literal in self.literals:
            leaf, truth = _leaf(literal)
            names = things_in(literal)
            if truth and not isinstance(leaf, MUTUAL) and set(names) <= set(movers):
                below[names[0]] |= set(names[1:])
        size = {n: -np.prod(np.ptp(bounding_box(thing(self.world, n)), 0)) for n in movers}
        left, found = sorted(movers, key=lambda n: size[n]), list[str]()
        while left:
            ready = [n for n in left if not below[n] & set(left)] or left
            found.append(ready[0])
            left.remove(ready[0])
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
    for share in OPENINGS:
        C.set_joint(joint.name, joint.closed + share * (joint.open - joint.closed))
        if not _meets(C, statement.a, joint.name):
            return


def _meets(C: Config, owner: str, joint: str) -> bool:
    """Whether what a joint moves meets other things."""
    moving = next(f.name for f in C.frames if f.joint and f.joint.name == joint)
    leaf = branch(C, moving)
    others = [thing(C, name) for name in C.objects if name != owner]
    placed = lambda solid: [(C.frames[i], *solid.pose(i)) for i in solid.solid_frames]
    own = placed(leaf)
    return any(_overlap(own, placed(other)) for other in others if other.solid_frames)


def _overlap(own: list, other: list) -> bool:
    gap = nearest_gap(own, other, 0.0) if own and other else None
    return gap is not None


def _leaf(literal: Predicate) -> tuple[Predicate, bool]:
    """A literal without its negation, and whether there was none."""
    return (literal.part, False) if isinstance(literal, Not) else (literal, True)


def _is_state(literal: Predicate) -> bool:
    return isinstance(_leaf(literal)[0], StatePredicate | Open)


_ = Solid
