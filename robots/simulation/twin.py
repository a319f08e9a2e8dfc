"""MuJoCo twins of worlds: simulation, contacts with forces, and distances.

A twin has a body for each frame of a `Config`, with its collision shapes, and the same
pairs of shapes collide. Its contacts are stiff, with elliptic friction cones.
"""

import copy
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from jaxtyping import Float

from ..config import Config
from ..errors import ConfigError, unknown_name
from ..loaders.mjcf.contact_settings import TIME_STEP
from ..mujoco_extra import import_mujoco
from ..typing import FrameName, MatrixLike, VectorLike
from ..validation import float_array, number
from ..world.mimic_joints import resolve_mimics
from .model import TwinModel, build_twin_model
from .motion import SimulatedContact, SimulatedTrajectory, check_stable
from .readout import frame_body, read_contacts
from .run import Motor, TwinRun

MAX_DISTANCE = 1e3
"""Largest distance that `Twin.distance` finds [m]; beyond it there is an error."""


class Twin:
    """A copy of a world in MuJoCo; later edits of the world do not change it.

    Free joints move freely. All other joints are locked where they start, except the
    movable ones. A frame weighs its `mass`; a moving link without any mass
    weighs as much as its shapes would at the density of water. The friction of two
    frames in contact is the larger of their attributes `contact_friction`, each 0.5
    where there is none. Equal worlds share one compiled model.

    Args:
        C: The world.
        movable_joints: Joints (by joint or frame name) that move freely, within their
            limits, with all joints that mimic them.

    Raises:
        ConfigError: For unknown joints, and for worlds that MuJoCo cannot represent.
        ImportError: When MuJoCo is not installed; the message names the extra.
    """

    def __init__(
        self, C: Config, *, movable_joints: FrameName | Iterable[FrameName] = ()
    ) -> None:
        if isinstance(movable_joints, str):
            movable_joints = [movable_joints]
        self.C = C.copy()
        relations = resolve_mimics(C.frames)
        frames = [C.tree.joint_frame(name) for name in movable_joints]
        self._movable = frozenset(relations[i].source for i in frames)
        self._mujoco = import_mujoco("A twin")
        locked = tuple(
            (i, value.tobytes())
            for i, value in sorted(C.tree.values.items())
            if not C.tree.joint(i).active
        )
        ignored = C.collision_filter.ignored
        key = _ModelKey(C.frames, ignored, locked, self._movable, self.C)
        self._twin_model = _cached_model(key)

    def without_contacts(self, frames: Iterable[FrameName]) -> "Twin":
        """Return a twin of the same world in which some frames collide with nothing.

        Args:
            frames: Names of these frames.

        Raises:
            ConfigError: For unknown names, with near matches.
        """
        bodies = [frame_body(self.C, self._twin_model, name) for name in frames]
        model = copy.copy(self.model)
        geoms = np.isin(model.geom_bodyid, bodies)
        model.geom_contype[geoms] = model.geom_conaffinity[geoms] = 0
        new = copy.copy(self)
        new._twin_model = replace(self._twin_model, model=model)
        return new

    @property
    def model(self) -> Any:
        """The `mujoco.MjModel`, read-only because equal worlds share it."""
        return self._twin_model.model

    def qpos(self, q: VectorLike | None = None) -> Float[np.ndarray, "*batch qpos"]:
        """Return MuJoCo's coordinates of joint coordinates.

        Args:
            q: Joint coordinates (…, nq), as in `Config.q`; default: the start.

        Raises:
            ConfigError: For a wrong number of coordinates, NaN or infinite ones.
        """
        return self._twin_model.coordinates.to_qpos(self._finite_q(q), self.model.nq)

    def q(self, qpos: VectorLike) -> Float[np.ndarray, "*batch nq"]:
        """Return joint coordinates (…, nq) of MuJoCo's coordinates (…, model.nq).

        Raises:
            ConfigError: For a wrong number of coordinates.
        """
        array = float_array("qpos", qpos, f"{self.model.nq} numbers")
        if array.shape[-1:] != (self.model.nq,):
            raise ConfigError(
                f"qpos has shape {array.shape}, expected (…, {self.model.nq})."
            )
        return self._twin_model.coordinates.to_q(array)

    def simulate(
        self,
        seconds: float,
        q: VectorLike | None = None,
        forces: Mapping[FrameName, VectorLike | MatrixLike] | None = None,
    ) -> SimulatedTrajectory:
        """Simulate from rest; the runs of a batch are spread over threads.

        Args:
            seconds: Duration [s]; steps are 2 ms.
            q: Joint coordinates at the start (…, nq); default: those of the world.
            forces: For each frame a force at its centre of mass in the world (3,) [N],
                or with a torque (6,) [N, Nm]; constant, or one row for each step.

        Returns:
            The joint coordinates at the start and after each step.

        Raises:
            ConfigError: For arguments of a wrong shape or value, and unknown frames.
            SimulationError: When the simulation becomes unstable.
        """
        seconds = number("seconds", seconds, "> 0 s", lambda s: s > 0)
        steps = max(round(seconds / TIME_STEP), 1)
        qpos = self.qpos(q)
        batch, size = qpos.shape[:-1], self.model.nq
        start = np.tile(self._rest_state, (int(np.prod(batch)), 1))
        start[:, 1 : 1 + size] = qpos.reshape(len(start), size)
        states = self._rollout(start, steps, self._wrench_table(forces or {}, steps))
        path = np.concatenate([start[:, None], states], 1)[..., 1 : 1 + size]
        path = self._twin_model.coordinates.to_q(path)
        path = path.reshape(*batch, steps + 1, self.C.nq)
        return SimulatedTrajectory(self.C, TIME_STEP * np.arange(steps + 1), path)

    def contacts(
        self, q: VectorLike | None = None, after: float = 0.0
    ) -> list[SimulatedContact]:
        """Return contact points and their forces.

        Args:
            q: Joint coordinates (nq,); default: those of the world.
            after: Time [s] to simulate before; at 0 the forces are those that push
                overlapping bodies apart.

        Raises:
            ConfigError: For arguments of a wrong shape or value.
            SimulationError: When the simulation becomes unstable.
        """
        after = number("after", after, ">= 0 s", lambda s: s >= 0)
        data = self._new_data(q)
        if steps := round(after / TIME_STEP):
            state = self._rollout(self._state(data)[None], steps, None)[0, -1]
            spec = self._mujoco.mjtState.mjSTATE_FULLPHYSICS
            self._mujoco.mj_setState(self.model, data, state, spec)
        self._mujoco.mj_forward(self.model, data)
        return read_contacts(self._mujoco, self.C, self._twin_model, data)

    def start_run(
        self,
        q: VectorLike | None = None,
        motors: Mapping[str, Motor | float] | None = None,
    ) -> TwinRun:
        """Return a run, at rest, that is advanced step by step, with motors.

        Args:
            q: Joint coordinates at the start (nq,); default: those of the world.
            motors: For movable joints of one coordinate (by joint or frame name) a
                `Motor`, or the constant effort of one [N, N m].

        Raises:
            ConfigError: For arguments of a wrong shape or value, and unknown joints.
        """
        data = self._new_data(q)
        return TwinRun(self.C, self._twin_model, data, self._movable, motors or {})

    def distance(
        self, a: FrameName, b: FrameName, q: VectorLike | None = None
    ) -> tuple[float, Float[np.ndarray, "3"], Float[np.ndarray, "3"]]:
        """Return MuJoCo's signed distance of two frames or objects, and witness points.

        Args:
            a: Name of a frame or an object; an object stands for all its parts.
            b: Another one.
            q: Joint coordinates (nq,); default: those of the world.

        Raises:
            ConfigError: For unknown names, frames without shapes, and distances beyond
                1000 m.
        """
        data = self._new_data(q)
        sides = [self._geoms_of(name) for name in (a, b)]
        best, ends = MAX_DISTANCE, np.zeros(6)
        for i in sides[0]:
            for j in sides[1]:
                fromto = np.zeros(6)
                d = self._mujoco.mj_geomDistance(self.model, data, i, j, best, fromto)
                if d < best:
                    best, ends = d, fromto
        if best == MAX_DISTANCE:
            raise ConfigError(
                f"{a!r} and {b!r} have no distance below {MAX_DISTANCE:g} m, or are"
                " half-spaces, which have none."
            )
        return float(best), ends[:3], ends[3:]

    @cached_property
    def _rest_state(self) -> np.ndarray:
        """MuJoCo's full state at rest, in which qpos is to be filled in."""
        return self._state(self._mujoco.MjData(self.model))

    def _state(self, data: Any) -> np.ndarray:
        spec = self._mujoco.mjtState.mjSTATE_FULLPHYSICS
        state = np.zeros(self._mujoco.mj_stateSize(self.model, spec))
        self._mujoco.mj_getState(self.model, data, state, spec)
        return state

    def _new_data(self, q: VectorLike | None) -> Any:
        """Return new `mujoco.MjData` at q."""
        qpos = self.qpos(q)
        if qpos.ndim != 1:
            raise ConfigError(f"q has shape {qpos.shape}, expected ({self.C.nq},).")
        data = self._mujoco.MjData(self.model)
        data.qpos[:] = qpos
        self._mujoco.mj_kinematics(self.model, data)
        self._mujoco.mj_comPos(self.model, data)
        return data

    def _finite_q(self, q: VectorLike | None) -> np.ndarray:
        array = self.C.q if q is None else float_array("q", q, f"{self.C.nq} numbers")
        if array.shape[-1:] != (self.C.nq,) or not np.isfinite(array).all():
            raise ConfigError(
                f"q has shape {array.shape}, expected (…, {self.C.nq}), without NaN or"
                " infinite entries."
            )
        return array

    def _rollout(
        self, start: np.ndarray, steps: int, wrenches: np.ndarray | None
    ) -> np.ndarray:
        """Return the states (batch, steps, size) after each step."""
        from mujoco import rollout

        if not len(start):
            return np.zeros((0, steps, start.shape[1]))
        workers = min(len(start), os.cpu_count() or 1)
        datas = [self._mujoco.MjData(self.model) for _ in range(workers)]
        options: dict[str, Any] = {"nstep": steps}
        if wrenches is not None:
            control = np.broadcast_to(wrenches, (len(start), *wrenches.shape))
            spec = int(self._mujoco.mjtState.mjSTATE_XFRC_APPLIED)
            options |= {"control": control, "control_spec": spec}
        states, _ = rollout.rollout(self.model, datas, start, **options)
        check_stable(self._mujoco, datas)
        return states

    def _wrench_table(
        self, forces: Mapping[FrameName, VectorLike | MatrixLike], steps: int
    ) -> np.ndarray | None:
        """Return wrenches on all bodies (steps, 6 · bodies), None without forces."""
        if not forces:
            return None
        table = np.zeros((steps, self.model.nbody, 6))
        for frame, components in forces.items():
            body = frame_body(self.C, self._twin_model, frame)
            label = f"forces[{frame!r}]"
            wrench = float_array(label, components, "3 or 6 numbers")
            if (
                wrench.shape[-1:] not in ((3,), (6,))
                or wrench.shape[:-1] not in ((), (steps,))
                or not np.isfinite(wrench).all()
            ):
                raise ConfigError(
                    f"{label} has shape {wrench.shape}, expected 3 or 6 finite numbers,"
                    f" or {steps} rows of them, one for each step."
                )
            table[:, body, : wrench.shape[-1]] = wrench
        return table.reshape(steps, -1)

    def _geoms_of(self, name: FrameName) -> list[int]:
        if name not in self.C.objects and name not in self.C.frame_names:
            known = [*self.C.objects, *self.C.frame_names]
            raise ConfigError(unknown_name("object or frame", name, known))
        frames = self.C.pairs.solid_parts(name)
        geom_frames = self._twin_model.geom_frames
        geoms = np.flatnonzero(np.isin(geom_frames, frames)).tolist()
        if not geoms:
            raise ConfigError(f"{name!r} has no shape for collisions.")
        return geoms


@dataclass(frozen=True)
class _ModelKey:
    """The parts of a world that determine its compiled model."""

    frames: tuple
    ignored: frozenset
    locked: tuple
    movable: frozenset
    C: Config = field(compare=False)


@lru_cache(maxsize=32)
def _cached_model(key: _ModelKey) -> TwinModel:
    return build_twin_model(key.C, key.movable)
