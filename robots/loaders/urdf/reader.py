"""Reader of URDF: one frame per link, with the joint above it.

The reader uses the standard library only: every error names its line, and there is no
network access and no entity expansion. Elements without a counterpart (transmissions,
sensors, simulator tags) are ignored.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...contact.collision_pairs import FramePair, adjacent_bodies, can_collide
from ...errors import unknown_name
from ...geometry.mesh_paths import MeshLocator
from ...kinematics.joint_types import joint_dim
from ...kinematics.transforms import IDENTITY
from ...world.frame import Frame, Joint, Model
from ..xmltree import XmlElement, read_xml
from .links import read_geometries, read_inertial, read_materials, read_origin

URDF_JOINT_TYPES = (
    "revolute",
    "continuous",
    "prismatic",
    "fixed",
    "floating",
    "planar",
)
UNLIMITED_BOUND = 1e9
"""Size from which a limit counts as none, because URDF requires limits of revolute and
prismatic joints."""


def read_urdf(
    path: str | os.PathLike,
    packages: Mapping[str, str | os.PathLike] | None = None,
) -> Model:
    """Read a URDF file.

    Frames are the links, parents first and otherwise in file order. Meshes that are
    missing, or that lie outside the file's package (`mesh_paths` defines it), are left
    out with one `UserWarning`; the kinematics is kept. Links that a joint connects
    ignore each other's collisions.

    Args:
        path: The file.
        packages: Folders of the packages in `package://name/…`.

    Returns:
        The model. A fixed joint's name is kept in `attributes["joint_name"]`.

    Raises:
        LoadError: For a file that is no URDF or contradicts itself.
    """
    root = read_xml(path)
    if root.tag != "robot":
        raise root.error("expected the root <robot>; this file is no URDF.")
    _refuse_xacro(root)
    links, joints = _elements_by_name(root, "link"), _elements_by_name(root, "joint")
    if not links:
        raise root.error("has no <link>; a robot needs at least one.")
    above = _parent_joints(links, joints)
    order = _parents_first(links, above)
    _check_mimics(joints)
    meshes = MeshLocator(Path(path), dict(packages or {}))
    materials = read_materials(root)
    index = {name: i for i, name in enumerate(order)}
    frames = []
    for name in order:
        link, joint = links[name], above.get(name)
        geometries = read_geometries(link, materials, meshes)
        mass, com, inertia = read_inertial(link)
        frames.append(
            Frame(
                name=name,
                parent=None if joint is None else index[_linked_name(joint, "parent")],
                origin=IDENTITY.copy() if joint is None else read_origin(joint),
                joint=None if joint is None else _read_joint(joint),
                geometries=geometries,
                contact=int(any(g.collision for g in geometries)),
                mass=mass,
                com=com,
                inertia=inertia,
                attributes={} if joint is None else _attributes(joint),
            )
        )
    meshes.warn()
    adjacent = _adjacent_links(frames)
    return Model(tuple(frames), ignored=dict.fromkeys(adjacent, "Adjacent"))


def _adjacent_links(frames: list[Frame]) -> frozenset[FramePair]:
    """Return the pairs of links that a joint connects, which may touch at all times.

    Links that float, or are connected to the link "world", are not excluded: they may
    collide with what they stand on.
    """
    has_world_link = frames[0].name == "world"

    def is_separate(frame: Frame) -> bool:
        floats = frame.joint is not None and frame.joint.type == "floating"
        return floats or has_world_link and frame.parent == 0

    parents = [None if is_separate(f) else f.parent for f in frames]
    pairs = adjacent_bodies(parents, [f.joint is not None for f in frames])
    solid = [can_collide(f) for f in frames]
    return frozenset((a, b) for a, b in pairs if solid[a] and solid[b])


def _refuse_xacro(root: XmlElement) -> None:
    """Raise an error for unprocessed xacro in the elements that are read."""
    parts = [e for child in root if child.tag in _PARSED_TAGS for e in child.iter()]
    for element in [root, *root, *parts]:
        values = element.attrib.values() if element in parts else ()
        value = next((v for v in values if "${" in v or "$(" in v), None)
        if element.tag.startswith("xacro:") or value is not None:
            subject = f"the tag {element.tag!r}" if value is None else repr(value)
            raise element.error(
                f"{subject} is xacro, expected plain URDF; process the file with xacro"
                " first (xacro in.urdf.xacro > out.urdf)."
            )


_PARSED_TAGS = ("link", "joint", "material")
"""Tags of the elements that are read; xacro elsewhere does no harm."""


def _elements_by_name(root: XmlElement, tag: str) -> dict[str, XmlElement]:
    """Return the elements of a tag by name."""
    elements: dict[str, XmlElement] = {}
    for element in root.findall(tag):
        name = element.required("name")
        if name in elements:
            raise element.error(
                f"the name is already used in line {elements[name].line}; names of"
                f" {tag}s must be unique."
            )
        elements[name] = element
    return elements


def _linked_name(joint: XmlElement, tag: str) -> str:
    """Return the link that a joint's `<parent>` or `<child>` names."""
    end = joint.find(tag)
    if end is None:
        raise joint.error(f'has no <{tag}>; write <{tag} link="..."/>.')
    return end.required("link")


def _parent_joints(
    links: dict[str, XmlElement], joints: dict[str, XmlElement]
) -> dict[str, XmlElement]:
    """Return the joint above each child link."""
    above: dict[str, XmlElement] = {}
    for joint in joints.values():
        for tag in ("parent", "child"):
            name = _linked_name(joint, tag)
            if name not in links:
                raise joint.error(f"its {tag}: {unknown_name('link', name, links)}")
        child = _linked_name(joint, "child")
        if child in above:
            other = above[child].required("name")
            raise joint.error(
                f"link {child!r} is already the child of joint {other!r} (line"
                f" {above[child].line}); a link has one parent, so close loops"
                " elsewhere."
            )
        above[child] = joint
    return above


