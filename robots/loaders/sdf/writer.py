"""Writer of SDF: a world with a model for each tree of frames, in its present state.

Where SDF has nothing to say what posewise knows, such as the value of a joint in the
pose of the file, elements have the prefix `posewise:`, which other readers skip.
"""

import os
from collections.abc import Collection, Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np

from ...contact.collision_pairs import adjacent_bodies
from ...errors import ConfigError
from ...geometry.shapes import (
    Box,
    Capsule,
    Convex,
    Cylinder,
    Ellipsoid,
    Mesh,
    Sphere,
)
from ...kinematics.transforms import IDENTITY
from ...masses.shape_inertia import BodyInertia
from ...world.frame import Model
from ...world.friction import contact_friction
from ..mesh_writing import copy_mesh, save_mesh, shape_mesh
from ..number_text import format_numbers
from ..written_links import Step, WrittenLink, written_links
from ..written_shapes import WrittenShape, written_shapes
from ..xmltree import XML_DECLARATION
from .joints import NAME, POSITION
from .links import MASSLESS

VERSION = "1.10"
"""Version of the format: the first one with joints that mimic others."""
WORLD = "world"
MESH_SUFFIXES = (".stl", ".obj", ".dae", ".glb")
"""Suffixes of the mesh files that Gazebo reads."""
LEAST_INERTIA = BodyInertia(1e-6, np.zeros(3), 1e-9 * np.eye(3))
"""Mass [kg] and inertia [kg m²] of links without any, which SDF would give 1 kg."""


def write_sdf(
    model: Model, colliding: Collection[tuple[int, int]], meshes: Path
) -> str:
    """Return the text of an SDF world.

    Args:
        model: The frames, and the state.
        colliding: Pairs of frames, the lower index first, that may collide.
        meshes: A folder for meshes, to which the text refers as `<folder's name>/…`:
            save the text beside the folder.

    Raises:
        ConfigError: For names used twice or reserved, and for joints of several
            coordinates other than balls.
    """
    links = written_links(model, "write_sdf")
    root = ET.Element("sdf", {"version": VERSION, "xmlns:posewise": "urn:posewise"})
    world = ET.SubElement(root, "world", name="posewise")
    trees: dict[int, list[int]] = {}
    tops: list[int] = []
    for i, link in enumerate(links):
        _check(link)
        tops.append(_top(links, i))
        trees.setdefault(tops[i], []).append(i)
    for top, members in trees.items():
        if links[top].frame.name == WORLD:
            continue
        if len(members) == 1 and _is_marker(links, top):
            frame = ET.SubElement(world, "frame", name=links[top].frame.name)
            _add_pose(frame, links[top].world_pose)
            continue
        _ModelWriter(world, links, top, members, meshes).write(colliding)
    ET.indent(root)
    return f"{XML_DECLARATION}\n{ET.tostring(root, encoding='unicode')}\n"


def _check(link: WrittenLink) -> None:
    frame = link.frame
    is_world = frame.parent is None and frame.joint is None and not frame.geometries
    is_world &= np.array_equal(frame.origin, IDENTITY)
    if frame.name == WORLD and not is_world or frame.name.startswith("__"):
        raise ConfigError(
            f"write_sdf: the frame {frame.name!r} has a name that SDF reserves; rename"
            " it."
        )
    if len(link.steps) + link.has_ball > 1:
        raise ConfigError(
            f"write_sdf: the joint of {frame.name!r} has several coordinates, expected"
            " one or a ball; split it into a chain of frames, or use write_mjcf."
        )


def _top(links: Sequence[WrittenLink], i: int) -> int:
    """Return the uppermost frame of a model; what hangs on the world is one."""
    parent = links[i].parent
    while parent is not None and links[parent].frame.name != WORLD:
        i, parent = parent, links[parent].parent
    return i


def _is_marker(links: Sequence[WrittenLink], i: int) -> bool:
    """Return whether a fixed frame has neither shapes, mass, nor children."""
    link = links[i]
    is_bare = not link.steps and not link.is_loose and not link.has_ball
    is_bare &= link.inertia is None and not written_shapes(link.frame)
    return is_bare and all(other.parent != i for other in links)


