"""Simulation of a world over time: motors drive its joints, free bodies fall."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ..config import Config
from ..errors import ConfigError
from ..kinematics.joint_types import joint_dim
from ..loaders.mjcf.contact_settings import TIME_STEP
from ..mujoco_extra import import_mujoco
from ..typing import FrameName, VectorLike
from ..validation import float_array, number
from .model import build_twin_model
from .motion import SimulatedContact, check_stable
from .readout import frame_body, read_contacts

STIFFNESS, DAMPING = 1000.0, 100.0
"""Motors [N/m or N m/rad, and times s], those of rai: they lag by 0.1 s behind a target
whose rate they are not told. A stiffer motor follows closer."""
DIFFERENCE_STEP = 1e-6
"""Step of finite differences between rates and MuJoCo's velocities [s]; a larger one
adds errors where quaternions turn."""
MIN_MOVING_SPEED = 1e-2
"""Speed of a joint from which on it does not rest [m/s or rad/s]; a larger one rests
sooner."""
REACHED_DISTANCE = 1e-9
"""Distance of a target from its end at which it has arrived [m or rad]; a larger one
arrives sooner."""


@dataclass(frozen=True, eq=False)
class SimulatorState:
    """State of a simulation at a time, from which another simulation may go on."""

    time: float
    """[s]"""
    q: Float[np.ndarray, " nq"]
    """Joint coordinates, as in `Config.q`."""
    rate: Float[np.ndarray, " nq"]
    """Their derivatives by time [1/s]."""
    target: Float[np.ndarray, " nq"]
    """Joint coordinates that motors drive to; those of free bodies do not count."""


@dataclass(frozen=True)
class _JointMotion:
    """Motion of the target of a coordinate towards a position, at a speed."""

    position: float
    speed: float


class Simulator:
    """A world that moves in MuJoCo: joints by motors, bodies on free joints by forces.

    The simulation is of a copy: later edits of the world do not change it, and
    `C.q = simulator.q` puts the world in its state. Each joint that is neither free,
    nor locked, nor mimics another has a motor with the effort

        stiffness (target - q) + damping (d target/dt - dq/dt)

    which also carries the weight and the inertial forces of what the joint moves in the
    world's tree, so that an arm does not sag; what a hand only touches, it feels.
    Masses, friction and contacts are those of `Twin`; a floor is a `Plane` of the
    world. To pick up a body without friction, put the world in the state of the
    simulation, `C.attach` it to the hand, and start another simulator.

    Args:
        C: The world, at its start, where it is at rest.
        stiffness: Stiffness of all motors [N/m or N m/rad].
        damping: Damping of all motors [N s/m or N m s/rad].
        kinematic: Whether joints are where their targets are, and nothing else moves.

    Raises:
        ConfigError: For worlds that MuJoCo cannot represent, and negative numbers.
        ImportError: When MuJoCo is not installed; the message names the extra.
    """

    def __init__(
        self,
        C: Config,
        *,
        stiffness: float = STIFFNESS,
        damping: float = DAMPING,
        kinematic: bool = False,
    ) -> None:
        self.C = C.copy()
        self._mujoco = import_mujoco("A simulation")
        self._is_kinematic = kinematic
        joints = frozenset(map(self.C.tree.joint_frame, C.joint_names))
        self._twin_model = build_twin_model(self.C, joints)
        self._model = self._twin_model.model
        self._map = self._twin_model.coordinates
        self._data = self._mujoco.MjData(self._model)
        free = [n for n in C.joint_names if self._is_free(self.C.tree.joint_frame(n))]
        self._free_entries = self.C.joints.coordinates(free)
        self._set_motors(
            number("stiffness", stiffness, ">= 0", lambda x: x >= 0),
            number("damping", damping, ">= 0", lambda x: x >= 0),
        )
        self.state = SimulatorState(0.0, C.q, np.zeros(C.nq), C.q)

    def _set_motors(self, stiffness: float, damping: float) -> None:
        """Give springs and dampers to all joints that do not move freely."""
        model = self._model
        frames = [int(model.joint(j).name.split(".")[0]) for j in range(model.njnt)]
        is_free = np.array([self._is_free(i) for i in frames], bool)
        # Joints that mimic others are moved by these.
        has_none = is_free | np.isin(np.arange(model.njnt), model.eq_obj1id)
        model.jnt_stiffness[:] = np.where(has_none, 0.0, stiffness)
        self._damping = np.where(has_none[model.dof_jntid], 0.0, damping)
        model.dof_damping[:] = self._damping
        self._is_carried = ~is_free[model.dof_jntid]
        sizes = np.diff([*model.jnt_qposadr, model.nq])
        self._is_driven = ~np.repeat(is_free, sizes)

    def _is_free(self, frame: int) -> bool:
        return self.C.tree.joint(frame).type in ("free", "floating")

    # -- the state ---------------------------------------------------------------

    @property
    def time(self) -> float:
        """Simulated time [s], which may be set."""
        return float(self._data.time)

    @time.setter
    def time(self, time: float) -> None:
        self._data.time = number("time", time)

    @property
    def q(self) -> Float[np.ndarray, " nq"]:
        """Joint coordinates, as in `Config.q`."""
        return self._map.to_q(np.array(self._data.qpos))

    @property
    def rate(self) -> Float[np.ndarray, " nq"]:
        """Derivatives of the joint coordinates by time [1/s]."""
        ends, velocity = [], np.array(self._data.qvel)
        for step in (-DIFFERENCE_STEP / 2, DIFFERENCE_STEP / 2):
            ends.append(np.array(self._data.qpos))
            self._mujoco.mj_integratePos(self._model, ends[-1], velocity, step)
        before, after = self._map.to_q(np.stack(ends))
        return (after - before) / DIFFERENCE_STEP

    @property
    def target(self) -> Float[np.ndarray, " nq"]:
        """Joint coordinates that motors drive to; of free bodies, where they are."""
        return self._coordinates("target", self._target, free=self.q)

    @property
    def state(self) -> SimulatorState:
        """Time, coordinates, rates and targets; setting them ends motions of joints.

        Raises:
            ConfigError: For what is no `SimulatorState`, a wrong number of coordinates,
                NaN or infinite ones, and quaternions of length 0. The simulation stays
                where it was.
        """
        return SimulatorState(self.time, self.q, self.rate, self.target)

    @state.setter
    def state(self, state: SimulatorState) -> None:
        if not isinstance(state, SimulatorState):
            raise ConfigError(
                f"state is {type(state).__name__}, expected a SimulatorState, such as"
                " one that was kept; dataclasses.replace changes a part of it."
            )
        time = number("time", state.time)
        q, rate = self._coordinates("q", state.q), self._numbers("rate", state.rate)
        self._target = self._coordinates("target", state.target, free=q)
        self._motions: dict[int, _JointMotion] = {}
        self._mujoco.mj_resetData(self._model, self._data)
        self.time = time
        self._data.qpos[:] = self._map.to_qpos(q, self._model.nq)
        self._data.qvel[:] = self._velocity(q, rate)
        self._mujoco.mj_forward(self._model, self._data)

    def pose(self, frame: FrameName) -> Float[np.ndarray, "7"]:
        """Return the world pose of a frame.

        Raises:
            ConfigError: For an unknown name, with near matches.
        """
        body = frame_body(self.C, self._twin_model, frame)
        return np.concatenate([self._data.xpos[body], self._data.xquat[body]])

    def velocity(self, frame: FrameName) -> Float[np.ndarray, "2 3"]:
        """Return the linear velocity of a frame's origin, and its angular velocity.

        They are [m/s] and [rad/s], in the axes of the world.

        Raises:
            ConfigError: For an unknown name, with near matches.
        """
        body, twist = frame_body(self.C, self._twin_model, frame), np.zeros(6)
        kind = self._mujoco.mjtObj.mjOBJ_XBODY
        self._mujoco.mj_objectVelocity(self._model, self._data, kind, body, twist, 0)
        return twist.reshape(2, 3)[::-1]

    def contacts(self) -> list[SimulatedContact]:
        """Return the contacts of the last step, with forces."""
        return read_contacts(self._mujoco, self.C, self._twin_model, self._data)

    # -- steps -------------------------------------------------------------------

    def step(
        self,
        seconds: float,
        target: VectorLike | None = None,
        rate: VectorLike | None = None,
    ) -> None:
        """Advance by a time.

        Args:
            seconds: The time [s], in MuJoCo's steps of about 2 ms.
            target: Joint coordinates (nq,) that motors drive to from now on; default:
                those of before.
            rate: Rate (nq,) at which targets move during the step; default: at rest.

        Raises:
            ConfigError: For a time that is not above 0, a wrong number of coordinates,
                NaN or infinite ones.
            SimulationError: When the simulation becomes unstable.
        """
        seconds = number("seconds", seconds, "a time > 0 s", lambda s: s > 0)
        if target is not None:
            self._target = self._coordinates("target", target, free=self.q)
        rates = np.zeros(self.C.nq) if rate is None else self._numbers("rate", rate)
        rates[self._free_entries] = 0.0
        for entry, motion in self._motions.items():
            speed = (motion.position - self._target[entry]) / seconds
            rates[entry] = np.clip(speed, -motion.speed, motion.speed)
        self._advance(rates, seconds)
        # MuJoCo leaves derived quantities at the state before its last step.
        for compute in ("mj_kinematics", "mj_comPos", "mj_comVel"):
            getattr(self._mujoco, compute)(self._model, self._data)

    def _advance(self, rate: np.ndarray, seconds: float) -> None:
        model, data, mujoco = self._model, self._data, self._mujoco
        count = max(round(seconds / TIME_STEP), 1)
        model.opt.timestep = seconds / count
        forward = self._damping * self._velocity(self._target, rate)
        for _ in range(count):
            self._target += rate * model.opt.timestep
            target = self._map.to_qpos(self._target, model.nq)
            if self._is_kinematic:
                data.qpos[self._is_driven] = target[self._is_driven]
                data.time += model.opt.timestep
                continue
            model.qpos_spring[:] = target
            mujoco.mj_step1(model, data)
            data.qfrc_applied[:] = self._is_carried * data.qfrc_bias + forward
            mujoco.mj_step2(model, data)
        check_stable(mujoco, [data])

    def _velocity(self, q: np.ndarray, rate: np.ndarray) -> np.ndarray:
        """Return MuJoCo's velocity of a rate (nq,) of the coordinates."""
        reach = DIFFERENCE_STEP / 2 * rate
        around = np.stack([q - reach, q + reach])
        ends = self._map.to_qpos(around, self._model.nq)
        velocity = np.zeros(self._model.nv)
        self._mujoco.mj_differentiatePos(self._model, velocity, DIFFERENCE_STEP, *ends)
        return velocity

    # -- motions of single joints ------------------------------------------------

    def move_joint(self, joint: str, position: float, speed: float) -> None:
        """Move the target of a joint, such as a finger's, during the next steps.

        Args:
            joint: Joint of one coordinate, by joint or frame name.
            position: Where the target goes [m or rad]; beyond the joint's limits to the
                nearest of these.
            speed: Speed of the target [m/s or rad/s], above 0.

        Raises:
            ConfigError: For an unknown joint, one without a motor of one coordinate,
                and numbers that are not as above.
        """
        moved = self.C.tree.joint(self.C.tree.joint_frame(joint))
        if moved.mimic is not None or not moved.active or joint_dim(moved.type) != 1:
            raise ConfigError(
                f"move_joint: {joint!r} ({moved.type}) mimics another joint, is locked"
                " or has not one coordinate; name a joint with a motor of one."
            )
        entry = int(self.C.joints.coordinates(joint)[0])
        low, high = self.C.limits[:, entry]
        end = float(np.clip(number("position", position), low, high))
        speed = number("speed", speed, "a speed > 0", lambda v: v > 0)
        self._motions[entry] = _JointMotion(end, speed)

    def joint_rests(self, joint: str) -> bool:
        """Return whether a joint that `move_joint` moves has come to rest.

        It rests at the position, at a limit, or at what is in its way. Joints that were
        not told to move do not count: for them it is False.

        Raises:
            ConfigError: For an unknown joint.
        """
        entry = int(self.C.joints.coordinates([joint])[0])
        if entry not in self._motions:
            return False
        distance = abs(self._target[entry] - self._motions[entry].position)
        speed = abs(self.rate[entry])
        return bool(distance <= REACHED_DISTANCE and speed <= MIN_MOVING_SPEED)

    def _coordinates(
        self, label: str, array: VectorLike, free: np.ndarray | None = None
    ) -> np.ndarray:
        """Return a copy of coordinates (nq,), with those of free bodies as given.

        Raises:
            ConfigError: For another number of coordinates, NaN or infinite ones, and a
                quaternion of length 0.
        """
        q = self._numbers(label, array)
        if free is not None:
            q[self._free_entries] = free[self._free_entries]
        for first in self.C.joints.quaternions:
            if not q[first : first + 4].any():
                raise ConfigError(
                    f"{label} has a quaternion of length 0 at {first}, expected 4"
                    " numbers that are not all 0."
                )
        return q

    def _numbers(self, label: str, array: VectorLike) -> np.ndarray:
        """Return a copy of numbers (nq,).

        Raises:
            ConfigError: For another number of coordinates, NaN or infinite ones.
        """
        expected = f"{self.C.nq} finite numbers, one for each joint coordinate"
        numbers = float_array(label, array, expected)
        if numbers.shape != (self.C.nq,):
            raise ConfigError(
                f"{label} has shape {numbers.shape}, expected {expected}."
            )
        if not np.isfinite(numbers).all():
            entry = int(np.argmin(np.isfinite(numbers)))
            raise ConfigError(
                f"{label}[{entry}] is {numbers[entry]}, expected {expected}."
            )
        return numbers
