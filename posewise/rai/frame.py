"""Handles of frames with rai's getters and chained setters."""

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import trimesh

import posewise as pw
from posewise.robots.kinematics.transforms import (
    pose_inverse,
    pose_multiply,
    quat_to_matrix,
)
from posewise.robots.loaders.gfile.reader import read_gfile
from posewise.robots.world.frame import Model

from .enums import JT, ST

if TYPE_CHECKING:
    from .config import Config

_URDF_JOINTS = {
    "revolute": JT.hinge,
    "continuous": JT.hinge,
    "planar": JT.transXYPhi,
    "floating": JT.free,
    "fixed": JT.rigid,
}


def parse_frame(name: str, args: str) -> Model:
    """What rai's graph language makes of `name: { args }` below some parent.

    Raises:
        LoadError: naming what is wrong in it.
    """
    args = args.strip()
    body = args if args.startswith("{") else f"{{ {args} }}"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "args.g"
        path.write_text(f"parent: {{}}\n{name} (parent): {body}\n", encoding="utf-8")
        model = read_gfile(path)
    frames = (replace(f, parent=(f.parent or 0) - 1) for f in model.frames[1:])
    return Model(
        tuple(replace(f, parent=None) if f.parent == -1 else f for f in frames),
        {i - 1: q for i, q in model.q.items()},
    )


