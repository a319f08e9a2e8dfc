"""Reading SRDF, MoveIt's file beside a URDF: which links never collide."""

import os
from typing import Any

from ...errors import LoadError
from ..xmltree import XmlElement, read_xml

LINK_ATTRIBUTES = {
    "disable_default_collisions": ("link",),
    "enable_collisions": ("link1", "link2"),
    "disable_collisions": ("link1", "link2"),
}
"""The attributes that name links, by tag."""


def read_srdf(
    path: Any,
) -> dict[str, dict[tuple[str, ...], XmlElement]]:
    """By tag, the links that each element about collisions names, and the element.

    Raises:
        LoadError: for a file that is no SRDF, or an element without its links.
    """
    if not isinstance(path, str | os.PathLike):
        raise LoadError(f"path is {path!r}, expected the path of an SRDF file.")
    root = read_xml(path)
    if root.tag != "robot":
        raise root.error("expected the root <robot>; this file is no SRDF.")
    return {
        tag: {tuple(e.required(name) for name in names): e for e in root.findall(tag)}
        for tag, names in LINK_ATTRIBUTES.items()
    }
