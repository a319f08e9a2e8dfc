"""Frames with rai's getters and chained setters."""

import tempfile
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import trimesh

import posewise as pw
from posewise.robots.kinematics.transforms import (
    pose_inverse,
    pose_multiply,
    quat_to_matrix,
)
from posewise.robots.loaders.gfile.reader import read_gfile
from posewise.robots.typing import MatrixLike, PoseLike, StrPath, VectorLike
from posewise.robots.world.frame import Model
from posewise.typing import Shape

from .enums import JT, ST

Colors = VectorLike | MatrixLike
"""Colors as numbers from 0 to 255, one (3,) or one per vertex (n, 3)."""

_URDF_JOINTS = {
    "revolute": JT.hinge,
    "continuous": JT.hinge,
    "planar": JT.transXYPhi,
    "floating": JT.free,
    "fixed": JT.rigid,
}


def parse_frame(name: str, args: str) -> Model:
    """Parse the attributes of a frame, `name: { args }` in rai's graph language.

    Raises:
        LoadError: for invalid attributes.
    """
    args = args.strip()
    body = args if args.startswith("{") else f"{{ {args} }}"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "args.g"
        path.write_text(f"parent: {{}}\n{name} (parent): {body}\n", encoding="utf-8")
        model = read_gfile(path)
    # Drop the auxiliary parent, frame 0; its children become roots.
    frames = (replace(f, parent=(f.parent or 0) - 1) for f in model.frames[1:])
    return Model(
        tuple(replace(f, parent=None) if f.parent == -1 else f for f in frames),
        {i - 1: q for i, q in model.q.items()},
    )


