"""A MuJoCo twin of a world: simulation, contacts with forces, rays and distances.

The twin has a body for each frame of a `Config`, with the shapes that collide, and the
same pairs of them collide. Its contacts are stiff, with elliptic friction cones.
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
from ..kinematics.mimic_joints import resolve_mimics
from ..validation import float_array, number
from .model import TIMESTEP, TwinModel, build_twin_model
from .motion import RayHits, SimulatedContact, SimulatedTrajectory, check_stable
from .mujoco_extra import import_mujoco
from .run import TwinRun

MAX_DISTANCE = 1e3
"""Beyond this, distances are not looked for [m]."""


class Twin:
    """A world in MuJoCo; neither changes the other, and later edits do not show.

    Free joints move freely. All other joints are held where they start, as by brakes,
    but the movable ones. A frame weighs its `mass`; a moving link without any mass
    weighs as much as its shapes would at the density of water. The friction of two
    frames in contact is the larger of their attributes `contact_friction`, each 0.5
    where there is none. Equal worlds share one compiled model.

    Args:
        C: the world.
        movable_joints: joints (by joint or frame name) that move freely, within their
            limits, with all that mimic them.

    Raises:
        ConfigError: for unknown joints, and for what MuJoCo cannot say.
        ImportError: without MuJoCo; names the extra.
    """

    def __init__(self, C: Config, *, movable_joints: Iterable[str] = ()) -> None:
        names = (
            [movable_joints]
            if isinstance(movable_joints, str)
            else list(movable_joints)
        )
        self.C = C.copy()
        drives = resolve_mimics(C.frames)
        frames = [C.tree.joint_frame(name) for name in names]
        self._movable = frozenset(drives[i].source for i in frames)
        self._mujoco = import_mujoco("A twin")
        locked = tuple(
            (i, value.tobytes())
            for i, value in sorted(C.tree.values.items())
            if not C.tree.joint(i).active
        )
        ignored = C.collision_filter.ignored
        scene = _ModelKey(C.frames, ignored, locked, self._movable, self.C)
        self._built = _cached_model(scene)

    def without_contacts(self, frames: Iterable[str]) -> "Twin":
        """The same, in which these frames touch nothing.

        Args:
            frames: their names.

        Raises:
            ConfigError: for unknown names, with near matches.
        """
        geoms = np.isin(self._geom_frames, [self._index(f) for f in frames])
        model = copy.copy(self._built.model)
        model.geom_contype[geoms] = model.geom_conaffinity[geoms] = 0
        new = copy.copy(self)
        new._built = replace(self._built, model=model)
        return new

    @property
    def model(self) -> Any:
        """The `mujoco.MjModel`, shared by equal worlds: to be read, not changed."""
        return self._built.model

    def qpos(self, q: Any = None) -> Float[np.ndarray, "*batch qpos"]:
        """MuJoCo's coordinates.

        Args:
            q: ours (…, nq); default: those the twin was made with.

        Raises:
            ConfigError: for a wrong number of coordinates, NaN or infinite ones.
        """
        return self._built.coordinates.to_qpos(self._checked(q), self.model.nq)

    def q(self, qpos: Any) -> Float[np.ndarray, "*batch nq"]:
        """Our coordinates (…, nq), given MuJoCo's (…, model.nq).

        Raises:
            ConfigError: for a wrong number of them.
        """
        qpos = float_array("qpos", qpos, f"{self.model.nq} numbers")
        if qpos.shape[-1:] != (self.model.nq,):
            raise ConfigError(
                f"qpos has shape {qpos.shape}, expected (…, {self.model.nq})."
            )
        return self._built.coordinates.to_q(qpos)

    def simulate(
        self, seconds: Any, q: Any = None, forces: Mapping[str, Any] | None = None
    ) -> SimulatedTrajectory:
        """Let go and see: everything starts at rest. Batches run on threads.

        Args:
            seconds: how long; steps are 2 ms.
            q: where it starts (…, nq); default: where the twin was made.
            forces: for each frame a force at its centre of mass in the world (3,) [N],
                or with a torque (6,) [N, Nm]; constant, or one row for each step.

        Returns:
            The coordinates at the start and after each step.

        Raises:
            ConfigError: for input that does not fit.
            SimulationError: when the simulation runs away.
        """
        seconds = number("seconds", seconds, "> 0 s", lambda s: s > 0)
        steps = max(round(seconds / TIMESTEP), 1)
        qpos = self.qpos(q)
        batch, size = qpos.shape[:-1], self.model.nq
        start = np.tile(self._rest, (int(np.prod(batch)), 1))
        start[:, 1 : 1 + size] = qpos.reshape(-1, size)
        states = self._rollout(start, steps, self._forces(forces or {}, steps))
        path = np.concatenate([start[:, None], states], 1)[..., 1 : 1 + size]
        times = TIMESTEP * np.arange(steps + 1)
        found = self._built.coordinates.to_q(path)
        return SimulatedTrajectory(
            self.C, times, found.reshape(*batch, steps + 1, self.C.nq)
        )

    def contacts(self, q: Any = None, after: Any = 0.0) -> list[SimulatedContact]:
        """Contact points and their forces.

        Args:
            q: where things are (nq,); default: where the twin was made.
            after: seconds to be simulated before; from rest at once, forces are those
                that push overlapping things apart.

        Raises:
            ConfigError: for input that does not fit.
            SimulationError: when the simulation runs away.
        """
        after = number("after", after, ">= 0 s", lambda s: s >= 0)
        data = self._data(q)
        if steps := round(after / TIMESTEP):
            state = self._rollout(self._state(data)[None], steps, None)[0, -1]
            spec = self._mujoco.mjtState.mjSTATE_FULLPHYSICS
            self._mujoco.mj_setState(self.model, data, state, spec)
        self._mujoco.mj_forward(self.model, data)
        return self._contacts(data)

    def start_run(
        self, q: Any = None, motors: Mapping[str, Any] | None = None
    ) -> TwinRun:
        """A run that is advanced step by step, with motors; it starts at rest.

        Args:
            q: where it starts (nq,); default: where the twin was made.
            motors: for movable joints of one coordinate (by joint or frame name) a
                `Motor`, or the constant effort of one [N, N m].

        Raises:
            ConfigError: for input that does not fit.
        """
        return TwinRun(self, q, motors or {})

    def cast_rays(self, origin: Any, directions: Any, q: Any = None) -> RayHits:
        """What rays meet first, of the shapes for collision.

        Args:
            origin: where all start (3,) [m, world].
            directions: (n, 3), of any length.
            q: where things are (nq,); default: where the twin was made.

        Raises:
            ConfigError: for input that does not fit.
        """
        origin = float_array("origin", origin, "3 numbers")
        directions = float_array("directions", directions, "(n, 3) numbers")
        length = np.linalg.norm(directions, axis=-1, keepdims=True)
        if (
            origin.shape != (3,)
            or directions.shape[1:] != (3,)
            or not np.isfinite(origin).all()
            or not (np.isfinite(length) & (length > 0)).all()
        ):
            raise ConfigError(
                f"origin and directions have shapes {origin.shape} and"
                f" {directions.shape}, expected (3,) and (n, 3), finite, no direction"
                " zero."
            )
        n = len(directions)
        geoms, distance = np.full((n, 1), -1, np.int32), np.full((n, 1), -1.0)
        data, ray = self._data(q), self._mujoco.mj_multiRay
        rest = (None,) if "normal" in (ray.__doc__ or "") else ()
        ray(
            self.model, data, origin, (directions / length).ravel(), None, True, -1,
            geoms.reshape(self._ray_shape(n)), distance.reshape(self._ray_shape(n)),
            *rest, n, np.inf,
        )  # fmt: skip
        hit = geoms.ravel() >= 0
        frames = (
            np.where(hit, self._geom_frames[geoms.ravel()], -1)
            if n
            else np.zeros(0, int)
        )
        return RayHits(np.where(hit, distance.ravel(), np.inf), frames)

    def distance(
        self, a: str, b: str, q: Any = None
    ) -> tuple[float, Float[np.ndarray, "3"], Float[np.ndarray, "3"]]:
        """Signed distance of two frames or objects by MuJoCo, and the nearest points.

        Args:
            a: its name; an object stands for all its parts.
            b: another.
            q: where things are (nq,); default: where the twin was made.

        Raises:
            ConfigError: for unknown names, without shapes, beyond 1000 m.
        """
        data = self._data(q)
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

    # -- inside ------------------------------------------------------------------

    @cached_property
    def _geom_frames(self) -> np.ndarray:
        """The frame of each geom."""
        return self._built.body_frames[self._built.model.geom_bodyid]

    @cached_property
    def _rest(self) -> np.ndarray:
        """MuJoCo's state at rest, of which qpos is to be filled in."""
        return self._state(self._mujoco.MjData(self.model))

    def _state(self, data: Any) -> np.ndarray:
        spec = self._mujoco.mjtState.mjSTATE_FULLPHYSICS
        state = np.zeros(self._mujoco.mj_stateSize(self.model, spec))
        self._mujoco.mj_getState(self.model, data, state, spec)
        return state

    def _data(self, q: Any) -> Any:
        """Fresh data at q."""
        qpos = self.qpos(q)
        if qpos.ndim != 1:
            raise ConfigError(f"q has shape {qpos.shape}, expected ({self.C.nq},).")
        data = self._mujoco.MjData(self.model)
        data.qpos[:] = qpos
        self._mujoco.mj_kinematics(self.model, data)
        self._mujoco.mj_comPos(self.model, data)
        return data

    def _checked(self, q: Any) -> np.ndarray:
        q = self.C.q if q is None else float_array("q", q, f"{self.C.nq} numbers")
        if q.shape[-1:] != (self.C.nq,) or not np.isfinite(q).all():
            raise ConfigError(
                f"q has shape {q.shape}, expected (…, {self.C.nq}), without NaN or"
                " infinite entries."
            )
        return q

    def _rollout(
        self, start: np.ndarray, steps: int, forces: np.ndarray | None
    ) -> np.ndarray:
        """States (batch, steps, size) after each step."""
        from mujoco import rollout

        if not len(start):
            return np.zeros((0, steps, start.shape[1]))
        workers = min(len(start), os.cpu_count() or 1)
        datas = [self._mujoco.MjData(self.model) for _ in range(workers)]
        options: dict[str, Any] = {"nstep": steps}
        if forces is not None:
            wide = np.broadcast_to(forces, (len(start), *forces.shape))
            spec = int(self._mujoco.mjtState.mjSTATE_XFRC_APPLIED)
            options = {"control": wide, "control_spec": spec}
        states, _ = rollout.rollout(self.model, datas, start, **options)
        check_stable(self._mujoco, datas)
        return states

    def _forces(self, forces: Mapping[str, Any], steps: int) -> np.ndarray | None:
        """Wrenches on all bodies (steps, 6 · bodies)."""
        if not forces:
            return None
        table = np.zeros((steps, self.model.nbody, 6))
        for frame, given in forces.items():
            body = self._built.frame_bodies[self._index(frame)]
            what = f"forces[{frame!r}]"
            wrench = float_array(what, given, "3 or 6 numbers")
            if (
                wrench.shape[-1:] not in ((3,), (6,))
                or wrench.shape[:-1] not in ((), (steps,))
                or not np.isfinite(wrench).all()
            ):
                raise ConfigError(
                    f"{what} has shape {wrench.shape}, expected 3 or 6 finite numbers,"
                    f" or {steps} rows of them, one for each step."
                )
            table[:, body, : wrench.shape[-1]] = wrench
        return table.reshape(steps, -1)

    def _contacts(self, data: Any) -> list[SimulatedContact]:
        return [self._contact(data, k) for k in range(data.ncon)]

    def _contact(self, data: Any, k: int) -> SimulatedContact:
        contact = data.contact[k]
        force = np.zeros(6)
        self._mujoco.mj_contactForce(self.model, data, k, force)
        axes = np.array(contact.frame).reshape(3, 3)
        a, b = (self.C.frames[self._geom_frames[g]].name for g in contact.geom)
        point, distance = np.array(contact.pos), float(contact.dist)
        return SimulatedContact(a, b, point, axes[0], force[:3] @ axes, distance)

    def _index(self, frame: str) -> int:
        i = self.C.index(frame)
        if i == len(self.C.frames):
            raise ConfigError("'world' is the fixed origin; name a frame.")
        return i

    def _geoms_of(self, name: str) -> list[int]:
        if name not in self.C.objects and name not in self.C.frame_names:
            known = [*self.C.objects, *self.C.frame_names]
            raise ConfigError(unknown_name("object or frame", name, known))
        frames = self.C.solid_parts(name)
        geoms = np.flatnonzero(np.isin(self._geom_frames, frames)).tolist()
        if not geoms:
            raise ConfigError(f"{name!r} has no shape for collisions.")
        return geoms

    def _ray_shape(self, n: int) -> tuple[int, ...]:
        """Of results; before MuJoCo 4 they were vectors."""
        return (n, 1) if int(self._mujoco.__version__.split(".")[0]) >= 4 else (n,)


@dataclass(frozen=True)
class _ModelKey:
    """What decides the compiled model."""

    frames: tuple
    ignored: frozenset
    locked: tuple
    movable: frozenset
    C: Config = field(compare=False)


@lru_cache(maxsize=32)
def _cached_model(scene: _ModelKey) -> TwinModel:
    return build_twin_model(scene.C, scene.movable)
