"""States of a motion: the world between two steps, and what the hands hold."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.kinematics.transforms import pose_inverse, pose_multiply
from posewise.robots.typing import FrameName

from ..formulas.predicate import Predicate
from .course import HandCourse
from .grasp import Grasp
from .hand import Hand
from .keyframes import KEYFRAME_SEARCH, TouchingPairs
from .planning_world import planning_world
from .robot import Robot


@dataclass(frozen=True, eq=False)
class Grip:
    """An object in a hand."""

    hand: Hand
    obj: FrameName
    grasp: Grasp
    rest_pose: Float[np.ndarray, "7"]
    """World pose in which the object rested before."""


@dataclass(frozen=True, eq=False)
class MotionState:
    """A world in which a robot has done some steps.

    Only the robot's joints move; other joints are locked.
    """

    robot: Robot
    world: Config
    movable: tuple[FrameName, ...]
    """Objects that are held in any step of the motion."""
    grips: Mapping[FrameName, Grip] = field(
        default_factory=lambda: MappingProxyType({})
    )
    """Held objects by the link of the hand."""
    holds: tuple[Predicate, ...] = ()
    """Predicates that hold on the path at present."""

    @cached_property
    def places(self) -> int:
        """Number of frames of the largest object that is held in any step."""
        return max((len(self.world.subtree(obj)) for obj in self.movable), default=0)

    def planning_world(self, course: HandCourse | None = None) -> Config:
        """Return the world for problems of paths and keyframes.

        Args:
            course: that a hand follows; None: any path.
        """
        return planning_world(self.world, self.robot, self.movable, self.places, course)

    def at(self, q: Float[np.ndarray, " nq"]) -> "MotionState":
        """Return the state after the robot has moved."""
        world = self.world.copy()
        world.q = q
        return replace(self, world=world)

    def with_world(self, world: Config) -> "MotionState":
        """Return the motion state with another world."""
        return replace(self, world=world)

    def with_joint(self, joint: str, value: float) -> "MotionState":
        """Return the state with another value of a joint that is not moved."""
        world = self.world.copy()
        world.set_joint(joint, value)
        return replace(self, world=world)

    def carrying(self, hand: Hand, frame: FrameName) -> "MotionState":
        """Return the state with a part of an object attached to a hand."""
        world = self.world.copy()
        world.attach(hand.link, frame)
        return replace(self, world=world)

    def grasped(self, hand: Hand, obj: FrameName, grasp: Grasp) -> "MotionState":
        """Return the state after a hand has closed on an object."""
        world, rest_pose = self.world.copy(), self.world.pose(obj)
        world.attach(hand.link, obj)
        grip = Grip(hand, obj, grasp, rest_pose)
        return replace(self, world=world, grips={**self.grips, hand.link: grip})

    def released(self, hand: Hand) -> "MotionState":
        """Return the state after a hand has let go of what it held."""
        world = self.world.copy()
        obj = self.grips[hand.link].obj
        world.detach(obj)
        world.joints.select(list(self.robot.joints))
        grips = {k: v for k, v in self.grips.items() if k != hand.link}
        return replace(self, world=world, grips=grips)

    def free_hands(self, link: FrameName | None) -> list[Hand]:
        """Return the hands that hold nothing: all of them, or that of one link."""
        hands = [h for h in self.robot.hands if link in (None, h.link)]
        return [h for h in hands if h.link not in self.grips]

    def base(self, q: Float[np.ndarray, " nq"]) -> Float[np.ndarray, " n"] | None:
        """Return the values of the joints of a mobile base; None: it stands still."""
        joints = list(self.robot.base_joints)
        return q[self.world.joints.coordinates(joints)] if joints else None

    def grip_on(self, obj: FrameName) -> Grip | None:
        """Return how an object is held; None: it is not."""
        return next((g for g in self.grips.values() if g.obj == obj), None)

    def near_pairs(self, obj: FrameName) -> TouchingPairs:
        """Return the pairs of an object's parts with what it rests on or beside."""
        C = self.world
        members = set(map(C.index, C.subtree(obj)))
        robot = set(map(C.index, C.subtree(self.robot.root))) - members
        others = [
            i
            for i, frame in enumerate(C.frames)
            if i not in members | robot and frame.contact and _is_solid(C, i)
        ]
        pairs = np.array([(a, b) for a in members for b in others if _is_solid(C, a)])
        if not len(pairs):
            return ()
        # More than keyframes demand of all that may not touch.
        contacts = C.contacts(np.sort(pairs, 1), 1.2 * KEYFRAME_SEARCH.margin)
        names = C.frame_names
        near = (np.sort(pairs, 1)[k] for k in contacts)
        return tuple((names[a], names[b]) for a, b in near)


def _is_solid(C: Config, i: int) -> bool:
    return any(g.collision for g in C.frames[i].geometries)


def moved(
    pose: Float[np.ndarray, "7"], offset: Float[np.ndarray, "3"]
) -> Float[np.ndarray, "7"]:
    """Return a pose at another position, by an offset in the world [m]."""
    return np.concatenate([pose[:3] + offset, pose[3:]])


def relative(C: Config, frame: FrameName, to: FrameName) -> Float[np.ndarray, "7"]:
    """Return the pose of a frame in another one."""
    return pose_multiply(pose_inverse(C.pose(to)), C.pose(frame))
