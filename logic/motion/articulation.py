"""Opening and closing: a hand holds a door or drawer while its joint moves."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from posewise.objectives.clearance.avoidance import TOUCH_DEPTH
from posewise.objectives.terms.loose import loose_roots
from posewise.robots.config import Config
from posewise.robots.errors import ConfigError, unknown_name
from posewise.robots.kinematics.transforms import pose_multiply, quat_to_matrix
from posewise.robots.masses.frame_masses import link_roots
from posewise.robots.typing import FrameName

from ..exact.joint_openness import OpeningJoint
from ..geometry.frame_groups import find_object
from ..predicates.joint_openness import Open
from .course import HandCourse
from .feasibility import why_no_grasp
from .grasp import GRASP_SAMPLING, Grasp
from .grasps import find_grasps
from .hand import SLIDING, Hand
from .keyframes import Keyframe, solve_keyframes
from .manoeuvre import (
    Blocked,
    finger_pairs,
    follow,
    require_certified,
    require_course,
    rigid_parts,
    stands,
    with_opening,
)
from .motion_state import MotionState
from .outcome import Choice, Outcome
from .reach_grasp import grasp_keyframes, grasp_legs, release_legs
from .segment import Leg, solve_segment
from .step_types import CloseJoint, OpenJoint


@dataclass(frozen=True, slots=True)
class OpeningSearch:
    """Choices of the search for ways to open, varied in docs/evidence.md."""

    fractions: tuple[float, ...] = (0.9, 0.7, 0.5, 0.3)
    """Fractions of a joint's range to which it is opened, tried in this order; a door
    that is opened more gives more room."""
    sweep_samples: int = 13
    """Number of values of a joint at which the parts of an object may not overlap;
    between fewer of them thin parts pass through each other unnoticed."""
    max_tries: int = 3
    """Number of configurations that are tried for each opening; more open it more
    often, and take longer where none does."""


OPENING_SEARCH = OpeningSearch()


def moving_joints(C: Config, step: OpenJoint | CloseJoint) -> list[OpeningJoint]:
    """Return the joints that open the object of a step.

    Raises:
        ConfigError: for an unknown object or joint, and without such a joint.
    """
    joints = {joint.name: joint for joint in Open(step.obj).joints(C)}
    if not joints:
        raise ConfigError(f"{step.obj!r} has no joint that opens it.")
    if step.joint is not None and step.joint not in joints:
        raise ConfigError(unknown_name(f"joint of {step.obj!r}", step.joint, joints))
    return [j for j in joints.values() if step.joint in (None, j.name)]


def moved_link(C: Config, joint: str) -> str:
    """Return the frame that a joint moves."""
    return C.frame_names[C.tree.joint_frame(joint)]


def move_joint(
    state: MotionState, step: OpenJoint | CloseJoint, number: int, seed: int
) -> Iterator[Outcome | Blocked]:
    """Yield ways to open or close an object, or why one did not work.

    Args:
        state: before.
        step: the step.
        number: of the step.
        seed: of the paths.
    """
    joints = moving_joints(state.world, step)
    hands = state.free_hands(step.hand)
    if not hands:
        yield Blocked("No hand is free.")
        return
    fractions = OPENING_SEARCH.fractions if isinstance(step, OpenJoint) else (0.0,)
    for joint, hand in product(joints, hands):
        link = moved_link(state.world, joint.name)
        most = GRASP_SAMPLING.max_grasps
        grasps = find_grasps(state.world, step.obj, hand, most, part=link)
        if not grasps:
            yield Blocked(why_no_grasp(state.world, step.obj, [hand], link))
            continue
        grasped = grasp_keyframes(state, hand, link, grasps, seed)
        if not grasped:
            yield Blocked(f"No grasp of {link!r} can be reached without a collision.")
        for fraction in fractions:
            value = joint.closed + fraction * (joint.open - joint.closed)
            if text := _why_stuck(state.world, step.obj, joint.name, value):
                yield Blocked(text)
                continue
            ends = _end_keyframes(state, hand, link, grasped, joint.name, value, seed)
            if grasped and not ends:
                yield Blocked(f"The hand cannot follow {link!r} to {value:.2f}.")
            for begin, grasp, end in ends[: OPENING_SEARCH.max_tries]:
                try:
                    yield _move(
                        state,
                        step,
                        number,
                        joint,
                        value,
                        hand,
                        grasp,
                        begin,
                        end,
                        seed,
                    )
                except Blocked as reason:
                    yield reason


def _move(
    state: MotionState,
    step: OpenJoint | CloseJoint,
    number: int,
    joint: OpeningJoint,
    value: float,
    hand: Hand,
    grasp: Grasp,
    begin: Keyframe,
    end: Keyframe,
    seed: int,
) -> Outcome:
    """Return the outcome of one grasp, from one configuration to another.

    Raises:
        Blocked: when it does not work.
    """
    link = moved_link(state.world, joint.name)
    state = with_riders(state, link)
    legs = grasp_legs(state, hand, link, grasp, begin)
    course = _course(state.world, hand, joint.name, value)
    approach, holding = follow(state, number, legs, seed)
    last = state.with_joint(joint.name, value).near_pairs(link)
    touching = (*state.near_pairs(link), *last)
    leg = Leg("pull", end.q, touching, course, passive=joint.name)
    carried = holding.carrying(hand, link)
    X = carried.planning_world(course)
    # What the joint itself keeps apart was checked; straight between slices, a door
    # that turns would cut into its frame.
    X.ignore_collisions(*_sides(state.world, step.obj, joint.name))
    pull = solve_segment(holding.world, X, leg, number, state.holds, seed)
    require_certified(pull)
    require_course(pull, course)
    reached = float(pull.passive[joint.name][-1])
    moved = holding.at(pull.solution.path[-1]).with_joint(joint.name, reached)
    away = release_legs(moved, hand, link, grasp, pull.solution.path[-1])
    back, after = follow(moved, number, away, seed)
    after = without_riders(after, link)
    is_open = Open(step.obj)
    effect = is_open.holds(after.world) == isinstance(step, OpenJoint)
    choice = Choice(hand.link, grasp, state.base(end.q))
    reason = is_open.explain(after.world)
    return Outcome((*approach, pull, *back), after, choice, effect, reason)


def _end_keyframes(
    state: MotionState,
    hand: Hand,
    link: FrameName,
    grasped: Sequence[tuple[Keyframe, Grasp]],
    joint: str,
    value: float,
    seed: int,
) -> list[tuple[Keyframe, Grasp, Keyframe]]:
    """Return the grasps with which a hand can follow a link, the nearest first.

    Each comes with the configurations before and after.

    Args:
        state: before.
        hand: the hand.
        link: that a joint moves.
        grasped: configurations in which the hand is at grasps of the link, open.
        joint: name of the joint.
        value: of the joint at the end.
        seed: of the places of a mobile base.
    """
    moved = state.with_joint(joint, value)
    X, robot = moved.planning_world(), state.robot
    distinct: dict[tuple[float, ...], tuple[Keyframe, Grasp]] = {}
    for begin, grasp in grasped:
        distinct.setdefault(tuple(np.round(grasp.pose, 4).tolist()), (begin, grasp))
    rows, poses, starts = [], [], []
    for begin, grasp in distinct.values():
        pose = hand.link_pose(pose_multiply(moved.world.pose(link), grasp.pose))
        around = stands(moved, X, pose, seed) if robot.base_joints else []
        for start in (begin.q, *around):
            rows.append((begin, grasp))
            poses.append(pose)
            starts.append(with_opening(X, hand, start, grasp.width))
    touching = finger_pairs(X, hand, link)
    ends = solve_keyframes(X, robot, hand.link, poses, starts, touching)
    reached = [(*row, e) for row, e in zip(rows, ends, strict=True) if e is not None]
    return sorted(
        reached,
        key=lambda triple: (
            triple[0].cost + float(((triple[2].q - triple[0].q) ** 2).sum())
        ),
    )


def _sides(C: Config, obj: FrameName, joint: str) -> tuple[list[str], list[str]]:
    """Return the parts of an object that a joint moves, and those that it hangs on."""
    link, roots = moved_link(C, joint), link_roots(C.frames)
    parent = C.frames[C.index(link)].parent
    root = None if parent is None else roots[parent]
    parts = [i for i in find_object(C, obj).frames if roots[i] == root]
    return rigid_parts(C, link), [C.frame_names[i] for i in parts]


def _why_stuck(C: Config, obj: FrameName, joint: str, value: float) -> str:
    """Return a sentence if parts of an object hit each other as a joint moves."""
    X = C.copy()
    sides = product(*_sides(C, obj, joint))
    pairs = {tuple(sorted(map(X.index, pair))) for pair in sides}
    solid = sorted(pairs & set(map(tuple, X.pairs.indices().tolist())))
    if not solid:
        return ""
    first, depth = float(C.joints.value(joint)[0]), []
    for q in np.linspace(first, value, OPENING_SEARCH.sweep_samples):
        X.set_joint(joint, q)
        contacts = X.contacts(np.array(solid), 0.0).values()
        depth.append(max((-contact.distance for contact in contacts), default=0.0))
    if max(depth) <= depth[0] + TOUCH_DEPTH:
        return ""
    return (
        f"{joint!r} cannot move to {value:.2f}: the parts of {obj!r} overlap on the"
        f" way by {1e3 * max(depth):.1f} mm. Check its axis, its limits and its shapes."
    )


def _course(C: Config, hand: Hand, joint: str, value: float) -> HandCourse:
    """Return the course of a hand that moves a joint to a value, and not beyond.

    Further on the joint may have its stop, and its parts may hit each other.
    """
    i = C.tree.joint_frame(joint)
    moved = C.tree.joint(i)
    axis = np.array([0.0, 0.0, 1.0]) if moved.axis is None else moved.axis
    # Before and after the joint, its axis is the same line.
    pose = C.pose(C.frame_names[i])
    along = quat_to_matrix(pose[3:]) @ axis
    change = value - float(C.joints.value(joint)[0])
    limits = min(change, 0.0), max(change, 0.0)
    return HandCourse(hand.link, pose[:3], along, moved.type not in SLIDING, limits)


def with_riders(state: MotionState, link: FrameName) -> MotionState:
    """Return the state with what lies in a drawer attached to it."""
    world = state.world.copy()
    for obj in riders(state, link):
        world.attach(link, obj)
    return replace(state, world=world)


def without_riders(state: MotionState, link: FrameName) -> MotionState:
    """Return the state with what lies in a drawer loose again."""
    world = state.world.copy()
    for obj in set(state.movable) & set(world.subtree(link)):
        if world.frame(obj).joint is None:
            world.detach(obj)
    world.joints.select(list(state.robot.joints))
    return replace(state, world=world)


def riders(state: MotionState, link: FrameName) -> list[str]:
    """Return the loose objects that touch a link."""
    C = state.world
    near = {name for pair in state.near_pairs(link) for name in pair}
    return [name for name in loose_roots(C) if near & set(C.subtree(name))]