class Frame:
    """Frame of a world, by its name; setters return the frame."""

    def __init__(self, world: pw.Config, name: str) -> None:
        self.world = world
        self.name = name

    def __repr__(self) -> str:
        return f"Frame({self.name!r})"

    @property
    def ID(self) -> int:
        """Index of the frame in the frame state."""
        return self.world.index(self.name)

    # -- poses -------------------------------------------------------------------

    def getPose(self, relativeTo: "Frame | None" = None) -> np.ndarray:
        """Return the pose (7,) in the world or another frame."""
        pose = self.world.pose(self.name)
        if relativeTo is None:
            return pose
        return np.asarray(pose_multiply(pose_inverse(relativeTo.getPose()), pose))

    def getPosition(self, relativeTo: "Frame | None" = None) -> np.ndarray:
        """Return the position (3,) [m] in the world or another frame."""
        return self.getPose(relativeTo)[:3]

    def getQuaternion(self, relativeTo: "Frame | None" = None) -> np.ndarray:
        """Return the quaternion `(w, x, y, z)` in the world or another frame."""
        return self.getPose(relativeTo)[3:]

    def getRotationMatrix(self) -> np.ndarray:
        """Return the rotation matrix (3, 3) from the frame to the world."""
        return np.asarray(quat_to_matrix(self.getQuaternion()))

    def getRelativePose(self) -> np.ndarray:
        """Return the pose (7,) in the parent."""
        return self.getPose(self.getParent())

    def getRelativePosition(self) -> np.ndarray:
        """Return the position (3,) [m] in the parent."""
        return self.getRelativePose()[:3]

    def getRelativeQuaternion(self) -> np.ndarray:
        """Return the quaternion (4,) in the parent."""
        return self.getRelativePose()[3:]

    def setPose(self, pose: PoseLike) -> "Frame":
        """Set the world pose (7,); the subtree moves along."""
        self.world.set_pose(self.name, pose)
        return self

    def setPosition(self, position: VectorLike) -> "Frame":
        """Set the world position (3,)."""
        return self.setPose([*np.ravel(position), *self.getQuaternion()])

    def setQuaternion(self, quaternion: VectorLike) -> "Frame":
        """Set the world orientation (4,), which is normalized."""
        return self.setPose([*self.getPosition(), *np.ravel(quaternion)])

    def setRelativePose(self, pose: PoseLike) -> "Frame":
        """Set the pose (7,) in the parent."""
        parent = self.getParent()
        if parent is None:
            return self.setPose(pose)
        self.world.set_pose(self.name, pose, relative_to=parent.name)
        return self

    def setRelativePosition(self, position: VectorLike) -> "Frame":
        """Set the position (3,) in the parent."""
        return self.setRelativePose(
            [*np.ravel(position), *self.getRelativeQuaternion()]
        )

    def setRelativeQuaternion(self, quaternion: VectorLike) -> "Frame":
        """Set the orientation (4,) in the parent, which is normalized."""
        return self.setRelativePose(
            [*self.getRelativePosition(), *np.ravel(quaternion)]
        )

    def setPoseByText(self, text: str) -> "Frame":
        """Set the world pose by rai's text, such as `"t(0 0 .5) d(30 1 0 0)"`."""
        return self.setPose(parse_frame("pose", f'Q: "{text}"').frames[0].origin)

    def setRelativePoseByText(self, text: str) -> "Frame":
        """Set the pose in the parent by rai's text."""
        origin = parse_frame("pose", f'Q: "{text}"').frames[0].origin
        return self.setRelativePose(origin)

    # -- shape -------------------------------------------------------------------

    def setShape(self, type: Enum, size: VectorLike = ()) -> "Frame":
        """Set the shape with rai's sizes, such as `ST.ssBox, [x, y, z, radius]`."""
        if type is ST.none:
            self.world.set_shape(self.name, None)
            return self
        args = f"shape: {type.name}, size: {np.ravel(size).astype(float).tolist()}"
        shape = parse_frame("shape", args).frames[0].shape
        if shape is None:
            raise pw.ConfigError(
                f"setShape: type is {type.name}, which has no sizes; use setMesh,"
                " setMeshFile, setConvexMesh or setPointCloud."
            )
        return self._set_shape(shape)

    def setConvexMesh(
        self, points: MatrixLike, colors: Colors = (), radius: float = 0.0
    ) -> "Frame":
        """Set the convex hull of points (n, 3) [m], inflated by a radius [m]."""
        return self._set_shape(pw.Convex(points, radius), colors)

    def setMesh(
        self, vertices: MatrixLike, triangles: MatrixLike, colors: Colors = ()
    ) -> "Frame":
        """Set a mesh of vertices (n, 3) [m] and triangles (m, 3); its hull collides."""
        mesh = trimesh.Trimesh(
            np.reshape(vertices, (-1, 3)), np.reshape(triangles, (-1, 3)), process=False
        )
        return self._set_shape(pw.Mesh(mesh, mode="convex"), colors)

    def setMeshFile(self, filename: StrPath, scale: float = 1.0) -> "Frame":
        """Set the mesh of a file; its convex hull collides."""
        return self._set_shape(pw.Mesh(filename, mode="convex", scale=scale))

    def setPointCloud(self, points: MatrixLike, colors: Colors = ()) -> "Frame":
        """Set a point cloud (n, 3) [m]."""
        return self._set_shape(pw.PointCloud(np.reshape(points, (-1, 3))), colors)

    def _set_shape(self, shape: Shape, colors: Colors = ()) -> "Frame":
        color = self.getAttributes().get("color")
        if np.size(colors):
            color = np.atleast_2d(np.asarray(colors, float).reshape(-1, 3))[0] / 255
        self.world.set_shape(self.name, shape, color)
        return self

    def getShapeType(self) -> Enum:
        """Return the `ST` of the shape."""
        return self._shape_and_size()[0]

    def getSize(self) -> np.ndarray:
        """Return rai's sizes of the shape [m]."""
        return np.array(self._shape_and_size()[1], float)

    def _shape_and_size(self) -> tuple[Enum, list[float]]:
        match self.world.frame(self.name).shape:
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

    def setColor(self, color: VectorLike) -> "Frame":
        """Set the color, RGB or RGBA from 0 to 1."""
        color = np.ravel(color).tolist()
        self.world.set_color(self.name, color)
        self.world.set_attributes(self.name, color=color)
        return self

    def setContact(self, contact: int) -> "Frame":
        """Set the contact flag: 0 never collides, -k ignores near ancestor links."""
        self.world.set_contact(self.name, contact)
        return self

    def setMass(self, mass: float) -> "Frame":
        """Set the mass [kg]."""
        self.world.set_mass(self.name, mass)
        return self

    def getMass(self) -> float:
        """Return the mass [kg], 0 if none is set."""
        return self.world.frame(self.name).mass or 0.0

    # -- joint and tree ----------------------------------------------------------

    def setJoint(
        self,
        jointType: Enum,
        limits: VectorLike | MatrixLike = (),
        axis: VectorLike = (),
        scale: float = 1.0,
        mimic: "Frame | None" = None,
    ) -> "Frame":
        """Attach the frame by a joint at its present pose; `JT.none` fixes it.

        Args:
            jointType: a `JT`.
            limits: lower limits, then upper limits; (2, n) or flat.
            axis: axis of a `JT.hinge`.
            scale: -1 to invert a mimic joint, otherwise 1.
            mimic: frame whose joint this joint follows.

        Raises:
            ConfigError: for another scale of a joint that mimics no other.
        """
        if scale != 1.0 and mimic is None:
            raise pw.ConfigError(
                f"setJoint of {self.name!r}: scale is {scale}, expected 1 for a joint"
                " without mimic; scale its limits instead."
            )
        self.world.joints.set_type(
            self.name,
            None if jointType is JT.none else jointType.name,
            axis=axis if np.size(axis) else None,
            limits=np.reshape(limits, (2, -1)) if np.size(limits) else None,
            mimic=None if mimic is None else mimic.name,
            multiplier=scale,
        )
        return self

    def setJointState(self, q: float | VectorLike) -> "Frame":
        """Set the value of the frame's joint."""
        self.world.set_joint(self.name, q)
        return self

    def getJointState(self) -> np.ndarray:
        """Return the value of the frame's joint."""
        return self.world.joints.value(self.name)

    def getJointType(self) -> Enum:
        """Return the `JT` of the joint; `generic` for joints without a name in rai."""
        joint = self.world.frame(self.name).joint
        if joint is None:
            return JT.none
        known = dict(JT.__members__) | _URDF_JOINTS
        return known.get(joint.type, JT.generic)

    def getParent(self) -> "Frame | None":
        """Return the parent frame, or None for a root."""
        parent = self.world.frame(self.name).parent
        if parent is None:
            return None
        return Frame(self.world, self.world.frames[parent].name)

    def getChildren(self) -> list["Frame"]:
        """Return the frames attached to this frame."""
        return [Frame(self.world, n) for n in self.world.children(self.name)]

    def setParent(
        self, parent: "Frame", keepAbsolutePose_and_adaptRelativePose: bool = False
    ) -> "Frame":
        """Attach the frame rigidly to another parent.

        Args:
            parent: the new parent.
            keepAbsolutePose_and_adaptRelativePose: whether the frame keeps its world
                pose instead of its pose in the parent.
        """
        relative = self.getRelativePose()
        self.world.attach(parent.name, self.name)
        if not keepAbsolutePose_and_adaptRelativePose:
            self.setRelativePose(relative)
        return self

    def unLink(self) -> "Frame":
        """Detach the frame from its parent; it keeps its world pose."""
        self.world.detach(self.name, joint=None)
        return self

    # -- attributes --------------------------------------------------------------

    def setAttributes(self, attributes: dict[str, Any]) -> "Frame":
        """Add or replace metadata."""
        self.world.set_attributes(self.name, **attributes)
        return self

    def getAttributes(self) -> dict[str, Any]:
        """Return the metadata of the file and of `setAttributes`."""
        return dict(self.world.frame(self.name).attributes)
