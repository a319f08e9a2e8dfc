"""Playing of a plan in MuJoCo: joints follow their positions, friction holds objects.

Each joint of the robot is driven towards its position on the path, by a controller that
knows the inertia of the arm (computed torque; Siciliano et al. 2009, Robotics, 8.5).
Fingers press with a constant force from where they close until they open. Nothing else
is driven: objects lie and are held by contact alone, doors by the hand.
"""

import copy
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from posewise.objectives.terms.objective import ObjectiveError
from posewise.robots.config import Config
from posewise.robots.errors import ProblemWarning
from posewise.robots.loaders.mjcf.contact_settings import TIME_STEP
from posewise.robots.mujoco_extra import import_mujoco
from posewise.robots.simulation.motion import check_stable
from posewise.robots.simulation.twin import Twin
from posewise.robots.validation import number

from .hand import Hand
from .plan import MotionPlan
from .replay_doubts import (
    ReplayedEffect,
    SegmentEnd,
    effect_doubts,
    effects_at_end,
    replay_doubts,
)

SAMPLE_STEPS = 25
"""Number of steps of the simulation between two samples that are returned; fewer show
faster motions, and take more memory."""


@dataclass(frozen=True, slots=True)
class ReplayDrive:
    """Drives and pauses of a replay, varied in docs/evidence.md."""

    bandwidth: float = 60.0
    """Natural frequency of the controller of each joint [rad/s]. Larger ones follow
    more exactly, and shake at contacts."""
    grip_force: float = 40.0
    """Force of each finger [N]. With less, heavy objects slip out of the hand."""
    finger_drive_mass: float = 1.0
    """Mass that the drive of each finger moves besides it [kg]. With less, a finger of
    some grams that begins to press passes through a thin handle within one time
    step."""
    pause: float = 0.4
    """Time in which the robot rests after fingers close, around their opening, and at
    the end [s]. With less, the hand moves before they hold or have let go, and objects
    that still swing at the end are judged too early."""
    door_damping: float = 2.0
    """Damping of doors and drawers [N s/m, N m s/rad]. With less they swing on when the
    hand lets go; with more, it must pull harder."""


REPLAY_DRIVE = ReplayDrive()


@dataclass(frozen=True, eq=False)
class Replay:
    """A simulated motion."""

    world: Config = field(repr=False)
    """The world at its end."""
    times: Float[np.ndarray, " n"]
    """Time of each sample [s]."""
    path: Float[np.ndarray, "n nq"]
    """Coordinates of the world, objects included."""
    error: float
    """Largest distance of a joint of the arm or the base from its position on the path
    [rad, m]."""
    effects: tuple[ReplayedEffect, ...] = ()
    """The effects of the plan at its end, with reasons."""
    doubts: tuple[str, ...] = ()
    """Sentences on what went otherwise than planned; none: the motion ends well."""

    def report(self) -> str:
        """Return how the motion ends: effects, the error of the joints, and doubts."""
        end = "otherwise than planned" if self.doubts else "as planned"
        lines = [
            f"REPLAYED: {self.times[-1]:.1f} s, {end}.",
            f"Joints are at most {1e3 * self.error:.1f} mrad or mm from the path.",
            *(f"{'+' if e.holds else '-'} {e.reason}" for e in self.effects),
        ]
        return "\n".join([*lines, *(f"! {doubt}" for doubt in self.doubts)])


