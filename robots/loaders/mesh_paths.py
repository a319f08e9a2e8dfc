"""Location of the mesh files of a robot description, and which it may refer to.

A file from elsewhere may name any path. Only files inside its *root* are used, after
symbolic links are followed. The root is

- for `package://name/…` the folder of that package, see `package_folders`;
- for everything else the nearest folder above the description with a `package.xml`,
  else the parent of its folder; and the folders in `packages`.

Names are read as exporters write them: with backslashes, more slashes than needed,
percent-encoded, and with capital letters in the suffix or without.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from ..errors import PosewiseError
from ..geometry.model_files import READABLE_SUFFIXES, is_existing_file
from .package_folders import package_folders, package_root

SMALL_FILE_BYTES = 2048
"""Size up to which a mesh is read when it is found [bytes]: placeholders of Git LFS and
empty exports are small. Larger files are read when they are first needed."""
_PACKAGE_NAME = re.compile(r"[\w+-][\w.+ -]{0,199}")
_LOCAL_HOST = re.compile(r"localhost(?=/)", re.IGNORECASE)
_LEADING_SLASHES = re.compile("^//+")
_URI = re.compile(r"(package|model|file):(//)?(.*)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, eq=False)
class MeshLocator:
    """Finds the mesh files of one description, and records those that are left out."""

    folder: Path | None
    """The folder of the description; None for a text, whose folder is unknown."""
    packages: Mapping[str, Path] = field(default_factory=dict)
    """Folders of packages by name."""
    left_out: list[str] = field(default_factory=list)
    """Mesh names that cannot be used, each with the reason."""
    unknown_packages: set[str] = field(default_factory=set)
    """Names of packages that no folder was found for."""

    def find(self, name: str) -> Path | None:
        """Return the file of a mesh name; record an unusable one and return None."""
        reason = "not found"
        if self.folder is not None and not _URI.fullmatch(name):
            reason = f"not found in {self.folder}"
        # Under an ASCII locale Python spells other letters of file names differently.
        spelled = os.fsdecode(name.encode("utf-8", "replace"))
        for root, path in self._candidates(spelled.strip().replace("\\", "/")):
            if not is_existing_file(path):
                continue
            real = path.resolve()  # follows links, which could lead outside
            if not real.is_relative_to(root.resolve()):
                reason = f"outside of its package, {root}"
            elif real.suffix.lower() not in READABLE_SUFFIXES:
                reason = f"no mesh; expected {', '.join(READABLE_SUFFIXES)}"
            elif problem := _problem_of_small_file(real):
                reason = problem
            else:
                return real
        note = f"{name!r} ({reason})"
        if note not in self.left_out:
            self.left_out.append(note)
        return None

    def _candidates(self, name: str) -> Iterator[tuple[Path, Path]]:
        """Yield pairs of a root and a path that must lie in it."""
        uri = _URI.fullmatch(name)
        scheme, location = (uri[1].lower(), uri[3]) if uri else ("", name)
        if not uri and "://" in name:
            return
        if scheme == "file" and uri and uri[2]:
            location = _LOCAL_HOST.sub("", location)
        for text in dict.fromkeys((location, unquote(location))):
            if scheme in ("package", "model"):
                package, _, inner = text.lstrip("/").partition("/")
                inner = inner.lstrip("/")  # else it would be an absolute path
                places = [(root, root / inner) for root in self._roots(package)]
            else:
                places = self._plain_places(_LEADING_SLASHES.sub("/", text))
            for root, path in places:
                for spelled in _suffix_spellings(path):
                    yield root, spelled

    def _plain_places(self, text: str) -> list[tuple[Path, Path]]:
        packages = list(self.packages.values())
        if self.folder is not None:
            roots = [package_root(self.folder), *packages]
            return [(root, self.folder / text) for root in roots]
        path = Path(text)
        return [(root, path) for root in packages] if path.is_absolute() else []

    def _roots(self, package: str) -> list[Path]:
        if not _PACKAGE_NAME.fullmatch(package):
            return []
        if package in self.packages:
            folder = self.packages[package]  # the package, or the folder it lies in
            return [folder, folder / package]
        roots = list(package_folders(package, self.folder))
        if not roots:
            self.unknown_packages.add(package)  # which the warning names
        return roots


def _suffix_spellings(path: Path) -> Iterator[Path]:
    """Yield a path, and the same with its suffix in lower and in upper case."""
    yield path
    for suffix in (path.suffix.lower(), path.suffix.upper()):
        if suffix != path.suffix:
            yield path.with_suffix(suffix)


def _problem_of_small_file(path: Path) -> str | None:
    """Return why a small mesh file cannot be read; None if it can or is large."""
    if path.stat().st_size > SMALL_FILE_BYTES:
        return None
    from ..geometry.mesh_files import read_mesh

    try:
        read_mesh(path)
    except PosewiseError as error:
        return str(error).removeprefix(f"{path}: ").rstrip(".")
    except ImportError:
        return None  # the mesh's first use says which package is missing
    return None
