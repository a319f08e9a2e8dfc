"""Reader of what a URDF link carries: shapes, colours and inertia."""

import numpy as np

from ...errors import ConfigError
from ...geometry.mesh_paths import MeshLocator
from ...geometry.shapes import Box, Capsule, Cylinder, Mesh, Shape, Sphere
from ...kinematics.transforms import IDENTITY, make_pose, quat_to_matrix, rpy_to_quat
from ...world.frame import Geometry
from ..xmltree import XmlElement

Color = tuple[float, ...]


def read_origin(element: XmlElement) -> np.ndarray:
    """Return the pose (7,) in the child `<origin xyz rpy>`; identity without one."""
    origin = element.find("origin")
    if origin is None:
        return IDENTITY.copy()
    roll, pitch, yaw = origin.numbers("rpy", 3, (0.0, 0.0, 0.0)).tolist()
    return make_pose(
        origin.numbers("xyz", 3, (0.0, 0.0, 0.0)), rpy_to_quat(roll, pitch, yaw)
    )


def read_materials(root: XmlElement) -> dict[str, Color]:
    """Return colours by material name, from the first place that defines each."""
    visuals = [v for link in root.findall("link") for v in link.findall("visual")]
    colors: dict[str, Color] = {}
    for material in [m for e in [root, *visuals] for m in e.findall("material")]:
        color, name = _element_color(material), material.attrib.get("name", "")
        if color is not None and name:
            colors.setdefault(name, color)
    return colors


def read_geometries(
    link: XmlElement, materials: dict[str, Color], meshes: MeshLocator
) -> tuple[Geometry, ...]:
    """Return the shapes of a link, those for collision first."""
    geometries = []
    for tag in ("collision", "visual"):
        for element in link.findall(tag):
            shape = _read_shape(element, meshes)
            if shape is None:
                continue
            is_visual = tag == "visual"
            geometries.append(
                Geometry(
                    shape=shape,
                    pose=read_origin(element),
                    collision=not is_visual,
                    visual=is_visual,
                    color=_read_color(element, materials) if is_visual else None,
                )
            )
    return tuple(geometries)


def read_inertial(
    link: XmlElement,
) -> tuple[float | None, np.ndarray | None, np.ndarray | None]:
    """Return mass, centre of mass (3,), inertia (3, 3) in the link's axes, if given."""
    inertial = link.find("inertial")
    if inertial is None:
        return None, None, None
    X = read_origin(inertial)
    mass = inertia = None
    element = inertial.find("mass")
    if element is not None:
        mass = element.number("value")
        if mass < 0:
            raise element.error(
                f"of link {link.required('name')!r}: the mass is {mass}, expected a"
                " number >= 0 (kg)."
            )
    element = inertial.find("inertia")
    if element is not None:
        xx, xy, xz, yy, yz, zz = (
            element.number(f"i{pair}", 0.0) for pair in "xx xy xz yy yz zz".split()
        )
        R = np.asarray(quat_to_matrix(X[3:]))
        inertia = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
    return mass, X[:3], inertia


def _read_shape(element: XmlElement, meshes: MeshLocator) -> Shape | None:
    """Return the shape in a `<collision>` or `<visual>`; None for a missing mesh.

    Meshes collide as their convex hulls, as in MuJoCo.
    """
    geometry = element.find("geometry")
    kinds = [] if geometry is None else list(geometry)
    if not kinds:
        raise element.error(
            "has no shape; expected <geometry> with <box>, <sphere>, <cylinder>,"
            " <capsule> or <mesh> in it."
        )
    kind = kinds[0]
    try:
        if kind.tag == "box":
            return Box(kind.numbers("size", 3))
        if kind.tag == "sphere":
            return Sphere(kind.number("radius"))
        if kind.tag == "cylinder":
            return Cylinder(kind.number("length"), kind.number("radius"))
        if kind.tag == "capsule":
            return Capsule(kind.number("length"), kind.number("radius"))
    except ConfigError as error:
        raise kind.error(str(error)) from error
    if kind.tag == "mesh":
        scale = _read_scale(kind)
        path = meshes.find(kind.required("filename"))
        return None if path is None else Mesh(path, mode="convex", scale=scale)
    raise kind.error(
        "this shape is unknown; expected box, sphere, cylinder, capsule or mesh."
    )


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
    return _element_color(material) or materials.get(material.attrib.get("name", ""))


def _element_color(material: XmlElement) -> Color | None:
    color = material.find("color")
    if color is None:
        return None
    words = color.attrib.get("rgba", "").split()
    return tuple(color.numbers("rgba", 3 if len(words) == 3 else 4).tolist())