class _ModelWriter:
    """Adds a model of some links to a world."""

    def __init__(
        self,
        world: ET.Element,
        links: Sequence[WrittenLink],
        top: int,
        members: Sequence[int],
        meshes: Path,
    ) -> None:
        self.links, self.top, self.members, self.meshes = links, top, members, meshes
        self.model = ET.SubElement(world, "model", name=links[top].frame.name)
        self.is_static = all(links[i].root is None for i in members)
        self.names = {links[i].frame.name for i in members}
        """Names of links and joints, which may not be the same."""
        self.joint_names: dict[str, str] = {}
        """Names of joints in the file, by the names of steps."""

    def write(self, colliding: Collection[tuple[int, int]]) -> None:
        links, top = self.links, self.links[self.top]
        _add_pose(self.model, top.world_pose)
        if self.is_static:
            _add_text(self.model, "static", "true")
        elif self._has_inner_pairs(colliding):
            _add_text(self.model, "self_collide", "true")
        for i in self.members:
            for step in links[i].steps:
                self.joint_names[step.name] = self._new(step.name)
        for i in self.members:
            link = links[i]
            if _is_marker(links, i) and link.parent is not None:
                parent = links[link.parent].frame.name
                name = link.frame.name
                frame = ET.SubElement(self.model, "frame", name=name)
                frame.set("attached_to", parent)
                _add_pose(frame, link.pose)
                continue
            self._add_link(i, link)
            if i != self.top or not (link.is_loose or self.is_static):
                self._add_joint(i, link)

    def _has_inner_pairs(self, colliding: Collection[tuple[int, int]]) -> bool:
        """Return whether any two links collide that no joint connects."""
        index = {i: k for k, i in enumerate(self.members)}
        parents = [
            None if k == 0 else index[self.links[i].parent or 0]
            for k, i in enumerate(self.members)
        ]
        jointed = [bool(link.steps) or link.has_ball for link in self._own_links()]
        adjacent = adjacent_bodies(parents, jointed)
        inner = [(index[a], index[b]) for a, b in colliding if {a, b} <= index.keys()]
        return any(pair not in adjacent for pair in inner)

    def _own_links(self) -> list[WrittenLink]:
        return [self.links[i] for i in self.members]

    def _new(self, name: str) -> str:
        """Return a name that is not used yet, and mark it as used."""
        while name in self.names:
            name += "_joint"
        self.names.add(name)
        return name

    def _add_link(self, i: int, link: WrittenLink) -> None:
        element = ET.SubElement(self.model, "link", name=link.frame.name)
        if i != self.top and link.parent is not None:
            parent = self.links[link.parent].frame.name
            pose = _add_pose(element, link.pose)
            pose.set("relative_to", parent)
        if link.inertia is not None or not self.is_static:
            _add_inertia(element, link.inertia)
        for shape in written_shapes(link.frame):
            for use in ("collision", "visual"):
                if getattr(shape, use):
                    part = ET.SubElement(element, use, name=f"{shape.name}_{use}")
                    _add_pose(part, shape.pose)
                    _add_geometry(part, shape, self.meshes)
                    if use == "visual" and shape.color is not None:
                        material = ET.SubElement(part, "material")
                        rgba = format_numbers([*shape.color, 1.0][:4])
                        for light in ("ambient", "diffuse"):
                            _add_text(material, light, rgba)
                    elif use == "collision":
                        _add_friction(part, contact_friction(link.frame))

    def _add_joint(self, i: int, link: WrittenLink) -> None:
        """Add the joint between a link and its parent, or the world."""
        parent = WORLD
        if i != self.top and link.parent is not None:
            parent = self.links[link.parent].frame.name
        joint = link.frame.joint
        step = link.steps[0] if link.steps else None
        if step is not None:
            kind = "prismatic" if step.slides else "revolute"
            if not step.slides and np.isinf(step.limits).all():
                kind = "continuous"
            name, own_name = self.joint_names[step.name], step.name
        elif link.has_ball and joint is not None:
            kind, name, own_name = "ball", self._new(joint.name), joint.name
        else:
            stated = link.frame.attributes.get("joint_name")
            own_name = str(stated or f"{link.frame.name}_fixed")
            kind, name = "fixed", self._new(own_name)
        element = ET.SubElement(self.model, "joint", name=name, type=kind)
        if name != own_name:
            _add_text(element, NAME, own_name)
        _add_text(element, "parent", parent)
        _add_text(element, "child", link.frame.name)
        if step is not None:
            self._add_axis(element, link, step)

    def _add_axis(self, element: ET.Element, link: WrittenLink, step: Step) -> None:
        axis = ET.SubElement(element, "axis")
        _add_text(axis, "xyz", format_numbers(step.axis))
        limit = ET.SubElement(axis, "limit")
        for side, bound in zip(("lower", "upper"), step.limits, strict=True):
            if np.isfinite(bound):
                # In SDF the joint is at 0 in the pose of the file.
                _add_text(limit, side, format_numbers([bound - step.position]))
        for key, bound in (("effort", step.effort), ("velocity", step.velocity)):
            if bound is not None:
                _add_text(limit, key, format_numbers([bound]))
        dynamics = ET.SubElement(axis, "dynamics")
        for key in ("damping", "friction"):
            loss = link.frame.attributes.get(key)
            if isinstance(loss, int | float):
                _add_text(dynamics, key, format_numbers([loss]))
        if step.leader is not None and step.leader[0] in self.joint_names:
            leader, multiplier, _ = step.leader
            mimic = ET.SubElement(axis, "mimic", joint=self.joint_names[leader])
            _add_text(mimic, "multiplier", format_numbers([multiplier]))
            _add_text(mimic, "offset", "0")
            _add_text(mimic, "reference", "0")
        if step.position:
            _add_text(axis, POSITION, format_numbers([step.position]))


