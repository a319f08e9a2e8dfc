"""Pushing an object over what it stands on, with closed fingers."""

from collections.abc import Iterator
from dataclasses import dataclass
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
from .course import HandCourse
from .grasp import GRASP_SAMPLING, Grasp
from .hand import Hand
from .keyframes import KEYFRAME_SEARCH, Keyframe, solve_keyframes
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
from .motion_state import MotionState, moved
from .outcome import Choice, Outcome
from .segment import Leg, solve_segment
from .step_types import Push


@dataclass(frozen=True, slots=True)
class PushSearch:
    """Choices of the search for pushes, varied in docs/evidence.md."""

    directions: int = 16
    """Number of directions in which an object may be pushed; between fewer of them
    goals are missed that a push could reach."""
    goal_spacing: float = 0.02
    """Length of the steps in which goals are sought [m]; longer ones pass over small
    goals and thin obstacles."""
    max_length: float = 0.8
    """Largest length of a push [m]; goals that are farther away are not found."""
    run_up: float = 0.06
    """Distance of the hand from an object before it pushes, and after [m]; a longer one
    needs more room behind the object."""
    finger_gap: float = 4e-3
    """Distance between fingers that push [m]; at a smaller one the fingers would count
    as links in collision."""
    contact_gap: float = 1e-4
    """Distance at which fingers begin to push [m]; a larger one leaves the object short
    of its goal by more."""


PUSH_SEARCH = PushSearch()


def push(
    state: MotionState, step: Push, number: int, seed: int
) -> Iterator[Outcome | Blocked]:
    """Yield ways to push an object, or why one did not work; the shortest first.

    Args:
        state: before.
        step: the step.
        number: of the step.
        seed: of the paths.
    """
    hands = state.free_hands(step.hand)
    if not hands:
        yield Blocked("No hand is free.")
        return
    goals = push_goals(state, step)
    if not goals:
        yield Blocked(f"No straight push brings {step.obj!r} to where it should be.")
    is_reached = False
    for offset, hand in product(goals, hands):
        for contact, keyframe in _contacts(state, step, hand, offset, seed):
            is_reached = True
            try:
                yield _push_by(
                    state, step, number, hand, offset, contact, keyframe, seed
                )
            except Blocked as reason:
                yield reason
    if goals and not is_reached:
        yield Blocked(f"The hand cannot come behind {step.obj!r}.")


def push_goals(state: MotionState, step: Push) -> list[Float[np.ndarray, "3"]]:
    """Return displacements by which a predicate holds, the shortest first.

    On the way the object touches what it touches at first, and nothing else.
    """
    X, pose, search = state.world.copy(), state.world.pose(step.obj), PUSH_SEARCH
    sliding = set(state.near_pairs(step.obj))
    lengths = np.arange(search.goal_spacing, search.max_length, search.goal_spacing)
    goals = []
    for angle in 2 * np.pi * np.arange(search.directions) / search.directions:
        ahead = np.array([np.cos(angle), np.sin(angle), 0.0])
        for length in lengths:
            X.set_pose(step.obj, moved(pose, length * ahead))
            if set(state.with_world(X).near_pairs(step.obj)) != sliding:
                break
            if step.predicate.holds(X):
                goals.append(length * ahead)
                break
    return sorted(goals, key=lambda g: float(np.linalg.norm(g)))


def _contacts(
    state: MotionState,
    step: Push,
    hand: Hand,
    offset: Float[np.ndarray, "3"],
    seed: int,
) -> list[tuple[Grasp, Keyframe]]:
    """Return where closed fingers push, with configurations; the nearest first."""
    X = state.planning_world()
    rows, poses, starts = [], [], []
    for gripper in _gripper_poses(state, step, hand, offset / np.linalg.norm(offset)):
        pose = hand.link_pose(gripper)
        contact = pose_multiply(pose_inverse(X.pose(step.obj)), gripper)
        for start in stands(state, X, pose, seed):
            rows.append(Grasp(contact, PUSH_SEARCH.finger_gap, name="pushed"))
            poses.append(pose)
            starts.append(with_opening(X, hand, start, PUSH_SEARCH.finger_gap))
    touching = finger_pairs(X, hand, step.obj)
    keyframes = solve_keyframes(X, state.robot, hand.link, poses, starts, touching)
    pairs = [(g, k) for g, k in zip(rows, keyframes, strict=True) if k is not None]
    return sorted(pairs, key=lambda pair: pair[1].cost)


