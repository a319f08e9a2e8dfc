"""Versions of URDF: what a file of an older version cannot say is not read.

As in urdfdom 6: 1.1 added quaternions of origins, 1.2 limits of acceleration and jerk.
Capsules, new in 1.1 as well, were widely read before and are read from all files.
"""

import re
from collections import Counter
from xml.etree import ElementTree as ET

from ..left_out import LeftOut
from ..xmltree import XmlElement

Version = tuple[int, int]

KNOWN_VERSIONS: tuple[Version, ...] = ((1, 0), (1, 1), (1, 2))
VERSION_OF_ATTRIBUTE: dict[tuple[str, str], Version] = {
    ("origin", "quat_xyzw"): (1, 1),
    ("limit", "acceleration"): (1, 2),
    ("limit", "deceleration"): (1, 2),
    ("limit", "jerk"): (1, 2),
}
"""First version that has an attribute, by the tag of its element and its name."""
VERSION_OF_CAPSULES: Version = (1, 1)
"""First version that has the shape `<capsule>`."""


def format_version(version: Version) -> str:
    """Return a version as files write it."""
    return "{}.{}".format(*version)


def drop_newer_attributes(root: XmlElement, left_out: LeftOut) -> None:
    """Delete the attributes that the file's version does not have, and record them.

    Quaternions of length 0 are deleted as well, since they are no rotation.
    """
    version = _read_version(root, left_out)
    counts: Counter[tuple[str, str]] = Counter()
    first: dict[tuple[str, str], XmlElement] = {}
    for part in (e for e in root if e.tag in ("link", "joint")):
        for tag, name in VERSION_OF_ATTRIBUTE:
            for element in part.iter(tag):
                if name not in element.attrib:
                    continue
                if version < VERSION_OF_ATTRIBUTE[tag, name]:
                    counts[tag, name] += 1
                    first.setdefault((tag, name), element)
                    del element.attrib[name]
                elif name == "quat_xyzw" and _is_zero(element.attrib[name]):
                    left_out.add(
                        element.error(
                            f"quat_xyzw={element.attrib.pop(name)!r} has length 0, so"
                            " that it is no rotation and does not turn."
                        )
                    )
    for (tag, name), count in counts.items():
        needed = format_version(VERSION_OF_ATTRIBUTE[tag, name])
        left_out.add(
            first[tag, name].error(
                f"{name} is ignored ({count} times): it is of URDF {needed}, but the"
                f" file's version is {format_version(version)}; write <robot"
                f' version="{needed}">.'
            )
        )


def set_version(robot: ET.Element) -> None:
    """Give a `<robot>` the attribute `version` if its elements need one above 1.0."""
    needed = [
        VERSION_OF_ATTRIBUTE[element.tag, name]
        for element in robot.iter()
        for name in element.attrib
        if (element.tag, name) in VERSION_OF_ATTRIBUTE
    ]
    if robot.find(".//capsule") is not None:
        needed.append(VERSION_OF_CAPSULES)
    if needed:
        robot.set("version", format_version(max(needed)))


def _read_version(root: XmlElement, left_out: LeftOut) -> Version:
    """Return the version of a file; the newest one for a version that is unknown."""
    text = root.get("version")
    if text is None:
        return KNOWN_VERSIONS[0]
    numbers = re.fullmatch(r"\s*\+?(\d{1,9})\.\+?(\d{1,9})\s*", text, re.ASCII)
    version = (int(numbers[1]), int(numbers[2])) if numbers else (0, 0)
    if version in KNOWN_VERSIONS:
        return version
    known = ", ".join(map(format_version, KNOWN_VERSIONS))
    newest = KNOWN_VERSIONS[-1]
    left_out.add(
        root.error(
            f"version={text!r} is none of {known}; the file is read as URDF"
            f" {format_version(newest)}."
        )
    )
    return newest


def _is_zero(quaternion: str) -> bool:
    words = quaternion.split()
    try:
        return len(words) == 4 and not any(map(float, words))
    except ValueError:
        return False
