"""Writing URDF: every frame a link, every joint one or more URDF joints.

URDF knows joints of one coordinate (and `planar`, `floating`), one root, unique names
and box, sphere, cylinder, mesh; `<capsule>` is a widely read extension. What has no
counterpart is rewritten exactly where that is possible, and refused where it is not.
"""

import os
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import numpy as np

from .errors import ConfigError
from .frame import Frame, Geometry, Joint, Model
from .joints import joint_type, motion, resolve_axis, zero_value
from .shapes import Box, Capsule, Convex, Cylinder, Ellipsoid, Mesh, Shape, Sphere
from .transforms import IDENTITY, pose_multiply, quat_to_matrix

if TYPE_CHECKING:
    from trimesh import Trimesh
else:
    Trimesh = Any

UNLIMITED = 1e9
"""Stands for no limit where URDF demands a number; `read_urdf` reads it so."""


def write_urdf(
    model: Model, name: str = "posewise", meshes: str | Path | None = None
) -> str:
    """The text of a URDF file.

    Joints of several coordinates become chains of joints with massless links between;
    locked joints become fixed ones at their value. Several roots, or one that is not
    at the world's origin, hang on a link `world`. Markers, planes and point clouds
    are left out, rounded edges become sharp.

    Args:
        model: The frames.
        name: The robot's name.
        meshes: A folder for shapes that only a mesh can express, written as STL and
            referred to as `<folder's name>/<file>`: save the text beside the folder.

    Raises:
        ConfigError: for names used twice, ball joints, and meshes without a folder.
    """
    writer = _Writer(model, ET.Element("robot", name=name), _folder(meshes))
    writer.write()
    ET.indent(writer.robot)
    text = ET.tostring(writer.robot, encoding="unicode")
    return f'<?xml version="1.0"?>\n{text}\n'


def pose_to_rpy(pose: np.ndarray) -> tuple[float, float, float]:
    """URDF's roll, pitch and yaw of a pose (7,), accurate also at pitch = ±π/2."""
    R = quat_to_matrix(pose[3:])
    yaw = np.arctan2(R[1, 0], R[0, 0])
    c, s = np.cos(yaw), np.sin(yaw)
    pitch = np.arctan2(-R[2, 0], c * R[0, 0] + s * R[1, 0])
    roll = np.arctan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])
    return float(roll), float(pitch), float(yaw)


