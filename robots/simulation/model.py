"""Compilation of a world to a MuJoCo model: a body for each frame, in the same tree."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from ..config import Config
from ..contact.collision_pairs import can_collide
from ..errors import ConfigError
from ..kinematics.joint_types import joint_transform, joint_type, resolve_axis
from ..kinematics.transforms import IDENTITY, pose_multiply, quat_to_matrix
from ..loaders.mjcf.contact_settings import CONTACT_MARGIN, SOLIMP, SOLREF, TIME_STEP
from ..loaders.mjcf.geoms import GeomSpec, body_masks, contact_bits, frame_geoms
from ..masses.frame_masses import FrameMass, frame_masses
from ..mujoco_extra import import_mujoco
from ..world.frame import Frame
from ..world.friction import contact_friction
from ..world.mimic_joints import MimicRelation, motion_value, resolve_mimics

HOLDING_FRICTION = 1e6
"""Dry friction of a joint that is held [N, Nm], so large that it resists every load;
the joint slips beyond it."""
HOLDING_SOLIMP = [0.9999, 0.9999, 1e-4, 0.5, 2.0]
"""MuJoCo's impedance of that dry friction; nearer to 1 holds more exactly."""


@dataclass(frozen=True, eq=False)
class CoordinateMap:
    """The map between joint coordinates q and MuJoCo's qpos.

    qpos[qpos_index] = factor · q[q_index] + offset; quaternions are copied.
    """

    qpos_index: Int[np.ndarray, " n"]
    q_index: Int[np.ndarray, " n"]
    factor: Float[np.ndarray, " n"]
    offset: Float[np.ndarray, " n"]
    quat_qpos_index: Int[np.ndarray, "k 4"]
    quat_q_index: Int[np.ndarray, "k 4"]
    nq: int
    """Number of joint coordinates."""

    def to_qpos(
        self, q: Float[np.ndarray, "*batch nq"], size: int
    ) -> Float[np.ndarray, "*batch size"]:
        """Return MuJoCo's coordinates, `size` of them, with unit quaternions."""
        qpos = np.zeros((*q.shape[:-1], size))
        qpos[..., self.qpos_index] = self.factor * q[..., self.q_index] + self.offset
        quat = q[..., self.quat_q_index]
        length = np.linalg.norm(quat, axis=-1, keepdims=True)
        qpos[..., self.quat_qpos_index] = quat / length
        return qpos

    def to_q(
        self, qpos: Float[np.ndarray, "*batch size"]
    ) -> Float[np.ndarray, "*batch nq"]:
        """Return joint coordinates; those of a mimic joint are its leader's."""
        q = np.zeros((*qpos.shape[:-1], self.nq))
        # Write in reverse order so that the first source of each entry, the leader of
        # mimic joints, wins.
        q[..., self.q_index[::-1]] = (
            (qpos[..., self.qpos_index] - self.offset) / self.factor
        )[..., ::-1]
        q[..., self.quat_q_index[::-1]] = qpos[..., self.quat_qpos_index[::-1]]
        return q


@dataclass(frozen=True, eq=False)
class TwinModel:
    """A compiled MuJoCo model, and its correspondence with a world."""

    model: Any
    """`mujoco.MjModel`."""
    coordinates: CoordinateMap
    frame_bodies: Int[np.ndarray, " frames"]
    """MuJoCo's body of each frame."""
    body_frames: Int[np.ndarray, " bodies"]
    """The frame of each body, -1: the world."""

    @cached_property
    def geom_frames(self) -> Int[np.ndarray, " geoms"]:
        """The frame of each geom."""
        return self.body_frames[self.model.geom_bodyid]


def build_twin_model(C: Config, movable: frozenset[int]) -> TwinModel:
    """Return the model of a world.

    Args:
        C: The world; it is not changed.
        movable: Frames whose joints, and the joints that mimic them, move freely; all
            other joints are held, except free ones.

    Raises:
        ConfigError: When MuJoCo cannot represent the world; the message quotes MuJoCo.
        ImportError: When MuJoCo is not installed.
    """
    return _ModelBuilder(C, movable).build()


