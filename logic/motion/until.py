"""Motions until a predicate holds."""

from collections.abc import Iterator
from dataclasses import replace

from posewise.objectives.komo import KOMO
from posewise.objectives.solve.stops import pass_on_stop

from .keyframes import MARGIN, SELF_MARGIN
from .manoeuvre import Blocked, follow
from .outcome import Outcome
from .segment import Leg, Segment
from .situation import Situation
from .steps import Until

STARTS = 8
"""Number of starts of the search for a configuration in which the predicate holds."""


def until(
    situation: Situation, step: Until, number: int, seed: int
) -> Iterator[Outcome | Blocked]:
    """Yield the way to a configuration in which a predicate holds.

    Args:
        situation: before.
        step: the step.
        number: of the step.
        seed: of starts and paths.
    """
    predicate, after = step.predicate, situation
    segments: tuple[Segment, ...] = ()
    if not predicate.holds(situation.world):
        X = situation.planning_world()
        komo = KOMO(X)
        komo.add_control_objective(0, 0.1, target=X.q - X.home)
        komo.add(predicate)
        komo.avoid_collisions(MARGIN, SELF_MARGIN)
        solution = komo.solve(seed, STARTS, progress=False)
        pass_on_stop([solution])
        if not solution.feasible:
            yield Blocked(f"No configuration was found: {solution.message}")
            return
        try:
            legs = [Leg("move", solution.q)]
            segments, after = follow(situation, number, legs, seed)
        except Blocked as blocked:
            yield blocked
            return
    effect = predicate.holds(after.world)
    reason = predicate.explain(after.world)
    yield Outcome(segments, replace(after, holds=()), effect=effect, reason=reason)
