"""Configurations in which a hand is at a grasp of something, and the way there."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from posewise.robots.kinematics.transforms import pose_multiply
from posewise.robots.typing import FrameName

from .course import straight_course
from .grasp import GRASP_SAMPLING, Grasp
from .hand import Hand
from .keyframes import Keyframe, solve_keyframes
from .manoeuvre import (
    Blocked,
    drawn_back,
    finger_pairs,
    stands,
    with_opening,
)
from .motion_state import MotionState
from .segment import Leg

FLIP = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
"""Half a turn of the gripper about its approach, which holds an object as well."""


def grasp_keyframes(
    state: MotionState,
    hand: Hand,
    frame: FrameName,
    grasps: Sequence[Grasp],
    seed: int,
    fixed: Sequence[str] = (),
) -> list[tuple[Keyframe, Grasp]]:
    """Return configurations in which an open hand is at grasps, the nearest first.

    Args:
        state: before.
        hand: the hand.
        frame: that the grasps are relative to.
        grasps: of the frame.
        seed: of the places of a mobile base.
        fixed: names of joints that stay.
    """
    C, X = state.world, state.planning_world()
    rows, poses, starts = [], [], []
    for grasp in grasps:
        flipped = replace(grasp, pose=pose_multiply(grasp.pose, FLIP))
        for turned in (grasp, flipped):
            pose = hand.link_pose(pose_multiply(C.pose(frame), turned.pose))
            around = [X.q] if fixed else stands(state, X, pose, seed)
            for start in around:
                rows.append(turned)
                poses.append(pose)
                starts.append(with_opening(X, hand, start, open_width(grasp)))
    touching = finger_pairs(state.world, hand, frame)
    robot = state.robot
    keyframes = solve_keyframes(X, robot, hand.link, poses, starts, touching, fixed)
    pairs = [(k, g) for k, g in zip(keyframes, rows, strict=True) if k is not None]
    return sorted(pairs, key=lambda pair: pair[0].cost / pair[1].score)


def grasp_legs(
    state: MotionState,
    hand: Hand,
    frame: FrameName,
    grasp: Grasp,
    keyframe: Keyframe,
    fixed: Sequence[str] = (),
) -> tuple[Leg, Leg, Leg]:
    """Return the paths to a grasp: to the object, around it, and closing on it.

    Raises:
        Blocked: when the hand cannot come to the grasp.
    """
    X = state.planning_world()
    pose = hand.link_pose(pose_multiply(state.world.pose(frame), grasp.pose))
    before = drawn_back(state, X, hand, pose, keyframe.q, fixed)
    if before is None:
        raise Blocked(f"The hand cannot come to {frame!r}, {grasp.name}.")
    touching = finger_pairs(state.world, hand, frame)
    # Straight along the open fingers, which else might push the object.
    course = straight_course(hand.link, state.at(before.q).world.pose(hand.link), pose)
    return (
        Leg("reach", before.q),
        Leg("approach", keyframe.q, touching, course),
        Leg(
            "close",
            with_opening(X, hand, keyframe.q, grasp.width),
            touching,
            hand=hand.link,
        ),
    )


def release_legs(
    state: MotionState,
    hand: Hand,
    frame: FrameName,
    grasp: Grasp,
    q: Float[np.ndarray, " nq"],
    fixed: Sequence[str] = (),
) -> tuple[Leg, Leg]:
    """Return the paths away from a grasp: opening the hand, and drawing it back.

    Args:
        state: with nothing in the hand.
        hand: the hand.
        frame: that it has held.
        grasp: by which it has.
        q: configuration.
        fixed: names of joints that stay.

    Raises:
        Blocked: when the hand cannot be drawn back.
    """
    X = state.planning_world()
    opened = with_opening(X, hand, q, open_width(grasp))
    pose = state.at(q).world.pose(hand.link)
    away = drawn_back(state, X, hand, pose, opened, fixed)
    if away is None:
        raise Blocked(f"The hand cannot come away from {frame!r}.")
    touching = finger_pairs(state.world, hand, frame)
    back = state.at(away.q).world.pose(hand.link)
    return (
        Leg("open", opened, touching, hand=hand.link),
        Leg("retreat", away.q, touching, straight_course(hand.link, pose, back)),
    )


def open_width(grasp: Grasp) -> float:
    """Return the distance between the fingers before they close on a grasp [m]."""
    return grasp.width + 2 * GRASP_SAMPLING.clearance
