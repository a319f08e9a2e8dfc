"""Blocking: objects that are in the way of a robot that reaches for a target."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.typing import FrameName, VectorLike
from posewise.robots.validation import float_array, integer

from ..errors import PredicateError
from ..formulas.predicate import Predicate
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
from .ghost_arm import arm_with_ghost, object_frames
from .query_arguments import Target
from .reachable import (
    DEFAULT_STARTS,
    LEGACY_ANGLE_TOLERANCE,
    REACH_TOLERANCE,
    check_arm,
    check_target,
    evaluate_reach,
    in_arm_base,
    target_poses,
)
from .serial_chain import SerialChain
from .tip_distance import tip_distance_feature


@dataclass(frozen=True)
class Blocking(Predicate):
    """The robot touches something in every known configuration that reaches a target.

    Known configurations are the present one, if the tip is at the target already, and
    those that inverse kinematics find from 20 starts. Objects at a distance of 0 m from
    what the joints between base and tip move are touched. The target, what is attached
    to the robot, and floors (called "floor", of such a category, or with a Plane) do
    not count. `obstacles` lists what is touched in the configuration that touches
    least, `obstacles_per_solution` for each configuration. If the target cannot be
    reached, `obstacles` is None, and Blocking is false.

    "legacy", PyCRAM's rule: objects that touch any part of the robot in the first
    configuration that has the target's orientation; target and floors count, what is
    attached to the robot does not.

    Args:
        target: see `Reachable`.
        robot: see `Reachable`.
        tip: see `Reachable`.
        grasp: orientation of the tip in the world (w, x, y, z); None: any.
        legacy: whether PyCRAM's rule applies.
        starts: number of starts of inverse kinematics.

    Raises:
        PredicateError: when `grasp` is not a quaternion.
        ConfigError: when evaluated, see `Reachable`.
    """

    target: Target
    robot: str
    tip: FrameName | None = None
    grasp: VectorLike | None = field(default=None, kw_only=True)
    legacy: bool = field(default=False, kw_only=True)
    starts: int = field(default=DEFAULT_STARTS, kw_only=True)

    def __post_init__(self) -> None:
        check_arm("Blocking", self.robot, self.tip)
        object.__setattr__(self, "target", check_target("Blocking", self.target))
        integer(
            "Blocking: starts", self.starts, ">= 1", lambda n: n >= 1, PredicateError
        )
        if self.grasp is not None:
            grasp = _unit_quaternion("Blocking: grasp", self.grasp)
            object.__setattr__(self, "grasp", grasp)

    def holds(self, C: Config) -> bool:
        return bool(self.obstacles(C))

    def explain(self, C: Config) -> str:
        solutions = self.obstacles_per_solution(C)
        if not solutions:
            return f"{self.target} cannot be reached, so that nothing is in the way."
        free = sum(not obstacles for obstacles in solutions)
        count = f"{self.target} is reached in {len(solutions)} ways"
        if free:
            return f"{count}; in {free} of them nothing is touched."
        fewest = min(solutions, key=len)
        listed = ", ".join(fewest)
        return f"{count}, each of which touches something, such as {listed}."

    def obstacles(self, C: Config) -> list[str] | None:
        """Return names of what the configuration that touches least touches.

        None: the target is out of reach.
        """
        solutions = self.obstacles_per_solution(C)
        return min(solutions, key=len) if solutions else None

    def obstacles_per_solution(self, C: Config) -> list[list[str]]:
        """Return what is touched in each configuration that reaches the target."""
        arm = SerialChain.of(C, self.robot, self.tip)
        bodies = self._bodies(C, arm)
        world = C.copy()
        touched = []
        for q in self._solutions(C, arm):
            world.q = q
            frames = self._robot_frames(C, arm, arm.first_moving)
            robot = FrameGroup(world, arm.base, frames)
            others = [FrameGroup(world, name, body) for name, body in bodies.items()]
            touched.append([x.name for x in others if are_within(robot, x, 0.0)])
        return touched

    def relaxed(self, C: Config, truth: bool = True) -> ConstraintTerm:
        """Return rows of the negation: the tip is at the target, and all is clear.

        They constrain the configuration of the solver, or that of the ghost arm where
        there is one, as in `solve_placement`.
        """
        if truth or self.legacy:
            return super().relaxed(C, truth)
        arm, copies = arm_with_ghost(C, self.robot, self.tip, self.target)
        near = Inequality(
            tip_distance_feature(
                C,
                copies.get(arm.tip, arm.tip),
                self.target,
                REACH_TOLERANCE,
                self.angle_tolerance,
                self.grasp,
            )
        )
        frames = tuple(i for x in self._bodies(C, arm).values() for i in x)
        if not frames:
            return near
        first = C.index(next(iter(copies))) if copies else arm.first_moving
        moving = [C.frames[i].name for i in self._robot_frames(C, arm, first)]
        positions = [copies.get(name, name) for name in moving]
        others = [C.frames[i].name for i in frames]
        clear = clearance_feature(positions, others, STRICT_MARGIN, moving)
        return Conjunction((near, Inequality(clear)))

    @property
    def angle_tolerance(self) -> float | None:
        """Tolerance of the orientation [rad]; None: any orientation."""
        if self.grasp is None and not self.legacy:
            return None
        return LEGACY_ANGLE_TOLERANCE

    def _solutions(self, C: Config, arm: SerialChain) -> list[Float[np.ndarray, " nq"]]:
        """Return configurations of the world in which the tip is at the target."""
        goal = target_poses(C, [self.target])
        if self.grasp is not None:
            goal[:, 3:] = self.grasp
        goal = in_arm_base(arm, goal)
        oriented = self.angle_tolerance is not None
        (solutions,) = arm.solve(goal, oriented, self.starts, 0, every_start=True)
        q = np.tile(C.q, (len(solutions) + 1, 1))
        q[1:, arm.coordinates] = solutions
        goals = np.tile(goal, (len(q), 1))
        reach = evaluate_reach(arm, q, goals, REACH_TOLERANCE, self.angle_tolerance)
        reached = list(q[reach.reached])
        return reached[:1] if self.legacy else reached

    def _robot_frames(self, C: Config, arm: SerialChain, first: int) -> tuple[int, ...]:
        """Return frames with shapes of the robot that may touch something.

        Args:
            C: the world.
            arm: the robot's arm.
            first: its first frame that moves.
        """
        if self.legacy and arm.base != "world":
            frames = robot_frames(C, arm.base)
        else:
            frames = subtree(C, first, object_frames(C))
        return tuple(i for i in frames if has_collision_shape(C, i))

    def _bodies(self, C: Config, arm: SerialChain) -> dict[str, tuple[int, ...]]:
        """Return the frames of everything that can be in the way, by name."""
        root = arm.chain[0] if arm.base == "world" else C.index(arm.base)
        excluded = set(subtree(C, root))
        if not self.legacy and isinstance(self.target, str):
            excluded |= set(find_object(C, self.target).frames)
        bodies = {}
        for name, body in frames_by_owner(C).items():
            frames = tuple(i for i in body.frames if i not in excluded)
            if frames and (self.legacy or not is_floor(C, body)):
                bodies[name] = frames
        return bodies


def blocking(
    C: Config,
    target: Target,
    robot: str,
    tip: FrameName | None = None,
    grasp: VectorLike | None = None,
    *,
    legacy: bool = False,
) -> list[str] | None:
    """Return names of what is in the robot's way to a target; see `Blocking`.

    Args:
        C: the world.
        target: an object, a position or a pose.
        robot: an agent, or the arm's base.
        tip: the frame that must reach the target.
        grasp: orientation of the tip in the world (w, x, y, z).
        legacy: whether PyCRAM's rule applies.

    Returns:
        None when the target cannot be reached.

    Raises:
        PredicateError: see `Blocking`.
        ConfigError: see `Blocking`.
    """
    return Blocking(target, robot, tip, grasp=grasp, legacy=legacy).obstacles(C)


def _unit_quaternion(label: str, grasp: Any) -> tuple[float, ...]:
    """Return a unit quaternion as a tuple, so that predicates remain hashable."""
    expected = "a quaternion (w, x, y, z)"
    q = float_array(label, grasp, expected, PredicateError)
    if q.shape != (4,) or not np.isfinite(q).all() or np.linalg.norm(q) < 1e-9:
        raise PredicateError(f"{label} is {grasp!r}, expected {expected}.")
    return tuple((q / np.linalg.norm(q)).tolist())
