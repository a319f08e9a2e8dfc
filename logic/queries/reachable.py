"""Reachable: a tip can be brought to a target, with a configuration as certificate."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from posewise.robots.config import Config
from posewise.robots.kinematics.transforms import (
    pose_inverse,
    pose_multiply,
    quat_conjugate,
    quat_multiply,
)
from posewise.robots.typing import FrameName, MatrixLike
from posewise.robots.validation import float_array, number
from posewise.robots.world.argument_parsing import finite_vector, parse_pose

from ..errors import PredicateError
from ..formulas.predicate import Predicate
from ..geometry.frame_groups import find_object
from ..geometry.messages import length
from ..relaxed.constraint_terms import ConstraintTerm, Inequality
from .ghost_arm import arm_with_ghost, frame_poses_at
from .query_arguments import Target, check_name
from .serial_chain import SerialChain
from .tip_distance import tip_distance_feature

REACH_TOLERANCE = 0.01
"""Distance below which a target is reached [m]."""
LEGACY_ANGLE_TOLERANCE = 1e-2
"""Tolerance of the orientation in PyCRAM's inverse kinematics, approximately [rad];
tips that are turned by more do not reach a pose."""
DEFAULT_STARTS = 20
"""Number of starts of inverse kinematics; more find a configuration more often, and
take longer where there is none."""


class Reach(NamedTuple):
    """Distances of a tip from some targets, and the configurations that reach them."""

    q: Float[np.ndarray, "n nq"]
    """Configurations of the whole world."""
    distance: Float[np.ndarray, " n"]
    """Distances from the targets [m]."""
    angle: Float[np.ndarray, " n"]
    """Angles from the orientations of the targets [rad]."""
    reached: Bool[np.ndarray, " n"]
    """Whether each target is reached."""


def reach(
    C: Config,
    targets: Sequence[FrameName] | MatrixLike | Target,
    robot: str,
    tip: FrameName | None = None,
    *,
    tolerance: float = REACH_TOLERANCE,
    turn: float | None = None,
    starts: int = DEFAULT_STARTS,
    seed: int = 0,
) -> Reach:
    """Return which of many targets a tip can reach: one batch of inverse kinematics.

    Each target is tried from several starts, the first of which is the present state,
    within the limits of the joints; collisions do not count. The program depends on the
    arm alone: it is compiled once for all worlds and targets (for positions and for
    poses). Its results are checked by forward kinematics.

    Args:
        C: the world.
        targets: positions (n, 3) or poses (n, 7) in the world, or a list of names.
        robot: see `Reachable`.
        tip: see `Reachable`.
        tolerance: see `Reachable`.
        turn: see `Reachable`.
        starts: number of starts of each target.
        seed: of the starts.

    Raises:
        PredicateError: when tolerances are not numbers > 0.
        ConfigError: for unknown names, arms without joints, and targets that do not
            fit.
    """
    check_tolerances("reach", tolerance, turn)
    arm = SerialChain.of(C, robot, tip)
    goals = in_arm_base(arm, target_poses(C, targets))
    q = np.tile(C.q, (len(goals), 1))
    if len(goals):
        solutions = arm.solve(goals, turn is not None, starts, seed)
        q[:, arm.coordinates] = np.concatenate(solutions)
    return evaluate_reach(arm, q, goals, tolerance, turn)


def evaluate_reach(
    arm: SerialChain,
    q: Float[np.ndarray, "n nq"],
    goals: Float[np.ndarray, "n 7"],
    tolerance: float,
    turn: float | None,
) -> Reach:
    """Evaluate configurations by forward kinematics.

    Args:
        arm: the arm.
        q: configurations of the world.
        goals: poses in the arm's base.
        tolerance: see `Reachable`.
        turn: see `Reachable`.
    """
    tips = arm.tips(q[:, arm.coordinates])
    distance = np.linalg.norm(tips[:, :3] - goals[:, :3], axis=-1)
    relative = quat_multiply(quat_conjugate(tips[:, 3:]), goals[:, 3:])
    sine = np.linalg.norm(relative[:, 1:], axis=-1)
    # The absolute value of w makes q and -q the same rotation.
    angle = 2 * np.arctan2(sine, np.abs(relative[:, 0]))
    reached = distance < tolerance
    if turn is not None:
        reached &= angle <= turn
    return Reach(q, distance, angle, reached)


def target_poses(
    C: Config, targets: Sequence[Target] | MatrixLike | Target
) -> Float[np.ndarray, "n 7"]:
    """Return world poses of named objects, of positions, or of poses.

    Positions have the orientation of the world.

    Raises:
        ConfigError: for unknown names, and numbers of a wrong shape.
    """
    if isinstance(targets, Sequence) and all(isinstance(t, str) for t in targets):
        roots = [C.frames[find_object(C, str(t)).frames[0]].name for t in targets]
        return np.array([C.pose(root) for root in roots]).reshape(-1, 7)
    array = float_array("targets", targets, "(n, 3) or (n, 7) numbers, or names")
    rows = array.reshape(-1, array.shape[-1]) if array.ndim else array.reshape(1, 1)
    if rows.shape[-1] == 7:
        return np.array([parse_pose("a target", None, None, row) for row in rows])
    label = "a target (3 numbers, or a pose of 7)"
    positions = [finite_vector(label, x, 3) for x in rows]
    return np.array([parse_pose("", p, None, None) for p in positions])


def target_poses_at(
    C: Config, target: Target, q: Float[np.ndarray, "n nq"]
) -> Float[np.ndarray, "n 7"]:
    """Return world poses of a target at some configurations."""
    if isinstance(target, str):
        root = C.frames[find_object(C, target).frames[0]].name
        return frame_poses_at(C, root, q)
    return np.tile(target_poses(C, [target]), (len(q), 1))


def in_arm_base(
    arm: SerialChain, goals: Float[np.ndarray, "n 7"]
) -> Float[np.ndarray, "n 7"]:
    """Return world poses relative to an arm's base."""
    return np.asarray(pose_multiply(pose_inverse(arm.base_pose)[None], goals))


