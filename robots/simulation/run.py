"""Simulation runs that are advanced step by step, with motors at joints."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Float

from ..config import Config
from ..errors import ConfigError
from ..kinematics.joint_types import joint_dim
from ..mujoco_extra import import_mujoco
from ..typing import FrameName, VectorLike
from ..validation import float_array, number
from .model import TwinModel
from .motion import SimulatedContact, check_stable
from .readout import frame_body, read_contacts

if TYPE_CHECKING:
    from mujoco import MjData


@dataclass(frozen=True)
class Motor:
    """A drive of a joint: effort + stiffness (target - q) - damping dq/dt.

    An effort alone is a constant force or torque; with a stiffness the joint is driven
    towards the target.

    Args:
        effort: Constant force or torque [N or N m].
        target: Position [m or rad].
        stiffness: [N/m or N m/rad], >= 0.
        damping: [N s/m or N m s/rad], >= 0.

    Raises:
        ConfigError: For values that are no finite numbers, or negative where they must
            not be.
    """

    effort: float = 0.0
    target: float = 0.0
    stiffness: float = 0.0
    damping: float = 0.0

    def __post_init__(self) -> None:
        for field in fields(self):
            name, label = field.name, f"Motor: {field.name}"
            setting = getattr(self, name)
            if name in ("stiffness", "damping"):
                value = number(label, setting, ">= 0", lambda x: x >= 0)
            else:
                value = number(label, setting)
            object.__setattr__(self, name, value)


class CentreOfMass(NamedTuple):
    """A centre of mass, and its velocity."""

    position: Float[np.ndarray, "3"]
    """[m, world]"""
    velocity: Float[np.ndarray, "3"]
    """[m/s, world]"""


class TwinRun:
    """One simulation run of a twin, made by `Twin.start_run`.

    Frames are named as in the world.

    Attributes:
        C: The world that is simulated, at its start.
    """

    def __init__(
        self,
        C: Config,
        twin_model: TwinModel,
        data: "MjData",
        movable: frozenset[int],
        motors: Mapping[str, Motor | float],
    ) -> None:
        """Start a run.

        Args:
            C: The world.
            twin_model: The compiled model of the world.
            data: `mujoco.MjData` at the start.
            movable: Frames whose joints move freely.
            motors: Motors, or constant efforts, by joint or frame name.
        """
        self.C = C
        self._mujoco = import_mujoco("A twin")
        self._twin_model, self._model = twin_model, twin_model.model
        self._motors = [self._bind(name, m, movable) for name, m in motors.items()]
        self._data = data
        self._update_kinematics()

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return float(self._data.time)

    @property
    def q(self) -> Float[np.ndarray, " nq"]:
        """Joint coordinates, as in `Config.q`."""
        return self._twin_model.coordinates.to_q(np.array(self._data.qpos))

    def step(self, wrenches: Mapping[FrameName, VectorLike] | None = None) -> None:
        """Advance by 2 ms.

        Args:
            wrenches: For each frame a force and a torque (6,) [N, N m, world] during
                the step, at the centre of mass of the frame's subtree.

        Raises:
            ConfigError: For an unknown frame or a wrench of another shape.
            SimulationError: When the simulation becomes unstable.
        """
        data = self._data
        data.qfrc_applied[:] = 0
        for motor, joint in self._motors:
            q = (data.qpos[joint.qpos] - joint.offset) / joint.factor
            speed = data.qvel[joint.dof] / joint.factor
            effort = motor.effort + motor.stiffness * (motor.target - q)
            effort -= motor.damping * speed
            # Virtual work is the same in both coordinates: τ_mj dq_mj = τ dq.
            data.qfrc_applied[joint.dof] += effort / joint.factor
        for frame, components in (wrenches or {}).items():
            body = frame_body(self.C, self._twin_model, frame)
            label = f"wrenches[{frame!r}]"
            wrench = float_array(label, components, "6 numbers")
            if wrench.shape != (6,) or not np.isfinite(wrench).all():
                raise ConfigError(
                    f"{label} is {components!r}, expected 6 finite numbers."
                )
            self._mujoco.mj_applyFT(
                self._model, data, wrench[:3], wrench[3:], data.subtree_com[body], body,
                data.qfrc_applied,
            )  # fmt: skip
        self._mujoco.mj_step(self._model, data)
        check_stable(self._mujoco, [data])
        self._update_kinematics()

    def position(self, frame: FrameName) -> Float[np.ndarray, "3"]:
        """Return the position of a frame [m, world].

        Raises:
            ConfigError: For an unknown name, with near matches.
        """
        return np.array(self._data.xpos[frame_body(self.C, self._twin_model, frame)])

    def centre_of_mass(self, frame: FrameName) -> CentreOfMass:
        """Return the centre of mass of a frame's subtree.

        Raises:
            ConfigError: For an unknown name, with near matches.
        """
        body, data = frame_body(self.C, self._twin_model, frame), self._data
        return CentreOfMass(
            np.array(data.subtree_com[body]), np.array(data.subtree_linvel[body])
        )

    def contacts(self) -> list[SimulatedContact]:
        """Return the contacts of the last step, with forces; initially none."""
        return read_contacts(self._mujoco, self.C, self._twin_model, self._data)

    def _update_kinematics(self) -> None:
        """Compute current poses and velocities; contacts stay those of the step."""
        # mj_step leaves derived quantities as they were before integration.
        for compute in ("mj_kinematics", "mj_comPos", "mj_comVel", "mj_subtreeVel"):
            getattr(self._mujoco, compute)(self._model, self._data)

    def _bind(
        self, name: str, motor: Motor | float, movable: frozenset[int]
    ) -> tuple[Motor, "_MotorJoint"]:
        i = self.C.tree.joint_frame(name)
        joint = self.C.tree.joint(i)
        if joint.mimic is not None:
            raise ConfigError(
                f"Joint {name!r} mimics {joint.mimic!r}; give that one the motor."
            )
        if not joint.active or joint_dim(joint.type) != 1:
            raise ConfigError(
                f"Joint {name!r} ({joint.type}) is locked or has not one coordinate; a"
                " motor drives one."
            )
        if i not in movable:
            raise ConfigError(
                f"Joint {name!r} is held; a motor needs it among those of"
                " Twin(C, movable_joints=...)."
            )
        mj_joint = self._model.joint(f"{i}.0")
        coordinates = self._twin_model.coordinates
        qpos, dof = int(mj_joint.qposadr[0]), int(mj_joint.dofadr[0])
        entry = int(np.flatnonzero(coordinates.qpos_index == qpos)[0])
        factor, offset = coordinates.factor[entry], coordinates.offset[entry]
        return (
            motor if isinstance(motor, Motor) else Motor(motor),
            _MotorJoint(qpos, dof, float(factor), float(offset)),
        )


class _MotorJoint(NamedTuple):
    """Indices of a joint in MuJoCo, where qpos = factor q + offset."""

    qpos: int
    dof: int
    factor: float
    offset: float
