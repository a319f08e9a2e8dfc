"""Reader of what a URDF link carries: shapes, colours and inertia."""

from contextlib import suppress

import numpy as np

from ...errors import ConfigError, LoadError
from ...geometry.shapes import Box, Capsule, Cylinder, Mesh, Shape, Sphere
from ...kinematics.transforms import IDENTITY, make_pose, quat_to_matrix, rpy_to_quat
from ...world.frame import Geometry
from ..left_out import LeftOut
from ..mesh_paths import MeshLocator
from ..xmltree import XmlElement
from .capsules import join_capsules

Color = tuple[float, ...]


def read_origin(element: XmlElement) -> np.ndarray:
    """Return the pose (7,) in the child `<origin>`; identity without one.

    It has `xyz`, and `rpy` or the quaternion `quat_xyzw` of any length but 0.
    """
    origin = element.find("origin")
    if origin is None:
        return IDENTITY.copy()
    return make_pose(origin.numbers("xyz", 3, (0.0, 0.0, 0.0)), _read_rotation(origin))


def _read_rotation(origin: XmlElement) -> np.ndarray:
    """Return the quaternion (w, x, y, z) of an `<origin>`, of any length but 0."""
    if "quat_xyzw" not in origin.attrib:
        return rpy_to_quat(*origin.numbers("rpy", 3, (0.0, 0.0, 0.0)).tolist())
    if "rpy" in origin.attrib:
        raise origin.error("has rpy and quat_xyzw, expected one rotation; delete one.")
    x, y, z, w = origin.numbers("quat_xyzw", 4)
    quaternion = np.array([w, x, y, z])
    # `make_pose` normalises; squares of tiny numbers would vanish there.
    return quaternion / np.abs(quaternion).max()


def read_materials(root: XmlElement, left_out: LeftOut) -> dict[str, Color]:
    """Return colours by material name, from the first place that defines each."""
    visuals = [v for link in root.findall("link") for v in link.findall("visual")]
    colors: dict[str, Color] = {}
    for material in [m for e in [root, *visuals] for m in e.findall("material")]:
        try:
            color = _element_color(material)
        except LoadError as error:
            left_out.add(error)
            continue
        name = material.attrib.get("name", "")
        if color is not None and name:
            colors.setdefault(name, color)
    return colors


def read_geometries(
    link: XmlElement, materials: dict[str, Color], left_out: LeftOut
) -> tuple[tuple[Geometry, ...], tuple[str, ...]]:
    """Return the shapes of a link, those for collision first.

    A cylinder with a sphere at each end is read as the capsule that it is.

    Returns:
        The shapes, and a text for each shape for collision that cannot be used.
    """
    geometries: list[Geometry] = []
    missing: list[str] = []
    for tag in ("collision", "visual"):
        shapes: list[Geometry] = []
        for element in link.findall(tag):
            is_visual = tag == "visual"
            try:
                shape, pose = (
                    _read_shape(element, left_out.meshes),
                    read_origin(element),
                )
            except LoadError as error:
                left_out.add(error, f"link {link.required('name')!r}")
                shape, pose = left_out.notes[-1], IDENTITY
            if isinstance(shape, str):
                missing += [] if is_visual else [shape]
                continue
            shapes.append(
                Geometry(
                    shape=shape,
                    pose=pose,
                    collision=not is_visual,
                    visual=is_visual,
                    color=_read_color(element, materials) if is_visual else None,
                )
            )
        geometries += join_capsules(shapes)
    return tuple(geometries), tuple(missing)


def read_inertial(
    link: XmlElement, left_out: LeftOut
) -> tuple[float | None, np.ndarray | None, np.ndarray | None]:
    """Return mass, centre of mass (3,), inertia (3, 3) in the link's axes, if given."""
    inertial = link.find("inertial")
    if inertial is None:
        return None, None, None
    owner = f"link {link.required('name')!r}"
    try:
        X, mass = read_origin(inertial), _read_mass(inertial)
    except LoadError as error:
        left_out.add(error, owner)
        return None, None, None
    try:
        return mass, X[:3], _read_inertia(inertial, X)
    except LoadError as error:
        left_out.add(error, owner)
        return mass, X[:3], None


def _read_mass(inertial: XmlElement) -> float | None:
    element = inertial.find("mass")
    if element is None:
        return None
    mass = element.number("value")
    if mass < 0:
        raise element.error(f"the mass is {mass}, expected a number >= 0 (kg).")
    return mass


def _read_inertia(inertial: XmlElement, X: np.ndarray) -> np.ndarray | None:
    """Return the inertia (3, 3) in the axes of the link, in which X is the centre's."""
    element = inertial.find("inertia")
    if element is None:
        return None
    xx, xy, xz, yy, yz, zz = (
        element.number(f"i{pair}", 0.0) for pair in "xx xy xz yy yz zz".split()
    )
    R = np.asarray(quat_to_matrix(X[3:]))
    return R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T


def _read_shape(element: XmlElement, meshes: MeshLocator) -> Shape | str:
    """Return the shape in a `<collision>` or `<visual>`, or the name of a lost mesh.

    Meshes collide as their convex hulls, as in MuJoCo.

    Raises:
        LoadError: When there is no usable shape.
    """
    kind = element.shape(SHAPE_TAGS)
    if kind.tag == "mesh":
        scale, name = _read_scale(kind), kind.required("filename")
        path = meshes.find(name)
        return name if path is None else Mesh(path, mode="convex", scale=scale)
    try:
        shape = _read_primitive(kind)
    except ConfigError as error:
        raise kind.error(str(error)) from error
    if all(size == 0 for size in np.hstack([*vars(shape).values()])):
        raise kind.error("all sizes are 0, so that there is nothing to collide with.")
    return shape


SHAPE_TAGS = ("box", "sphere", "cylinder", "capsule", "mesh")


def _read_primitive(kind: XmlElement) -> Shape:
    if kind.tag == "box":
        return Box(kind.numbers("size", 3))
    if kind.tag == "sphere":
        return Sphere(kind.number("radius"))
    if kind.tag == "cylinder":
        return Cylinder(kind.number("length"), kind.number("radius"))
    return Capsule(kind.number("length"), kind.number("radius"))


def _read_scale(mesh: XmlElement) -> np.ndarray:
    """Return the scale (3,); a single number holds for all axes."""
    words = mesh.attrib.get("scale", "1").split()
    scale = mesh.numbers("scale", 1 if len(words) == 1 else 3, (1.0,))
    if np.any(scale == 0):
        raise mesh.error(f"scale is {scale.tolist()}, expected numbers other than 0.")
    return np.broadcast_to(scale, (3,)).copy()


def _read_color(visual: XmlElement, materials: dict[str, Color]) -> Color | None:
    material = visual.find("material")
    if material is None:
        return None
    # A colour that cannot be used is recorded by `read_materials`.
    with suppress(LoadError):
        if color := _element_color(material):
            return color
    return materials.get(material.attrib.get("name", ""))


def _element_color(material: XmlElement) -> Color | None:
    color = material.find("color")
    if color is None:
        return None
    words = color.attrib.get("rgba", "").split()
    rgba = color.numbers("rgba", 3 if len(words) == 3 else 4)
    if np.any((rgba < 0) | (rgba > 1)):
        raise color.error(f"rgba is {rgba.tolist()}, expected numbers from 0 to 1.")
    return tuple(rgba.tolist())