@dataclass(frozen=True, eq=False)
class _Writer:
    model: Model
    robot: ET.Element
    meshes: Path | None
    links: set[str] = field(default_factory=set)
    joints: set[str] = field(default_factory=set)
    moving: dict[int, str] = field(default_factory=dict)
    """Joint names of the frames that move, by index."""

    def write(self) -> None:
        frames = self.model.frames
        _refuse_repeated("frame", [f.name for f in frames])
        self._find_moving()
        _refuse_repeated("joint", list(self.moving.values()))
        self.links.update(f.name for f in frames)
        self.joints.update(self.moving.values())
        world = self._world()
        if world not in self.links:
            self.links.add(world)
            ET.SubElement(self.robot, "link", name=world)
        for i, frame in enumerate(frames):
            self._link(frame)
            if frame.parent is not None:
                self._joint(i, frame, frames[frame.parent].name)
            elif frame.name != world:
                self._joint(i, frame, world)

    def _world(self) -> str:
        """The name of the root link; one of the frames', or `world` to be added."""
        frames = self.model.frames
        roots = [f for f in frames if f.parent is None]
        fixed = [f for f in roots if not f.joint and np.allclose(f.origin, IDENTITY)]
        if len(roots) == 1 and fixed:
            return roots[0].name
        if "world" in self.links and "world" not in [f.name for f in fixed]:
            raise ConfigError(
                "write_urdf: the model has several roots or a moved one and would hang"
                " on a link 'world', but a frame of that name is not at the world's"
                " origin; rename it."
            )
        return "world"

    def _link(self, frame: Frame) -> None:
        link = ET.SubElement(self.robot, "link", name=frame.name)
        if frame.mass is not None:
            inertial = ET.SubElement(link, "inertial")
            com = np.zeros(3) if frame.com is None else frame.com
            ET.SubElement(inertial, "origin", xyz=_words(com), rpy="0 0 0")
            ET.SubElement(inertial, "mass", value=_words([frame.mass]))
            if frame.inertia is not None:
                pairs = [
                    ("xyz"[i] + "xyz"[j], i, j) for i in range(3) for j in range(i, 3)
                ]
                values = {
                    f"i{pair}": _words([frame.inertia[i, j]]) for pair, i, j in pairs
                }
                ET.SubElement(inertial, "inertia", values)
        for k, geometry in enumerate(frame.geometries):
            self._geometry(link, frame, k, geometry)

    def _geometry(
        self, link: ET.Element, frame: Frame, k: int, geometry: Geometry
    ) -> None:
        described = self._shape(geometry.shape, f"{frame.name}_{k}")
        if described is None:
            return
        tag, attributes = described
        uses = {"collision": geometry.collision, "visual": geometry.visual}
        for use in [use for use, wanted in uses.items() if wanted]:
            element = ET.SubElement(link, use)
            _origin(element, geometry.pose)
            shape = ET.SubElement(element, "geometry")
            ET.SubElement(shape, tag, attributes)
            if use == "visual" and geometry.color is not None:
                material = ET.SubElement(element, "material", name=f"{frame.name}_{k}")
                color = [*geometry.color, 1.0][:4]
                ET.SubElement(material, "color", rgba=_words(color))

    def _shape(self, shape: Shape, name: str) -> tuple[str, dict[str, str]] | None:
        """The tag and attributes of a shape; None for one without extent."""
        if isinstance(shape, Box):
            return "box", {"size": _words(shape.size)}
        if isinstance(shape, Sphere):
            return "sphere", {"radius": _words([shape.radius])}
        if isinstance(shape, Cylinder | Capsule):
            sizes = {
                "radius": _words([shape.radius]),
                "length": _words([shape.length]),
            }
            return ("capsule" if isinstance(shape, Capsule) else "cylinder"), sizes
        if isinstance(shape, Mesh) and isinstance(shape.source, str | os.PathLike):
            file = str(Path(shape.source).absolute())
            return "mesh", {"filename": file, "scale": _words(shape.scale)}
        if isinstance(shape, Mesh | Convex | Ellipsoid):
            return "mesh", {"filename": self._save(shape, name)}
        return None

    def _save(self, shape: Mesh | Convex | Ellipsoid, name: str) -> str:
        """Write a shape's triangles, and return how the file is referred to."""
        if self.meshes is None:
            raise ConfigError(
                f"write_urdf: shape {name!r} is a {type(shape).__name__} and must be"
                " saved as a mesh; pass meshes=folder."
            )
        self.meshes.mkdir(parents=True, exist_ok=True)
        file = re.sub(r"[^\w.-]", "_", name) + ".stl"
        _triangles(shape).export(self.meshes / file)
        return f"{self.meshes.name}/{file}"

    def _joint(self, i: int, frame: Frame, parent: str) -> None:
        joint, origin = frame.joint, frame.origin
        if joint is not None and i not in self.moving:
            motion_ = motion(joint.type, joint.axis, self._locked_value(i, joint))
            origin = pose_multiply(origin, motion_)
        if joint is None or i not in self.moving:
            name = frame.attributes.get("joint_name", f"{frame.name}_fixed")
            self._add_joint(
                self._new(name, self.joints), "fixed", parent, frame, origin
            )
            return
        kind = joint_type(joint.type)
        if joint.type == "planar" and joint.limits is None:
            element = self._add_joint(joint.name, "planar", parent, frame, origin)
            _axis(element, joint.axis)
            return
        if len(kind.nodes) == 1 and kind.dim == 7:
            self._add_joint(joint.name, "floating", parent, frame, origin)
            return
        if kind.balls:
            raise ConfigError(
                f"write_urdf: joint {joint.name!r} is of type {joint.type!r}, but URDF"
                " has no ball joint; use three hinges, or 'free'."
            )
        self._chain(joint, frame, parent, origin)

    def _chain(
        self, joint: Joint, frame: Frame, parent: str, origin: np.ndarray
    ) -> None:
        """One URDF joint per coordinate, with links between them."""
        steps = []
        for node in joint_type(joint.type).nodes:
            steps += [(k, a, True) for k, a in node.translations]
            steps += [] if node.rotation is None else [(*node.rotation, False)]
        for n, (k, axis, slides) in enumerate(steps):
            last = n == len(steps) - 1
            child = frame
            if not last:
                child = Frame(self._new(f"{frame.name}_{n}", self.links))
                ET.SubElement(self.robot, "link", name=child.name)
            self._single(
                joint, k, slides, parent, child, origin if n == 0 else IDENTITY
            )
            _axis(self.robot[-1], resolve_axis(axis, joint.axis))
            parent = child.name

    def _single(
        self,
        joint: Joint,
        k: int,
        slides: bool,
        parent: str,
        child: Frame,
        origin: np.ndarray,
    ) -> None:
        """Coordinate k of a joint, in the unit of motion (scale · q)."""
        limits = np.array([-np.inf, np.inf])
        if joint.limits is not None:
            limits = np.sort(joint.scale * joint.limits[:, k])
        unlimited = bool(np.all(np.isinf(limits)))
        kind = "prismatic" if slides else "continuous" if unlimited else "revolute"
        element = self._add_joint(_coordinate(joint, k), kind, parent, child, origin)
        bounds = {
            key: UNLIMITED if values is None else abs(factor) * float(values[k])
            for key, values, factor in (
                ("effort", joint.effort, 1.0),
                ("velocity", joint.velocity, joint.scale),
            )
        }
        if kind != "continuous":
            lower, upper = np.clip(limits, -UNLIMITED, UNLIMITED)
            bounds = {"lower": float(lower), "upper": float(upper)} | bounds
        text = {key: _words([value]) for key, value in bounds.items()}
        if (
            kind != "continuous"
            or joint.effort is not None
            or joint.velocity is not None
        ):
            ET.SubElement(element, "limit", text)
        if joint.mimic is not None:
            _, leader, _, _ = self._leader(-1, joint)
            followed = joint.mimic if joint.dim == 1 else f"{joint.mimic}_{k}"
            mimic = {
                "joint": followed,
                "multiplier": _words([joint.multiplier]),
                "offset": _words([leader.scale * joint.offset]),
            }
            ET.SubElement(element, "mimic", mimic)

    def _find_moving(self) -> None:
        for i, frame in enumerate(self.model.frames):
            if frame.joint is not None and frame.joint.dim > 0:
                _, leader, _, _ = self._leader(i, frame.joint)
                if leader.active:
                    self.moving[i] = frame.joint.name

    def _leader(self, i: int, joint: Joint) -> tuple[int, Joint, float, float]:
        """The joint that is followed in the end: index, multiplier and offset."""
        multiplier, offset, seen = 1.0, 0.0, {i}
        while joint.mimic is not None:
            offset += multiplier * joint.offset
            multiplier *= joint.multiplier
            found = [
                (k, f.joint)
                for k, f in enumerate(self.model.frames)
                if f.joint is not None and f.joint.name == joint.mimic
            ]
            if not found or found[-1][0] in seen:
                raise ConfigError(
                    f"write_urdf: joint {joint.name!r} follows {joint.mimic!r}, which"
                    " is not in the model or follows it in turn."
                )
            i, joint = found[-1]
            seen.add(i)
        return i, joint, multiplier, offset

    def _locked_value(self, i: int, joint: Joint) -> np.ndarray:
        """What a joint that does not move stands at, in the unit of motion."""
        k, leader, multiplier, offset = self._leader(i, joint)
        q = self.model.q.get(k, leader.q)
        q = zero_value(leader.type) if q is None else q
        return leader.scale * (multiplier * q + offset)

    def _add_joint(
        self, name: str, kind: str, parent: str, frame: Frame, origin: np.ndarray
    ) -> ET.Element:
        element = ET.SubElement(self.robot, "joint", name=name, type=kind)
        _origin(element, origin)
        ET.SubElement(element, "parent", link=parent)
        ET.SubElement(element, "child", link=frame.name)
        dynamics = {
            key: _words([frame.attributes[key]])
            for key in ("damping", "friction")
            if isinstance(frame.attributes.get(key), int | float)
        }
        if dynamics:
            ET.SubElement(element, "dynamics", dynamics)
        return element

    def _new(self, name: str, used: set[str]) -> str:
        """A name not used yet, and now used."""
        while name in used:
            name += "_"
        used.add(name)
        return name


