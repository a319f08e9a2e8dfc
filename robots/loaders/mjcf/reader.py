"""Reader of MJCF, MuJoCo's own format, through MuJoCo's compiler.

Frames are the bodies, in MuJoCo's order. In MuJoCo a body can have several joints, each
about an anchor away from the body's origin; here every joint has a separate frame
`<body>/<joint>`, and the body's frame comes last, so that its pose equals MuJoCo's
`xpos`, `xquat` at every `qpos`. Joint coordinates are those of `qpos`: a joint's `ref`
is its value in the pose that the file describes, and becomes `Joint.q`.

Sites and cameras become frames fixed to their body. The world body becomes a frame
`world` if geoms, sites or cameras are fixed to it. `mjcf.contacts` determines the
bodies that can collide.
"""

import os
import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import LoadError
from ...geometry.mesh_paths import is_existing_file
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
from ...simulation.mujoco_extra import import_mujoco
from ...world.frame import Frame, Geometry, Joint, Model
from .contacts import ignored_bodies
from .files import check_includes, foreign_assets

FREE, BALL, SLIDE, HINGE = range(4)
JOINT_TYPE_NAMES = {FREE: "free", BALL: "quatBall", SLIDE: "prismatic", HINGE: "hinge"}
DEFAULT_COLOR = (0.5, 0.5, 0.5, 1.0)
FIRST_HIDDEN_GROUP = 3
"""First group of geoms that MuJoCo's viewer does not draw by default."""


def read_mjcf(path: str | os.PathLike) -> Model:
    """Read an MJCF file (or a URDF, with MuJoCo's reader).

    If meshes are missing, all are left out, with one `UserWarning`; so are constraints
    that close loops. Equality constraints between two joints become mimic joints.

    Raises:
        LoadError: When the file is missing or MuJoCo refuses it.
        ImportError: When MuJoCo is not installed.
    """
    mujoco = import_mujoco("Reading MJCF")
    file = Path(path)
    if not is_existing_file(file):
        raise LoadError(f"{file}: there is no such file; check the path.")
    check_includes(file)
    try:
        spec = mujoco.MjSpec.from_file(str(file))
    except ValueError as error:
        raise LoadError(
            f"{file}: MuJoCo cannot read it: {_one_line(error)}; mend it there."
        ) from error
    compiled, massless = _compile(mujoco, spec, file)
    return _MjcfReader(mujoco, compiled, file, massless).read()


def _compile(mujoco: Any, spec: Any, file: Path) -> tuple[Any, frozenset[int]]:
    """Return the compiled model, and the bodies whose mass is a placeholder.

    If MuJoCo refuses the model, mostly because files are missing, or if meshes lie
    outside the model's folders, the model is compiled without meshes and with unit
    masses.
    """
    spec.compiler.fusestatic = 0
    spec.compiler.discardvisual = 0
    for material in spec.materials:
        material.textures = [""] * len(material.textures)
    for texture in list(spec.textures):
        spec.delete(texture)
    try:
        if foreign := foreign_assets(spec, file):
            raise ValueError(f"{foreign[0]!r} lies outside of the model's folders")
        return spec.compile(), frozenset()
    except ValueError as error:
        first = _one_line(error)
    kinds = mujoco.mjtGeom
    for geom in list(spec.geoms):
        if geom.type in (kinds.mjGEOM_MESH, kinds.mjGEOM_SDF, kinds.mjGEOM_HFIELD):
            spec.delete(geom)
    for part in [*spec.skins, *spec.meshes, *spec.hfields]:
        spec.delete(part)
    massless = []
    for body in spec.bodies[1:]:
        if not body.explicitinertial:
            massless.append(body)
            body.explicitinertial = True
            body.mass, body.inertia, body.ipos = 1.0, np.ones(3), np.zeros(3)
    try:
        compiled = spec.compile()
    except ValueError as error:
        raise LoadError(
            f"{file}: MuJoCo cannot compile it: {_one_line(error)}; mend it there."
        ) from error
    warnings.warn(
        f"{file}: MuJoCo cannot compile it ({first}); read without its meshes and"
        " without the masses that would follow from shapes. The kinematics is kept.",
        UserWarning,
        stacklevel=3,
    )
    return compiled, frozenset(body.id for body in massless)


