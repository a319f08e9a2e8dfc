"""Files that a model may name: what exists, and which meshes can be read."""

from pathlib import Path

READABLE_SUFFIXES = (
    ".h5",
    ".stl",
    ".obj",
    ".ply",
    ".off",
    ".glb",
    ".gltf",
    ".dae",
)
"""Suffixes of mesh files; a description cannot name any other file."""


def is_existing_file(path: Path) -> bool:
    """Whether there is a file of that name; impossible names are no files."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False
