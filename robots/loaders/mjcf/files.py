"""Which files an MJCF may refer to: those in the folders of its model.

MuJoCo itself opens any. See `mesh_paths` for what a model's folders are.
"""

from pathlib import Path
from typing import Any

from ...geometry.mesh_paths import is_existing_file, package_root
from ..xmltree import read_xml


def check_includes(file: Path) -> None:
    """Look at all files that are included, before MuJoCo does.

    Raises:
        LoadError: for includes from elsewhere, and XML that is refused.
    """
    folder = file.resolve().parent
    root = package_root(folder)
    seen: set[Path] = set()
    pending = [file.resolve()]
    while pending:
        at = pending.pop()
        if at in seen:
            continue
        seen.add(at)
        for element in read_xml(at).iter():
            name = element.attrib.get("file", "")
            if element.tag != "include" or not name:
                continue
            places = {folder / name, at.parent / name}
            if not all(_inside(place, root) for place in places):
                raise element.error(
                    f"{name!r} lies outside of {root}; put it there or below."
                )
            pending += [place.resolve() for place in places if is_existing_file(place)]


def foreign_assets(spec: Any, file: Path) -> list[str]:
    """Files of meshes, height fields and skins that lie elsewhere."""
    folder = file.resolve().parent
    root = package_root(folder)
    names = [a.file for a in [*spec.meshes, *spec.hfields, *spec.skins] if a.file]
    places = lambda name: (folder / name, folder / spec.meshdir / name)
    return [n for n in names if not all(_inside(p, root) for p in places(n))]


def _inside(path: Path, root: Path) -> bool:
    try:
        return path.resolve().is_relative_to(root.resolve())
    except (OSError, ValueError, RuntimeError):
        return False
