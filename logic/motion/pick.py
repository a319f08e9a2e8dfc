"""Picking an object up: grasps that also serve where it is put down."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from posewise.robots.kinematics.transforms import pose_multiply
from posewise.robots.typing import FrameName

from ..exact.contact import InContactWith
from .grasp import Grasp
from .grasps import CLEARANCE, find_grasps
from .hand import Hand
from .keyframes import Keyframe, solve_keyframes
from .manoeuvre import (
    Blocked,
    finger_pairs,
    follow,
    lifted,
    nearby,
    retreated,
    stands,
    with_opening,
)
from .outcome import Choice, Outcome
from .place import place_keyframes
from .situation import Situation, relative
from .steps import Pick

FLIP = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
"""Half a turn of the gripper about its approach, which holds an object as well."""
MAX_GRASPS = 12
"""Number of grasps for which configurations are searched."""


def pick(
    situation: Situation,
    step: Pick,
    number: int,
    goals: Sequence[Float[np.ndarray, "7"]],
    seed: int,
) -> Iterator[Outcome | Blocked]:
    """Yield ways to pick an object up, or why one did not work; the shortest first.

    Args:
        situation: before.
        step: the step.
        number: of the step.
        goals: world poses of which the object is put down in one later; none: anywhere.
        seed: of the paths.
    """
    hands = [h for h in situation.robot.hands if step.hand in (None, h.link)]
    free = [h for h in hands if h.link not in situation.grips]
    if not free:
        busy = ", ".join(hand.link for hand in hands) or step.hand
        yield Blocked(f"No hand is free: {busy}.")
        return
    found = [
        (keyframe, hand, grasp)
        for hand in free
        for keyframe, grasp in _grasp_keyframes(situation, hand, step, seed)
    ]
    if not found:
        yield Blocked(f"No grasp of {step.obj!r} can be reached without a collision.")
    for keyframe, hand, grasp in sorted(found, key=lambda f: f[0].cost / f[2].score):
        try:
            yield _pick_by(
                situation, step.obj, number, hand, grasp, keyframe, goals, seed
            )
        except Blocked as reason:
            yield reason


def _grasp_keyframes(
    situation: Situation, hand: Hand, step: Pick, seed: int
) -> list[tuple[Keyframe, Grasp]]:
    """Return configurations in which a hand is at grasps of an object, open."""
    C, X = situation.world, situation.planning_world()
    grasps = [step.grasp] if step.grasp else find_grasps(C, step.obj, hand, MAX_GRASPS)
    rows, poses, starts = [], [], []
    for grasp in grasps:
        for turned in (grasp, replace(grasp, pose=pose_multiply(grasp.pose, FLIP))):
            pose = hand.link_pose(pose_multiply(C.pose(step.obj), turned.pose))
            for start in stands(situation, X, pose, seed):
                rows.append(turned)
                poses.append(pose)
                starts.append(with_opening(X, hand, start, grasp.width + 2 * CLEARANCE))
    touching = finger_pairs(hand, step.obj)
    found = solve_keyframes(X, situation.robot, hand.link, poses, starts, touching)
    return [(k, g) for k, g in zip(found, rows, strict=True) if k is not None]


def _pick_by(
    situation: Situation,
    obj: FrameName,
    number: int,
    hand: Hand,
    grasp: Grasp,
    at: Keyframe,
    goals: Sequence[Float[np.ndarray, "7"]],
    seed: int,
) -> Outcome:
    """Return the outcome of one grasp.

    Raises:
        Blocked: when it does not work.
    """
    X = situation.planning_world()
    touching, resting = finger_pairs(hand, obj), situation.near_pairs(obj)
    pose = hand.link_pose(pose_multiply(situation.world.pose(obj), grasp.pose))
    before = nearby(situation, X, hand, retreated(hand, pose), at.q)
    if before is None:
        raise Blocked(f"The hand cannot come to {obj!r} from {grasp.name}.")
    closed = with_opening(X, hand, at.q, grasp.width)
    holding = situation.at(closed).grasped(hand, obj, grasp)
    Y = holding.planning_world()
    up = nearby(holding, Y, hand, lifted(pose), closed)
    if up is None:
        raise Blocked(f"{obj!r} cannot be lifted, held at {grasp.name}.")
    if goals and not place_keyframes(
        holding.at(up.q), hand, relative(holding.world, obj, hand.link), goals, seed
    ):
        raise Blocked(f"Held at {grasp.name}, {obj!r} cannot be put down.")
    to_object, there = follow(
        situation,
        number,
        [
            ("reach", before.q, ()),
            ("approach", at.q, touching),
            ("close", closed, touching),
        ],
        seed,
    )
    held = InContactWith(obj, hand.fingers[0]) & InContactWith(obj, hand.fingers[1])
    effect, reason = held.holds(there.world), held.explain(there.world)
    holding = there.grasped(hand, obj, grasp)
    lift, after = follow(holding, number, [("lift", up.q, resting)], seed)
    base = X.coordinates(list(situation.robot.base_joints))
    choice = Choice(hand.link, grasp, at.q[base] if len(base) else None)
    return Outcome((*to_object, *lift), after, choice, effect, reason)
