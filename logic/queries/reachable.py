"""Reachable: a tip can get to a place, with the configuration in which it does."""

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
from posewise.robots.validation import float_array, number
from posewise.robots.world.argument_parsing import finite_vector, parse_pose

from ..errors import PredicateError
from ..formulas.predicate import Predicate, Witnesses
from ..geometry.frame_groups import find_object
from ..geometry.messages import length
from ..relaxed.constraint_terms import ConstraintTerm, Inequality
from .ghost_arm import add_ghost_arm, arm_with_ghost, frame_poses_at, move_ghost_arm
from .query_arguments import check_name
from .serial_chain import SerialChain
from .tip_distance import tip_distance_feature

REACH_TOLERANCE = 0.01
"""[m]"""
LEGACY_ANGLE_TOLERANCE = 1e-2
"""Of PyCRAM's inverse kinematics, about [rad]."""
DEFAULT_STARTS = 20


class Reach(NamedTuple):
    """How near a tip comes to some goals, and in which configurations."""

    q: Float[np.ndarray, "n nq"]
    """Of the whole world."""
    distance: Float[np.ndarray, " n"]
    """[m]"""
    angle: Float[np.ndarray, " n"]
    """[rad]"""
    reached: Bool[np.ndarray, " n"]


def reach(
    C: Config,
    targets: Any,
    robot: Any,
    tip: Any = None,
    *,
    tolerance: Any = REACH_TOLERANCE,
    turn: Any = None,
    starts: int = DEFAULT_STARTS,
    seed: int = 0,
) -> Reach:
    """Which of many targets a tip can reach: one batch of inverse kinematics.

    Each from several starts, the first of them the present state, within the limits of
    the joints; collisions do not count. The program depends on the arm alone: it is
    compiled once for all worlds and targets (for positions and for poses). What comes
    out is checked by forward kinematics.

    Args:
        C: the world.
        targets: positions (n, 3) or poses (n, 7) in the world, or a list of names.
        robot: see `Reachable`, as for all below.
        tip: see there.
        tolerance: see there.
        turn: see there.
        starts: of each target.
        seed: of the starts.

    Raises:
        PredicateError: for tolerances that are no numbers > 0.
        ConfigError: for unknown names, arms that are none, and targets that do not fit.
    """
    check_tolerances("reach", tolerance, turn)
    arm = SerialChain.of(C, robot, tip)
    goals = in_arm_base(arm, target_poses(C, targets))
    q = np.tile(C.q, (len(goals), 1))
    if len(goals):
        found = arm.solve(goals, turn is not None, starts, seed)
        q[:, arm.coordinates] = np.concatenate(found)
    return evaluate_reach(arm, q, goals, tolerance, turn)


def evaluate_reach(
    arm: SerialChain,
    q: Float[np.ndarray, "n nq"],
    goals: Float[np.ndarray, "n 7"],
    tolerance: float,
    turn: float | None,
) -> Reach:
    """What forward kinematics say of configurations; goals are in the arm's base."""
    tips = arm.tips(q[:, arm.coordinates])
    distance = np.linalg.norm(tips[:, :3] - goals[:, :3], axis=-1)
    off = quat_multiply(quat_conjugate(tips[:, 3:]), goals[:, 3:])
    angle = 2 * np.arctan2(np.linalg.norm(off[:, 1:], axis=-1), np.abs(off[:, 0]))
    good = distance < tolerance
    if turn is not None:
        good &= angle <= turn
    return Reach(q, distance, angle, good)


def target_poses(C: Config, targets: Any) -> Float[np.ndarray, "n 7"]:
    """World poses of named things, or of positions, whose orientation is the world's.

    Raises:
        ConfigError: for unknown names, and numbers of a wrong shape.
    """
    if isinstance(targets, Sequence) and all(isinstance(t, str) for t in targets):
        found = [C.pose(C.frames[find_object(C, t).frames[0]].name) for t in targets]
        return np.array(found).reshape(-1, 7)
    given = float_array("targets", targets, "(n, 3) or (n, 7) numbers, or names")
    rows = given.reshape(-1, given.shape[-1]) if given.ndim else given.reshape(1, 1)
    if rows.shape[-1] == 7:
        return np.array([parse_pose("a target", None, None, row) for row in rows])
    what = "a target (3 numbers, or a pose of 7)"
    return np.array(
        [parse_pose("", finite_vector(what, x, 3), None, None) for x in rows]
    )


def target_poses_at(
    C: Config, target: Any, q: Float[np.ndarray, "n nq"]
) -> Float[np.ndarray, "n 7"]:
    """World poses of a target at some coordinates."""
    if isinstance(target, str):
        return frame_poses_at(C, C.frames[find_object(C, target).frames[0]].name, q)
    return np.tile(target_poses(C, [target]), (len(q), 1))


def in_arm_base(
    arm: SerialChain, goals: Float[np.ndarray, "n 7"]
) -> Float[np.ndarray, "n 7"]:
    """World poses, seen in an arm's base."""
    return np.asarray(pose_multiply(pose_inverse(arm.base_pose)[None], goals))