class _ModelBuilder:
    """Builds an `mujoco.MjSpec` of a world, and compiles it."""

    def __init__(self, C: Config, movable: frozenset[int]) -> None:
        self.mujoco = import_mujoco("A twin")
        self.C, self.movable = C, movable
        self.contact_bits = contact_bits(C.frames)
        self.relations = resolve_mimics(C.frames)
        layout = C.tree.model.layout
        self.frame_nodes = C.tree.model.kinematics.frame_nodes
        self.is_moved = self.frame_nodes < len(layout.tree.parents)
        self.starts = {s.frame: s.start for s in layout.slots}
        self.spec = self._new_spec()
        self.scalars: list[_ScalarCoordinate] = []
        self.quats: list[tuple[str, int, int]] = []
        """Joint name, entry in it, first coordinate in q of each quaternion."""

    def build(self) -> TwinModel:
        C = self.C
        weights = frame_masses(C.frames)
        self._add_bodies(weights)
        self._exclude_pairs()
        model = self._compile()
        if self._shift_centres(model, weights):
            model = self._compile()
        body = np.array([model.body(str(i)).id for i in range(len(C.frames))], int)
        frames = np.full(model.nbody, -1)
        frames[body] = np.arange(len(body))
        return TwinModel(model, self._coordinate_map(model), body, frames)

    def _new_spec(self) -> Any:
        mujoco = self.mujoco
        spec = mujoco.MjSpec()
        # Inertia that violates the triangle inequality is adjusted, not refused.
        spec.compiler.balanceinertia, spec.compiler.degree = True, False
        option = spec.option
        option.timestep = TIME_STEP
        # Elliptic cones, a large ratio of frictional to normal impedance, and no-slip
        # iterations are what MuJoCo's documentation advises against slip in grasps.
        option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
        option.impratio, option.noslip_iterations = 10.0, 5
        # Parents and children collide where the Config says so.
        option.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_FILTERPARENT)
        return spec

    def _add_bodies(self, weights: Sequence[FrameMass]) -> None:
        bodies: dict[int | None, Any] = {None: self.spec.worldbody}
        pending = [i for i, f in enumerate(self.C.frames) if f.parent is None]
        for i in pending:
            frame = self.C.frames[i]
            body = bodies[frame.parent].add_body(name=str(i))
            pose = self._body_pose(i, frame)
            body.pos, body.quat = pose[:3], pose[3:]
            if self._is_moving(i):
                self._add_joints(i, frame, body)
            self._add_matter(frame, body, weights[i], bool(self.is_moved[i]))
            bodies[i] = body
            pending += [k for k, f in enumerate(self.C.frames) if f.parent == i]

    def _is_moving(self, i: int) -> bool:
        joint = self.C.frames[i].joint
        if joint is None or joint.dim == 0:
            return False
        return self.relations[i].source in self.starts

    def _body_pose(self, i: int, frame: Frame) -> np.ndarray:
        """Return the pose in the parent, with the motion of a locked joint."""
        origin = np.asarray(frame.origin, float)
        joint = frame.joint
        if joint is None or joint.dim == 0 or self._is_moving(i):
            return origin
        relation = self.relations[i]
        q = motion_value(joint.type, self.C.tree.values[relation.source], relation)
        return np.asarray(
            pose_multiply(origin, joint_transform(joint.type, joint.axis, q))
        )

    def _add_joints(self, i: int, frame: Frame, body: Any) -> None:
        joint, relation = self.C.tree.joint(i), self.relations[i]
        start = self.starts[relation.source]
        kinds = self.mujoco.mjtJoint
        is_free = joint.type in ("free", "floating")
        # MuJoCo's free joints are relative to the world.
        is_root = frame.parent is None and np.array_equal(frame.origin, IDENTITY)
        if is_free and is_root and relation.source == i:
            name = f"{i}.free"
            body.add_freejoint(name=name)
            for k in range(3):
                self.scalars.append(_ScalarCoordinate(name, k, start + k, 1.0, 0.0))
            self.quats.append((name, 3, start + 3))
            return
        is_held = not is_free and relation.source not in self.movable
        factor = relation.scale * relation.multiplier
        offset = relation.scale * relation.offset
        for node in joint_type(joint.type).nodes:
            moves = [(k, axis, kinds.mjJNT_SLIDE) for k, axis in node.translations]
            if node.rotation is not None:
                moves.append((*node.rotation, kinds.mjJNT_HINGE))
            for k, axis, kind in moves:
                name = f"{i}.{k}"
                mj_joint = body.add_joint(name=name, type=kind)
                mj_joint.axis = resolve_axis(axis, joint.axis)
                if is_held:
                    self._hold(mj_joint)
                elif joint.limits is not None and joint.mimic is None:
                    self._limit(mj_joint, relation.scale * joint.limits[:, k])
                self.scalars.append(
                    _ScalarCoordinate(name, 0, start + k, factor, offset)
                )
                if relation.source != i:
                    self._add_mimic(name, f"{relation.source}.{k}", relation)
            if node.ball is not None:
                name = f"{i}.{node.ball}"
                if relation.source != i:
                    raise ConfigError(
                        f"Joint {joint.name!r} ({joint.type}) mimics"
                        f" {joint.mimic!r}, and MuJoCo has no ball joints that mimic;"
                        " lock both, or take `mimic` away."
                    )
                mj_joint = body.add_joint(name=name, type=kinds.mjJNT_BALL)
                if is_held:
                    self._hold(mj_joint)
                self.quats.append((name, 0, start + node.ball))

    def _hold(self, mj_joint: Any) -> None:
        """Hold a joint as by a brake: by dry friction that no load overcomes."""
        mj_joint.frictionloss = HOLDING_FRICTION
        mj_joint.solref_friction, mj_joint.solimp_friction = SOLREF, HOLDING_SOLIMP

    def _limit(self, mj_joint: Any, limits: np.ndarray) -> None:
        ends = np.sort(limits)
        if np.isfinite(ends).any():
            mj_joint.limited = self.mujoco.mjtLimited.mjLIMITED_TRUE
            mj_joint.range = np.clip(ends, -1e9, 1e9)  # MuJoCo takes finite numbers
            mj_joint.solref_limit, mj_joint.solimp_limit = SOLREF, SOLIMP

    def _add_mimic(self, name: str, leader: str, relation: MimicRelation) -> None:
        equality = self.spec.add_equality(name=name, name1=name, name2=leader)
        equality.type = self.mujoco.mjtEq.mjEQ_JOINT
        equality.objtype = self.mujoco.mjtObj.mjOBJ_JOINT
        # MuJoCo's quartic polynomial of the leader, lowest order first.
        data = np.zeros(len(equality.data))
        data[:2] = relation.scale * relation.offset, relation.multiplier
        equality.data, equality.solref, equality.solimp = data, SOLREF, SOLIMP

    def _coordinate_map(self, model: Any) -> CoordinateMap:
        def qpos_index(joint: str, entry: int) -> int:
            return int(model.joint(joint).qposadr[0]) + entry

        def quat_indices(first: list[int]) -> np.ndarray:
            return np.array(first, int).reshape(-1, 1) + np.arange(4)

        return CoordinateMap(
            qpos_index=np.array(
                [qpos_index(c.joint, c.entry) for c in self.scalars], int
            ),
            q_index=np.array([c.q_index for c in self.scalars], int),
            factor=np.array([c.factor for c in self.scalars], float),
            offset=np.array([c.offset for c in self.scalars], float),
            quat_qpos_index=quat_indices([qpos_index(j, k) for j, k, _ in self.quats]),
            quat_q_index=quat_indices([start for _, _, start in self.quats]),
            nq=self.C.nq,
        )

    def _add_matter(
        self, frame: Frame, body: Any, weight: FrameMass, moves: bool
    ) -> None:
        """Add the shapes and the mass of a frame."""
        if any(g.collision for g in frame.geometries):
            geoms, fractions = frame_geoms(frame, moves), weight.body_fractions
            masks = body_masks(frame)
            if not len(fractions):
                fractions = np.zeros(len(geoms))
            for k, geom in enumerate(geoms):
                mass = float(weight.mass * fractions[k])
                mj_geom = self._add_geom(frame, body, geom, mass, f"{body.name}.{k}")
                if can_collide(frame):
                    bits = self.contact_bits[masks[k]]
                    mj_geom.contype, mj_geom.conaffinity = bits
        if weight.inertia is not None and weight.mass > 0:
            self._set_inertia(body, weight.mass, weight.com, weight.inertia)

    def _add_geom(
        self, frame: Frame, body: Any, geom: GeomSpec, mass: float, mesh_name: str
    ) -> Any:
        mujoco, spec = self.mujoco, self.spec
        mj_geom = body.add_geom(type=getattr(mujoco.mjtGeom, f"mjGEOM_{geom.kind}"))
        mj_geom.size, mj_geom.pos, mj_geom.quat = geom.size, geom.p, geom.quaternion
        mj_geom.mass, mj_geom.solref, mj_geom.solimp[:] = mass, SOLREF, SOLIMP
        mj_geom.margin = CONTACT_MARGIN
        mj_geom.contype = mj_geom.conaffinity = 0
        mj_geom.friction[0] = contact_friction(frame)
        if geom.kind == "MESH":
            mesh = spec.add_mesh(name=mesh_name, uservert=geom.vertices.ravel())
            mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX
            mj_geom.meshname = mesh_name
        return mj_geom

    def _set_inertia(
        self, body: Any, mass: float, com: np.ndarray, inertia: np.ndarray
    ) -> None:
        body.explicitinertial = True
        body.mass, body.ipos, body.iquat = mass, com, IDENTITY[3:]
        I = inertia
        body.fullinertia = [I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]]

    def _shift_centres(self, model: Any, weights: Sequence[FrameMass]) -> bool:
        """Give bodies with a given centre of mass the inertia of their shapes about it.

        Returns:
            Whether there are such bodies, so that the model is to be compiled again.
        """
        shifted = False
        for i, (frame, weight) in enumerate(zip(self.C.frames, weights, strict=True)):
            if frame.com is None or weight.inertia is not None or weight.mass == 0:
                continue
            body = model.body(str(i)).id
            R = np.asarray(quat_to_matrix(np.array(model.body_iquat[body])))
            inertia = R @ np.diag(model.body_inertia[body]) @ R.T
            self._set_inertia(self.spec.body(str(i)), weight.mass, weight.com, inertia)
            shifted = True
        return shifted

    def _exclude_pairs(self) -> None:
        """Exclude the pairs that do not collide in the world but would in MuJoCo."""
        C, nodes = self.C, self.frame_nodes
        solid = [i for i, f in enumerate(C.frames) if can_collide(f)]
        colliding = {(int(a), int(b)) for a, b in C.pairs.indices()}
        for k, a in enumerate(solid):
            for b in solid[k + 1 :]:
                # MuJoCo itself excludes bodies that are welded to each other.
                if nodes[a] != nodes[b] and (a, b) not in colliding:
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


class _ScalarCoordinate(NamedTuple):
    """A coordinate of a MuJoCo joint: qpos = factor · q + offset."""

    joint: str
    entry: int
    q_index: int
    factor: float
    offset: float
