"""Logic-geometric programs: plans whose skeletons have a solution.

After Toussaint, "Logic-geometric programming: an optimization-based approach to
combined task and motion planning" (IJCAI 2015), with the bounds of Toussaint and Lopes,
"Multi-bound tree search for logic-geometric programming in cooperative manipulation
domains" (ICRA 2017): the last waypoint alone, then all waypoints, then the path.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from posewise.features import FS
from posewise.objectives import KOMO, OT, Skeleton, Solution
from posewise.objectives.presets.relations import same_pose, touch
from posewise.objectives.skeleton import EntryLike
from posewise.objectives.templates import without_overlaps
from posewise.robots.config import Config
from posewise.robots.errors import ConfigError, unknown_name
from posewise.robots.typing import FrameName

from .plans import Plan, plans
from .rules import Decision, Fact, Literal, Rule

ActionEntries = Callable[..., list[EntryLike]]
"""Entries of a skeleton for a decision, from its time and the values of its
variables."""


def _pick(time: float, object: str, carrier: str, hand: str) -> list[EntryLike]:
    return [
        ([time], touch(hand, object)),
        ([time], "stable", (hand, object)),
    ]


def _place(time: float, object: str, hand: str, support: str) -> list[EntryLike]:
    return [([time], "stableOn", (support, object))]


def _match_pose(time: float, object: str, target: str) -> list[EntryLike]:
    return [([time], same_pose(object, target))]


ACTIONS: Mapping[str, ActionEntries] = {
    "pick_touch": _pick,
    "handover": _pick,
    "place_straightOn": _place,
    "poseEq": _match_pose,
}
"""Entries of rai's actions of manipulation."""


@dataclass(frozen=True)
class ProgramSolution:
    """A plan with its skeleton and waypoints, and what the search has cost."""

    plan: Plan
    skeleton: Skeleton
    waypoints: Solution
    num_bounds: int
    """Number of sequences of decisions whose last waypoint was solved for (count)."""
    num_waypoints: int
    """Number of plans whose waypoints were solved for (count)."""
    seconds: float
    """Time from the beginning of the search [s]."""


@dataclass
class LogicGeometricProgram:
    """Rules, a goal, and what decisions demand of a world.

    Args:
        C: the world.
        rules: see `parse_rules`.
        facts: what holds at the beginning; see `facts_of`.
        goal: literals that hold at the end.
        actions: entries of a skeleton for each rule that is a decision.
        pairs: pairs of frames that must not overlap.
        collisions: whether no frames that can collide may overlap.

    Raises:
        ConfigError: for a rule without an action.
    """

    C: Config
    rules: Sequence[Rule]
    facts: Sequence[Fact]
    goal: Sequence[Literal]
    actions: Mapping[str, ActionEntries] = field(default_factory=lambda: ACTIONS)
    pairs: Sequence[tuple[FrameName, FrameName]] = ()
    collisions: bool = True

    def __post_init__(self) -> None:
        for rule in self.rules:
            if rule.is_decision and rule.name not in self.actions:
                raise ConfigError(unknown_name("action", rule.name, self.actions))

    def skeleton(self, plan: Sequence[Decision]) -> Skeleton:
        """Return the skeleton of a plan: its k-th decision at the end of phase k."""
        entries: list[EntryLike] = []
        for k, (name, *values) in enumerate(plan, 1):
            entries += self.actions[name](float(k), *values)
        return Skeleton(entries)

    def solutions(
        self, max_steps: int = 6, starts: int = 4
    ) -> Iterator[ProgramSolution]:
        """Yield plans with waypoints that meet all constraints, the shortest first.

        Of plans that reach the goal by rules, last waypoints are solved for from the
        first decision on; one without a solution closes all plans that begin so.

        Args:
            max_steps: largest number of decisions.
            starts: of each solve.
        """
        began, num_bounds, num_waypoints = time.perf_counter(), 0, 0

        def is_open(plan: Plan) -> bool:
            nonlocal num_bounds
            num_bounds += 1
            return self._solve(self.skeleton(plan).final, starts).feasible

        state = frozenset(self.facts)
        for plan in plans(self.rules, state, self.goal, max_steps, is_open):
            skeleton = self.skeleton(plan)
            num_waypoints += 1
            waypoints = self._solve(skeleton.waypoints, starts)
            if waypoints.feasible:
                yield ProgramSolution(
                    plan,
                    skeleton,
                    waypoints,
                    num_bounds,
                    num_waypoints,
                    time.perf_counter() - began,
                )

    def add_to(self, komo: KOMO, skeleton: Skeleton) -> None:
        """Add a skeleton to a problem, and what must not overlap.

        Args:
            komo: a problem of as many phases.
            skeleton: of a plan.
        """
        skeleton.add_to(komo)
        self._add_pairs(without_overlaps(komo, self.collisions))

    def _add_pairs(self, komo: KOMO) -> None:
        for pair in self.pairs:
            komo.add_objective(None, FS.distance, pair, OT.ineq, scale=10.0)

    def _solve(self, problem: Callable[..., KOMO], starts: int) -> Solution:
        """Solve a problem of a skeleton, with the pairs that must not overlap."""
        komo = problem(self.C, collisions=self.collisions)
        self._add_pairs(komo)
        return komo.solve(starts=starts, progress=False)


def facts_of(C: Config) -> tuple[Fact, ...]:
    """Return the facts that rai reads off a world.

    A frame with an attribute `logical`, such as `{is_object}`, has a fact for each of
    its names, and an object is on the frame that it is attached to, if that has any.
    """
    symbols = {
        f.name: f.attributes["logical"] for f in C.frames if "logical" in f.attributes
    }
    facts: list[Fact] = [
        (name, frame) for frame, names in symbols.items() for name in names
    ]
    for frame, names in symbols.items():
        parent = C.frame(frame).parent
        if "is_object" not in names or parent is None:
            continue
        if C.frames[parent].name in symbols:
            facts.append(("on", C.frames[parent].name, frame))
    return tuple(facts)
