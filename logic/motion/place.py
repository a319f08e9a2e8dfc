"""Putting an object down where predicates hold."""

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Float

from posewise.robots.kinematics.transforms import pose_inverse, pose_multiply
from posewise.robots.typing import FrameName

from .feasibility import out_of_reach
from .hand import Hand
from .keyframes import Keyframe, solve_keyframes
from .manoeuvre import Blocked, follow, lifted, nearby, stands
from .outcome import Choice, Outcome
from .places import find_places
from .reach_grasp import release_legs
from .segment import Leg
from .situation import Situation, relative
from .steps import Place


def place_goals(
    situation: Situation, step: Place, seed: int
) -> list[Float[np.ndarray, "7"]]:
    """Return world poses in which an object can be put down."""
    C, robot = situation.world.copy(), situation.robot
    grip = situation.grip_on(step.obj)
    C.detach(step.obj)
    if grip is not None:
        C.set_pose(step.obj, grip.rest)
    return find_places(C, robot.root, step.obj, step.predicate, seed)


def place_keyframes(
    situation: Situation,
    hand: Hand,
    X_hand_obj: Float[np.ndarray, "7"],
    goals: Sequence[Float[np.ndarray, "7"]],
    seed: int,
) -> list[tuple[Keyframe, Float[np.ndarray, "7"]]]:
    """Return configurations in which a held object is at one of some poses.

    Args:
        situation: with the object in the hand.
        hand: the hand.
        X_hand_obj: pose of the object in the link of the hand.
        goals: world poses of the object.
        seed: of the places of a mobile base.
    """
    X = situation.planning_world()
    obj = situation.grips[hand.link].obj
    rows, poses, starts = [], [], []
    for goal in goals:
        pose = pose_multiply(goal, pose_inverse(X_hand_obj))
        for start in stands(situation, X, pose, seed):
            rows.append(goal)
            poses.append(pose)
            starts.append(start)
    touching = goal_pairs(situation, obj, goals)
    found = solve_keyframes(X, situation.robot, hand.link, poses, starts, touching)
    return [(k, goal) for k, goal in zip(found, rows, strict=True) if k is not None]


def goal_pairs(
    situation: Situation, obj: FrameName, goals: Sequence[Float[np.ndarray, "7"]]
) -> tuple[tuple[str, str], ...]:
    """Return the pairs that an object touches at any of some poses."""
    hand = situation.grip_on(obj)
    released = situation if hand is None else situation.released(hand.hand)
    pairs: dict[tuple[str, str], None] = {}
    for goal in goals:
        released.world.set_pose(obj, goal)
        pairs |= dict.fromkeys(released.near_pairs(obj))
    return tuple(pairs)


def place(
    situation: Situation, step: Place, number: int, seed: int
) -> Iterator[Outcome | Blocked]:
    """Yield ways to put an object down, or why one did not work; the shortest first.

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
    goals = place_goals(situation, step, seed)
    if not goals:
        yield Blocked(f"No free place was found for {step.obj!r}.")
        return
    hand = grip.hand
    if far := out_of_reach(situation.world, situation.robot, hand, step.obj, goals):
        yield Blocked(f"{step.obj!r} is to be put down, at the nearest, {far}")
        return
    X_hand_obj = relative(situation.world, step.obj, hand.link)
    found = place_keyframes(situation, hand, X_hand_obj, goals, seed)
    if not found:
        yield Blocked(f"No place of {step.obj!r} can be reached without a collision.")
    for keyframe, goal in sorted(found, key=lambda f: f[0].cost):
        try:
            yield _place_at(situation, step, number, hand, goal, keyframe, seed)
        except Blocked as reason:
            yield reason


def _place_at(
    situation: Situation,
    step: Place,
    number: int,
    hand: Hand,
    goal: Float[np.ndarray, "7"],
    at: Keyframe,
    seed: int,
) -> Outcome:
    """Return the outcome of one place.

    Raises:
        Blocked: when it does not work.
    """
    X = situation.planning_world()
    grip = situation.grips[hand.link]
    pose = pose_multiply(
        goal, pose_inverse(relative(situation.world, step.obj, hand.link))
    )
    resting = goal_pairs(situation, step.obj, [goal])
    above = nearby(situation, X, hand, lifted(pose), at.q)
    if above is None:
        raise Blocked(f"{step.obj!r} cannot come from above.")
    left = situation.at(at.q).released(hand)
    away = release_legs(left, hand, step.obj, grip.grasp, at.q)
    legs = [Leg("carry", above.q), Leg("lower", at.q, resting)]
    there, down = follow(situation, number, legs, seed)
    back, after = follow(down.released(hand), number, away, seed)
    effect = step.predicate.holds(after.world)
    reason = step.predicate.explain(after.world)
    pose = after.world.pose(step.obj)
    choice = Choice(hand.link, grip.grasp, situation.base(at.q), pose)
    return Outcome((*there, *back), after, choice, effect, reason)