@dataclass(frozen=True)
class Reachable(Predicate):
    """The tip of an arm can be brought to a target; collisions do not count.

    The tip must be nearer to the target than the tolerance, by moving the joints
    between the robot's base and the tip within their limits. It holds if the present
    state is already there; otherwise inverse kinematics try from 20 starts.
    `certificate` returns the configuration. That it does not hold is known by trial
    only.

    "legacy", PyCRAM's rule: the inverse kinematics must also reach the target's
    orientation (of a position: the world's) by 0.01 rad; the distance decides.

    Args:
        target: an object or frame, by its origin; a position (3,) or a pose (7,) in the
            world.
        robot: an agent; or the frame that is the arm's fixed base ("world": all joints
            above the tip move).
        tip: the frame that must reach the target; None: the agent's only hand.
        tolerance: limit of the distance [m].
        turn: limit of the angle between the orientations [rad]; None: any orientation.
        legacy: whether PyCRAM's rule applies.

    Raises:
        PredicateError: when tolerances are not numbers > 0.
        ConfigError: when evaluated, for unknown names, a tip that is not attached to
            the base, and an arm without moving joints.
    """

    target: Target
    robot: str
    tip: FrameName | None = None
    tolerance: float = field(default=REACH_TOLERANCE, kw_only=True)
    turn: float | None = field(default=None, kw_only=True)
    legacy: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        check_tolerances("Reachable", self.tolerance, self.turn)
        check_arm("Reachable", self.robot, self.tip)
        object.__setattr__(self, "target", check_target("Reachable", self.target))

    def holds(self, C: Config) -> bool:
        return bool(self._nearest(C).reached[0])

    def explain(self, C: Config) -> str:
        nearest = self._nearest(C)
        tip = SerialChain.of(C, self.robot, self.tip).tip
        text = f"{tip} comes within {length(nearest.distance[0])} of {self.target}"
        if self.angle_tolerance is not None:
            text += f", turned by {nearest.angle[0]:.3f} rad"
        verdict = "reached" if nearest.reached[0] else "not reached"
        limit = f"nearer than {length(self.tolerance)}"
        if self.angle_tolerance is not None:
            limit += f" and turned by at most {self.angle_tolerance:g} rad"
        return f"{text}: {verdict}, which would be {limit}."

    def certificate(self, C: Config) -> Float[np.ndarray, " nq"] | None:
        """Return a configuration of the world that reaches the target.

        None: none was found.
        """
        nearest = self._nearest(C)
        return nearest.q[0] if nearest.reached[0] else None

    def relaxed(self, C: Config, truth: bool = True) -> ConstraintTerm:
        """Return rows of the tip's distance and angle to the target.

        They constrain the joints that the solver moves, or those of the ghost arm where
        there is one, as in `solve_placement`.
        """
        if not truth:
            return super().relaxed(C, truth)
        arm, copies = arm_with_ghost(C, self.robot, self.tip, self.target)
        tip = copies.get(arm.tip, arm.tip)
        angle = self.angle_tolerance
        feature = tip_distance_feature(C, tip, self.target, self.tolerance, angle)
        return Inequality(feature)

    @property
    def angle_tolerance(self) -> float | None:
        """Limit of the angle [rad]; None: any orientation."""
        return (
            LEGACY_ANGLE_TOLERANCE if self.legacy and self.turn is None else self.turn
        )

    def _nearest(self, C: Config) -> Reach:
        """Return the present state if it reaches the target, else the best found."""
        arm = SerialChain.of(C, self.robot, self.tip)
        goals = in_arm_base(arm, target_poses(C, [self.target]))
        angle = self.angle_tolerance
        present = evaluate_reach(arm, C.q[None], goals, self.tolerance, angle)
        if present.reached[0]:
            return present
        targets: Any = [self.target]
        return reach(
            C, targets, self.robot, self.tip, tolerance=self.tolerance, turn=angle
        )


