"""Build backend of posewise: setuptools, with editable installs that are always found.

Python takes a folder called `posewise` in the current folder for a namespace package,
and asks setuptools' finder of editable installs only afterwards. A clone is such a
folder, so that `import posewise` beside it would give an empty module. Here the finder
is asked first.
"""

import base64
import hashlib
import os
import zipfile
from pathlib import Path
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403

ASK_FIRST = (
    "; import sys; sys.meta_path.sort("
    "key=lambda finder: '__editable___posewise' not in str(finder))"
)
"""End of the line by which Python installs the finder at its start."""


def build_editable(
    wheel_directory: str | os.PathLike[str],
    config_settings: Any = None,
    metadata_directory: str | None = None,
) -> str:
    """Build the wheel of an editable install; see PEP 660."""
    name = build_meta.build_editable(
        wheel_directory, config_settings, metadata_directory
    )
    _ask_finder_first(Path(wheel_directory, name))
    return name


def _ask_finder_first(wheel: Path) -> None:
    """Change the line that installs the finder, and its checksum in the wheel."""
    with zipfile.ZipFile(wheel) as file:
        contents = {entry: file.read(entry) for entry in file.namelist()}
    (path_file,) = (entry for entry in contents if entry.endswith(".pth"))
    (record,) = (entry for entry in contents if entry.endswith(".dist-info/RECORD"))
    line = contents[path_file].decode().rstrip()
    if not line.startswith("import "):
        # A plain folder, which Python prefers to namespace packages.
        return
    data = (line + ASK_FIRST + "\n").encode()
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode()
    row = f"{path_file},sha256={digest.rstrip('=')},{len(data)}"
    rows = contents[record].decode().splitlines()
    changed = [row if r.startswith(f"{path_file},") else r for r in rows]
    contents |= {path_file: data, record: "\n".join([*changed, ""]).encode()}
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as file:
        for entry, content in contents.items():
            file.writestr(entry, content)
