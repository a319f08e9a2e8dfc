"""Folders of ROS packages.

A package is what a `package.xml` names (`<name>…</name>`); where there is none, a
folder of that name.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from ..errors import LoadError
from .xmltree import read_xml

MODEL_PATHS = (
    "GZ_SIM_RESOURCE_PATH",
    "IGN_GAZEBO_RESOURCE_PATH",
    "SDF_PATH",
    "GAZEBO_MODEL_PATH",
)
"""Variables with the folders in which Gazebo and SDF look for `model://name`."""


def package_root(folder: Path) -> Path:
    """Return the folder in which all files of a description in `folder` must lie."""
    for above in [folder, *folder.parents]:
        if (above / "package.xml").is_file():
            return above
    up = folder.parent
    return folder if up == up.parent else up


def package_folders(name: str, folder: Path | None) -> Iterator[Path]:
    """Yield the folders that may be a package, the likeliest first.

    They are those above a description, beside its own package, on ROS_PACKAGE_PATH (two
    levels deep) and AMENT_PREFIX_PATH, and on Gazebo's `MODEL_PATHS`. The file system's
    root is none.

    Args:
        name: Of the package.
        folder: The folder of the description that refers to it, if it has one.
    """
    if folder is not None:
        above = [f for f in (folder, *folder.parents) if f != f.parent]
        yield from (f for f in above if package_name(f) == name)
        yield from (f / name for f in above if (f / name).is_dir())
        own_package = package_root(folder)
        if own_package.parent != own_package.parent.parent:
            yield from _named(own_package.parent.glob("*/package.xml"), name)
    for entry in _path_list("ROS_PACKAGE_PATH"):
        if entry.name == name or package_name(entry) == name:
            yield entry
        if (entry / name).is_dir():
            yield entry / name
        for pattern in ("*/package.xml", "*/*/package.xml"):
            yield from _named(entry.glob(pattern), name)
    for entry in _path_list("AMENT_PREFIX_PATH"):
        if (entry / "share" / name).is_dir():
            yield entry / "share" / name
    for variable in MODEL_PATHS:
        yield from (e / name for e in _path_list(variable) if (e / name).is_dir())


def package_name(folder: Path) -> str | None:
    """Return the name in a folder's `package.xml`; None without a readable one."""
    file = folder / "package.xml"
    try:
        return (read_xml(file).findtext("name") or "").strip() or None
    except (LoadError, OSError, ValueError):
        return None


def checked_packages(
    packages: Mapping[str, str | os.PathLike] | None,
) -> dict[str, Path]:
    """Return the folders of packages, as a user gave them.

    Raises:
        LoadError: For what is no mapping of names to existing folders.
    """
    if packages is None:
        return {}
    example = "packages={'ur_description': 'path/to/ur_description'}"
    if not isinstance(packages, Mapping):
        raise LoadError(
            f"packages is {packages!r}, expected folders by name, as in {example}."
        )
    folders = {}
    for name, folder in packages.items():
        if not isinstance(name, str) or not isinstance(folder, str | os.PathLike):
            raise LoadError(
                f"packages has {name!r}: {folder!r}, expected a folder by name, as in"
                f" {example}."
            )
        if not os.path.isdir(folder):
            raise LoadError(
                f"packages[{name!r}] is {os.fspath(folder)!r}, expected an existing"
                " folder: that of the package's package.xml."
            )
        folders[name] = Path(folder).resolve()
    return folders


def _named(files: Iterable[Path], name: str) -> Iterator[Path]:
    yield from (f.parent for f in sorted(files) if package_name(f.parent) == name)


def _path_list(variable: str) -> list[Path]:
    return [Path(p) for p in os.environ.get(variable, "").split(os.pathsep) if p]
