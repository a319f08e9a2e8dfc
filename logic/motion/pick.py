"""Picking an object up: grasps that also serve where it is put down."""

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.typing import FrameName

from ..geometry.messages import length
from ..predicates.contact import InContactWith
from .feasibility import out_of_reach, why_no_grasp
from .grasp import GRASP_SAMPLING, Grasp
from .grasps import find_grasps
from .hand import Hand
from .keyframes import Keyframe
from .manoeuvre import Blocked, follow, lifted, nearby, with_opening
from .motion_state import MotionState
from .outcome import Choice, Outcome
from .place import place_ways
from .reach_grasp import grasp_keyframes, grasp_legs
from .segment import Leg
from .step_types import Pick


def pick(
    state: MotionState,
    step: Pick,
    number: int,
    goals: Sequence[Float[np.ndarray, "7"]],
    seed: int,
) -> Iterator[Outcome | Blocked]:
    """Yield ways to pick an object up, or why one did not work; the shortest first.

    Args:
        state: before.
        step: the step.
        number: of the step.
        goals: world poses of which the object is put down in one later; none: anywhere.
        seed: of the paths.
    """
    hands = state.free_hands(step.hand)
    if not hands:
        yield Blocked("No hand is free.")
        return
    C, candidates = state.world, []
    if text := _why_impossible(state, step, hands, goals):
        yield Blocked(text)
        return
    by_hand = {hand.link: _grasps(C, step, hand) for hand in hands}
    if not any(by_hand.values()):
        yield Blocked(why_no_grasp(C, step.obj, hands))
        return
    for hand in hands:
        grasps = by_hand[hand.link]
        keyframes = grasp_keyframes(state, hand, step.obj, grasps, seed)
        candidates += [(keyframe, hand, grasp) for keyframe, grasp in keyframes]
    if not candidates:
        yield Blocked(f"No grasp of {step.obj!r} can be reached without a collision.")
    useless: set[str] = set()
    for keyframe, hand, grasp in sorted(
        candidates, key=lambda f: f[0].cost / f[2].score
    ):
        key = f"{hand.link} {np.round(grasp.pose, 4)}"
        if key in useless:
            continue
        if not _can_be_put_down(state, step.obj, hand, grasp, keyframe, goals, seed):
            useless.add(key)
            continue
        try:
            yield _pick_by(state, step.obj, number, hand, grasp, keyframe, seed)
        except Blocked as reason:
            yield reason
    if useless:
        yield Blocked(f"{step.obj!r} cannot be put down as it can be grasped.")


def _grasps(C: Config, step: Pick, hand: Hand) -> list[Grasp]:
    """Return the grasp of a step, or those that are found."""
    if step.grasp is not None:
        return [step.grasp]
    return find_grasps(C, step.obj, hand, GRASP_SAMPLING.max_grasps)


def _why_impossible(
    state: MotionState,
    step: Pick,
    hands: Sequence[Hand],
    goals: Sequence[Float[np.ndarray, "7"]],
) -> str:
    """Return why no hand can do a step, as far as no search is needed; else ""."""
    C, robot, obj = state.world, state.robot, step.obj
    widest = max(hand.max_width for hand in hands)
    if step.grasp is not None and step.grasp.width > widest:
        return (
            f"The grasp of {obj!r} is {length(step.grasp.width)} wide, and the hand"
            f" opens {length(widest)}."
        )
    for poses, what in (
        ([C.pose(obj)], f"{obj!r} is"),
        (goals, f"{obj!r} is to be put down, at the nearest,"),
    ):
        far = [out_of_reach(C, robot, hand, obj, poses) for hand in hands]
        if all(far):
            return f"{what} {far[0]}"
    return ""


def _can_be_put_down(
    state: MotionState,
    obj: FrameName,
    hand: Hand,
    grasp: Grasp,
    keyframe: Keyframe,
    goals: Sequence[Float[np.ndarray, "7"]],
    seed: int,
) -> bool:
    """Return whether a hand can bring an object to one of some poses by a grasp."""
    if not goals:
        return True
    closed = with_opening(state.world, hand, keyframe.q, grasp.width)
    holding = state.at(closed).grasped(hand, obj, grasp)
    return bool(place_ways(holding, hand, goals, seed))


def _pick_by(
    state: MotionState,
    obj: FrameName,
    number: int,
    hand: Hand,
    grasp: Grasp,
    keyframe: Keyframe,
    seed: int,
) -> Outcome:
    """Return the outcome of one grasp.

    Raises:
        Blocked: when it does not work.
    """
    legs = grasp_legs(state, hand, obj, grasp, keyframe)
    resting, closed = state.near_pairs(obj), legs[-1].end
    holding = state.at(closed).grasped(hand, obj, grasp)
    X = holding.planning_world()
    up = nearby(holding, X, hand, lifted(holding.world.pose(hand.link)), closed)
    if up is None:
        raise Blocked(f"{obj!r} cannot be lifted, held {grasp.name}.")
    to_object, at_object = follow(state, number, legs, seed)
    effect, reason = is_held(at_object, hand, obj)
    holding = at_object.grasped(hand, obj, grasp)
    lift, after = follow(holding, number, [Leg("lift", up.q, resting)], seed)
    choice = Choice(hand.link, grasp, state.base(keyframe.q))
    return Outcome((*to_object, *lift), after, choice, effect, reason)


def is_held(state: MotionState, hand: Hand, obj: FrameName) -> tuple[bool, str]:
    """Return whether both fingers touch an object, and why."""
    left, right = hand.fingers
    pinched = InContactWith(obj, left) & InContactWith(obj, right)
    return pinched.holds(state.world), pinched.explain(state.world)
