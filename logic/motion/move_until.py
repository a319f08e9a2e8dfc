"""Motions until a predicate holds."""

from collections.abc import Iterator
from dataclasses import replace

from posewise.objectives.komo import KOMO
from posewise.objectives.solve.stops import pass_on_stop

from .keyframes import MARGIN, SELF_MARGIN
from .manoeuvre import Blocked, follow
from .motion_state import MotionState
from .outcome import Outcome
from .segment import PATH_SEARCH, Leg, MotionSegment
from .step_types import MoveUntil


def move_until(
    state: MotionState, step: MoveUntil, number: int, seed: int
) -> Iterator[Outcome | Blocked]:
    """Yield the way to a configuration in which a predicate holds.

    Args:
        state: before.
        step: the step.
        number: of the step.
        seed: of starts and paths.
    """
    predicate, after = step.predicate, state
    segments: tuple[MotionSegment, ...] = ()
    if not predicate.holds(state.world):
        X = state.planning_world()
        komo = KOMO(X)
        komo.add_control_objective(0, 0.1, target=X.q - X.home)
        komo.add(predicate)
        komo.avoid_collisions(MARGIN, SELF_MARGIN)
        solution = komo.solve(seed, PATH_SEARCH.starts, progress=False)
        pass_on_stop([solution])
        if not solution.feasible:
            yield Blocked(f"No configuration was found: {solution.message}")
            return
        try:
            legs = [Leg("move", solution.q)]
            segments, after = follow(state, number, legs, seed)
        except Blocked as blocked:
            yield blocked
            return
    effect = predicate.holds(after.world)
    reason = predicate.explain(after.world)
    yield Outcome(segments, replace(after, holds=()), effect=effect, reason=reason)