def replay(plan: MotionPlan, *, slowness: float = 1.5) -> Replay:
    """Return the motion of a plan as MuJoCo simulates it.

    Objects are held by friction, see `Twin` for its coefficients and for masses.

    Args:
        plan: the plan.
        slowness: ratio of the simulated duration of each path to the planned one.

    Returns:
        The motion. Its `doubts`, of objects that fall, slip or end elsewhere, of joints
        that lag behind, doors that do not follow the hand, and effects that do not hold
        at the end, are warnings, too.

    Raises:
        ObjectiveError: for a plan in which nothing moves, or a slowness < 1.
        ImportError: without MuJoCo; names the extra.
    """
    slowness = number("slowness", slowness, ">= 1", lambda s: s >= 1, ObjectiveError)
    if not plan.segments:
        raise ObjectiveError("Nothing moves in this plan, so that it cannot be played.")
    C = plan.start
    passive = {j: None for segment in plan.segments for j in segment.passive}
    twin = Twin(C, movable_joints=[*plan.joints, *passive])
    driver = _Driver(twin, plan, tuple(passive))
    samples, ends = [], []
    lag = np.zeros(len(driver.arm))
    for k, moment in enumerate(_moments(plan, slowness)):
        lag = np.maximum(lag, driver.step(moment))
        if k % SAMPLE_STEPS == 0:
            samples.append(driver.q)
        if moment.ends_segment:
            ends.append(SegmentEnd(driver.world, driver.largest(lag)))
            lag = np.zeros_like(lag)
    world, times = driver.world, SAMPLE_STEPS * TIME_STEP * np.arange(len(samples))
    effects = effects_at_end(plan, world)
    doubts = (*replay_doubts(plan, ends), *effect_doubts(effects))
    for doubt in doubts:
        warnings.warn(doubt, ProblemWarning, stacklevel=2)
    error = max(end.lag[1] for end in ends)
    return Replay(world, times, np.array(samples), error, effects, doubts)


class _Moment(NamedTuple):
    """The positions to follow at one moment."""

    q: Float[np.ndarray, " n"]
    velocity: Float[np.ndarray, " n"]
    gripping: frozenset[str]
    """Joints of the fingers that press."""
    ends_segment: bool = False
    """Whether a segment of the plan, with the rest after it, ends here."""


def _moments(plan: MotionPlan, slowness: float) -> Iterator[_Moment]:
    """Yield what is to be followed in each step of the simulation."""
    gripping: frozenset[str] = frozenset()
    q, still = plan.path[0], np.zeros_like(plan.path[0])
    joint_of = {hand.link: hand.joint for hand in plan.hands}

    def rest(duration: float) -> list[_Moment]:
        return [_Moment(q, still, gripping)] * round(duration / TIME_STEP)

    for k, segment in enumerate(plan.segments):
        moved = set() if segment.hand is None else {joint_of[segment.hand]}
        if segment.name == "open":
            # What a hand still pulls would go on when it is let go.
            yield from rest(REPLAY_DRIVE.pause)
            gripping -= moved
        motion = segment.solution.resample(TIME_STEP / slowness)
        for row, speed in zip(motion.positions, motion.velocities, strict=True):
            yield _Moment(row, speed / slowness, gripping)
        q = motion.positions[-1]
        if segment.name == "close":
            gripping |= moved
        if segment.name in ("close", "open"):
            yield from rest(REPLAY_DRIVE.pause)
        if k == len(plan.segments) - 1:
            yield from rest(REPLAY_DRIVE.pause)
        yield _Moment(q, still, gripping, ends_segment=True)