class Frame:
    """A frame of a `Config`, by name; setters return the frame."""

    def __init__(self, config: "Config", name: str) -> None:
        self.config = config
        self.name = name

    def __repr__(self) -> str:
        return f"Frame({self.name!r})"

    @property
    def ID(self) -> int:
        """Row of the frame in the frame state."""
        return self.config.C.index(self.name)

    # -- poses -------------------------------------------------------------------

    def getPose(self, relativeTo: "Frame | None" = None) -> np.ndarray:
        """Pose (7,) in the world or another frame."""
        pose = self.config.C.pose(self.name)
        if relativeTo is None:
            return pose
        return np.asarray(pose_multiply(pose_inverse(relativeTo.getPose()), pose))

    def getPosition(self, relativeTo: "Frame | None" = None) -> np.ndarray:
        """Position (3,)."""
        return self.getPose(relativeTo)[:3]

    def getQuaternion(self, relativeTo: "Frame | None" = None) -> np.ndarray:
        """Quaternion (4,), `(w, x, y, z)`."""
        return self.getPose(relativeTo)[3:]

    def getRotationMatrix(self) -> np.ndarray:
        """Rotation matrix (3, 3), frame to world."""
        return np.asarray(quat_to_matrix(self.getQuaternion()))

    def getRelativePose(self) -> np.ndarray:
        """Pose (7,) in the parent."""
        return self.getPose(self.getParent())

    def getRelativePosition(self) -> np.ndarray:
        """Position (3,) in the parent."""
        return self.getRelativePose()[:3]

    def getRelativeQuaternion(self) -> np.ndarray:
        """Quaternion (4,) in the parent."""
        return self.getRelativePose()[3:]

    def setPose(self, pose: Any) -> "Frame":
        """Set the world pose (7,); what hangs on the frame moves along."""
        self.config.C.set_pose(self.name, pose)
        return self

    def setPosition(self, position: Any) -> "Frame":
        """Set the world position (3,)."""
        return self.setPose([*np.ravel(position), *self.getQuaternion()])

    def setQuaternion(self, quaternion: Any) -> "Frame":
        """Set the world orientation (4,), normalised here."""
        return self.setPose([*self.getPosition(), *np.ravel(quaternion)])

    def setRelativePose(self, pose: Any) -> "Frame":
        """Set the pose (7,) in the parent."""
        parent = self.getParent()
        if parent is None:
            return self.setPose(pose)
        self.config.C.set_pose(self.name, pose, relative_to=parent.name)
        return self

    def setRelativePosition(self, position: Any) -> "Frame":
        """Set the position (3,) in the parent."""
        return self.setRelativePose(
            [*np.ravel(position), *self.getRelativeQuaternion()]
        )

    def setRelativeQuaternion(self, quaternion: Any) -> "Frame":
        """Set the orientation (4,) in the parent, normalised here."""
        return self.setRelativePose(
            [*self.getRelativePosition(), *np.ravel(quaternion)]
        )

    def setPoseByText(self, text: str) -> "Frame":
        """Set the world pose by rai's words, e.g. `"t(0 0 .5) d(30 1 0 0)"`."""
        return self.setPose(parse_frame("pose", f'Q: "{text}"').frames[0].origin)

    def setRelativePoseByText(self, text: str) -> "Frame":
        """Set the pose in the parent by rai's words."""
        origin = parse_frame("pose", f'Q: "{text}"').frames[0].origin
        return self.setRelativePose(origin)

    # -- shape -------------------------------------------------------------------

    def setShape(self, type: Any, size: Any = ()) -> "Frame":
        """Set the shape, with rai's sizes, e.g. `ST.ssBox, [x, y, z, radius]`."""
        if type is ST.none:
            self.config.C.set_shape(self.name, None)
            return self
        args = f"shape: {type.name}, size: {np.ravel(size).astype(float).tolist()}"
        shape = parse_frame("shape", args).frames[0].shape
        if shape is None:
            raise pw.ConfigError(
                f"setShape: a {type.name} is set by setMesh, setMeshFile, setConvexMesh"
                " or setPointCloud."
            )
        return self._set_shape(shape)

    def setConvexMesh(
        self, points: Any, colors: Any = (), radius: Any = 0.0
    ) -> "Frame":
        """Set the convex hull of points (n, 3), inflated by a radius."""
        return self._set_shape(pw.Convex(points, radius), colors)

    def setMesh(self, vertices: Any, triangles: Any, colors: Any = ()) -> "Frame":
        """Set a mesh of vertices (n, 3) and triangles (m, 3); its hull collides."""
        mesh = trimesh.Trimesh(
            np.reshape(vertices, (-1, 3)), np.reshape(triangles, (-1, 3)), process=False
        )
        return self._set_shape(pw.Mesh(mesh, mode="convex"), colors)

    def setMeshFile(self, filename: Any, scale: Any = 1.0) -> "Frame":
        """Set a mesh by its file; its convex hull collides."""
        return self._set_shape(pw.Mesh(filename, mode="convex", scale=scale))

    def setPointCloud(self, points: Any, colors: Any = ()) -> "Frame":
        """Set points (n, 3)."""
        return self._set_shape(pw.PointCloud(np.reshape(points, (-1, 3))), colors)

    def _set_shape(self, shape: Any, colors: Any = ()) -> "Frame":
        color = self.getAttributes().get("color")
        if np.size(colors):
            color = np.atleast_2d(np.asarray(colors, float).reshape(-1, 3))[0] / 255
        self.config.C.set_shape(self.name, shape, color)
        return self

    def getShapeType(self) -> Any:
        """Its `ST`."""
        return self._shape_and_size()[0]

    def getSize(self) -> np.ndarray:
        """rai's sizes of the shape."""
        return np.array(self._shape_and_size()[1], float)

    def _shape_and_size(self) -> tuple[Any, list]:
        match self.config.C.frame(self.name).shape:
            case None:
                return ST.none, []
            case pw.Marker(size):
                return ST.marker, [size]
            case pw.Sphere(radius):
                return ST.sphere, [radius]
            case pw.Capsule(length, radius):
                return ST.capsule, [length, radius]
            case pw.Box(size, rounding) if rounding:
                return ST.ssBox, [*size, rounding]
            case pw.Box(size):
                return ST.box, [*size]
            case pw.Cylinder(length, radius, rounding) if rounding:
                return ST.ssCylinder, [length, radius, rounding]
            case pw.Cylinder(length, radius):
                return ST.cylinder, [length, radius]
            case pw.Convex(_, rounding):
                return ST.ssCvx, [rounding]
            case pw.PointCloud():
                return ST.pointCloud, []
            case _:
                return ST.mesh, []

    def setColor(self, color: Any) -> "Frame":
        """Set the colour, RGB or RGBA, 0 to 1."""
        color = np.ravel(color).tolist()
        self.config.C.set_color(self.name, color)
        self.config.C.set_attributes(self.name, color=color)
        return self

    def setContact(self, contact: Any) -> "Frame":
        """Set the contact flag: 0 never collides, -k ignores links near above."""
        self.config.C.set_contact(self.name, contact)
        return self

    def setMass(self, mass: Any) -> "Frame":
        """Set the mass [kg]."""
        self.config.C.set_mass(self.name, mass)
        return self

    def getMass(self) -> float:
        """Mass [kg]; 0 where none is set."""
        return self.config.C.frame(self.name).mass or 0.0

    # -- joint and tree ----------------------------------------------------------

    def setJoint(
        self,
        jointType: Any,
        limits: Any = (),
        axis: Any = (),
        scale: Any = 1.0,
        mimic: "Frame | None" = None,
    ) -> "Frame":
        """Put the frame on a joint where it stands; `JT.none` fixes it.

        Args:
            jointType: a `JT`.
            limits: lower bounds, then upper ones; (2, n) or flat.
            axis: of a `JT.hinge`.
            scale: -1 inverts a mimicking joint; otherwise 1.
            mimic: the frame whose joint it follows.
        """
        if scale != 1.0 and mimic is None:
            raise pw.ConfigError(
                f"setJoint of {self.name!r}: scale is {scale}, expected 1 for a joint"
                " that mimics none; scale its limits instead."
            )
        self.config.C.set_joint_type(
            self.name,
            None if jointType is JT.none else jointType.name,
            axis=axis if np.size(axis) else None,
            limits=np.reshape(limits, (2, -1)) if np.size(limits) else None,
            mimic=None if mimic is None else mimic.name,
            multiplier=scale,
        )
        return self

    def setJointState(self, q: Any) -> "Frame":
        """Set the value of the frame's joint."""
        self.config.C.set_joint(self.name, q)
        return self

    def getJointState(self) -> np.ndarray:
        """Value of the frame's joint."""
        return self.config.C.joint_value(self.name)

    def getJointType(self) -> Any:
        """Its `JT`; `generic` for what rai has no name for."""
        joint = self.config.C.frame(self.name).joint
        if joint is None:
            return JT.none
        known = dict(JT.__members__) | _URDF_JOINTS
        return known.get(joint.type, JT.generic)

    def getParent(self) -> "Frame | None":
        """The parent frame, None for a root."""
        parent = self.config.C.frame(self.name).parent
        if parent is None:
            return None
        return Frame(self.config, self.config.C.frames[parent].name)

    def getChildren(self) -> list["Frame"]:
        """The frames attached to this one."""
        return [Frame(self.config, n) for n in self.config.C.children(self.name)]

    def setParent(
        self, parent: "Frame", keepAbsolutePose_and_adaptRelativePose: bool = False
    ) -> "Frame":
        """Attach the frame to another parent, at its present relative (or world) pose.

        A joint of the frame becomes a rigid attachment.
        """
        relative = self.getRelativePose()
        self.config.C.attach(parent.name, self.name)
        if not keepAbsolutePose_and_adaptRelativePose:
            self.setRelativePose(relative)
        return self

    def unLink(self) -> "Frame":
        """Loosen the frame from its parent; it stays where it is."""
        self.config.C.detach(self.name, joint=None)
        return self

    # -- attributes --------------------------------------------------------------

    def setAttributes(self, attributes: dict[str, Any]) -> "Frame":
        """Add or replace metadata."""
        self.config.C.set_attributes(self.name, **attributes)
        return self

    def getAttributes(self) -> dict[str, Any]:
        """The metadata of the file and of `setAttributes`."""
        return dict(self.config.C.frame(self.name).attributes)