def reachable(
    C: Config,
    target: Target,
    robot: str,
    tip: FrameName | None = None,
    threshold: float = REACH_TOLERANCE,
    *,
    legacy: bool = False,
) -> bool:
    """Return whether a tip can be brought to a target; see `Reachable`.

    Args:
        C: the world.
        target: an object, a position or a pose.
        robot: an agent, or the arm's base.
        tip: the frame that must reach the target.
        threshold: limit of the distance [m].
        legacy: whether PyCRAM's rule applies.

    Raises:
        PredicateError: see `Reachable`.
        ConfigError: see `Reachable`.
    """
    predicate = Reachable(target, robot, tip, tolerance=threshold, legacy=legacy)
    return predicate.holds(C)


def check_target(label: str, target: object) -> Target:
    """Return a name, or numbers as a tuple, so that predicates remain hashable.

    Raises:
        PredicateError: for anything else.
    """
    if isinstance(target, str) and target:
        return target
    expected = "a name, a position (3,) or a pose (7,)"
    array = float_array(f"{label}: target", target, expected, PredicateError)
    if array.shape not in ((3,), (7,)) or not np.isfinite(array).all():
        raise PredicateError(f"{label}: target is {target!r}, expected {expected}.")
    return tuple(array.tolist())


def check_arm(label: str, robot: object, tip: object) -> None:
    """Raise a PredicateError unless robot and tip are names."""
    check_name(f"{label}: robot", robot)
    if tip is not None:
        check_name(f"{label}: tip", tip)


def check_tolerances(label: str, tolerance: object, turn: object) -> None:
    """Raise a PredicateError unless these are a length, and an angle or None."""
    number(
        f"{label}: tolerance", tolerance, "> 0 (metres)", _is_positive, PredicateError
    )
    if turn is not None:
        number(f"{label}: turn", turn, "> 0 (radians)", _is_positive, PredicateError)


def _is_positive(x: float) -> bool:
    return x > 0
