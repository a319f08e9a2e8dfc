"""Planning of a motion: the steps one after the other, with other ways where one fails.

Each step has several ways: hands, grasps, sides, places and stands of a mobile base.
They are tried in order of their length. A step that fails in all of them makes the step
before try its next way, a bounded number of times.
"""

import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from posewise.compilation.progress import break_silence
from posewise.objectives.checks.units import lengths_in_millimetres
from posewise.objectives.solve.stops import check_max_time, stop_cause
from posewise.objectives.terms.loose import loose_roots
from posewise.robots.config import Config
from posewise.robots.contact.world_scale import WorldScale
from posewise.robots.errors import ConfigError, ProblemWarning, first_few
from posewise.robots.typing import FrameName
from posewise.solvers.deadline import TimeLimitReached, check_deadline, time_limit

from ..errors import PredicateError
from ..geometry.frame_groups import find_object
from ..predicates.joint_openness import Open
from .articulation import move_joint, moved_link, moving_joints
from .floating import stands_on_nothing
from .handover import handover
from .manoeuvre import Blocked
from .motion_state import MotionState
from .move_until import move_until
from .outcome import Outcome
from .pick import pick
from .place import place, place_goals
from .plan import MotionPlan, MotionStatus, StepResult
from .push import push
from .robot import find_robot
from .step_types import (
    CloseJoint,
    Handover,
    Hold,
    MoveUntil,
    OpenJoint,
    Pick,
    Place,
    Push,
    Step,
)

MAX_OVERLAP = 1e-3
"""Overlap of the robot at the start beyond which it is told when a plan fails [m]."""


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """Limits of the search through the ways of steps, varied in docs/evidence.md."""

    max_ways: int = 6
    """Number of ways in which each step is tried; with more, a step that cannot succeed
    takes longer to be given up."""
    max_tries: int = 24
    """Number of ways tried in all, of steps beyond their first; with more, so do
    motions that cannot succeed."""


SEARCH_LIMITS = SearchLimits()


def plan_motion(
    C: Config,
    robot: FrameName,
    steps: Sequence[Step],
    *,
    seed: int = 0,
    max_time: float | None = None,
) -> MotionPlan:
    """Plan the motion of a robot through some steps.

    For each step hands, grasps, places and stands of a mobile base are chosen, such
    that each path is certified to keep 5 mm, to a tenth, from everything but what the
    step says may touch, and such that the exact predicates confirm its effect.

    Args:
        C: the world, which is not changed; its state is the start.
        robot: an agent, or a frame of the robot. Its joints alone move. Its hands are
            the links with two coupled fingers that slide.
        steps: of `posewise.logic.motion`, e.g. `[Pick("mug"), Place("mug",
            logic.OnTopOf("mug", "shelf"))]`.
        seed: of all random choices.
        max_time: wall time [s] after which planning ends, as an interrupt (Ctrl-C) ends
            it, with the steps that are planned up to then, of status TIME_LIMIT; None:
            no limit. See `KOMO.solve`.

    Returns:
        The plan. If a step could not be done: the steps before it, and the reason.
        Its `doubts`, of objects that stand on nothing and of lengths that look like
        millimetres, are warnings, too.

    Raises:
        ConfigError: for unknown names, a robot without joints or hands, and an object
            to be moved that is not on a free joint.
        PredicateError: for anything but steps, and a time limit that is none.
        KeyboardInterrupt: for an interrupt before a step is planned.
    """
    started = time.perf_counter()
    limit = time_limit(check_max_time(max_time, PredicateError))
    machine = find_robot(C, robot)
    for step in _checked(steps):
        if not isinstance(step, Hold | MoveUntil):
            find_object(C, step.obj)
        if isinstance(step, Pick | Push):
            _check_loose(C, step.obj)
        if isinstance(step, OpenJoint | CloseJoint):
            moving_joints(C, step)
        hand = None if isinstance(step, Hold | MoveUntil | Place) else step.hand
        if hand is not None:
            machine.hand(hand)
    moved = dict.fromkeys(step.obj for step in steps if isinstance(step, Pick | Push))
    doubts = [*lengths_in_millimetres(C, WorldScale.of(C.frames))]
    doubts += [text for obj in moved if (text := stands_on_nothing(C, obj, "At first"))]
    _warn(doubts)
    world = C.copy()
    world.joints.select(list(machine.joints))
    search = _StepSearch(tuple(steps), seed)
    with limit:
        status = _run(search, MotionState(machine, world, _movable(C)))
    done = search.best
    failed = len(done) < len(steps)
    after = _floating_after(done, steps)
    _warn(after)
    if failed and not done:
        overlaps = _overlaps_at_start(world)
        _warn(overlaps)
        after += overlaps
    return MotionPlan(
        status=status,
        steps=tuple(
            StepResult(step, o.choice, o.segments, o.effect, o.reason)
            for step, o in zip(steps, done, strict=False)
        ),
        start=C.copy(),
        world=done[-1].after.world if done else world,
        joints=machine.joints,
        hands=machine.hands,
        reason=search.reason if failed else "",
        seconds=time.perf_counter() - started,
        doubts=(*doubts, *after),
    )


def _run(search: "_StepSearch", state: MotionState) -> MotionStatus:
    """Run a search to its end, or until an interrupt or a deadline.

    Raises:
        KeyboardInterrupt: for an interrupt before a step is planned.
    """
    try:
        with break_silence("planning the motion"), warnings.catch_warnings():
            # Ways that collide are tried and given up without a word.
            warnings.simplefilter("ignore", ProblemWarning)
            search.run(state)
    except KeyboardInterrupt as stop:
        k = len(search.best)
        is_late = isinstance(stop, TimeLimitReached)
        if not (k or is_late):
            raise
        if k < len(search.steps):
            # The reason why ways failed that were tried before comes after it.
            cause = f"{stop_cause()} in step {k}, {search.steps[k]}."
            search.reason = f"{cause} {search.reason}".strip()
            return MotionStatus.TIME_LIMIT if is_late else MotionStatus.INTERRUPTED
    is_done = len(search.best) == len(search.steps)
    return MotionStatus.SOLVED if is_done else MotionStatus.FAILED


