"""Pushing an object over what it stands on, with closed fingers."""

from collections.abc import Iterator
from itertools import product

import numpy as np
from jaxtyping import Float

from posewise.objectives.placement.stable_poses import collision_points
from posewise.robots.kinematics.transforms import (
    make_pose,
    matrix_to_quat,
    pose_inverse,
    pose_multiply,
    quat_to_matrix,
)

from ..geometry.frame_groups import bounding_box, find_object
from ..geometry.pad_contacts import PALM_GAP
from .course import Course
from .grasp import Grasp
from .hand import PAD_DEPTH, Hand
from .keyframes import KEYFRAME_MARGIN, Keyframe, solve_keyframes
from .manoeuvre import (
    Blocked,
    finger_pairs,
    follow,
    nearby,
    require_certified,
    require_course,
    stands,
    with_opening,
)
from .outcome import Choice, Outcome
from .segment import Leg, solve_segment
from .situation import Situation, moved
from .steps import Push

DIRECTIONS = 16
"""Number of directions in which an object may be pushed."""
STEP = 0.02
"""Length of the steps in which goals are sought [m]."""
MAX_PUSH = 0.8
"""Largest length of a push [m]."""
MAX_GOALS = 6
"""Number of goals for which configurations are searched."""
RUN_UP = 0.06
"""Distance of the hand from an object before it pushes, and after [m]."""
CLOSED_WIDTH = 4e-3
"""Distance between fingers that push [m]; links of a robot do not touch."""
CONTACT_GAP = 1e-4
"""Distance at which fingers begin to push [m]."""


def push(
    situation: Situation, step: Push, number: int, seed: int
) -> Iterator[Outcome | Blocked]:
    """Yield ways to push an object, or why one did not work; the shortest first.

    Args:
        situation: before.
        step: the step.
        number: of the step.
        seed: of the paths.
    """
    hands = situation.free_hands(step.hand)
    if not hands:
        yield Blocked("No hand is free.")
        return
    goals = push_goals(situation, step)
    if not goals:
        yield Blocked(f"No straight push brings {step.obj!r} to where it should be.")
    found = False
    for offset, hand in product(goals, hands):
        for contact, at in _contacts(situation, step, hand, offset, seed):
            found = True
            try:
                yield _push_by(situation, step, number, hand, offset, contact, at, seed)
            except Blocked as reason:
                yield reason
    if goals and not found:
        yield Blocked(f"The hand cannot come behind {step.obj!r}.")


def push_goals(situation: Situation, step: Push) -> list[Float[np.ndarray, "3"]]:
    """Return displacements by which a predicate holds, the shortest first.

    On the way the object touches what it touches at first, and nothing else.
    """
    X, pose = situation.world.copy(), situation.world.pose(step.obj)
    sliding = set(situation.near_pairs(step.obj))
    goals = []
    for angle in 2 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS:
        ahead = np.array([np.cos(angle), np.sin(angle), 0.0])
        for length in np.arange(STEP, MAX_PUSH, STEP):
            X.set_pose(step.obj, moved(pose, length * ahead))
            if set(situation.with_world(X).near_pairs(step.obj)) != sliding:
                break
            if step.predicate.holds(X):
                goals.append(length * ahead)
                break
    return sorted(goals, key=lambda g: float(np.linalg.norm(g)))[:MAX_GOALS]


def _contacts(
    situation: Situation,
    step: Push,
    hand: Hand,
    offset: Float[np.ndarray, "3"],
    seed: int,
) -> list[tuple[Grasp, Keyframe]]:
    """Return where closed fingers push, with configurations; the nearest first."""
    X = situation.planning_world()
    rows, poses, starts = [], [], []
    for gripper in _gripper_poses(
        situation, step, hand, offset / np.linalg.norm(offset)
    ):
        pose = hand.link_pose(gripper)
        contact = pose_multiply(pose_inverse(X.pose(step.obj)), gripper)
        for start in stands(situation, X, pose, seed):
            rows.append(Grasp(contact, CLOSED_WIDTH, name="pushed"))
            poses.append(pose)
            starts.append(with_opening(X, hand, start, CLOSED_WIDTH))
    touching = finger_pairs(X, hand, step.obj)
    found = solve_keyframes(X, situation.robot, hand.link, poses, starts, touching)
    pairs = [(g, k) for g, k in zip(rows, found, strict=True) if k is not None]
    return sorted(pairs, key=lambda pair: pair[1].cost)


