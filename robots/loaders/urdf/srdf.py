"""Reader of SRDF, MoveIt's description of which links of a URDF never collide."""

import os

from ...errors import LoadError
from ...typing import StrPath
from ..xmltree import XmlElement, read_xml

LINK_ATTRIBUTES = {
    "disable_default_collisions": ("link",),
    "enable_collisions": ("link1", "link2"),
    "disable_collisions": ("link1", "link2"),
}
"""The attributes that name links, by the tag of the element."""


def read_srdf(
    path: StrPath,
) -> dict[str, dict[tuple[str, ...], XmlElement]]:
    """Return the elements about collisions, by tag and by the links that they name.

    Raises:
        LoadError: For a file that is no SRDF, or an element without its links.
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