def _add_text(element: ET.Element, tag: str, text: str) -> None:
    ET.SubElement(element, tag).text = text


def _add_pose(element: ET.Element, pose: np.ndarray) -> ET.Element:
    """Add a pose of seven numbers, which are exact, with the quaternion x y z w."""
    child = ET.SubElement(element, "pose", rotation_format="quat_xyzw")
    child.text = format_numbers([*pose[:3], *np.roll(pose[3:], -1)])
    return child


def _add_inertia(element: ET.Element, known: BodyInertia | None) -> None:
    mass, com, I = LEAST_INERTIA if known is None else known
    inertial = ET.SubElement(element, "inertial")
    if known is None:
        ET.SubElement(inertial, MASSLESS)
    _add_text(inertial, "mass", format_numbers([mass]))
    _add_pose(inertial, np.array([*com, *IDENTITY[3:]]))
    inertia = ET.SubElement(inertial, "inertia")
    for row in range(3):
        for column in range(row, 3):
            pair = "xyz"[row] + "xyz"[column]
            _add_text(inertia, f"i{pair}", format_numbers([I[row, column]]))


def _add_friction(collision: ET.Element, coefficient: float) -> None:
    friction = ET.SubElement(ET.SubElement(collision, "surface"), "friction")
    ode = ET.SubElement(friction, "ode")
    for key in ("mu", "mu2"):
        _add_text(ode, key, format_numbers([coefficient]))


def _add_geometry(part: ET.Element, shape: WrittenShape, meshes: Path) -> None:
    geometry = ET.SubElement(part, "geometry")

    def add(tag: str, **sizes: Sequence[float] | np.ndarray) -> None:
        element = ET.SubElement(geometry, tag)
        for key, numbers in sizes.items():
            _add_text(element, key, format_numbers(numbers))

    match shape.shape:
        case Box(size):
            add("box", size=size)
        case Sphere(radius):
            add("sphere", radius=[radius])
        case Capsule(length, radius):
            add("capsule", radius=[radius], length=[length])
        case Cylinder(length, radius):
            add("cylinder", radius=[radius], length=[length])
        case Ellipsoid(radii):
            add("ellipsoid", radii=radii)
        case Mesh(source) as mesh if (
            isinstance(source, str | os.PathLike)
            and Path(source).suffix.lower() in MESH_SUFFIXES
        ):
            element = ET.SubElement(geometry, "mesh")
            _add_text(element, "scale", format_numbers(np.asarray(mesh.scale)))
            _add_text(element, "uri", copy_mesh(Path(source).absolute(), meshes))
        case Mesh() | Convex() as hull:
            element = ET.SubElement(geometry, "mesh")
            # Drake reads hulls from OBJ only, Gazebo from that and others.
            file = save_mesh(shape_mesh(hull), shape.name, meshes, ".obj")
            _add_text(element, "uri", file)
        case _:
            add("plane", normal=[0.0, 0.0, 1.0], size=[100.0, 100.0])
