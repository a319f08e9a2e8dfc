"""A simulation that is advanced step by step, with motors at joints."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float

from ..errors import ConfigError
from ..kinematics.joint_types import joint_dim
from ..validation import float_array, number
from .motion import SimulatedContact, check_stable

if TYPE_CHECKING:
    from .twin import Twin
else:
    Twin = Any


@dataclass(frozen=True)
class Motor:
    """What drives a joint: effort + stiffness (target - q) - damping dq/dt.

    An effort alone is a constant force or torque; with a stiffness the joint is driven
    towards the target.

    Args:
        effort: [N, or N m].
        target: position [m, rad].
        stiffness: [N/m, N m/rad], >= 0.
        damping: [N s/m, N m s/rad], >= 0.

    Raises:
        ConfigError: for numbers that do not fit.
    """

    effort: Any = 0.0
    target: Any = 0.0
    stiffness: Any = 0.0
    damping: Any = 0.0

    def __post_init__(self) -> None:
        for field in fields(self):
            name = field.name
            given = getattr(self, name)
            if name in ("stiffness", "damping"):
                value = number(f"Motor: {name}", given, ">= 0", lambda x: x >= 0)
            else:
                value = number(f"Motor: {name}", given)
            object.__setattr__(self, name, value)


class CentreOfMass(NamedTuple):
    """A centre of mass, and how it moves."""

    position: Float[np.ndarray, "3"]
    """[m, world]"""
    velocity: Float[np.ndarray, "3"]
    """[m/s, world]"""


class TwinRun:
    """One run of a twin; `Twin.start` makes it. Frames are named as in the world."""

    def __init__(self, twin: Twin, q: Any, motors: Mapping[str, Any]) -> None:
        self.twin = twin
        self._mujoco, self._model = twin._mujoco, twin.model
        self._motors = [self._motor_with_map(name, m) for name, m in motors.items()]
        self._data = twin._data(q)
        self._update_kinematics()

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return float(self._data.time)

    @property
    def q(self) -> Float[np.ndarray, " nq"]:
        """Joint coordinates, as in `Config.q`."""
        return self.twin.q(self._data.qpos)

    def step(self, wrenches: Mapping[str, Any] | None = None) -> None:
        """Advance by 2 ms.

        Args:
            wrenches: for each frame a force and a torque (6,) [N, N m, world] during
                the step, at the centre of mass of all that hangs from it.

        Raises:
            ConfigError: for input that does not fit.
            SimulationError: when the simulation runs away.
        """
        data = self._data
        data.qfrc_applied[:] = 0
        for motor, wire in self._motors:
            q = (data.qpos[wire.qpos] - wire.shift) / wire.factor
            speed = data.qvel[wire.dof] / wire.factor
            effort = motor.effort + motor.stiffness * (motor.target - q)
            effort -= motor.damping * speed
            data.qfrc_applied[wire.dof] += effort / wire.factor
        for frame, given in (wrenches or {}).items():
            body, what = self._body(frame), f"wrenches[{frame!r}]"
            wrench = float_array(what, given, "6 numbers")
            if wrench.shape != (6,) or not np.isfinite(wrench).all():
                raise ConfigError(f"{what} is {given!r}, expected 6 finite numbers.")
            self._mujoco.mj_applyFT(
                self._model, data, wrench[:3], wrench[3:], data.subtree_com[body], body,
                data.qfrc_applied,
            )  # fmt: skip
        self._mujoco.mj_step(self._model, data)
        check_stable(self._mujoco, [data])
        self._update_kinematics()

    def position(self, frame: str) -> Float[np.ndarray, "3"]:
        """Where a frame is [m, world].

        Raises:
            ConfigError: for an unknown name, with near matches.
        """
        return np.array(self._data.xpos[self._body(frame)])

    def centre_of_mass(self, frame: str) -> CentreOfMass:
        """The centre of mass of a frame with all that hangs from it.

        Raises:
            ConfigError: for an unknown name, with near matches.
        """
        body, data = self._body(frame), self._data
        return CentreOfMass(
            np.array(data.subtree_com[body]), np.array(data.subtree_linvel[body])
        )

    def contacts(self) -> list[SimulatedContact]:
        """Contact points and forces that acted during the last step; none at first."""
        return self.twin._contacts(self._data)

    # -- inside ------------------------------------------------------------------

    def _update_kinematics(self) -> None:
        """Poses and velocities of now; contacts stay those of the step."""
        for see in ("mj_kinematics", "mj_comPos", "mj_comVel", "mj_subtreeVel"):
            getattr(self._mujoco, see)(self._model, self._data)

    def _body(self, frame: str) -> int:
        return int(self.twin._built.frame_bodies[self.twin._index(frame)])

    def _motor_with_map(self, name: str, given: Any) -> tuple[Motor, "_MotorMap"]:
        C = self.twin.C
        i = C.tree.joint_frame(name)
        joint = C.tree.joint(i)
        if joint.mimic is not None:
            raise ConfigError(
                f"Joint {name!r} mimics {joint.mimic!r}; give that one the motor."
            )
        if not joint.active or joint_dim(joint.type) != 1:
            raise ConfigError(
                f"Joint {name!r} ({joint.type}) is locked or has not one coordinate; a"
                " motor drives one."
            )
        if i not in self.twin._movable:
            raise ConfigError(
                f"Joint {name!r} is held; a motor needs it among those of"
                " Twin(C, movable_joints=...)."
            )
        motor = given if isinstance(given, Motor) else Motor(given)
        made, places = self._model.joint(f"{i}.0"), self.twin._built.coordinates
        qpos = int(made.qposadr[0])
        at = int(np.flatnonzero(places.qpos_index == qpos)[0])
        dof = int(made.dofadr[0])
        scales = float(places.factor[at]), float(places.shift[at])
        return motor, _MotorMap(qpos, dof, *scales)


class _MotorMap(NamedTuple):
    """Where a joint is in MuJoCo: qpos = factor q + shift."""

    qpos: int
    dof: int
    factor: float
    shift: float
