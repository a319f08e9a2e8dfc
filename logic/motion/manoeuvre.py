"""Sequences of keyframes and of the paths between them, for one step."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.kinematics.transforms import quat_to_matrix
from posewise.robots.simulation.inertia import rigid_group

from .course import COURSE_ROWS, HandCourse
from .hand import Hand
from .keyframes import Keyframe, TouchingPairs, solve_keyframes
from .motion_state import MotionState, moved
from .segment import Leg, MotionSegment, course_deviation, solve_segment


@dataclass(frozen=True, slots=True)
class StandSampling:
    """Choices of the search for places of mobile bases, varied in docs/evidence.md."""

    count: int = 3
    """Number of places of a mobile base that are tried for each pose of a hand; more
    reach it around more obstacles, and take longer."""
    spread_angle: float = 0.6
    """Angle about the hand between these places [rad]; with a larger one they differ
    more, and more of them are behind what the hand is to reach."""
    min_reach: float = 0.4
    """Least distance of the hand ahead of the base [m]; a shorter one folds the arm."""
    max_reach: float = 0.8
    """Largest such distance [m]; a longer one stretches the arm."""


STAND_SAMPLING = StandSampling()


@dataclass(frozen=True, slots=True)
class HandRoom:
    """Distances of hands that come and go, varied in docs/evidence.md."""

    approaches: tuple[float, ...] = (0.1, 0.05)
    """Ways of the hand towards an object, and back, tried in this order [m]; longer
    ones need more room."""
    lift_height: float = 0.05
    """Height to which an object is lifted before it is carried [m]; a larger one clears
    more of what stands beside it, and fails more often below shelves."""
    min_gap: float = 1e-3
    """Least distance of open fingers from what they come to or leave [m]; with less,
    they rub it where they follow their path inexactly."""


HAND_ROOM = HandRoom()


class Blocked(Exception):
    """A way to do a step that does not work, with the reason as a sentence."""


def stands(
    state: MotionState, X: Config, pose: Float[np.ndarray, "7"], seed: int
) -> list[Float[np.ndarray, " nq"]]:
    """Return configurations from which to look for one with a hand at a pose.

    The first is the present one. An arm on a fixed base begins at a random one, too; a
    mobile base stands around the pose, at the distance at which the hand is from it
    now, and faces it.

    Args:
        state: before the motion.
        X: its planning world.
        pose: of the link of a hand.
        seed: of the random configuration.
    """
    robot, q, stand = state.robot, X.q, STAND_SAMPLING
    if not robot.base_joints:
        # Each pose has its own random numbers, so that no bad one is that of all.
        rng = np.random.default_rng([seed, *(1e4 * np.abs(pose)).astype(int)])
        low, high = np.where(np.isfinite(X.limits), X.limits, q)
        return [q, rng.uniform(low, high)]
    columns = X.joints.coordinates(list(robot.base_joints))
    body = X.pose(X.frame_names[X.tree.joint_frame(robot.base_joints[-1])])[:3]
    ahead, base = X.pose(robot.hands[0].link)[:3] - body, q[columns]
    reach = float(np.clip(np.linalg.norm(ahead[:2]), stand.min_reach, stand.max_reach))
    facing = np.arctan2(ahead[1], ahead[0]) - base[-1]
    angle = float(np.arctan2(body[1] - pose[1], body[0] - pose[0]))
    starts = []
    for k in range(stand.count):
        turn = angle + stand.spread_angle * ((k + 1) // 2) * (-1) ** k
        place = pose[:2] + reach * np.array([np.cos(turn), np.sin(turn)])
        start = q.copy()
        heading = turn + np.pi - facing
        heading += 2 * np.pi * np.round((base[-1] - heading) / (2 * np.pi))
        start[columns] = [*place, heading]
        starts.append(np.clip(start, *X.limits))
    return starts


def nearby(
    state: MotionState,
    X: Config,
    hand: Hand,
    pose: Float[np.ndarray, "7"],
    q: Float[np.ndarray, " nq"],
    touching: TouchingPairs = (),
    fixed: Sequence[str] = (),
) -> Keyframe | None:
    """Return a configuration near another one, from the same stand, if there is one.

    Args:
        state: of the robot.
        X: the planning world.
        hand: that is at the pose.
        pose: of its link.
        q: the other configuration.
        touching: pairs that may touch.
        fixed: names of joints that stay, besides those of the base.
    """
    robot = state.robot
    return solve_keyframes(
        X, robot, hand.link, [pose], [q], touching, (*robot.base_joints, *fixed)
    )[0]


def drawn_back(
    state: MotionState,
    X: Config,
    hand: Hand,
    pose: Float[np.ndarray, "7"],
    q: Float[np.ndarray, " nq"],
    fixed: Sequence[str] = (),
) -> Keyframe | None:
    """Return a configuration with a hand drawn back from an object, if there is one.

    Arguments are those of `nearby`; the pose is that at the object.
    """
    for distance in HAND_ROOM.approaches:
        back = retreated(hand, pose, distance)
        if keyframe := nearby(state, X, hand, back, q, fixed=fixed):
            return keyframe
    return None


def retreated(
    hand: Hand, pose: Float[np.ndarray, "7"], distance: float
) -> Float[np.ndarray, "7"]:
    """Return the pose of a hand's link with the hand drawn back by a distance [m]."""
    R = quat_to_matrix(pose[3:]) @ quat_to_matrix(hand.frame[3:])
    return moved(pose, distance * R[:, 2])


