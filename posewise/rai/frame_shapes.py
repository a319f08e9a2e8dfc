"""Shapes of a frame, with rai's sizes and chained setters."""

import warnings
from enum import Enum
from typing import Any, TypeVar

import numpy as np
import trimesh

import posewise as pw
from posewise.robots.masses.shape_inertia import frame_inertia
from posewise.robots.typing import MatrixLike, StrPath, VectorLike
from posewise.robots.visual.surface_meshes import frame_mesh
from posewise.typing import Shape

from .enums import ST, raise_unsupported
from .frame_poses import FrameWithPoses
from .frame_text import parse_frame

Colors = VectorLike | MatrixLike
"""Colors as numbers from 0 to 255, one (3,) or one per vertex (n, 3)."""

ShapesT = TypeVar("ShapesT", bound="FrameShapes")
"""The class of a frame with shapes, which its setters return."""


class FrameShapes(FrameWithPoses):
    """Frame with its shapes, contact flag and mass; setters return the frame."""

    def getAttributes(self) -> dict[str, Any]:
        """Return the metadata of the file and of `setAttributes`."""
        return dict(self.world.frame(self.name).attributes)

    def setShape(self: ShapesT, type: Enum, size: VectorLike = ()) -> ShapesT:
        """Set the shape with rai's sizes, such as `ST.ssBox, [x, y, z, radius]`.

        A `pointCloud` is empty until `setPointCloud`; its size is ignored.
        """
        if type in (ST.none, ST.pointCloud):
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
        self: ShapesT, points: MatrixLike, colors: Colors = (), radius: float = 0.0
    ) -> ShapesT:
        """Set the convex hull of points (n, 3) [m], inflated by a radius [m]."""
        return self._set_shape(pw.Convex(points, radius), colors)

    def setMesh(
        self: ShapesT,
        vertices: MatrixLike,
        triangles: MatrixLike,
        colors: Colors = (),
        cvxParts: VectorLike = (),
    ) -> ShapesT:
        """Set a mesh, whose convex hull collides.

        Args:
            vertices: its points (n, 3) [m].
            triangles: indices of their corners (m, 3).
            colors: see `Colors`.
            cvxParts: not supported.

        Raises:
            FeatureError: for convex parts.
        """
        if np.size(cvxParts):
            raise_unsupported("setMesh with cvxParts", "convex parts of given meshes")
        mesh = trimesh.Trimesh(
            np.reshape(vertices, (-1, 3)), np.reshape(triangles, (-1, 3)), process=False
        )
        return self._set_shape(pw.Mesh(mesh, mode="convex"), colors)

    def setMeshFile(self: ShapesT, filename: StrPath, scale: float = 1.0) -> ShapesT:
        """Set the mesh of a file; its convex hull collides."""
        return self._set_shape(pw.Mesh(filename, mode="convex", scale=scale))

    def setPointCloud(
        self: ShapesT, points: MatrixLike, colors: Colors = (), normals: MatrixLike = ()
    ) -> ShapesT:
        """Set a point cloud (n, 3) [m]; normals are ignored, because points have none.

        Points that are not finite, such as those of a depth image, are left out.
        """
        points = np.reshape(np.asarray(points, float), (-1, 3))
        cloud = points[np.isfinite(points).all(1)]
        return self._set_shape(pw.PointCloud(cloud), colors)

    def _set_shape(self: ShapesT, shape: Shape, colors: Colors = ()) -> ShapesT:
        color = _rgb(self.getAttributes().get("color"))
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

    def setColor(self: ShapesT, color: VectorLike) -> ShapesT:
        """Set the color: grey, grey and alpha, RGB or RGBA, from 0 to 1.

        Numbers beyond are drawn as 0 or 1, with a warning.
        """
        parts = np.ravel(color).tolist()
        if parts and not 0 <= min(parts) <= max(parts) <= 1:
            warnings.warn(
                f"setColor: got {parts}, expected numbers from 0 to 1, not bytes; they"
                " are drawn as the nearest of these.",
                stacklevel=2,
            )
        self.world.set_color(self.name, _rgb(parts))
        self.world.set_attributes(self.name, color=parts)
        return self

    def setContact(self: ShapesT, contact: int) -> ShapesT:
        """Set the contact flag: 0 never collides, -k ignores near ancestor links."""
        self.world.set_contact(self.name, contact)
        return self

    def setMass(self: ShapesT, mass: float, inertiaMatrix: MatrixLike = ()) -> ShapesT:
        """Set the mass [kg], and the inertia (3, 3) about the centre of mass [kg m²].

        Without an inertia it is that of the shapes.
        """
        self.world.set_mass(self.name, mass)
        if np.size(inertiaMatrix):
            inertia = np.reshape(np.asarray(inertiaMatrix, float), (3, 3))
            self.world.replace_frame(self.name, inertia=inertia)
        return self

    def getMass(self) -> float:
        """Return the mass [kg], 0 if none is set."""
        return self.world.frame(self.name).mass or 0.0

    def getInertia(self) -> tuple[float, np.ndarray, np.ndarray]:
        """Return mass [kg], centre of mass (3,) [m], and inertia (3, 3) [kg m²].

        Without mass the arrays are empty.
        """
        frame = self.world.frame(self.name)
        if not frame.mass:
            return 0.0, np.zeros(0), np.zeros((0, 0))
        body = frame_inertia(frame, frame.mass)
        return body.mass, body.com, body.about_com

    # -- meshes ------------------------------------------------------------------

    def getMesh(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return points (n, 3) [m], triangles (m, 3) and colors of the shapes."""
        return self.getMeshPoints(), self.getMeshTriangles(), self.getMeshColors()

    def getMeshPoints(self) -> np.ndarray:
        """Return the points (n, 3) of the shapes that are seen, in the frame [m]."""
        shape = self.world.frame(self.name).shape
        if isinstance(shape, pw.PointCloud):
            return np.asarray(shape.points, float)
        return np.asarray(frame_mesh(self.world.frame(self.name)).vertices, float)

    def getMeshTriangles(self) -> np.ndarray:
        """Return the corners (m, 3) of triangles, as indices of points."""
        return np.asarray(frame_mesh(self.world.frame(self.name)).faces, np.uint32)

    def getMeshColors(self) -> np.ndarray:
        """Return the color, numbers from 0 to 255: one for grey, else (3,)."""
        color = self.getAttributes().get("color", ())
        return (255 * np.array(color[: 1 if len(color) < 3 else 3])).astype(np.uint8)


def _rgb(color: Any) -> Any:
    """Return a color within 0 to 1, with its grey as red, green and blue."""
    if color is None:
        return None
    parts = np.clip(color, 0.0, 1.0).tolist()
    return [parts[0]] * 3 + parts[1:] if len(parts) in (1, 2) else parts