def _gripper_poses(
    state: MotionState, step: Push, hand: Hand, ahead: Float[np.ndarray, "3"]
) -> Iterator[Float[np.ndarray, "7"]]:
    """Yield poses of closed fingers behind an object: from above, and from behind."""
    C = state.world
    low, high = bounding_box(find_object(C, step.obj))
    middle = (low + high) / 2
    behind, margin = _reach(state, step, ahead), KEYFRAME_SEARCH.margin
    up, side = np.array([0.0, 0.0, 1.0]), np.array([-ahead[1], ahead[0], 0.0])
    for palm in (up, -ahead, (up - ahead) / np.sqrt(2)):
        for x in (side, -side):
            R = np.stack([x, np.cross(palm, x), palm], -1)
            front = _finger_front(state, hand, R, ahead)
            # The palm stays above the object, and the fingers above its support.
            lowest = low[2] + margin + GRASP_SAMPLING.pad_depth + 2e-3
            over = high[2] - hand.finger_length + PALM_GAP if palm[2] > 0.5 else lowest
            height = max(middle[2], lowest, over)
            if height > high[2] - margin:
                continue
            back = behind + front + PUSH_SEARCH.contact_gap
            point = np.array([*middle[:2], height]) - back * ahead
            yield make_pose(point, matrix_to_quat(R))


def _reach(state: MotionState, step: Push, ahead: np.ndarray) -> float:
    """Return how far an object reaches backwards from its middle [m]."""
    C = state.world
    low, high = bounding_box(find_object(C, step.obj))
    R = quat_to_matrix(C.pose(step.obj)[3:])
    points = collision_points(C, step.obj) @ R.T + C.pose(step.obj)[:3]
    return float(((low + high)[:2] / 2 @ ahead[:2]) - (points @ ahead).min())


def _finger_front(
    state: MotionState, hand: Hand, R: np.ndarray, ahead: np.ndarray
) -> float:
    """Return how far closed fingers reach ahead of the gripper's frame [m]."""
    C = state.world.copy()
    C.set_joint(hand.joint, hand.joint_value(PUSH_SEARCH.finger_gap))
    gripper = hand.pose(C)
    most = -np.inf
    for finger in hand.fingers:
        pose = C.pose(finger)
        points = collision_points(C, finger) @ quat_to_matrix(pose[3:]).T + pose[:3]
        local = (points - gripper[:3]) @ quat_to_matrix(gripper[3:])
        most = max(most, float((local @ R.T @ ahead).max()))
    return most


def _push_by(
    state: MotionState,
    step: Push,
    number: int,
    hand: Hand,
    offset: Float[np.ndarray, "3"],
    contact: Grasp,
    keyframe: Keyframe,
    seed: int,
) -> Outcome:
    """Return the outcome of one push.

    Raises:
        Blocked: when it does not work.
    """
    X, obj = state.planning_world(), step.obj
    back = -PUSH_SEARCH.run_up * offset / np.linalg.norm(offset)
    pose = hand.link_pose(pose_multiply(X.pose(obj), contact.pose))
    before = nearby(state, X, hand, moved(pose, back), keyframe.q)
    if before is None:
        raise Blocked(f"The hand cannot come behind {obj!r}.")
    sliding, touching = state.near_pairs(obj), finger_pairs(X, hand, obj)
    pushing = state.at(keyframe.q).grasped(hand, obj, contact)
    Y = pushing.planning_world()
    starts = [keyframe.q, *stands(pushing, Y, moved(pose, offset), seed)]
    starts = [with_opening(Y, hand, start, PUSH_SEARCH.finger_gap) for start in starts]
    poses = [moved(pose, offset)] * len(starts)
    keyframes = solve_keyframes(Y, state.robot, hand.link, poses, starts, sliding)
    ends = [keyframe for keyframe in keyframes if keyframe is not None]
    if not ends:
        raise Blocked(f"The hand cannot push {obj!r} far enough.")
    end = min(ends, key=lambda k: float(((k.q - keyframe.q) ** 2).sum()))
    legs = [Leg("reach", before.q), Leg("approach", keyframe.q, touching)]
    forward, contacting = follow(state, number, legs, seed)
    pushing = contacting.grasped(hand, obj, contact)
    ahead = offset / np.linalg.norm(offset)
    limits = 0.0, float(np.linalg.norm(offset))
    course = HandCourse(hand.link, pose[:3], ahead, is_turn=False, limits=limits)
    leg = Leg("push", end.q, sliding, course)
    Y = pushing.planning_world(course)
    slide = solve_segment(pushing.world, Y, leg, number, state.holds, seed)
    require_certified(slide)
    require_course(slide, course)
    let_go = pushing.at(slide.solution.path[-1]).released(hand)
    Z = let_go.planning_world()
    away = nearby(let_go, Z, hand, moved(pose, offset + back), slide.solution.path[-1])
    if away is None:
        raise Blocked(f"The hand cannot come away from {obj!r}.")
    retreat, after = follow(let_go, number, [Leg("retreat", away.q, touching)], seed)
    choice = Choice(hand.link, None, state.base(keyframe.q), after.world.pose(obj))
    effect = step.predicate.holds(after.world)
    reason = step.predicate.explain(after.world)
    return Outcome((*forward, slide, *retreat), after, choice, effect, reason)