class _Driver:
    """A simulation whose joints follow positions."""

    def __init__(self, twin: Twin, plan: MotionPlan, passive: tuple[str, ...]) -> None:
        self.mujoco, self.twin, self.C = import_mujoco("A replay"), twin, plan.start
        # A copy, because equal worlds share the model.
        self.model: Any = copy.copy(twin.model)
        self.data = self.mujoco.MjData(self.model)
        self.drive = REPLAY_DRIVE
        self.columns = self.C.joints.coordinates(list(plan.joints))
        fingers = {hand.joint: self._finger_dofs(hand) for hand in plan.hands}
        self.fingers = fingers
        driven = {i for joint in plan.joints for i in self._dofs(joint)}
        self.arm = np.array(sorted(driven - {i for f in fingers.values() for i in f}))
        closing = [i for f in fingers.values() for i in f]
        self.model.dof_armature[closing] = self.drive.finger_drive_mass
        self.mujoco.mj_setConst(self.model, self.data)
        self.data.qpos[:] = twin.qpos()
        self.motors = np.array([*self.arm, *closing], int)
        self.doors = np.array([i for j in passive for i in self._dofs(j)], int)
        self.signs = {hand.joint: np.sign(hand.slope) for hand in plan.hands}
        self.addresses = self._addresses()

    @property
    def q(self) -> Float[np.ndarray, " nq"]:
        """Coordinates of the world."""
        return self.twin.q(np.array(self.data.qpos))

    @property
    def world(self) -> Config:
        """The world in its present state."""
        world = self.C.copy()
        world.q = self.q
        return world

    def largest(self, lag: Float[np.ndarray, " arm"]) -> tuple[str, float]:
        """Return the joint of the arm with the largest error, and the error."""
        k = int(lag.argmax())
        joint = self.model.joint(int(self.model.dof_jntid[self.arm[k]]))
        frame = int(joint.name.split(".")[0])
        return self.C.tree.joint(frame).name, float(lag[k])

    def step(self, moment: _Moment) -> Float[np.ndarray, " arm"]:
        """Advance by one step, and return the error of each joint [rad, m]."""
        mujoco, data, drive = self.mujoco, self.data, self.drive
        stiffness, damping = drive.bandwidth**2, 2 * drive.bandwidth
        target = self.C.q
        target[self.columns] = moment.q
        target_qpos = self.twin.qpos(target)[self.addresses]
        speed = np.zeros(self.C.nq)
        speed[self.columns] = moment.velocity
        rate = (
            self.twin.qpos(target + 1e-6 * speed)[self.addresses] - target_qpos
        ) * 1e6
        error = target_qpos - data.qpos[self.addresses]
        acceleration = stiffness * error + damping * (rate - data.qvel)
        driven = np.zeros(self.model.nv)
        driven[self.arm] = acceleration[self.arm]
        for joint, dofs in self.fingers.items():
            is_pressing = joint in moment.gripping
            damped = -damping * data.qvel[dofs]
            driven[dofs] = damped if is_pressing else acceleration[dofs]
        effort = np.zeros(self.model.nv)
        mujoco.mj_mulM(self.model, data, effort, driven)
        effort += data.qfrc_bias
        for joint in moment.gripping:
            effort[self.fingers[joint]] -= self.signs[joint] * drive.grip_force
        data.qfrc_applied[:] = 0
        data.qfrc_applied[self.motors] = effort[self.motors]
        data.qfrc_applied[self.doors] -= drive.door_damping * data.qvel[self.doors]
        mujoco.mj_step(self.model, data)
        check_stable(mujoco, [data])
        return np.abs(error[self.arm])

    def _dofs(self, joint: str) -> list[int]:
        """Return MuJoCo's degrees of freedom of a joint."""
        i = self.C.tree.joint_frame(joint)
        model = self.model
        dofs = []
        for k in range(model.njnt):
            if model.joint(k).name.split(".")[0] == str(i):
                dofs.append(int(model.jnt_dofadr[k]))
        return dofs

    def _finger_dofs(self, hand: Hand) -> Int[np.ndarray, " n"]:
        """Return the degrees of freedom of both fingers."""
        joints = [self.C.frame(name).joint for name in hand.fingers]
        names = [joint.name for joint in joints if joint is not None]
        return np.array([i for name in names for i in self._dofs(name)])

    def _addresses(self) -> Int[np.ndarray, " nv"]:
        """Return the coordinate in qpos of each degree of freedom; of free ones any."""
        addresses = np.zeros(self.model.nv, int)
        for k in range(self.model.njnt):
            if self.model.jnt_type[k] != self.mujoco.mjtJoint.mjJNT_FREE:
                addresses[self.model.jnt_dofadr[k]] = self.model.jnt_qposadr[k]
        return addresses