def _gripper_poses(
    situation: Situation, step: Push, hand: Hand, ahead: Float[np.ndarray, "3"]
) -> Iterator[Float[np.ndarray, "7"]]:
    """Yield poses of closed fingers behind an object: from above, and from behind."""
    C = situation.world
    low, high = bounding_box(find_object(C, step.obj))
    middle = (low + high) / 2
    behind = _reach(situation, step, ahead)
    up, side = np.array([0.0, 0.0, 1.0]), np.array([-ahead[1], ahead[0], 0.0])
    for palm in (up, -ahead, (up - ahead) / np.sqrt(2)):
        for x in (side, -side):
            R = np.stack([x, np.cross(palm, x), palm], -1)
            front = _finger_front(situation, hand, R, ahead)
            # The palm stays above the object, and the fingers above its support.
            lowest = low[2] + KEYFRAME_MARGIN + PAD_DEPTH + 2e-3
            over = high[2] - hand.finger_length + PALM_GAP if palm[2] > 0.5 else lowest
            height = max(middle[2], lowest, over)
            if height > high[2] - KEYFRAME_MARGIN:
                continue
            point = (
                np.array([*middle[:2], height]) - (behind + front + CONTACT_GAP) * ahead
            )
            yield make_pose(point, matrix_to_quat(R))


def _reach(situation: Situation, step: Push, ahead: np.ndarray) -> float:
    """Return how far an object reaches backwards from its middle [m]."""
    C = situation.world
    low, high = bounding_box(find_object(C, step.obj))
    R = quat_to_matrix(C.pose(step.obj)[3:])
    points = collision_points(C, step.obj) @ R.T + C.pose(step.obj)[:3]
    return float(((low + high)[:2] / 2 @ ahead[:2]) - (points @ ahead).min())


def _finger_front(
    situation: Situation, hand: Hand, R: np.ndarray, ahead: np.ndarray
) -> float:
    """Return how far closed fingers reach ahead of the gripper's frame [m]."""
    C = situation.world.copy()
    C.set_joint(hand.joint, hand.joint_value(CLOSED_WIDTH))
    here = hand.pose(C)
    most = -np.inf
    for finger in hand.fingers:
        pose = C.pose(finger)
        points = collision_points(C, finger) @ quat_to_matrix(pose[3:]).T + pose[:3]
        local = (points - here[:3]) @ quat_to_matrix(here[3:])
        most = max(most, float((local @ R.T @ ahead).max()))
    return most


def _push_by(
    situation: Situation,
    step: Push,
    number: int,
    hand: Hand,
    offset: Float[np.ndarray, "3"],
    contact: Grasp,
    at: Keyframe,
    seed: int,
) -> Outcome:
    """Return the outcome of one push.

    Raises:
        Blocked: when it does not work.
    """
    X, obj = situation.planning_world(), step.obj
    back = -RUN_UP * offset / np.linalg.norm(offset)
    pose = hand.link_pose(pose_multiply(X.pose(obj), contact.pose))
    before = nearby(situation, X, hand, moved(pose, back), at.q)
    if before is None:
        raise Blocked(f"The hand cannot come behind {obj!r}.")
    sliding, touching = situation.near_pairs(obj), finger_pairs(X, hand, obj)
    pushing = situation.at(at.q).grasped(hand, obj, contact)
    Y = pushing.planning_world()
    starts = [at.q, *stands(pushing, Y, moved(pose, offset), seed)]
    starts = [with_opening(Y, hand, start, CLOSED_WIDTH) for start in starts]
    poses = [moved(pose, offset)] * len(starts)
    found = solve_keyframes(Y, situation.robot, hand.link, poses, starts, sliding)
    ends = [keyframe for keyframe in found if keyframe is not None]
    if not ends:
        raise Blocked(f"The hand cannot push {obj!r} far enough.")
    end = min(ends, key=lambda k: float(((k.q - at.q) ** 2).sum()))
    legs = [Leg("reach", before.q), Leg("approach", at.q, touching)]
    there, contacting = follow(situation, number, legs, seed)
    pushing = contacting.grasped(hand, obj, contact)
    ahead = offset / np.linalg.norm(offset)
    limits = 0.0, float(np.linalg.norm(offset))
    course = Course(hand.link, pose[:3], ahead, is_turn=False, limits=limits)
    leg = Leg("push", end.q, sliding, course)
    Y = pushing.planning_world(course)
    slide = solve_segment(pushing.world, Y, leg, number, situation.holds, seed)
    require_certified(slide)
    require_course(slide, course)
    left = pushing.at(slide.solution.path[-1]).released(hand)
    Z = left.planning_world()
    away = nearby(left, Z, hand, moved(pose, offset + back), slide.solution.path[-1])
    if away is None:
        raise Blocked(f"The hand cannot come away from {obj!r}.")
    retreat, after = follow(left, number, [Leg("retreat", away.q, touching)], seed)
    choice = Choice(hand.link, None, situation.base(at.q), after.world.pose(obj))
    effect = step.predicate.holds(after.world)
    reason = step.predicate.explain(after.world)
    return Outcome((*there, slide, *retreat), after, choice, effect, reason)
