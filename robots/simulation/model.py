"""A world as a model of MuJoCo's: a body for each frame, in the same tree."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from ..config import Config
from ..contact.collision_pairs import can_collide
from ..errors import ConfigError
from ..kinematics.joint_types import joint_transform, joint_type, resolve_axis
from ..kinematics.mimic_joints import MimicRelation, motion_value, resolve_mimics
from ..kinematics.transforms import IDENTITY, pose_multiply, quat_to_matrix
from ..world.frame import Frame, Joint
from ..world.friction import contact_friction
from .geoms import frame_geoms
from .masses import FrameMass, frame_masses
from .mujoco_extra import import_mujoco

TIMESTEP = 2e-3
"""[s]"""
SOLREF = [2 * TIMESTEP, 1.0]
SOLIMP = [0.99, 0.999, 1e-4, 0.5, 2.0]
"""Contacts as stiff as the time step allows: a tower of ten boxes moves 0.04 mm in 2 s
(MuJoCo's defaults: 6 mm)."""
HOLDING_FRICTION = 1e6
"""Dry friction of a joint that is held [N, Nm]."""
HOLDING_SOLIMP = [0.9999, 0.9999, 1e-4, 0.5, 2.0]


@dataclass(frozen=True, eq=False)
class CoordinateMap:
    """Where the entries of q are in MuJoCo's qpos.

    qpos[place] = factor · q[source] + shift, but for quaternions.
    """

    qpos_index: Int[np.ndarray, " n"]
    source: Int[np.ndarray, " n"]
    factor: Float[np.ndarray, " n"]
    shift: Float[np.ndarray, " n"]
    quat_qpos_index: Int[np.ndarray, "k 4"]
    quat_q_index: Int[np.ndarray, "k 4"]
    nq: int

    def to_qpos(
        self, q: Float[np.ndarray, "*batch nq"], size: int
    ) -> Float[np.ndarray, "*batch size"]:
        """MuJoCo's coordinates, `size` of them."""
        qpos = np.zeros((*q.shape[:-1], size))
        qpos[..., self.qpos_index] = self.factor * q[..., self.source] + self.shift
        quat = q[..., self.quat_q_index]
        length = np.linalg.norm(quat, axis=-1, keepdims=True)
        qpos[..., self.quat_qpos_index] = quat / length
        return qpos

    def to_q(
        self, qpos: Float[np.ndarray, "*batch size"]
    ) -> Float[np.ndarray, "*batch nq"]:
        """Our coordinates; of joints that mimic others, those others' count."""
        q = np.zeros((*qpos.shape[:-1], self.nq))
        # what comes first is written last
        q[..., self.source[::-1]] = (
            (qpos[..., self.qpos_index] - self.shift) / self.factor
        )[..., ::-1]
        q[..., self.quat_q_index[::-1]] = qpos[..., self.quat_qpos_index[::-1]]
        return q


@dataclass(frozen=True, eq=False)
class TwinModel:
    """A compiled model, and how it is read."""

    model: Any
    """`mujoco.MjModel`."""
    coordinates: CoordinateMap
    frame_bodies: Int[np.ndarray, " frames"]
    """MuJoCo's body of each frame."""
    body_frames: Int[np.ndarray, " bodies"]
    """The frame of each body, -1: the world."""


def build_twin_model(C: Config, movable: frozenset[int]) -> TwinModel:
    """The model of a world.

    Args:
        C: the world; it is not changed.
        movable: frames whose joints, and what follows them, move freely; all others but
            free ones are held.

    Raises:
        ConfigError: for what MuJoCo cannot say, with its own words.
        ImportError: without MuJoCo.
    """
    return _ModelBuilder(C, movable).build()


class _ModelBuilder:
    def __init__(self, C: Config, movable: frozenset[int]) -> None:
        self.mujoco = import_mujoco("A twin")
        self.C, self.movable = C, movable
        self.drives = resolve_mimics(C.frames)
        layout = C.tree.model.layout
        self.nodes = layout.tree.frame_nodes
        self.starts = {s.frame: s.start for s in layout.slots}
        self.spec = self._settings()
        self.scalars: list[tuple[str, int, float, float]] = []
        self.quats: list[tuple[str, int]] = []

    def build(self) -> TwinModel:
        C = self.C
        weights = frame_masses(C.frames)
        self._bodies(weights)
        self._exclude()
        model = self._compile()
        if self._shift_centres(model, weights):
            model = self._compile()
        body = np.array([model.body(str(i)).id for i in range(len(C.frames))], int)
        frames = np.full(model.nbody, -1)
        frames[body] = np.arange(len(body))
        return TwinModel(model, self._coordinates(model), body, frames)

    def _settings(self) -> Any:
        mujoco = self.mujoco
        spec = mujoco.MjSpec()
        spec.compiler.balanceinertia, spec.compiler.degree = True, False
        option = spec.option
        option.timestep = TIMESTEP
        option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
        option.impratio, option.noslip_iterations = 10.0, 5
        # parents and children collide where the Config says so
        option.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_FILTERPARENT)
        return spec

    def _bodies(self, weights: Sequence[FrameMass]) -> None:
        made: dict[int | None, Any] = {None: self.spec.worldbody}
        todo = [i for i, f in enumerate(self.C.frames) if f.parent is None]
        for i in todo:
            frame = self.C.frames[i]
            body = made[frame.parent].add_body(name=str(i))
            pose = self._place(i, frame)
            body.pos, body.quat = pose[:3], pose[3:]
            if self._moving(i):
                self._joints(i, frame, body)
            self._matter(frame, body, weights[i], self.nodes[i] >= 0)
            made[i] = body
            todo += [k for k, f in enumerate(self.C.frames) if f.parent == i]

    def _moving(self, i: int) -> bool:
        joint = self.C.frames[i].joint
        if joint is None or joint.dim == 0:
            return False
        return self.drives[i].source in self.starts

    def _place(self, i: int, frame: Frame) -> np.ndarray:
        """Pose in the parent, with the motion of a joint that is locked."""
        origin = np.asarray(frame.origin, float)
        joint = frame.joint
        if joint is None or joint.dim == 0 or self._moving(i):
            return origin
        drive = self.drives[i]
        q = motion_value(joint.type, self.C.tree.values[drive.source], drive)
        return np.asarray(
            pose_multiply(origin, joint_transform(joint.type, joint.axis, q))
        )

    # -- joints ------------------------------------------------------------------

    def _joints(self, i: int, frame: Frame, body: Any) -> None:
        joint, drive = self.C.tree.joint(i), self.drives[i]
        start = self.starts[drive.source]
        kinds = self.mujoco.mjtJoint
        free = joint.type in ("free", "floating")
        rooted = frame.parent is None and np.array_equal(frame.origin, IDENTITY)
        if free and rooted and drive.source == i:
            name = f"{i}.free"
            body.add_freejoint(name=name)
            self.scalars += [(f"{name}:{k}", start + k, 1.0, 0.0) for k in range(3)]
            self.quats.append((f"{name}:3", start + 3))
            return
        held = not free and drive.source not in self.movable
        for node in joint_type(joint.type).nodes:
            moves = [(k, axis, kinds.mjJNT_SLIDE) for k, axis in node.translations]
            if node.rotation is not None:
                moves.append((*node.rotation, kinds.mjJNT_HINGE))
            for k, axis, kind in moves:
                name = f"{i}.{k}"
                made = body.add_joint(name=name, type=kind)
                made.axis = resolve_axis(axis, joint.axis)
                self._hold(made, held)
                self._limit(made, joint, drive, k, held)
                factor = drive.scale * drive.multiplier
                shift = drive.scale * drive.offset
                self.scalars.append((f"{name}:0", start + k, factor, shift))
                if drive.source != i:
                    self._follow(name, f"{drive.source}.{k}", drive)
            if node.ball is not None:
                name = f"{i}.{node.ball}"
                if drive.source != i:
                    raise ConfigError(
                        f"Joint {joint.name!r} ({joint.type}) mimics"
                        f" {joint.mimic!r}, and MuJoCo has no ball joints that mimic;"
                        " lock both, or take `mimic` away."
                    )
                self._hold(body.add_joint(name=name, type=kinds.mjJNT_BALL), held)
                self.quats.append((f"{name}:0", start + node.ball))

    def _hold(self, made: Any, held: bool) -> None:
        """As by a brake: dry friction that nothing overcomes."""
        if held:
            made.frictionloss = HOLDING_FRICTION
            made.solref_friction, made.solimp_friction = SOLREF, HOLDING_SOLIMP

    def _limit(
        self, made: Any, joint: Joint, drive: MimicRelation, k: int, held: bool
    ) -> None:
        """Limits of a joint that moves freely and follows none."""
        if held or joint.limits is None or joint.mimic is not None:
            return
        ends = np.sort(drive.scale * joint.limits[:, k])
        if np.isfinite(ends).any():
            limited = self.mujoco.mjtLimited
            made.limited = limited.mjLIMITED_TRUE
            made.range = np.clip(ends, -1e9, 1e9)
            made.solref_limit, made.solimp_limit = SOLREF, SOLIMP

    def _follow(self, name: str, leader: str, drive: MimicRelation) -> None:
        made = self.spec.add_equality(name=name, name1=name, name2=leader)
        made.type = self.mujoco.mjtEq.mjEQ_JOINT
        made.objtype = self.mujoco.mjtObj.mjOBJ_JOINT
        data = np.zeros(len(made.data))
        data[:2] = drive.scale * drive.offset, drive.multiplier
        made.data, made.solref, made.solimp = data, SOLREF, SOLIMP

    def _coordinates(self, model: Any) -> CoordinateMap:
        def place(name: str) -> int:
            joint, _, k = name.rpartition(":")
            return int(model.joint(joint).qposadr[0]) + int(k)

        four = np.arange(4)
        at = lambda values: np.array(values, int)
        places, sources, factors, shifts = (
            zip(*self.scalars, strict=True) if (self.scalars) else ((), (), (), ())
        )
        return CoordinateMap(
            at([place(n) for n in places]),
            at(sources),
            np.array(factors, float),
            np.array(shifts, float),
            at([place(n) for n, _ in self.quats]).reshape(-1, 1) + four,
            at([s for _, s in self.quats]).reshape(-1, 1) + four,
            self.C.nq,
        )

    # -- shapes and masses -------------------------------------------------------

    def _matter(self, frame: Frame, body: Any, own: FrameMass, moves: bool) -> None:
        if any(g.collision for g in frame.geometries):
            made = frame_geoms(frame, moves)
            shares = (
                own.body_fractions if len(own.body_fractions) else np.zeros(len(made))
            )
            for k, geom in enumerate(made):
                self._geom(frame, body, geom, float(own.mass * shares[k]), k)
        if own.inertia is not None and own.mass > 0:
            self._explicit(body, own.mass, own.com, own.inertia)

    def _geom(self, frame: Frame, body: Any, geom: Any, mass: float, k: int) -> None:
        mujoco, spec = self.mujoco, self.spec
        made = body.add_geom(type=getattr(mujoco.mjtGeom, f"mjGEOM_{geom.kind}"))
        made.size, made.pos, made.quat = geom.size, geom.p, geom.quaternion
        made.mass, made.solref, made.solimp[:] = mass, SOLREF, SOLIMP
        made.contype = made.conaffinity = int(can_collide(frame))
        made.friction[0] = contact_friction(frame)
        if geom.kind == "MESH":
            name = f"{body.name}.{k}"
            mesh = spec.add_mesh(name=name, uservert=geom.vertices.ravel())
            mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX
            made.meshname = name

    def _explicit(
        self, body: Any, mass: float, com: np.ndarray, inertia: np.ndarray
    ) -> None:
        body.explicitinertial = True
        body.mass, body.ipos, body.iquat = mass, com, IDENTITY[3:]
        I = inertia
        body.fullinertia = [I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]]

    def _shift_centres(self, model: Any, weights: Sequence[FrameMass]) -> bool:
        """Give bodies the inertia of their shapes about a centre of mass of their own.

        Returns:
            Whether there are any.
        """
        shifted = False
        for i, (frame, own) in enumerate(zip(self.C.frames, weights, strict=True)):
            if frame.com is None or own.inertia is not None or own.mass == 0:
                continue
            at = model.body(str(i)).id
            R = np.asarray(quat_to_matrix(np.array(model.body_iquat[at])))
            inertia = R @ np.diag(model.body_inertia[at]) @ R.T
            self._explicit(self.spec.body(str(i)), own.mass, own.com, inertia)
            shifted = True
        return shifted

    def _exclude(self) -> None:
        """Pairs that do not collide though MuJoCo would let them."""
        C = self.C
        solid = [i for i, f in enumerate(C.frames) if can_collide(f)]
        colliding = {(int(a), int(b)) for a, b in C.collision_indices()}
        for k, a in enumerate(solid):
            for b in solid[k + 1 :]:
                if self.nodes[a] != self.nodes[b] and (a, b) not in colliding:
                    self.spec.add_exclude(bodyname1=str(a), bodyname2=str(b))

    def _compile(self) -> Any:
        try:
            return self.spec.compile()
        except ValueError as error:
            text = " ".join(str(error).split()).removeprefix("Error: ")
            raise ConfigError(
                f"MuJoCo cannot compile this world: {text} (Its bodies are numbered as"
                " frames are.)"
            ) from error
