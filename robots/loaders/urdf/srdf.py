"""SRDF, MoveIt's description of what may touch, named states and passive joints.

What else a file has (groups, end effectors, virtual joints, spheres) is skipped, and so
are values of virtual joints. A group is written with the joints of its states, since
MoveIt asks for it.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar
from xml.etree import ElementTree as ET

import numpy as np

from ...errors import LoadError
from ...typing import StrPath
from ...world.frame import NamedState
from ...world.named_states import DEFAULT_GROUP
from ..package_folders import checked_packages
from ..xmltree import XML_DECLARATION, XmlElement, parse_xml, read_bytes, read_xml
from .structure import refuse_xacro
from .xacro_text import XacroArgs, expand_xacro, is_xacro

T = TypeVar("T")

LINK_ATTRIBUTES = {
    "disable_default_collisions": ("link",),
    "enable_collisions": ("link1", "link2"),
    "disable_collisions": ("link1", "link2"),
}
"""The attributes that name links, by the tag of the element."""
DEFAULT_REASON = "User"
"""Reason of an exclusion for which the file gives none."""
SRDF_TAGS = frozenset(
    (
        *LINK_ATTRIBUTES,
        "group",
        "group_state",
        "virtual_joint",
        "passive_joint",
        "end_effector",
    )
)
"""Tags that only an SRDF file has."""


class LinkRule(NamedTuple):
    """An element about collisions."""

    links: tuple[str, ...]
    reason: str
    line: int


@dataclass(frozen=True, eq=False)
class Srdf:
    """The parts of an SRDF file that are read."""

    rules: Mapping[str, tuple[LinkRule, ...]]
    """Elements about collisions by tag."""
    states: tuple[NamedState, ...]
    """Values are in the file's order: quaternions as (x, y, z, w)."""
    joint_lines: Mapping[str, int]
    """The line in which a joint is first given a value."""
    virtual_joints: frozenset[str] = frozenset()
    """Joints between the world and the robot, which are not in its URDF."""
    passive: Mapping[str, int] = field(default_factory=dict)
    """Joints without a motor, each with its line."""
    broken: tuple[str, ...] = ()
    """Messages about elements that cannot be read."""


def read_srdf(
    path: StrPath,
    packages: Mapping[str, StrPath] | None = None,
    xacro_args: XacroArgs | None = None,
) -> Srdf:
    """Return the elements about collisions, states of groups, and passive joints.

    Elements that lack an attribute or have one that is no number are left out.

    Args:
        path: The file; `.xacro` is expanded.
        packages: Folders of packages, for xacro.
        xacro_args: Values of arguments; given, the file is expanded as xacro whatever
            its suffix.

    Raises:
        LoadError: For a file that is no SRDF.
        ImportError: For xacro without its package; names the extra.
    """
    if not isinstance(path, str | os.PathLike):
        raise LoadError(f"path is {path!r}, expected the path of an SRDF file.")
    if is_xacro(Path(path), xacro_args):
        text = read_bytes(path).decode("utf-8", errors="replace")
        file = Path(path).resolve()
        folders = checked_packages(packages)
        expanded, _ = expand_xacro(text, file, folders, xacro_args)
        root = parse_xml(expanded, f"{path} (expanded)")
    else:
        root = read_xml(path)
    if root.tag != "robot":
        raise root.error("expected the root <robot>; this file is no SRDF.")
    refuse_xacro(root, SRDF_TAGS)
    if root.find("link") is not None and not SRDF_TAGS & {e.tag for e in root}:
        raise root.error(
            "this file is a URDF, expected an SRDF, which has <disable_collisions> and"
            " <group_state>; load the robot with add_file."
        )
    broken: list[str] = []

    def readable(
        elements: Iterable[XmlElement], read: Callable[[XmlElement], T]
    ) -> tuple[T, ...]:
        values = []
        for element in elements:
            try:
                values.append(read(element))
            except LoadError as error:
                place = str(error).removeprefix(f"{element.file}, ")
                broken.append(place.rstrip("."))
        return tuple(values)

    rules = {
        tag: readable(root.findall(tag), partial(_read_rule, names=names))
        for tag, names in LINK_ATTRIBUTES.items()
    }
    elements = root.findall("group_state")
    lines: dict[str, int] = {}
    for joint in (j for e in elements for j in e.findall("joint")):
        lines.setdefault(joint.attrib.get("name", ""), joint.line)
    states = readable(elements, _read_state)
    virtual = frozenset(e.get("name", "") for e in root.findall("virtual_joint"))
    passive = dict(readable(root.findall("passive_joint"), _read_passive))
    return Srdf(rules, states, lines, virtual, passive, tuple(broken))


def _read_rule(element: XmlElement, names: Iterable[str]) -> LinkRule:
    links = tuple(element.required(name) for name in names)
    reason = element.get("reason", "").strip() or DEFAULT_REASON
    return LinkRule(links, reason, element.line)


def _read_state(element: XmlElement) -> NamedState:
    values = {}
    for joint in element.findall("joint"):
        count = len(joint.required("value").split())
        values[joint.required("name")] = joint.numbers("value", count)
    group = element.get("group", "").strip() or DEFAULT_GROUP
    return NamedState(element.required("name"), group, values)


def _read_passive(element: XmlElement) -> tuple[str, int]:
    return element.required("name"), element.line


def format_srdf(
    name: str,
    enabled: Iterable[tuple[str, str]],
    disabled: Mapping[tuple[str, str], str],
    states: Iterable[NamedState],
) -> str:
    """Return the text of an SRDF file.

    Args:
        name: of the robot.
        enabled: pairs of links that collide although a joint connects them.
        disabled: pairs of links that never collide, with the reason.
        states: named states, quaternions as (x, y, z, w).
    """
    states = list(states)
    robot = ET.Element("robot", name=name)
    joints: dict[str, dict[str, None]] = {}
    for state in states:
        joints.setdefault(state.group, {}).update(dict.fromkeys(state.values))
    for group, members in joints.items():
        element = ET.SubElement(robot, "group", name=group)
        for joint in members:
            ET.SubElement(element, "joint", name=joint)
    for state in states:
        element = ET.SubElement(
            robot, "group_state", name=state.name, group=state.group
        )
        for joint, value in state.values.items():
            text = " ".join(repr(float(v)) for v in np.atleast_1d(value))
            ET.SubElement(element, "joint", name=joint, value=text)
    for a, b in enabled:
        ET.SubElement(robot, "enable_collisions", link1=a, link2=b)
    for (a, b), reason in disabled.items():
        ET.SubElement(robot, "disable_collisions", link1=a, link2=b, reason=reason)
    ET.indent(robot)
    return f"{XML_DECLARATION}\n{ET.tostring(robot, encoding='unicode')}\n"
