"""Handing an object from one hand to another."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from posewise.robots.kinematics.transforms import pose_inverse, pose_multiply

from .feasibility import why_no_grasp
from .grasps import find_grasps
from .hand import Hand
from .keyframes import solve_keyframes
from .manoeuvre import Blocked, follow
from .outcome import Choice, Outcome
from .pick import is_held
from .reach_grasp import grasp_keyframes, grasp_legs, release_legs
from .segment import Leg
from .situation import Situation, relative
from .steps import Handover

MAX_GRASPS = 48
"""Number of grasps of the other hand for which configurations are searched."""
MEETINGS = 6
"""Number of places between both hands that are tried."""
MEETING_SPREAD = 0.12
"""Largest distance of these places from the middle, along each axis [m]."""


def handover(
    situation: Situation, step: Handover, number: int, seed: int
) -> Iterator[Outcome | Blocked]:
    """Yield ways to hand an object over, or why one did not work.

    Args:
        situation: before.
        step: the step.
        number: of the step.
        seed: of places and paths.
    """
    grip = situation.grip_on(step.obj)
    if grip is None:
        yield Blocked(f"No hand holds {step.obj!r}; pick it up before.")
        return
    hands = situation.free_hands(step.hand)
    if not hands:
        yield Blocked("No other hand is free.")
        return
    for hand in hands:
        for meeting in _meetings(situation, step, grip.hand, hand, seed):
            try:
                yield _hand_over_at(situation, step, number, hand, meeting, seed)
            except Blocked as reason:
                yield reason


def _meetings(
    situation: Situation, step: Handover, giver: Hand, taker: Hand, seed: int
) -> Iterator[Float[np.ndarray, "7"]]:
    """Yield world poses of the object between two hands."""
    C, rng = situation.world, np.random.default_rng(seed)
    middle = (C.pose(giver.link) + C.pose(taker.link))[:3] / 2
    for k in range(MEETINGS):
        spread = MEETING_SPREAD if k else 0.0
        offset = rng.uniform(-spread, spread, 3)
        yield np.concatenate([middle + offset, C.pose(step.obj)[3:]])


def _hand_over_at(
    situation: Situation,
    step: Handover,
    number: int,
    taker: Hand,
    meeting: Float[np.ndarray, "7"],
    seed: int,
) -> Outcome:
    """Return the outcome of one place of meeting.

    Raises:
        Blocked: when it does not work.
    """
    robot, obj = situation.robot, step.obj
    grip = situation.grip_on(obj)
    if grip is None:
        raise Blocked(f"No hand holds {obj!r}.")
    giver, X = grip.hand, situation.planning_world()
    X_giver_obj = relative(situation.world, obj, giver.link)
    pose = pose_multiply(meeting, pose_inverse(X_giver_obj))
    (given,) = solve_keyframes(
        X, robot, giver.link, [pose], [X.q], fixed=robot.base_joints
    )
    if given is None:
        raise Blocked(f"The hand cannot bring {obj!r} to the other one.")
    ready = situation.at(given.q)
    of_giver = [*robot.arm(taker, of_others=True), *robot.base_joints]
    grasps = find_grasps(ready.world, obj, taker, MAX_GRASPS)
    if not grasps:
        raise Blocked(why_no_grasp(ready.world, obj, [taker]))
    found = grasp_keyframes(ready, taker, obj, grasps, seed, of_giver)
    if not found:
        raise Blocked(f"The other hand cannot grasp {obj!r} beside the first.")
    at, grasp = found[0]
    legs = grasp_legs(ready, taker, obj, grasp, at, of_giver)
    of_taker = [*robot.arm(giver, of_others=True), *robot.base_joints]
    held = ready.at(legs[-1].end).released(giver).grasped(taker, obj, grasp)
    away = release_legs(held, giver, obj, grip.grasp, legs[-1].end, of_taker)
    there, both = follow(situation, number, [Leg("give", given.q), *legs], seed)
    effect, reason = is_held(both, taker, obj)
    taken = both.released(giver).grasped(taker, obj, grasp)
    back, after = follow(taken, number, away, seed)
    choice = Choice(taker.link, grasp, situation.base(given.q), meeting)
    return Outcome((*there, *back), after, choice, effect, reason)