def _floating_after(done: Sequence[Outcome], steps: Sequence[Step]) -> list[str]:
    """Return a sentence for each step after which its object stands on nothing."""
    sentences = []
    for k, (step, outcome) in enumerate(zip(steps, done, strict=False)):
        if isinstance(step, Place | Push):
            when = f"After step {k} ({type(step).__name__})"
            sentences.append(stands_on_nothing(outcome.after.world, step.obj, when))
    return [text for text in sentences if text]


def _overlaps_at_start(C: Config) -> list[str]:
    """Return a sentence if the robot, which alone moves, begins in collision."""
    mask = C.tree.model.kinematics.dof_mask
    moving = {name for name in C.frame_names if mask[C.index(name)].any()}
    overlaps = [
        f"{a!r} and {b!r} by {-1e3 * distance:.1f} mm"
        for a, b, distance in C.collisions()
        if distance < -MAX_OVERLAP and {a, b} & moving
    ]
    if not overlaps:
        return []
    return [f"At first, the robot overlaps: {first_few(overlaps)}. Move the start."]


def _warn(doubts: Sequence[str]) -> None:
    for doubt in doubts:
        warnings.warn(doubt, ProblemWarning, stacklevel=3)


def _checked(steps: object) -> Sequence[Step]:
    """Return steps after checking their types."""
    if not isinstance(steps, Sequence) or isinstance(steps, str):
        raise PredicateError(f"steps is {steps!r}, expected a list of steps.")
    for k, step in enumerate(steps):
        if not isinstance(step, Step):
            raise PredicateError(
                f"steps[{k}] is {step!r}, expected a step of posewise.logic.motion,"
                " such as Pick('mug')."
            )
    return steps


def _check_loose(C: Config, obj: FrameName) -> None:
    """Raise an error for an object that is fixed to something, such as furniture."""
    root = C.frames[find_object(C, obj).frames[0]]
    if root.joint is None or root.joint.type != "free":
        kind = "no joint" if root.joint is None else f"a {root.joint.type} joint"
        raise ConfigError(
            f"{obj!r} is fixed: its root frame {root.name!r} has {kind}, and steps move"
            f" objects on free joints. Add it with joint='free', or call"
            f" C.detach({root.name!r})."
        )


def _movable(C: Config) -> tuple[FrameName, ...]:
    """Return all that hands may hold in any motion: loose objects, doors and drawers.

    Motions in one world then share their programs.
    """
    links = [
        moved_link(C, joint.name)
        for name, obj in C.objects.items()
        if "openable" in obj.abilities
        for joint in Open(name).joints(C)
    ]
    return (*loose_roots(C), *links)


class _StepSearch:
    """Depth-first search through the ways of all steps."""

    def __init__(self, steps: tuple[Step, ...], seed: int) -> None:
        self.steps, self.seed = steps, seed
        self.best: tuple[Outcome, ...] = ()
        """Outcomes of the longest sequence of steps that was done."""
        self.reason = ""
        """Why the step after these failed."""
        self.tries = 0

    def run(self, state: MotionState, done: tuple[Outcome, ...] = ()) -> bool:
        """Do the remaining steps, and return whether that succeeded."""
        k = len(done)
        if k > len(self.best):
            self.best, self.reason = done, ""
        if k == len(self.steps):
            return True
        ways, limits = 0, SEARCH_LIMITS
        check_deadline()
        for attempt in self._ways(state, k):
            if isinstance(attempt, Blocked) or not attempt.effect:
                if k == len(self.best) and not self.reason:
                    cause = attempt if isinstance(attempt, Blocked) else attempt.reason
                    self.reason = f"Step {k}, {self.steps[k]}: {cause}"
            elif self.run(attempt.after, (*done, attempt)):
                return True
            ways += 1
            self.tries += 1
            if ways == limits.max_ways or self.tries >= limits.max_tries:
                break
            check_deadline()
        return False

    def _ways(self, state: MotionState, k: int) -> Iterator[Outcome | Blocked]:
        """Yield the ways in which a step can be done, and why others cannot."""
        step = self.steps[k]
        match step:
            case Pick():
                yield from self._picks(state, step, k)
            case Place():
                yield from place(state, step, k, self.seed)
            case Push():
                yield from push(state, step, k, self.seed)
            case OpenJoint() | CloseJoint():
                yield from move_joint(state, step, k, self.seed)
            case Handover():
                yield from handover(state, step, k, self.seed)
            case Hold(predicate):
                holds = (*state.holds, predicate)
                after = replace(state, holds=holds)
                reason = predicate.explain(state.world)
                effect = predicate.holds(state.world)
                yield Outcome((), after, effect=effect, reason=reason)
            case MoveUntil():
                yield from move_until(state, step, k, self.seed)

    def _picks(
        self, state: MotionState, step: Pick, k: int
    ) -> Iterator[Outcome | Blocked]:
        later = (s for s in self.steps[k + 1 :] if getattr(s, "obj", None) == step.obj)
        following = next(later, None)
        goals = []
        if isinstance(following, Place):
            goals = place_goals(state, following, self.seed)
            if not goals:
                yield Blocked(f"No free place was found for {step.obj!r}.")
                return
        yield from pick(state, step, k, goals, self.seed)
