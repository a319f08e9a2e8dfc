"""Putting an object down where predicates hold."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.kinematics.transforms import pose_inverse, pose_multiply
from posewise.robots.typing import FrameName

from .feasibility import out_of_reach
from .goal_poses import find_goal_poses
from .hand import Hand
from .keyframes import Keyframe, solve_keyframes
from .manoeuvre import (
    HAND_ROOM,
    Blocked,
    follow,
    lifted,
    retreated,
    stands,
    with_opening,
)
from .motion_state import MotionState, moved, relative
from .outcome import Choice, Outcome
from .reach_grasp import open_width, release_legs
from .segment import Leg
from .step_types import Place


def place_goals(
    state: MotionState, step: Place, seed: int
) -> list[Float[np.ndarray, "7"]]:
    """Return world poses in which an object can be put down."""
    C, robot = state.world.copy(), state.robot
    grip = state.grip_on(step.obj)
    C.detach(step.obj)
    if grip is not None:
        C.set_pose(step.obj, grip.rest_pose)
    return find_goal_poses(C, robot.root, step.obj, step.predicate, seed)


class PlaceWay(NamedTuple):
    """Configurations in which a hand puts an object down."""

    goal: Float[np.ndarray, "7"]
    """World pose of the object."""
    lowered: Keyframe
    """The hand at the goal."""
    above: Keyframe
    """The hand above it, from where the object is lowered."""


def place_ways(
    state: MotionState,
    hand: Hand,
    goals: Sequence[Float[np.ndarray, "7"]],
    seed: int,
) -> list[PlaceWay]:
    """Return ways to put a held object down at some poses, the shortest first.

    In each the hand can come from above, open, and draw back.

    Args:
        state: with the object in the hand.
        hand: the hand.
        goals: world poses of the object.
        seed: of the places of a mobile base.
    """
    grip = state.grips[hand.link]
    X, obj, robot = state.planning_world(), grip.obj, state.robot
    opening, width = open_width(grip.grasp), grip.grasp.width
    X_obj_hand = pose_inverse(relative(state.world, obj, hand.link))
    rows, poses, starts = [], [], []
    for goal in goals:
        pose = pose_multiply(goal, X_obj_hand)
        for start in stands(state, X, pose, seed):
            rows.append(goal)
            poses.append(pose)
            # The open hand takes more room than the closed one.
            starts.append(with_opening(X, hand, start, opening))
    touching = goal_pairs(state, obj, goals)
    fixed = robot.base_joints

    def solved(
        world: Config,
        keyframes: Sequence[Keyframe | None],
        poses: Sequence[Float[np.ndarray, "7"]],
        opening: float,
    ) -> list[Keyframe | None]:
        """Return keyframes at other poses, where those before them were solved."""
        places = [k for k, keyframe in enumerate(keyframes) if keyframe is not None]
        starts = [with_opening(X, hand, f.q, opening) for f in keyframes if f]
        ends = solve_keyframes(
            world, robot, hand.link, [poses[k] for k in places], starts, (), fixed
        )
        by_place = dict(zip(places, ends, strict=True))
        return [by_place.get(k) for k in range(len(keyframes))]

    lowered = solve_keyframes(X, robot, hand.link, poses, starts, touching)
    above = solved(X, lowered, [lifted(pose) for pose in poses], width)
    lowered = [
        a if b is not None else None for a, b in zip(lowered, above, strict=True)
    ]
    away = solved(
        _without_object(state, hand).planning_world(),
        lowered,
        [retreated(hand, pose, HAND_ROOM.approaches[-1]) for pose in poses],
        opening,
    )
    ways = []
    for goal, first, before, after in zip(rows, lowered, above, away, strict=True):
        if first is not None and before is not None and after is not None:
            closed = replace(first, q=with_opening(X, hand, first.q, width))
            ways.append(PlaceWay(goal, closed, before))
    return sorted(ways, key=lambda w: w.lowered.cost)


def _without_object(state: MotionState, hand: Hand) -> MotionState:
    """Return the state with what a hand holds out of the way of everything."""
    obj = state.grips[hand.link].obj
    released = state.released(hand)
    world = released.world
    # 100 m up it is above all that a robot reaches.
    world.set_pose(obj, moved(world.pose(obj), np.array([0.0, 0.0, 100.0])))
    return released.with_world(world)


def goal_pairs(
    state: MotionState, obj: FrameName, goals: Sequence[Float[np.ndarray, "7"]]
) -> tuple[tuple[str, str], ...]:
    """Return the pairs that an object touches at any of some poses."""
    hand = state.grip_on(obj)
    released = state if hand is None else state.released(hand.hand)
    pairs: dict[tuple[str, str], None] = {}
    for goal in goals:
        released.world.set_pose(obj, goal)
        pairs |= dict.fromkeys(released.near_pairs(obj))
    return tuple(pairs)


def place(
    state: MotionState, step: Place, number: int, seed: int
) -> Iterator[Outcome | Blocked]:
    """Yield ways to put an object down, or why one did not work; the shortest first.

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
    goals = place_goals(state, step, seed)
    if not goals:
        yield Blocked(f"No free place was found for {step.obj!r}.")
        return
    hand = grip.hand
    if far := out_of_reach(state.world, state.robot, hand, step.obj, goals):
        yield Blocked(f"{step.obj!r} is to be put down, at the nearest, {far}")
        return
    ways = place_ways(state, hand, goals, seed)
    if not ways:
        yield Blocked(f"No place of {step.obj!r} can be reached without a collision.")
    for candidate in ways:
        try:
            yield _place_at(state, step, number, hand, candidate, seed)
        except Blocked as reason:
            yield reason


def _place_at(
    state: MotionState,
    step: Place,
    number: int,
    hand: Hand,
    candidate: PlaceWay,
    seed: int,
) -> Outcome:
    """Return the outcome of one place.

    Raises:
        Blocked: when it does not work.
    """
    grip, lowered = state.grips[hand.link], candidate.lowered
    resting = goal_pairs(state, step.obj, [candidate.goal])
    released = state.at(lowered.q).released(hand)
    away = release_legs(released, hand, step.obj, grip.grasp, lowered.q)
    legs = [Leg("carry", candidate.above.q), Leg("lower", lowered.q, resting)]
    approach, down = follow(state, number, legs, seed)
    back, after = follow(down.released(hand), number, away, seed)
    effect = step.predicate.holds(after.world)
    reason = step.predicate.explain(after.world)
    pose = after.world.pose(step.obj)
    choice = Choice(hand.link, grip.grasp, state.base(lowered.q), pose)
    return Outcome((*approach, *back), after, choice, effect, reason)
