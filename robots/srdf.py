"""Reading SRDF, MoveIt's file beside a URDF: which links never collide."""

import os

from .errors import LoadError
from .xmltree import Element, read_xml

COLLISION_TAGS = {
    "disable_default_collisions": ("link",),
    "enable_collisions": ("link1", "link2"),
    "disable_collisions": ("link1", "link2"),
}
"""The attributes that name links, by tag."""


def read_srdf(
    path: str | os.PathLike,
) -> dict[str, list[tuple[Element, tuple[str, ...]]]]:
    """The elements about collisions by tag, each with the links that it names.

    Raises:
        LoadError: for a file that is no SRDF, or an element without its links.
    """
    if not isinstance(path, str | os.PathLike):
        raise LoadError(f"path is {path!r}, expected the path of an SRDF file.")
    root = read_xml(path)
    if root.tag != "robot":
        raise root.error("expected the root <robot>; this file is no SRDF.")
    return {
        tag: [(e, tuple(e.text(name) for name in names)) for e in root.all(tag)]
        for tag, names in COLLISION_TAGS.items()
    }
