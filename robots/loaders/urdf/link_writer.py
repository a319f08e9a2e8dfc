"""Writer of URDF links: shapes, colours, inertia; and of numbers and poses."""

import hashlib
import os
import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import numpy as np

from ...errors import ConfigError
from ...geometry.shapes import (
    Box,
    Capsule,
    Convex,
    Cylinder,
    Ellipsoid,
    Mesh,
    Shape,
    Sphere,
)
from ...kinematics.transforms import IDENTITY, quat_to_matrix
from ...world.frame import Frame, Geometry

if TYPE_CHECKING:
    from trimesh import Trimesh  # slow to import


def add_link(robot: ET.Element, frame: Frame, meshes: Path | None) -> None:
    """Add the link of a frame, with its shapes and inertia.

    Raises:
        ConfigError: For a shape that only a mesh can express, without a folder.
    """
    link = ET.SubElement(robot, "link", name=frame.name)
    if frame.mass is not None:
        inertial = ET.SubElement(link, "inertial")
        com = np.zeros(3) if frame.com is None else frame.com
        ET.SubElement(inertial, "origin", xyz=format_numbers(com), rpy="0 0 0")
        ET.SubElement(inertial, "mass", value=format_numbers([frame.mass]))
        if frame.inertia is not None:
            pairs = [("xyz"[i] + "xyz"[j], i, j) for i in range(3) for j in range(i, 3)]
            values = {
                f"i{pair}": format_numbers([frame.inertia[i, j]])
                for pair, i, j in pairs
            }
            ET.SubElement(inertial, "inertia", values)
    for k, geometry in enumerate(frame.geometries):
        _add_geometry(link, frame, k, geometry, meshes)


def _add_geometry(
    link: ET.Element, frame: Frame, k: int, geometry: Geometry, meshes: Path | None
) -> None:
    element_of_shape = _shape_element(geometry.shape, f"{frame.name}_{k}", meshes)
    if element_of_shape is None:
        return
    tag, attributes = element_of_shape
    uses = {"collision": geometry.collision, "visual": geometry.visual}
    for use in [use for use, is_used in uses.items() if is_used]:
        element = ET.SubElement(link, use)
        add_origin(element, geometry.pose)
        shape = ET.SubElement(element, "geometry")
        ET.SubElement(shape, tag, attributes)
        if use == "visual" and geometry.color is not None:
            material = ET.SubElement(element, "material", name=f"{frame.name}_{k}")
            color = [*geometry.color, 1.0][:4]
            ET.SubElement(material, "color", rgba=format_numbers(color))


def _shape_element(
    shape: Shape, name: str, meshes: Path | None
) -> tuple[str, dict[str, str]] | None:
    """Return the tag and attributes of a shape; None for one without extent."""
    if isinstance(shape, Box):
        return "box", {"size": format_numbers(shape.size)}
    if isinstance(shape, Sphere):
        return "sphere", {"radius": format_numbers([shape.radius])}
    if isinstance(shape, Cylinder | Capsule):
        sizes = {
            "radius": format_numbers([shape.radius]),
            "length": format_numbers([shape.length]),
        }
        return ("capsule" if isinstance(shape, Capsule) else "cylinder"), sizes
    if isinstance(shape, Mesh) and isinstance(shape.source, str | os.PathLike):
        return "mesh", {
            "filename": _copy_mesh(Path(shape.source).absolute(), meshes),
            "scale": format_numbers(np.asarray(shape.scale)),
        }
    if isinstance(shape, Mesh | Convex | Ellipsoid):
        return "mesh", {"filename": _save_mesh(shape, name, meshes)}
    return None


def _copy_mesh(file: Path, meshes: Path | None) -> str:
    """Copy a mesh file beside the description, and return the reference to it.

    Readers refuse files outside of the description's folders. Without a folder of
    meshes, the file is referred to where it is.
    """
    if meshes is None:
        return str(file)
    folder = _digest(str(file.parent))
    copy = meshes / folder / _plain_name(file.name)
    if copy.resolve() != file.resolve():
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
    return f"{meshes.name}/{folder}/{copy.name}"


def _plain_name(file: str) -> str:
    """Return a name of a file in the letters that every locale and file system has."""
    stem, suffix = os.path.splitext(file)
    plain = re.sub(r"[^\w.-]", "_", stem, flags=re.ASCII)
    # A digest tells names apart that differ in other letters only.
    return f"{plain if plain == stem else f'{plain}_{_digest(stem)}'}{suffix}"


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:8]


def _save_mesh(shape: Mesh | Convex | Ellipsoid, name: str, meshes: Path | None) -> str:
    """Write the triangles of a shape, and return the reference to the file."""
    if meshes is None:
        raise ConfigError(
            f"write_urdf: shape {name!r} is a {type(shape).__name__} and must be"
            " saved as a mesh; pass meshes=folder."
        )
    meshes.mkdir(parents=True, exist_ok=True)
    file = _plain_name(f"{name}.stl")
    _triangles(shape).export(meshes / file)
    return f"{meshes.name}/{file}"


def _triangles(shape: Mesh | Convex | Ellipsoid) -> "Trimesh":
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


def format_numbers(values: Iterable[float] | np.ndarray) -> str:
    """Return numbers as text that reads back exactly."""
    return " ".join(repr(float(v) + 0.0).removesuffix(".0") for v in values)


def pose_to_rpy(pose: np.ndarray) -> tuple[float, float, float]:
    """Return URDF's roll, pitch and yaw of a pose (7,), accurate also at pitch = ±π/2.

    Pitch and roll are taken from the rotation with the yaw removed, so that at the
    singularity, where the yaw is arbitrary, they are consistent with it.
    """
    R = quat_to_matrix(pose[3:])
    yaw = np.arctan2(R[1, 0], R[0, 0])
    c, s = np.cos(yaw), np.sin(yaw)
    pitch = np.arctan2(-R[2, 0], c * R[0, 0] + s * R[1, 0])
    roll = np.arctan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])
    return float(roll), float(pitch), float(yaw)


def add_origin(element: ET.Element, pose: np.ndarray) -> None:
    """Add `<origin>` for a pose (7,), unless it is the identity."""
    if np.array_equal(pose, IDENTITY):
        return
    rpy = format_numbers(pose_to_rpy(pose))
    ET.SubElement(element, "origin", xyz=format_numbers(pose[:3]), rpy=rpy)
