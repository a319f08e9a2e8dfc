"""Compiled models of MuJoCo as models of frames."""

import warnings
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ...geometry.shapes import (
    Box,
    Capsule,
    Cylinder,
    Ellipsoid,
    Mesh,
    Plane,
    Shape,
    Sphere,
)
from ...kinematics.joint_types import joint_dim, neutral_value
from ...kinematics.transforms import (
    IDENTITY,
    axis_angle_to_quat,
    make_pose,
    pose_multiply,
    quat_to_matrix,
)
from ...validation import leave_values, open_bounds
from ...world.frame import Frame, Geometry, Joint, Model, NamedState
from .contacts import ContactRules, contact_rules
from .couplings import couple_joints

FREE, BALL, SLIDE, HINGE = range(4)
JOINT_TYPE_NAMES = {FREE: "free", BALL: "quatBall", SLIDE: "prismatic", HINGE: "hinge"}


DEFAULT_COLOR = (0.5, 0.5, 0.5, 1.0)


KEY_GROUP = "keyframes"
"""Group of the named states that keys become."""


MAX_KEY_EXCESS = 1e-6
"""Largest excess of a key over a joint's limits without a warning [m or rad]; larger
values hide that keys are changed."""


FIRST_HIDDEN_GROUP_INDEX = 3
"""Index of the first group of geoms that MuJoCo's viewer does not draw by default;
those below it are visual."""


