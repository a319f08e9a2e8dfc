"""Location of the mesh files of a robot description, and which it may refer to.

A file from elsewhere may name any path. Only files inside its *root* are used, after
symbolic links are followed. The root is

- for `package://name/…` the folder of that package: `packages[name]`, else a folder
  `name` in the description's folder or above it (not in the file system's root), else
  one on ROS_PACKAGE_PATH or AMENT_PREFIX_PATH;
- for everything else the nearest folder above the description with a `package.xml`,
  else the parent of its folder; and the folders in `packages`.
"""

import os
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

MESH_SUFFIXES = frozenset(
    ".stl .obj .dae .ply .off .glb .gltf .3mf .msh .mesh .h5".split()
)
"""Suffixes of mesh files; a description cannot name any other file."""


@dataclass(frozen=True, eq=False)
class MeshLocator:
    """Finds the mesh files of one description, and records the missing ones."""

    file: Path
    """The description."""
    packages: Mapping[str, str | os.PathLike] = field(default_factory=dict)
    """Folders of packages by name."""
    missing: list[str] = field(default_factory=list)
    """Mesh names that were not found, each with the reason."""

    def find(self, name: str) -> Path | None:
        """Return the file of a mesh name; record a missing one and return None."""
        outside = False
        for root, path in self._candidates(name):
            if not is_existing_file(path):
                continue
            real = path.resolve()  # follows links, which could lead outside
            if real.suffix.lower() in MESH_SUFFIXES and real.is_relative_to(
                root.resolve()
            ):
                return real
            outside = True
        why = "outside of its package or no mesh" if outside else "not found"
        note = f"{name!r} ({why})"
        if note not in self.missing:
            self.missing.append(note)
        return None

    def warn(self) -> None:
        """Warn once of all meshes that were not found."""
        if not self.missing:
            return
        shown = ", ".join(self.missing[:3]) + (", …" if len(self.missing) > 3 else "")
        plural = "meshes are" if len(self.missing) > 1 else "mesh is"
        warnings.warn(
            f"{self.file}: {len(self.missing)} {plural} left out: {shown}. The"
            " kinematics is kept. Pass packages={'name': folder} to say where a"
            " package is.",
            UserWarning,
            stacklevel=3,
        )

    def _candidates(self, name: str) -> Iterator[tuple[Path, Path]]:
        """Yield pairs of a root and a path that must lie in it."""
        folder = self.file.resolve().parent
        scheme, _, rest = name.rpartition("://")
        if scheme in ("package", "model"):
            package, _, inner = rest.lstrip("/").partition("/")
            if package in ("", ".", ".."):
                return
            for root in self._package_roots(package, folder):
                yield root, root / inner
            return
        if scheme not in ("", "file"):
            return
        path = folder / (unquote(rest) if scheme else rest)
        for root in [package_root(folder), *map(Path, self.packages.values())]:
            yield root, path

    def _package_roots(self, package: str, folder: Path) -> Iterator[Path]:
        if package in self.packages:
            yield Path(self.packages[package])
            return
        for above in [folder, *folder.parents]:
            if above != above.parent:
                yield above / package
        for entry in _path_list("ROS_PACKAGE_PATH"):
            yield entry if entry.name == package else entry / package
        for entry in _path_list("AMENT_PREFIX_PATH"):
            yield entry / "share" / package


def is_existing_file(path: Path) -> bool:
    """Whether there is a file of that name; impossible names are no files."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def package_root(folder: Path) -> Path:
    """Return the folder in which all files of a description in `folder` must lie."""
    for above in [folder, *folder.parents]:
        if (above / "package.xml").is_file():
            return above
    up = folder.parent
    return folder if up == up.parent else up


def _path_list(variable: str) -> list[Path]:
    return [Path(p) for p in os.environ.get(variable, "").split(os.pathsep) if p]
