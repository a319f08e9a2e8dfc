"""Mesh files beside the descriptions that are written."""

import hashlib
import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from ..geometry.shapes import Convex, Ellipsoid, Mesh

if TYPE_CHECKING:
    from trimesh import Trimesh  # slow to import


def copy_mesh(file: Path, meshes: Path) -> str:
    """Copy a mesh file beside the description, and return the reference to it.

    Readers refuse files outside of the description's folders.

    Args:
        file: The absolute path of the mesh.
        meshes: The folder, which lies beside the description.
    """
    folder = _digest(str(file.parent))
    copy = meshes / folder / _plain_name(file.name)
    if copy.resolve() != file.resolve():
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
    return f"{meshes.name}/{folder}/{copy.name}"


def save_mesh(mesh: "Trimesh", name: str, meshes: Path, suffix: str = ".stl") -> str:
    """Write triangles in the format of a suffix; return the reference to the file."""
    meshes.mkdir(parents=True, exist_ok=True)
    file = _plain_name(f"{name}{suffix}")
    mesh.export(meshes / file)
    return f"{meshes.name}/{file}"


def shape_mesh(shape: Mesh | Convex | Ellipsoid) -> "Trimesh":
    """Return the triangles of a shape that is a mesh in some formats."""
    if isinstance(shape, Mesh):
        return shape.mesh
    import trimesh

    ball = trimesh.creation.icosphere(
        subdivisions=3 if isinstance(shape, Ellipsoid) else 2
    )
    if isinstance(shape, Ellipsoid):
        ball.apply_scale(shape.radii)
        return ball
    points = shape.vertices
    if shape.rounding > 0:
        points = (points[:, None] + shape.rounding * ball.vertices).reshape(-1, 3)
    return trimesh.PointCloud(points).convex_hull


def _plain_name(file: str) -> str:
    """Return a name of a file in the letters that every locale and file system has."""
    stem, suffix = os.path.splitext(file)
    plain = re.sub(r"[^\w.-]", "_", stem, flags=re.ASCII)
    # A digest tells names apart that differ in other letters only.
    return f"{plain if plain == stem else f'{plain}_{_digest(stem)}'}{suffix}"


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:8]