def lifted(pose: Float[np.ndarray, "7"]) -> Float[np.ndarray, "7"]:
    """Return the pose above another one."""
    return moved(pose, np.array([0.0, 0.0, HAND_ROOM.lift_height]))


def with_opening(
    X: Config, hand: Hand, q: Float[np.ndarray, " nq"], width: float
) -> Float[np.ndarray, " nq"]:
    """Return a configuration with another distance between the fingers."""
    q = q.copy()
    q[X.joints.coordinates([hand.joint])] = hand.joint_value(width)
    return q


def finger_pairs(C: Config, hand: Hand, frame: str) -> TouchingPairs:
    """Return the pairs that touch when a hand grasps an object, or a part of one."""
    parts = [frame] if frame in C.objects else rigid_parts(C, frame)
    return tuple(
        (finger, part) for finger in (hand.link, *hand.fingers) for part in parts
    )


def rigid_parts(C: Config, link: str) -> list[str]:
    """Return a link and what is fixed to it, such as its handle, without objects."""
    group = rigid_group(C, link)
    attached = {C.frame_names[i] for i in C.collision_filter.attached} - {link}
    others = {part for x in attached & set(group) for part in C.subtree(x)}
    return [name for name in group if name not in others]


def follow(
    state: MotionState,
    step: int,
    legs: Sequence[Leg],
    seed: int,
) -> tuple[tuple[MotionSegment, ...], MotionState]:
    """Return certified paths, one after the other, and the state at their end.

    Args:
        state: at the start.
        step: number of the step.
        legs: the paths that are to be found.
        seed: of the paths.

    Raises:
        Blocked: when a path is not found.
    """
    segments = []
    for leg in legs:
        X = state.planning_world(leg.course)
        segment = solve_segment(state.world, X, leg, step, state.holds, seed)
        require_certified(segment)
        if leg.course is not None:
            _require_room(segment)
        segments.append(segment)
        state = state.at(segment.solution.path[-1])
    return tuple(segments), state


def _require_room(segment: MotionSegment) -> None:
    """Raise Blocked for a path around an object on which open fingers rub it."""
    for t in range(len(segment.solution.path)):
        C = segment.world_at(t)
        pairs = [sorted(map(C.index, pair)) for pair in _solid_pairs(C, segment)]
        near = C.contacts(np.array(pairs, int).reshape(-1, 2), HAND_ROOM.min_gap)
        for k in near:
            a, b = (C.frame_names[i] for i in pairs[k])
            raise Blocked(f"{a!r} and {b!r} rub in {segment.name!r}.")


def _solid_pairs(C: Config, segment: MotionSegment) -> list[tuple[str, str]]:
    """Return the frames with shapes that may touch on a path, in pairs."""
    pairs = []
    for a, b in segment.touching:
        for i in C.pairs.solid_parts(b):
            pairs.append((a, C.frame_names[i]))
    return [pair for pair in pairs if all(map(C.pairs.solid_parts, pair))]


def require_certified(segment: MotionSegment) -> None:
    """Raise Blocked for a path that is not certified."""
    if not segment.is_certified:
        solution = segment.solution
        detail = next(iter(solution.colliding_pairs()), solution.message)
        raise Blocked(f"No certified path was found for {segment.name!r}: {detail}")


def require_course(segment: MotionSegment, course: HandCourse) -> None:
    """Raise Blocked for a path that leaves its course between slices.

    Where an arm turns over between two slices, the hand would let go of what it holds.
    """
    deviation = course_deviation(segment, course)
    if deviation > COURSE_ROWS.max_deviation:
        raise Blocked(
            f"The path of {segment.name!r} keeps to its course in the slices, but comes"
            f" {1e3 * deviation:.0f} mm off it between them, more than"
            f" {1e3 * COURSE_ROWS.max_deviation:.0f} mm."
        )