@dataclass(frozen=True)
class Reachable(Predicate):
    """The tip of an arm can be brought to a target; collisions do not count.

    Less than the tolerance away from it, by the joints between the robot's base and the
    tip alone, within their limits. It is true of a state that is there already; else
    inverse kinematics try from 20 starts. `certificate` is the configuration. That it
    is false is known by trial only.

    "legacy", PyCRAM's rule: the inverse kinematics must also reach the target's
    orientation (of a position: the world's) by 0.01 rad; the distance decides.

    Args:
        target: an object or frame, whose origin it is; a position (3,) or a pose (7,)
            in the world.
        robot: an agent; or the frame that is the arm's base and stands still ("world":
            all joints above the tip move).
        tip: the frame that shall get there; None: the agent's only hand.
        tolerance: [m].
        turn: how far the orientation may be off [rad]; None: as much as it likes.
        legacy: PyCRAM's rule.

    Raises:
        PredicateError: for tolerances that are no numbers > 0.
        ConfigError: on asking, for unknown names, a tip that does not hang on the base,
            and an arm without moving joints.
    """

    target: Any
    robot: Any
    tip: Any = None
    tolerance: Any = field(default=REACH_TOLERANCE, kw_only=True)
    turn: Any = field(default=None, kw_only=True)
    legacy: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        check_tolerances("Reachable", self.tolerance, self.turn)
        check_arm("Reachable", self.robot, self.tip)
        object.__setattr__(self, "target", check_target("Reachable", self.target))

    def holds(self, C: Config) -> bool:
        """See `Predicate`."""
        return bool(self._nearest(C).reached[0])

    def explain(self, C: Config) -> str:
        """See `Predicate`."""
        near = self._nearest(C)
        tip = SerialChain.of(C, self.robot, self.tip).tip
        away = f"{tip} comes within {length(near.distance[0])} of {self.target}"
        if self._turn is not None:
            away += f", turned by {near.angle[0]:.3f} rad"
        verdict = "reached" if near.reached[0] else "not reached"
        limit = f"nearer than {length(self.tolerance)}"
        if self._turn is not None:
            limit += f" and turned by at most {self._turn:g} rad"
        return f"{away}: {verdict}, which would be {limit}."

    def certificate(self, C: Config) -> Float[np.ndarray, " nq"] | None:
        """A configuration of the world in which the tip is there; None: none found."""
        near = self._nearest(C)
        return near.q[0] if near.reached[0] else None

    def relaxed(self, C: Config, truth: bool = True) -> ConstraintTerm:
        """The distance (and angle) of the tip, by whatever joints the solver moves; of
        the shadow of the arm where there is one, as in `solve_placement`.
        """
        if not truth:
            return super().relaxed(C, truth)
        arm, copies = arm_with_ghost(C, self.robot, self.tip, self.target)
        tip = copies.get(arm.tip, arm.tip)
        return Inequality(
            tip_distance_feature(C, tip, self.target, self.tolerance, self._turn)
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
        return move_ghost_arm(C, copies, arm.tip, q, goals, self._turn is not None)

    @property
    def _turn(self) -> float | None:
        return (
            LEGACY_ANGLE_TOLERANCE if self.legacy and self.turn is None else self.turn
        )

    def _nearest(self, C: Config) -> Reach:
        arm = SerialChain.of(C, self.robot, self.tip)
        goals = in_arm_base(arm, target_poses(C, [self.target]))
        here = evaluate_reach(arm, C.q[None], goals, self.tolerance, self._turn)
        if here.reached[0]:
            return here
        options: Any = dict(tolerance=self.tolerance, turn=self._turn)
        return reach(C, [self.target], self.robot, self.tip, **options)


def reachable(
    C: Config,
    target: Any,
    robot: Any,
    tip: Any = None,
    threshold: Any = REACH_TOLERANCE,
    *,
    legacy: bool = False,
) -> bool:
    """Whether a tip can be brought to a target, see `Reachable`.

    Args:
        C: the world.
        target: an object, a position or a pose.
        robot: an agent, or the arm's base.
        tip: the frame that shall get there.
        threshold: [m].
        legacy: PyCRAM's rule.

    Raises:
        PredicateError: see `Reachable`.
        ConfigError: see `Reachable`.
    """
    made = Reachable(target, robot, tip, tolerance=threshold, legacy=legacy)
    return made.holds(C)


def check_target(what: str, target: Any) -> Any:
    """A name as it is; numbers as a tuple, so that predicates stay comparable.

    Raises:
        PredicateError: for what is neither.
    """
    if isinstance(target, str) and target:
        return target
    expected = "a name, a position (3,) or a pose (7,)"
    given = float_array(f"{what}: target", target, expected, PredicateError)
    if given.shape not in ((3,), (7,)) or not np.isfinite(given).all():
        raise PredicateError(f"{what}: target is {target!r}, expected {expected}.")
    return tuple(given.tolist())


def check_arm(what: str, robot: Any, tip: Any) -> None:
    """Raise a PredicateError unless robot and tip are names."""
    check_name(f"{what}: robot", robot)
    if tip is not None:
        check_name(f"{what}: tip", tip)


def check_tolerances(what: str, tolerance: Any, turn: Any) -> None:
    """Raise a PredicateError unless these are a length, and an angle or None."""
    above = lambda x: x > 0
    number(f"{what}: tolerance", tolerance, "> 0 (metres)", above, PredicateError)
    if turn is not None:
        number(f"{what}: turn", turn, "> 0 (radians)", above, PredicateError)
