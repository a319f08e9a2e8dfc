"""Blocking: what is in a robot's way where it reaches a target."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.validation import float_array, integer

from ..errors import PredicateError
from ..formulas.predicate import Predicate, Witnesses
from ..geometry.frame_groups import (
    FrameGroup,
    are_within,
    find_object,
    has_collision_shape,
    subtree,
)
from ..margins import STRICT_MARGIN
from ..relaxed.clearance import clearance_feature
from ..relaxed.constraint_terms import Conjunction, ConstraintTerm, Inequality
from .frame_owners import frames_by_owner, is_floor, robot_frames
from .ghost_arm import add_ghost_arm, arm_with_ghost, move_ghost_arm, object_frames
from .reachable import (
    DEFAULT_STARTS,
    LEGACY_ANGLE_TOLERANCE,
    REACH_TOLERANCE,
    check_arm,
    check_target,
    evaluate_reach,
    in_arm_base,
    target_poses,
    target_poses_at,
)
from .serial_chain import SerialChain
from .tip_distance import tip_distance_feature


@dataclass(frozen=True)
class Blocking(Predicate):
    """However the robot reaches the target, of the ways that were tried, it touches
    something.

    Ways are the present state, where the tip is at the target already, and what
    inverse kinematics find from 20 starts. What touches is at most 0 m away from what
    the joints between base and tip move. The target, what hangs on the tip, and floors
    (called "floor", of such a category, or with a Plane) do not count. `found` lists
    the things met where the fewest are; `found_at_each` those of each way. Where the
    target cannot be reached `found` is None, and Blocking is false.

    "legacy", PyCRAM's rule: what touches any part of the robot in the first way found
    that has the target's orientation; target and floors count, what hangs on the robot
    does not.

    Args:
        target: see `Reachable`.
        robot: see there.
        tip: see there.
        grasp: orientation of the tip in the world (w, x, y, z); None: any.
        legacy: PyCRAM's rule.

    Raises:
        PredicateError: for a grasp that is no quaternion.
        ConfigError: on asking, see `Reachable`.
    """

    target: Any
    robot: Any
    tip: Any = None
    grasp: Any = field(default=None, kw_only=True)
    legacy: bool = field(default=False, kw_only=True)
    starts: Any = field(default=DEFAULT_STARTS, kw_only=True)
    """Of the inverse kinematics."""

    def __post_init__(self) -> None:
        check_arm("Blocking", self.robot, self.tip)
        object.__setattr__(self, "target", check_target("Blocking", self.target))
        some = lambda n: n >= 1
        integer("Blocking: starts", self.starts, ">= 1", some, PredicateError)
        if self.grasp is not None:
            object.__setattr__(self, "grasp", _unit("Blocking: grasp", self.grasp))

    def holds(self, C: Config) -> bool:
        """See `Predicate`."""
        return bool(self.obstacles(C))

    def explain(self, C: Config) -> str:
        """See `Predicate`."""
        ways = self.obstacles_per_solution(C)
        if not ways:
            return f"{self.target} cannot be reached, so that nothing is in the way."
        free = sum(not way for way in ways)
        count = f"{self.target} is reached in {len(ways)} ways"
        if free:
            return f"{count}; in {free} of them nothing is touched."
        fewest = min(ways, key=len)
        met = ", ".join(fewest)
        return f"{count}, each of which touches something, such as {met}."

    def obstacles(self, C: Config) -> list[str] | None:
        """Names of what is touched where the fewest things are; None: out of reach."""
        ways = self.obstacles_per_solution(C)
        return min(ways, key=len) if ways else None

    def obstacles_per_solution(self, C: Config) -> list[list[str]]:
        """For each way in which the target is reached, what is touched there."""
        arm = SerialChain.of(C, self.robot, self.tip)
        bodies = self._bodies(C, arm)
        world = C.copy()
        found = []
        for q in self._ways(C, arm):
            world.q = q
            robot = FrameGroup(world, arm.base, self._robot(C, arm, arm.first_moving))
            others = {k: FrameGroup(world, k, frames) for k, frames in bodies.items()}
            found.append(
                [k for k, body in others.items() if are_within(robot, body, 0.0)]
            )
        return found

    def relaxed(self, C: Config, truth: bool = True) -> ConstraintTerm:
        """That it is false: the tip is there, and all clear, at the solver's state; of
        the shadow of the arm where there is one, as in `solve_placement`.
        """
        if truth or self.legacy:
            return super().relaxed(C, truth)
        arm, copies = arm_with_ghost(C, self.robot, self.tip, self.target)
        tip, turn = copies.get(arm.tip, arm.tip), self._turn
        near = Inequality(
            tip_distance_feature(C, tip, self.target, REACH_TOLERANCE, turn, self.grasp)
        )
        frames = tuple(i for x in self._bodies(C, arm).values() for i in x)
        if not frames:
            return near
        first = C.index(next(iter(copies))) if copies else arm.first_moving
        ours = [C.frames[i].name for i in self._robot(C, arm, first)]
        places = [copies.get(name, name) for name in ours]
        others = [C.frames[i].name for i in frames]
        return Conjunction(
            (near, Inequality(clearance_feature(places, others, STRICT_MARGIN, ours)))
        )

    def add_witnesses(self, C: Config, world: Config) -> Witnesses:
        """See `Predicate`: the shadow of the arm."""
        return add_ghost_arm(
            SerialChain.of(C, self.robot, self.tip), self.target, world
        )

    def improve_starts(
        self, C: Config, q: Float[np.ndarray, "n nq"]
    ) -> Float[np.ndarray, "n nq"]:
        """See `Predicate`: by inverse kinematics of the shadow."""
        arm, copies = arm_with_ghost(C, self.robot, self.tip, self.target)
        goals = target_poses_at(C, self.target, q)
        if self.grasp is not None:
            goals[:, 3:] = self.grasp
        return move_ghost_arm(C, copies, arm.tip, q, goals, self._turn is not None)

    @property
    def _turn(self) -> float | None:
        return (
            None if self.grasp is None and not self.legacy else LEGACY_ANGLE_TOLERANCE
        )

    def _ways(self, C: Config, arm: SerialChain) -> list[Float[np.ndarray, " nq"]]:
        """Configurations of the world in which the tip is there."""
        goal = target_poses(C, [self.target])
        if self.grasp is not None:
            goal[:, 3:] = self.grasp
        goal = in_arm_base(arm, goal)
        turned = self._turn is not None
        (found,) = arm.solve(goal, turned, self.starts, 0, every_start=True)
        q = np.tile(C.q, (len(found) + 1, 1))
        q[1:, arm.coordinates] = found
        goals = np.tile(goal, (len(q), 1))
        ways = list(
            q[evaluate_reach(arm, q, goals, REACH_TOLERANCE, self._turn).reached]
        )
        return ways[:1] if self.legacy else ways

    def _robot(self, C: Config, arm: SerialChain, first: int) -> tuple[int, ...]:
        """Frames with shapes of the robot that may touch something.

        Args:
            C: the world.
            arm: the robot's.
            first: its first frame that moves.
        """
        if self.legacy and arm.base != "world":
            every = robot_frames(C, arm.base)
        else:
            every = subtree(C, first, object_frames(C))
        return tuple(i for i in every if has_collision_shape(C, i))

    def _bodies(self, C: Config, arm: SerialChain) -> dict[str, tuple[int, ...]]:
        """What can be in the way, by name."""
        root = arm.chain[0] if arm.base == "world" else C.index(arm.base)
        carried = subtree(C, root)
        out = set(carried)
        if not self.legacy and isinstance(self.target, str):
            out |= set(find_object(C, self.target).frames)
        found = {}
        for name, body in frames_by_owner(C).items():
            frames = tuple(i for i in body.frames if i not in out)
            if frames and (self.legacy or not is_floor(C, body)):
                found[name] = frames
        return found


def blocking(
    C: Config,
    target: Any,
    robot: Any,
    tip: Any = None,
    grasp: Any = None,
    *,
    legacy: bool = False,
) -> list[str] | None:
    """Names of what is in the robot's way to a target, see `Blocking`.

    None: it cannot be reached.

    Args:
        C: the world.
        target: an object, a position or a pose.
        robot: an agent, or the arm's base.
        tip: the frame that shall get there.
        grasp: orientation of the tip in the world (w, x, y, z).
        legacy: PyCRAM's rule.

    Raises:
        PredicateError: see `Blocking`.
        ConfigError: see `Blocking`.
    """
    return Blocking(target, robot, tip, grasp=grasp, legacy=legacy).obstacles(C)


def _unit(what: str, grasp: Any) -> tuple[float, ...]:
    """A unit quaternion, as a tuple."""
    expected = "a quaternion (w, x, y, z)"
    q = float_array(what, grasp, expected, PredicateError)
    if q.shape != (4,) or not np.isfinite(q).all() or np.linalg.norm(q) < 1e-9:
        raise PredicateError(f"{what} is {grasp!r}, expected {expected}.")
    return tuple((q / np.linalg.norm(q)).tolist())