def _coordinate(joint: Joint, k: int) -> str:
    return joint.name if joint.dim == 1 else f"{joint.name}_{k}"


def _folder(meshes: str | Path | None) -> Path | None:
    return None if meshes is None else Path(meshes)


def _refuse_repeated(kind: str, names: list[str]) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ConfigError(
            f"write_urdf: {kind} names used more than once:"
            f" {', '.join(map(repr, repeated[:8]))}; URDF needs them unique."
        )


def _triangles(shape: Mesh | Convex | Ellipsoid) -> Trimesh:
    if isinstance(shape, Mesh):
        return shape.mesh
    import trimesh

    ball = trimesh.creation.icosphere(
        subdivisions=3 if isinstance(shape, Ellipsoid) else 2
    )
    if isinstance(shape, Ellipsoid):
        ball.apply_scale(shape.radii)
        return ball
    points = shape.vertices
    if shape.rounding > 0:
        points = (points[:, None] + shape.rounding * ball.vertices).reshape(-1, 3)
    return trimesh.PointCloud(points).convex_hull


def _words(values) -> str:
    """Numbers so that reading them gives them back."""
    return " ".join(repr(float(v) + 0.0).removesuffix(".0") for v in values)


def _origin(element: ET.Element, pose: np.ndarray) -> None:
    if np.array_equal(pose, IDENTITY):
        return
    rpy = _words(pose_to_rpy(pose))
    ET.SubElement(element, "origin", xyz=_words(pose[:3]), rpy=rpy)


def _axis(element: ET.Element, axis: np.ndarray | None) -> None:
    ET.SubElement(element, "axis", xyz=_words([1, 0, 0] if axis is None else axis))
