"""Build backend of posewise: setuptools, with editable installs that are always found.

Python takes a folder called `posewise` in the current folder for a namespace package,
and asks setuptools' finder of editable installs only afterwards. A clone is such a
folder, so that `import posewise` beside it would give an empty module. Here the finder
is asked where the search by folders ends at a namespace package; a copy of the package
in the current folder, such as another working tree, still comes first.
"""

import base64
import hashlib
import os
import zipfile
from pathlib import Path
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403

PREFER_TO_NAMESPACE = (
    "; import sys; from types import SimpleNamespace"
    "; from importlib.machinery import PathFinder"
    "; sys.meta_path.insert(0, SimpleNamespace(find_spec="
    "lambda name, path=None, target=None, clone={module}._EditableFinder,"
    " folders=PathFinder: clone.find_spec(name, path, target) if name == 'posewise'"
    " and getattr(folders.find_spec(name), 'origin', None) is None else None))"
)
"""End of the line by which Python installs the finder of a module at its start."""


def build_editable(
    wheel_directory: str | os.PathLike[str],
    config_settings: Any = None,
    metadata_directory: str | None = None,
) -> str:
    """Build the wheel of an editable install; see PEP 660."""
    name = build_meta.build_editable(
        wheel_directory, config_settings, metadata_directory
    )
    _prefer_finder_to_namespace(Path(wheel_directory, name))
    return name


def _prefer_finder_to_namespace(wheel: Path) -> None:
    """Change the line that installs the finder, and its checksum in the wheel."""
    with zipfile.ZipFile(wheel) as file:
        contents = {entry: file.read(entry) for entry in file.namelist()}
    (path_file,) = (entry for entry in contents if entry.endswith(".pth"))
    (record,) = (entry for entry in contents if entry.endswith(".dist-info/RECORD"))
    line = contents[path_file].decode().rstrip()
    if not line.startswith("import "):
        # A plain folder, which Python prefers to namespace packages.
        return
    module = line.removeprefix("import ").partition(";")[0].strip()
    data = (line + PREFER_TO_NAMESPACE.format(module=module) + "\n").encode()
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode()
    row = f"{path_file},sha256={digest.rstrip('=')},{len(data)}"
    rows = contents[record].decode().splitlines()
    changed = [row if r.startswith(f"{path_file},") else r for r in rows]
    contents |= {path_file: data, record: "\n".join([*changed, ""]).encode()}
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as file:
        for entry, content in contents.items():
            file.writestr(entry, content)
