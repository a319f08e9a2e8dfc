"""Handing an object from one hand to another."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from posewise.robots.kinematics.transforms import pose_inverse, pose_multiply

from .feasibility import why_no_grasp
from .grasp import GRASP_SAMPLING
from .grasps import find_grasps
from .hand import Hand
from .keyframes import solve_keyframes
from .manoeuvre import Blocked, follow
from .motion_state import MotionState, relative
from .outcome import Choice, Outcome
from .pick import is_held
from .reach_grasp import grasp_keyframes, grasp_legs, release_legs
from .segment import Leg
from .step_types import Handover


@dataclass(frozen=True, slots=True)
class MeetingSampling:
    """Choices of the search for places of handovers, varied in docs/evidence.md."""

    count: int = 6
    """Number of places between both hands that are tried; more of them take longer
    where none works."""
    max_offset: float = 0.12
    """Largest distance of these places from the middle, along each axis [m]; farther
    ones are out of reach of a hand more often."""


MEETING_SAMPLING = MeetingSampling()


def handover(
    state: MotionState, step: Handover, number: int, seed: int
) -> Iterator[Outcome | Blocked]:
    """Yield ways to hand an object over, or why one did not work.

    Args:
        state: before.
        step: the step.
        number: of the step.
        seed: of places and paths.
    """
    grip = state.grip_on(step.obj)
    if grip is None:
        yield Blocked(f"No hand holds {step.obj!r}; pick it up before.")
        return
    hands = state.free_hands(step.hand)
    if not hands:
        yield Blocked("No other hand is free.")
        return
    for hand in hands:
        for meeting in _meetings(state, step, grip.hand, hand, seed):
            try:
                yield _hand_over_at(state, step, number, hand, meeting, seed)
            except Blocked as reason:
                yield reason


def _meetings(
    state: MotionState, step: Handover, giver: Hand, taker: Hand, seed: int
) -> Iterator[Float[np.ndarray, "7"]]:
    """Yield world poses of the object between two hands."""
    C, rng = state.world, np.random.default_rng(seed)
    middle = (C.pose(giver.link) + C.pose(taker.link))[:3] / 2
    for k in range(MEETING_SAMPLING.count):
        spread = MEETING_SAMPLING.max_offset if k else 0.0
        offset = rng.uniform(-spread, spread, 3)
        yield np.concatenate([middle + offset, C.pose(step.obj)[3:]])


def _hand_over_at(
    state: MotionState,
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
    robot, obj = state.robot, step.obj
    grip = state.grip_on(obj)
    if grip is None:
        raise Blocked(f"No hand holds {obj!r}.")
    giver, X = grip.hand, state.planning_world()
    X_giver_obj = relative(state.world, obj, giver.link)
    pose = pose_multiply(meeting, pose_inverse(X_giver_obj))
    (presented,) = solve_keyframes(
        X, robot, giver.link, [pose], [X.q], fixed=robot.base_joints
    )
    if presented is None:
        raise Blocked(f"The hand cannot bring {obj!r} to the other one.")
    ready = state.at(presented.q)
    of_giver = [*robot.arm(taker, of_others=True), *robot.base_joints]
    grasps = find_grasps(ready.world, obj, taker, GRASP_SAMPLING.max_grasps)
    if not grasps:
        raise Blocked(why_no_grasp(ready.world, obj, [taker]))
    keyframes = grasp_keyframes(ready, taker, obj, grasps, seed, of_giver)
    if not keyframes:
        raise Blocked(f"The other hand cannot grasp {obj!r} beside the first.")
    closing, grasp = keyframes[0]
    legs = grasp_legs(ready, taker, obj, grasp, closing, of_giver)
    of_taker = [*robot.arm(giver, of_others=True), *robot.base_joints]
    passed = ready.at(legs[-1].end).released(giver).grasped(taker, obj, grasp)
    away = release_legs(passed, giver, obj, grip.grasp, legs[-1].end, of_taker)
    forward, joint_grip = follow(state, number, [Leg("give", presented.q), *legs], seed)
    effect, reason = is_held(joint_grip, taker, obj)
    taken_over = joint_grip.released(giver).grasped(taker, obj, grasp)
    back, after = follow(taken_over, number, away, seed)
    choice = Choice(taker.link, grasp, state.base(presented.q), meeting)
    return Outcome((*forward, *back), after, choice, effect, reason)
