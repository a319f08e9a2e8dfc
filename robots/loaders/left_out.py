"""The record of what a robot description has that cannot be used."""

import warnings
from dataclasses import dataclass, field

from ..errors import LoadError, first_few
from .mesh_paths import MeshLocator


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Record of what cannot be used of a file, meshes included."""

    file: str
    meshes: MeshLocator
    notes: list[str] = field(default_factory=list)

    def add(self, error: LoadError, owner: str = "") -> None:
        """Record an element's error, which is not raised.

        Args:
            error: Made by `XmlElement.error`.
            owner: Of the element, such as "link 'arm'".
        """
        place = str(error).removeprefix(f"{self.file}, ").rstrip(".")
        self.notes.append(f"{owner}, {place}" if owner else place)

    def warn(self) -> None:
        """Warn once of everything in the record."""
        sentences = []
        if meshes := self.meshes.left_out:
            plural = "meshes are" if len(meshes) > 1 else "mesh is"
            sentences.append(
                f"{len(meshes)} {plural} left out: {first_few(meshes, ', ')}."
            )
        if self.notes:
            sentences.append(f"Not used as written: {first_few(self.notes, ' | ')}.")
        if not sentences:
            return
        sentences.append("The rest is kept.")
        if packages := sorted(self.meshes.unknown_packages):
            shown = ", ".join(f"{name!r}: folder" for name in packages[:4])
            sentences.append(f"Pass packages={{{shown}}} to say where a package is.")
        warnings.warn(f"{self.file}: {' '.join(sentences)}", UserWarning, stacklevel=4)