@dataclass(eq=False)
class MjcfReader:
    """Converts a compiled model to frames."""

    mujoco: Any
    model: Any
    label: str
    massless: frozenset[int]
    missing: dict[int, tuple[str, ...]]
    frames: list[Frame] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    body_frame: dict[int, int | None] = field(default_factory=dict)
    joint_frame: dict[int, int] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    def read(self) -> Model:
        m = self.model
        self.names.update(self._name("BODY", b) for b in range(m.nbody))
        self.body_frame[0] = None
        if m.body_geomnum[0] or 0 in m.site_bodyid or 0 in m.cam_bodyid:
            self.body_frame[0] = 0
            self.frames.append(self._carrying(Frame("world"), 0))
        for body in range(1, m.nbody):
            self._body(body)
        for kind, bodies, positions, quats in (
            ("SITE", m.site_bodyid, m.site_pos, m.site_quat),
            ("CAMERA", m.cam_bodyid, m.cam_pos, m.cam_quat),
        ):
            for i, body in enumerate(bodies):
                self._marker(kind, i, int(body), make_pose(positions[i], quats[i]))
        self._ball_ranges()
        self._couplings()
        states = self._keyframes()
        if self.left_out:
            warnings.warn(
                f"{self.label}: left out: {'; '.join(self.left_out)}."
                " The rest is kept.",
                UserWarning,
                stacklevel=4,
            )
        frame = [self.body_frame[b] or 0 for b in range(m.nbody)]
        bodies = self.contacts.ignored.items()
        ignored = {(frame[a], frame[b]): why for (a, b), why in bodies}
        return Model(tuple(self.frames), ignored=ignored, named_states=states)

    @cached_property
    def contacts(self) -> ContactRules:
        """Bodies and geoms of the model that may collide."""
        return contact_rules(self.mujoco, self.model)

    def _name(self, kind: str, i: int) -> str:
        number = getattr(self.mujoco.mjtObj, f"mjOBJ_{kind}")
        name = self.mujoco.mj_id2name(self.model, number, i)
        return name or f"{kind.lower()}{i}"

    def _new(self, name: str) -> str:
        """Return a frame name that is not used yet, and mark it as used."""
        while name in self.names:
            name += "_"
        self.names.add(name)
        return name

    def _body(self, body: int) -> None:
        m = self.model
        parent = self.body_frame[int(m.body_parentid[body])]
        name = self._name("BODY", body)
        origin = make_pose(m.body_pos[body], m.body_quat[body])
        first, count = int(m.body_jntadr[body]), int(m.body_jntnum[body])
        frame = Frame(name, parent, origin)
        for j in range(first, first + count):
            anchor = self._anchor(j)
            back = IDENTITY.copy()
            back[:3] = -anchor
            last = j == first + count - 1 and not anchor.any()
            self.joint_frame[j] = len(self.frames)
            moving = Frame(
                name if last else self._new(f"{name}/{self._name('JOINT', j)}"),
                parent,
                self._joint_origin(j, frame.origin, anchor),
                self._joint(j),
            )
            if last:
                frame = moving
                break
            parent = len(self.frames)
            self.frames.append(moving)
            frame = Frame(name, parent, back)
        self.body_frame[body] = len(self.frames)
        self.frames.append(self._carrying(frame, body))

    def _anchor(self, j: int) -> np.ndarray:
        rotates = self.model.jnt_type[j] in (HINGE, BALL)
        return np.array(self.model.jnt_pos[j]) if rotates else np.zeros(3)

    def _joint_origin(
        self, j: int, origin: np.ndarray, anchor: np.ndarray
    ) -> np.ndarray:
        """Return `origin`, moved to the anchor, and back by the joint's `ref`."""
        m = self.model
        if m.jnt_type[j] == FREE:
            return IDENTITY.copy()
        ref = float(m.qpos0[m.jnt_qposadr[j]])
        step = IDENTITY.copy()
        step[:3] = anchor
        if m.jnt_type[j] == HINGE:
            step[3:] = axis_angle_to_quat(m.jnt_axis[j], -ref)
        elif m.jnt_type[j] == SLIDE:
            step[:3] = -ref * m.jnt_axis[j]
        return np.asarray(pose_multiply(origin, step))

    def _joint(self, j: int) -> Joint:
        m = self.model
        kind = JOINT_TYPE_NAMES[int(m.jnt_type[j])]
        dim, start = joint_dim(kind), int(m.jnt_qposadr[j])
        q = np.array(m.qpos0[start : start + dim])
        limits = effort = None
        if dim == 1:
            if m.jnt_limited[j]:
                limits = self._range(j)
            if m.jnt_actfrclimited[j]:
                effort = np.array([np.max(np.abs(m.jnt_actfrcrange[j]))])
        return Joint(
            kind,
            self._name("JOINT", j),
            axis=np.array(m.jnt_axis[j]) if dim == 1 else None,
            limits=limits,
            q=None if np.array_equal(q, neutral_value(kind)) else q,
            effort=effort,
        )

    def _range(self, j: int) -> np.ndarray | None:
        """Return the limits (2, 1) of a joint; None if no value is within them."""
        limits = open_bounds(np.array(self.model.jnt_range[j]))[:, None]
        if leave_values(*limits):
            return limits
        name = self._name("JOINT", j)
        self.left_out.append(f"the range of joint {name!r}, which no value reaches")
        return None

    def _carrying(self, frame: Frame, body: int) -> Frame:
        """Return the frame with the geoms and the inertia of a body."""
        m = self.model
        start = int(m.body_geomadr[body])
        geoms = range(start, start + int(m.body_geomnum[body]))
        geometries = [g for g in map(self._geometry, geoms) if g is not None]
        geometries.sort(key=lambda g: not g.collision)
        missing = self.missing.get(body, ())
        solid = [m.geom_friction[g][0] for g in geoms if self.contacts.solid[g]]
        friction = {"contact_friction": float(max(solid))} if solid else {}
        frame = replace(
            frame,
            geometries=tuple(geometries),
            attributes=frame.attributes | friction,
            contact=int(bool(missing) or any(g.collision for g in geometries)),
            missing_shapes=missing,
        )
        mass = float(m.body_mass[body])
        if body == 0 or mass == 0 or body in self.massless:
            return frame
        R = np.asarray(quat_to_matrix(np.array(m.body_iquat[body])))
        inertia = R @ np.diag(m.body_inertia[body]) @ R.T
        com = np.array(m.body_ipos[body])
        return replace(frame, mass=mass, com=com, inertia=inertia)

    def _geometry(self, geom: int) -> Geometry | None:
        m = self.model
        shape = self._shape(geom)
        if shape is None:
            self.left_out.append(f"the shape of geom {self._name('GEOM', geom)!r}")
            return None
        rgba = tuple(float(v) for v in m.geom_rgba[geom])
        material = int(m.geom_matid[geom])
        if material >= 0 and np.allclose(rgba, DEFAULT_COLOR):
            rgba = tuple(float(v) for v in m.mat_rgba[material])
        return Geometry(
            shape,
            make_pose(m.geom_pos[geom], m.geom_quat[geom]),
            collision=bool(self.contacts.solid[geom]),
            visual=bool(m.geom_group[geom] < FIRST_HIDDEN_GROUP_INDEX),
            color=rgba,
            mask=self.contacts.masks.get(geom),
        )

    def _shape(self, geom: int) -> Shape | None:
        """Return the shape of a geom; sizes in MuJoCo are half sizes."""
        m, kinds = self.model, self.mujoco.mjtGeom
        x, y, z = (float(v) for v in m.geom_size[geom])
        kind = m.geom_type[geom]
        if kind == kinds.mjGEOM_SPHERE:
            return Sphere(x)
        if kind == kinds.mjGEOM_CAPSULE:
            return Capsule(2 * y, x)
        if kind == kinds.mjGEOM_BOX:
            return Box(np.array([2 * x, 2 * y, 2 * z]))
        if kind == kinds.mjGEOM_CYLINDER:
            return Cylinder(2 * y, x)
        if kind == kinds.mjGEOM_ELLIPSOID:
            return Ellipsoid(np.array([x, y, z]))
        if kind == kinds.mjGEOM_PLANE:
            return Plane()
        if kind == kinds.mjGEOM_MESH:
            return self._mesh(int(m.geom_dataid[geom]))
        return None

    def _mesh(self, i: int) -> Mesh:
        """Return a compiled mesh: scaled, and centred as the geom's pose expects.

        It collides as its convex hull, as in MuJoCo.
        """
        import trimesh

        m = self.model
        start, count = int(m.mesh_vertadr[i]), int(m.mesh_vertnum[i])
        vertices = np.array(m.mesh_vert[start : start + count], float)
        start, count = int(m.mesh_faceadr[i]), int(m.mesh_facenum[i])
        faces = np.array(m.mesh_face[start : start + count])
        return Mesh(trimesh.Trimesh(vertices, faces, process=False), mode="convex")

    def _marker(self, kind: str, i: int, body: int, origin: np.ndarray) -> None:
        name = self._new(self._name(kind, i))
        attributes = {"mjcf": kind.lower()}
        parent = self.body_frame[body]
        self.frames.append(Frame(name, parent, origin, attributes=attributes))

    def _couplings(self) -> None:
        """Turn equality constraints of joints into mimic and locked joints."""
        joints = {}
        for j, i in self.joint_frame.items():
            joint = self.frames[i].joint
            if joint is not None:
                joints[j] = joint
        coupled, left_out = couple_joints(self.mujoco, self.model, joints, self._name)
        self.left_out += left_out
        for j, joint in coupled.items():
            i = self.joint_frame[j]
            self.frames[i] = replace(self.frames[i], joint=joint)

    def _keyframes(self) -> tuple[NamedState, ...]:
        """Return the keys as named states, and make "home" or the first one the home.

        Values outside of a joint's limits are moved to the nearest limit.
        """
        states = []
        for key in range(self.model.nkey):
            name = self._name("KEY", key)
            values = {}
            for j, i in self.joint_frame.items():
                joint = self.frames[i].joint
                if joint is not None and joint.active and joint.mimic is None:
                    values[joint.name] = self._key_value(key, j, joint)
            states.append(NamedState(name, KEY_GROUP, values))
        if states:
            home = next((s for s in states if s.name == "home"), states[0])
            for i, frame in enumerate(self.frames):
                if frame.joint is not None and frame.joint.name in home.values:
                    joint = replace(frame.joint, q=home.values[frame.joint.name])
                    self.frames[i] = replace(frame, joint=joint)
        return tuple(states)

    def _key_value(self, key: int, j: int, joint: Joint) -> np.ndarray:
        start = int(self.model.jnt_qposadr[j])
        value = np.array(self.model.key_qpos[key][start : start + joint.dim])
        if joint.limits is None:
            return value
        inside = np.clip(value, *joint.limits)
        if np.abs(inside - value).max() > MAX_KEY_EXCESS:
            self.left_out.append(
                f"how far key {self._name('KEY', key)!r} is outside of the limits of"
                f" joint {joint.name!r} ({value.item():g}, now {inside.item():g})"
            )
        return inside

    def _ball_ranges(self) -> None:
        """Say which ranges of ball joints are left out."""
        m = self.model
        for j in range(m.njnt):
            if m.jnt_type[j] == BALL and m.jnt_limited[j]:
                body = self._name("BODY", int(m.jnt_bodyid[j]))
                angle = np.rad2deg(float(m.jnt_range[j][1]))
                self.left_out.append(
                    f"the range of ball joint {self._name('JOINT', j)!r} of body"
                    f" {body!r} (at most {angle:g} degrees)"
                )