def _parents_first(
    links: dict[str, XmlElement], above: dict[str, XmlElement]
) -> list[str]:
    """Return link names in file order, except that parents precede their children."""
    roots = [name for name in links if name not in above]
    if len(roots) > 1:
        raise links[roots[1]].error(
            f"there are {len(roots)} root links ({', '.join(map(repr, roots[:5]))}),"
            " expected one; connect them with fixed joints."
        )
    order: dict[str, None] = {}
    for name in links:
        chain: dict[str, None] = {}
        while name not in order:
            if name in chain:
                cycle = list(chain)[list(chain).index(name) :]
                raise above[name].error(
                    f"the links {', '.join(map(repr, cycle[:5]))} form a cycle,"
                    " expected a tree; turn or remove a joint."
                )
            chain[name] = None
            if name not in above:
                break
            name = _linked_name(above[name], "parent")
        order.update(dict.fromkeys(reversed(chain)))
    return list(order)


def _check_mimics(joints: dict[str, XmlElement]) -> None:
    """Raise an error for a mimic of an unknown or unfit joint, or of itself."""
    leaders: dict[str, str] = {}
    for name, joint in joints.items():
        mimic = joint.find("mimic")
        if mimic is None or _joint_type_name(joint) == "fixed":
            continue
        leader = mimic.required("joint")
        if leader not in joints:
            raise mimic.error(
                f"of joint {name!r}: {unknown_name('joint', leader, joints)}"
            )
        dims = [joint_dim(_joint_type_name(joints[n])) for n in (name, leader)]
        if dims[0] != dims[1]:
            raise mimic.error(
                f"joint {name!r} has {dims[0]} coordinates, but {leader!r} has"
                f" {dims[1]}; a mimic joint follows a joint with as many coordinates."
            )
        leaders[name] = leader
    checked: set[str] = set()
    for name in leaders:
        seen = {name: None}
        while name in leaders and name not in checked:
            name = leaders[name]
            if name in seen:
                circle = [*list(seen)[list(seen).index(name) :], name]
                raise joints[name].error(
                    f"its mimic leads back to itself ({' -> '.join(circle)}); one of"
                    " these joints must move freely."
                )
            seen[name] = None
        checked.update(seen)


def _joint_type_name(joint: XmlElement) -> str:
    kind = joint.required("type")
    if kind not in URDF_JOINT_TYPES:
        raise joint.error(
            f"type is {kind!r}, expected one of {', '.join(URDF_JOINT_TYPES)}."
        )
    return kind


def _read_joint(joint: XmlElement) -> Joint | None:
    kind = _joint_type_name(joint)
    if kind == "fixed":
        return None
    dim = joint_dim(kind)
    limit = joint.find("limit")
    mimic = joint.find("mimic")
    return Joint(
        type=kind,
        name=joint.required("name"),
        axis=None if kind == "floating" else _read_axis(joint),
        limits=_read_limits(limit) if kind in ("revolute", "prismatic") else None,
        mimic=None if mimic is None else mimic.required("joint"),
        multiplier=1.0 if mimic is None else mimic.number("multiplier", 1.0),
        offset=0.0 if mimic is None else mimic.number("offset", 0.0),
        velocity=_read_bound(limit, "velocity", dim),
        effort=_read_bound(limit, "effort", dim),
    )


def _read_axis(joint: XmlElement) -> np.ndarray:
    element = joint.find("axis")
    if element is None:
        return np.array([1.0, 0.0, 0.0])
    axis = element.numbers("xyz", 3, (1.0, 0.0, 0.0))
    length = np.linalg.norm(axis)
    if length < 1e-9:
        raise element.error(
            f"of joint {joint.required('name')!r}: the axis {axis.tolist()} has no"
            " direction; expected a vector other than zero."
        )
    return axis / length


def _read_limits(limit: XmlElement | None) -> np.ndarray | None:
    """Return the limits (2, 1); None without any."""
    if limit is None or not {"lower", "upper"} & limit.attrib.keys():
        return None
    limits = [
        limit.number(side, 0.0, allow_infinite=True) for side in ("lower", "upper")
    ]
    if limits[0] > limits[1] or limits[0] == np.inf or limits[1] == -np.inf:
        raise limit.error(
            f"lower {limits[0]} is above upper {limits[1]}; swap them, or make the"
            " joint continuous if it has no limits."
        )
    bounds = [np.sign(v) * np.inf if abs(v) >= UNLIMITED_BOUND else v for v in limits]
    return None if np.all(np.isinf(bounds)) else np.array(bounds)[:, None]


def _read_bound(limit: XmlElement | None, name: str, dim: int) -> np.ndarray | None:
    """Return the largest speed or effort (dim,); None without one."""
    if limit is None or name not in limit.attrib:
        return None
    value = limit.number(name, allow_infinite=True)
    if value < 0:
        raise limit.error(f"{name} is {value}, expected a number >= 0.")
    return None if value >= UNLIMITED_BOUND else np.full(dim, value)


def _attributes(joint: XmlElement) -> dict[str, Any]:
    attributes: dict[str, Any] = {}
    if _joint_type_name(joint) == "fixed":
        attributes["joint_name"] = joint.required("name")
    dynamics = joint.find("dynamics")
    if dynamics is not None:
        for name in ("damping", "friction"):
            if name in dynamics.attrib:
                attributes[name] = dynamics.number(name)
    return attributes
