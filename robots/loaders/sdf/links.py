"""Reader of what an SDF link carries: shapes, colours, friction, inertia."""

import numpy as np

from ...errors import ConfigError, LoadError
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
from ...kinematics.transforms import (
    IDENTITY,
    matrix_to_quat,
    pose_multiply,
    quat_to_matrix,
)
from ...world.frame import Geometry
from ..left_out import LeftOut
from ..xmltree import XmlElement
from .poses import child_number, child_text, descendant, read_pose, text_numbers

SHAPE_TAGS = ("box", "sphere", "cylinder", "capsule", "ellipsoid", "plane", "mesh")
MASSLESS = "posewise:massless"
"""Tag by which posewise marks a mass that is there for simulators only."""


def read_geometries(
    link: XmlElement, left_out: LeftOut
) -> tuple[tuple[Geometry, ...], tuple[str, ...]]:
    """Return the shapes of a link, those for collision first.

    Returns:
        The shapes, and a text for each shape for collision that cannot be used.
    """
    geometries: list[Geometry] = []
    missing: list[str] = []
    for tag in ("collision", "visual"):
        for element in link.findall(tag):
            is_visual = tag == "visual"
            try:
                posed, pose = _read_shape(element, left_out), read_pose(element)
                color = _read_color(element) if is_visual else None
            except LoadError as error:
                left_out.add(error, f"link {link.required('name')!r}")
                posed = left_out.notes[-1]
            if isinstance(posed, str):
                missing += [] if is_visual else [posed]
                continue
            shape, turn = posed
            pose = np.asarray(pose_multiply(pose, turn))
            geometries.append(
                Geometry(
                    shape, pose, collision=not is_visual, visual=is_visual, color=color
                )
            )
    return tuple(geometries), tuple(missing)


def read_friction(link: XmlElement) -> dict[str, float]:
    """Return the attribute of the largest friction of a link, if one is given."""
    paths = ("surface/friction/ode/mu", "surface/friction/bullet/friction")
    numbers = [child_number(c, p) for c in link.findall("collision") for p in paths]
    stated = [n for n in numbers if n is not None and n >= 0]
    return {"contact_friction": max(stated)} if stated else {}


def read_inertial(
    link: XmlElement, left_out: LeftOut
) -> tuple[float | None, np.ndarray | None, np.ndarray | None]:
    """Return mass, centre of mass (3,), inertia (3, 3) in the link's axes, if given."""
    inertial = link.find("inertial")
    if inertial is None or descendant(inertial, MASSLESS) is not None:
        return None, None, None
    try:
        mass, pose = child_number(inertial, "mass", 1.0), read_pose(inertial)
        if mass is None or not 0 <= mass < np.inf:
            raise inertial.error(f"the mass is {mass}, expected a number >= 0 (kg).")
        inertia = inertial.find("inertia")
        if inertia is None:
            return mass, pose[:3], None
        xx, xy, xz, yy, yz, zz = (
            child_number(inertia, f"i{pair}", float(pair[0] == pair[1])) or 0.0
            for pair in "xx xy xz yy yz zz".split()
        )
    except LoadError as error:
        left_out.add(error, f"link {link.required('name')!r}")
        return None, None, None
    R = quat_to_matrix(pose[3:])
    return (
        mass,
        pose[:3],
        R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T,
    )


def _read_shape(
    element: XmlElement, left_out: LeftOut
) -> tuple[Shape, np.ndarray] | str:
    """Return a shape and its pose, or the name of a lost mesh.

    Raises:
        LoadError: When there is no usable shape.
    """
    kind = element.shape(SHAPE_TAGS)
    if kind.tag == "mesh":
        if kind.find("submesh") is not None:
            raise kind.error("a part of a mesh cannot be used; make it a file.")
        name = child_text(kind, "uri")
        path = left_out.meshes.find(name)
        scale = kind.find("scale")
        factors = np.ones(3) if scale is None else text_numbers(scale, 3)
        if path is None:
            return name
        return Mesh(path, mode="convex", scale=factors), IDENTITY
    try:
        return _primitive(kind)
    except ConfigError as error:
        raise kind.error(str(error)) from error


def _primitive(kind: XmlElement) -> tuple[Shape, np.ndarray]:
    """Return a shape of sizes, and its pose where its axes are not along z."""

    def vector(tag: str, default: tuple[float, ...]) -> np.ndarray:
        child = kind.find(tag)
        return np.array(default) if child is None else text_numbers(child, 3)

    def size(tag: str, default: float) -> float:
        return float(child_number(kind, tag, default) or 0.0)

    if kind.tag == "plane":
        return Plane(), _pose_of_normal(kind, vector("normal", (0.0, 0.0, 1.0)))
    shapes: dict[str, Shape] = {
        "box": Box(vector("size", (1.0, 1.0, 1.0))),
        "sphere": Sphere(size("radius", 1.0)),
        "ellipsoid": Ellipsoid(vector("radii", (1.0, 1.0, 1.0))),
        "cylinder": Cylinder(size("length", 1.0), size("radius", 1.0)),
        "capsule": Capsule(size("length", 1.0), size("radius", 0.5)),
    }
    return shapes[kind.tag], IDENTITY


def _pose_of_normal(plane: XmlElement, normal: np.ndarray) -> np.ndarray:
    """Return the pose of a half-space below a plane of some normal."""
    length = np.linalg.norm(normal)
    if not 0 < length < np.inf:
        raise plane.error(f"the normal is {normal.tolist()}, expected a direction.")
    z = normal / length
    helper = np.eye(3)[int(np.argmin(np.abs(z)))]
    x = np.cross(helper, z)
    x /= np.linalg.norm(x)
    pose = IDENTITY.copy()
    if z[2] < 1:
        pose[3:] = matrix_to_quat(np.stack([x, np.cross(z, x), z], 1))
    return pose


def _read_color(visual: XmlElement) -> tuple[float, ...] | None:
    """Return RGBA of a visual's diffuse colour, if any."""
    color = visual.find("material/diffuse")
    if color is None:
        return None
    count = len((color.text or "").split())
    rgba = text_numbers(color, 3 if count == 3 else 4)
    if np.any((rgba < 0) | (rgba > 1)):
        raise color.error(f"the colour is {rgba.tolist()}, expected 0 to 1.")
    return tuple(rgba.tolist())
