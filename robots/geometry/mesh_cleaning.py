"""Cleaning of triangle meshes for geometry, and their division into solids."""

from typing import TypeAlias

import numpy as np
from jaxtyping import Float, Int

from ..errors import ConfigError
from .shapes import Mesh

Vertices: TypeAlias = Float[np.ndarray, "_ 3"]
Faces: TypeAlias = Int[np.ndarray, "_ 3"]


def clean_triangles(mesh: Mesh) -> tuple[Vertices, Faces]:
    """Return vertices and faces without duplicates and faces without area.

    A mesh all of whose faces lack area keeps them.

    Raises:
        ConfigError: For a mesh without triangles, or with NaN or infinite vertices.
    """
    vertices = finite_vertices(mesh)
    faces = np.asarray(mesh.mesh.faces, np.int64)
    if not len(faces):
        raise ConfigError(
            f"Mesh: {mesh_label(mesh)} has no triangles, expected at least one; for the"
            " hull of points give Convex(vertices)."
        )
    if faces.min() < 0 or faces.max() >= len(vertices):
        raise ConfigError(
            f"Mesh: a triangle of {mesh_label(mesh)} names vertex {int(faces.max())} of"
            f" {len(vertices)}; mend the faces."
        )
    vertices, merged = np.unique(vertices, axis=0, return_inverse=True)
    faces = merged.reshape(-1)[faces]
    a, b, c = vertices[faces].swapaxes(0, 1)
    size = np.linalg.norm(np.ptp(vertices[np.unique(faces)], axis=0))
    longest = np.max([np.linalg.norm(x, axis=1) for x in (b - a, c - b, a - c)], axis=0)
    height = np.linalg.norm(np.cross(b - a, c - a), axis=1) / np.maximum(longest, 1e-99)
    if np.any(has_area := height > 1e-12 * size):
        faces = faces[has_area]
    _, first = np.unique(np.sort(faces, axis=1), axis=0, return_index=True)
    return _drop_unused_vertices(vertices, faces[np.sort(first)])


def finite_vertices(mesh: Mesh) -> Vertices:
    """Return all vertices, scaled.

    Raises:
        ConfigError: When there is none, or one is NaN or infinite.
    """
    vertices = np.array(mesh.mesh.vertices, float)
    if not len(vertices) or not np.isfinite(vertices).all():
        raise ConfigError(
            f"Mesh: {mesh_label(mesh)} has no vertices, or NaN or infinite ones;"
            " expected finite numbers (metres)."
        )
    return vertices


def is_watertight(faces: Faces) -> bool:
    """Whether each edge occurs equally often in both directions."""
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    count = faces.max() + 1
    # One number for each directed edge, and for its reverse.
    forward, backward = edges @ [count, 1], edges @ [1, count]
    return np.array_equal(np.sort(forward), np.sort(backward))


def signed_volume(vertices: Vertices, faces: Faces) -> float:
    """Return the volume of a watertight mesh, negative if its faces look inwards.

    It is the sum of signed tetrahedra (a × b) · c / 6 (divergence theorem).
    """
    a, b, c = (vertices - vertices.mean(0))[faces].swapaxes(0, 1)
    return float(np.einsum("ij,ij->", a, np.cross(b, c))) / 6


def split_solids(vertices: Vertices, faces: Faces) -> list[tuple[Vertices, Faces]]:
    """Return the components of a mesh if each is a solid, else the whole mesh.

    Triangles that share an edge are of one component. A component that is not
    watertight, or that looks inwards (a cavity in another one), prevents the division;
    a mesh that looks inwards as a whole is inverted.
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    edges = np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]], axis=2).reshape(-1, 2)
    edge = np.unique(edges, axis=0, return_inverse=True)[1].reshape(-1)
    face, count = np.repeat(np.arange(len(faces)), 3), edge.max() + 1
    joint = coo_matrix((np.ones(len(edge)), (edge, face)), (count, len(faces))).tocsr()
    number, label = connected_components(joint.T @ joint, directed=False)
    parts = [_drop_unused_vertices(vertices, faces[label == i]) for i in range(number)]
    closed = all(is_watertight(f) for _, f in parts)
    volumes = [signed_volume(*part) for part in parts] if closed else []
    if closed and max(volumes) < 0:
        return [(v, f[:, ::-1]) for v, f in parts]
    return parts if closed and min(volumes) > 0 else [(vertices, faces)]


def _drop_unused_vertices(vertices: Vertices, faces: Faces) -> tuple[Vertices, Faces]:
    used, faces = np.unique(faces, return_inverse=True)
    return vertices[used], faces.reshape(-1, 3)


def mesh_label(mesh: Mesh) -> str:
    """Return how messages name a mesh: by its file, or by its number of vertices."""
    if hasattr(mesh.source, "vertices"):
        return f"a trimesh of {len(mesh.source.vertices)} vertices"
    return str(mesh.source)
