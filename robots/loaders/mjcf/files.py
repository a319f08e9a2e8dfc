"""Checks that an MJCF refers only to files in the folders of its model.

MuJoCo itself opens any file. The folders of a model are defined in `mesh_paths`.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from ...geometry.model_files import is_existing_file
from ..package_folders import package_root
from ..xmltree import XmlElement, read_xml

if TYPE_CHECKING:
    from mujoco import MjSpec


def check_includes(file: Path) -> None:
    """Check all included files, before MuJoCo opens them.

    Raises:
        LoadError: For includes from other folders, and XML that is refused.
    """
    folder = file.resolve().parent
    root = package_root(folder)
    checked: set[Path] = set()
    pending = [file.resolve()]
    while pending:
        current = pending.pop()
        if current in checked:
            continue
        checked.add(current)
        for element in read_xml(current).iter():
            name = element.attrib.get("file", "")
            if element.tag != "include" or not name:
                continue
            # MuJoCo has looked beside the main file, and beside the including one.
            places = {folder / name, current.parent / name}
            if not all(_inside(place, root) for place in places):
                raise element.error(
                    f"{name!r} lies outside of {root}; put it there or below."
                )
            pending += [place.resolve() for place in places if is_existing_file(place)]


def refuse_includes(root: XmlElement) -> None:
    """Raise a LoadError for an include in a text, which is in no folder."""
    for element in root.iter("include"):
        raise element.error("a text cannot include files; add the file itself.")


def foreign_assets(spec: "MjSpec", file: Path) -> list[str]:
    """Return the files of meshes, height fields and skins in other folders."""
    folder = file.resolve().parent
    root = package_root(folder)
    names = [a.file for a in [*spec.meshes, *spec.hfields, *spec.skins] if a.file]

    def is_inside(name: str) -> bool:
        places = (folder / name, folder / spec.meshdir / name)
        return all(_inside(place, root) for place in places)

    return [name for name in names if not is_inside(name)]


def _inside(path: Path, root: Path) -> bool:
    try:
        return path.resolve().is_relative_to(root.resolve())
    except (OSError, ValueError, RuntimeError):
        return False
