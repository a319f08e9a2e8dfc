"""Writer of URDF links: shapes, colours, inertia."""

import os
from pathlib import Path
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
from ...kinematics.transforms import IDENTITY
from ...world.frame import Frame, Geometry
from ..mesh_writing import copy_mesh, save_mesh, shape_mesh
from ..number_text import format_numbers, pose_to_rpy


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
        file = Path(shape.source).absolute()
        return "mesh", {
            "filename": str(file) if meshes is None else copy_mesh(file, meshes),
            "scale": format_numbers(np.asarray(shape.scale)),
        }
    if isinstance(shape, Mesh | Convex | Ellipsoid):
        if meshes is None:
            raise ConfigError(
                f"write_urdf: shape {name!r} is a {type(shape).__name__} and must be"
                " saved as a mesh; pass meshes=folder."
            )
        return "mesh", {"filename": save_mesh(shape_mesh(shape), name, meshes)}
    return None


def add_origin(element: ET.Element, pose: np.ndarray) -> None:
    """Add `<origin>` for a pose (7,), unless it is the identity."""
    if np.array_equal(pose, IDENTITY):
        return
    rpy = format_numbers(pose_to_rpy(pose))
    ET.SubElement(element, "origin", xyz=format_numbers(pose[:3]), rpy=rpy)