@dataclass(eq=False)
class _MjcfReader:
    """Converts a compiled model to frames."""

    mujoco: Any
    model: Any
    file: Path
    massless: frozenset[int]
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
        self._equalities()
        if self.left_out:
            shown = ", ".join(self.left_out[:5])
            more = ", …" if len(self.left_out) > 5 else ""
            warnings.warn(
                f"{self.file}: left out: {shown}{more}. The rest is kept.",
                UserWarning,
                stacklevel=4,
            )
        bodies = ignored_bodies(self.mujoco, m)
        frame = [self.body_frame[b] or 0 for b in range(m.nbody)]
        ignored = {(frame[a], frame[b]): why for (a, b), why in bodies.items()}
        return Model(tuple(self.frames), ignored=ignored)

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
            limits = np.array(m.jnt_range[j])[:, None] if m.jnt_limited[j] else None
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

    def _carrying(self, frame: Frame, body: int) -> Frame:
        """Return the frame with the geoms and the inertia of a body."""
        m = self.model
        start = int(m.body_geomadr[body])
        geoms = range(start, start + int(m.body_geomnum[body]))
        geometries = [g for g in map(self._geometry, geoms) if g is not None]
        geometries.sort(key=lambda g: not g.collision)
        frame = replace(
            frame,
            geometries=tuple(geometries),
            contact=int(any(g.collision for g in geometries)),
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
            collision=bool(m.geom_contype[geom] or m.geom_conaffinity[geom]),
            visual=bool(m.geom_group[geom] < FIRST_HIDDEN_GROUP),
            color=rgba,
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

    def _equalities(self) -> None:
        """Convert equality constraints of joints to mimic and locked joints."""
        m = self.model
        for e in range(m.neq):
            if not m.eq_active0[e]:
                continue
            if m.eq_type[e] != self.mujoco.mjtEq.mjEQ_JOINT:
                self.left_out.append(f"the constraint {self._name('EQUALITY', e)!r}")
                continue
            follower, leader = int(m.eq_obj1id[e]), int(m.eq_obj2id[e])
            constant, slope, *higher = (float(v) for v in m.eq_data[e][:5])
            frame = self.joint_frame[follower]
            joint = self.frames[frame].joint
            if joint is None or joint.mimic is not None or not joint.active:
                self.left_out.append(f"a second constraint on {_joint_name(joint)!r}")
                continue
            ref = float(m.qpos0[m.jnt_qposadr[follower]]) + constant
            if leader < 0:
                joint = replace(joint, active=False, q=np.array([ref]))
            elif any(higher):
                self.left_out.append(f"the curved mimic of joint {joint.name!r}")
            elif self._leads_to(leader, follower):
                self.left_out.append(f"the circular mimic of joint {joint.name!r}")
            else:
                # MuJoCo's polynomial is in deviations from qpos0 (XML reference,
                # equality/joint): y - y0 = a0 + a1 (x - x0).
                zero = float(m.qpos0[m.jnt_qposadr[leader]])
                joint = replace(
                    joint,
                    mimic=self._name("JOINT", leader),
                    multiplier=slope,
                    offset=ref - slope * zero,
                )
            self.frames[frame] = replace(self.frames[frame], joint=joint)

    def _leads_to(self, joint: int, other: int) -> bool:
        """Whether a joint mimics another one, directly or through others."""
        by_name = {self._name("JOINT", j): j for j in self.joint_frame}
        while joint != other:
            follower = self.frames[self.joint_frame[joint]].joint
            if follower is None or follower.mimic is None:
                return False
            joint = by_name[follower.mimic]
        return True


def _joint_name(joint: Joint | None) -> str:
    return "" if joint is None else joint.name


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()).removeprefix("Error: ")
