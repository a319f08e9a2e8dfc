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
from .hand import Hand
from .keyframes import Keyframe, solve_keyframes
from .manoeuvre import (
    APPROACHES,
    Blocked,
    follow,
    lifted,
    retreated,
    stands,
    with_opening,
)
from .outcome import Choice, Outcome
from .places import find_places
from .reach_grasp import open_width, release_legs
from .segment import Leg
from .situation import Situation, moved, relative
from .steps import Place

FAR_HEIGHT = 100.0
"""Height at which an object is out of the way of everything [m]; at a smaller one it
may be in that of a tall world."""


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


class PlaceWay(NamedTuple):
    """Configurations in which a hand puts an object down."""

    goal: Float[np.ndarray, "7"]
    """World pose of the object."""
    lowered: Keyframe
    """The hand at the goal."""
    above: Keyframe
    """The hand above it, from where the object is lowered."""


def place_ways(
    situation: Situation,
    hand: Hand,
    goals: Sequence[Float[np.ndarray, "7"]],
    seed: int,
) -> list[PlaceWay]:
    """Return ways to put a held object down at some poses, the shortest first.

    In each the hand can come from above, open, and draw back.

    Args:
        situation: with the object in the hand.
        hand: the hand.
        goals: world poses of the object.
        seed: of the places of a mobile base.
    """
    grip = situation.grips[hand.link]
    X, obj, robot = situation.planning_world(), grip.obj, situation.robot
    opening, width = open_width(grip.grasp), grip.grasp.width
    X_obj_hand = pose_inverse(relative(situation.world, obj, hand.link))
    rows, poses, starts = [], [], []
    for goal in goals:
        pose = pose_multiply(goal, X_obj_hand)
        for start in stands(situation, X, pose, seed):
            rows.append(goal)
            poses.append(pose)
            # The open hand takes more room than the closed one.
            starts.append(with_opening(X, hand, start, opening))
    touching = goal_pairs(situation, obj, goals)
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
        _without_object(situation, hand).planning_world(),
        lowered,
        [retreated(hand, pose, APPROACHES[-1]) for pose in poses],
        opening,
    )
    ways = []
    for goal, first, before, after in zip(rows, lowered, above, away, strict=True):
        if first is not None and before is not None and after is not None:
            closed = replace(first, q=with_opening(X, hand, first.q, width))
            ways.append(PlaceWay(goal, closed, before))
    return sorted(ways, key=lambda w: w.lowered.cost)


def _without_object(situation: Situation, hand: Hand) -> Situation:
    """Return the situation with what a hand holds out of the way of everything."""
    obj = situation.grips[hand.link].obj
    released = situation.released(hand)
    world = released.world
    world.set_pose(obj, moved(world.pose(obj), np.array([0.0, 0.0, FAR_HEIGHT])))
    return released.with_world(world)


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
    ways = place_ways(situation, hand, goals, seed)
    if not ways:
        yield Blocked(f"No place of {step.obj!r} can be reached without a collision.")
    for candidate in ways:
        try:
            yield _place_at(situation, step, number, hand, candidate, seed)
        except Blocked as reason:
            yield reason


def _place_at(
    situation: Situation,
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
    grip, lowered = situation.grips[hand.link], candidate.lowered
    resting = goal_pairs(situation, step.obj, [candidate.goal])
    released = situation.at(lowered.q).released(hand)
    away = release_legs(released, hand, step.obj, grip.grasp, lowered.q)
    legs = [Leg("carry", candidate.above.q), Leg("lower", lowered.q, resting)]
    approach, down = follow(situation, number, legs, seed)
    back, after = follow(down.released(hand), number, away, seed)
    effect = step.predicate.holds(after.world)
    reason = step.predicate.explain(after.world)
    pose = after.world.pose(step.obj)
    choice = Choice(hand.link, grip.grasp, situation.base(lowered.q), pose)
    return Outcome((*approach, *back), after, choice, effect, reason)
