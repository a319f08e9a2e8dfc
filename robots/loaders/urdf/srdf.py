"""Reading SRDF, MoveIt's file beside a URDF: which links never collide."""

import os
from typing import Any

from ...errors import LoadError
from ..xmltree import Element, read_xml

COLLISION_TAGS = {
    "disable_default_collisions": ("link",),
    "enable_collisions": ("link1", "link2"),
    "disable_collisions": ("link1", "link2"),
}
"""The attributes that name links, by tag."""


def read_srdf(
    path: Any,
) -> dict[str, dict[tuple[str, ...], Element]]:
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
        tag: {tuple(e.text(name) for name in names): e for e in root.all(tag)}
        for tag, names in COLLISION_TAGS.items()
    }
