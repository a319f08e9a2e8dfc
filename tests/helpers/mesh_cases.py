"""Meshes for tests: the reference meshes, and simple ones."""

import numpy as np
import trimesh

from helpers.oracle import reference

NAMES = ("torus", "L", "U", "cross", "cup", "annulus", "frame", "bracket")
BOX = trimesh.creation.box()
ELL = np.array([[0, 0], [2, 0], [2, 1], [1, 1], [1, 2], [0, 2]], float)


def reference_mesh(name: str) -> trimesh.Trimesh:
    """Return one of the eight watertight, non-convex reference meshes."""
    data = reference("collision/cases_mesh.json")["meshes"][name]
    return triangles(data["V"], data["F"])


def triangles(vertices, faces) -> trimesh.Trimesh:
    """Return a mesh without any cleaning."""
    return trimesh.Trimesh(vertices, faces, process=False)


def ell() -> trimesh.Trimesh:
    """Return a prism over the letter L, of volume 3."""
    n, k = len(ELL), np.arange(len(ELL))
    cap = [[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 5]]
    faces = [[a, c, b] for a, b, c in cap] + [[a + n, b + n, c + n] for a, b, c in cap]
    for i, j in zip(k, np.roll(k, -1), strict=True):
        faces += [[i, j, j + n], [i, j + n, i + n]]
    low = np.column_stack([ELL, np.zeros(n)])
    return triangles(np.concatenate([low, low + [0, 0, 1]]), faces)


def outside_of(vertices: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return the distance of points beyond the planes of a hull, <= 0 inside."""
    hull = trimesh.convex.convex_hull(vertices)
    offsets = np.einsum("ij,ij->i", hull.face_normals, hull.triangles[:, 0])
    return (points @ hull.face_normals.T - offsets).max(1)


def open_cube() -> trimesh.Trimesh:
    """Return a floor and four overlapping walls, 0.2 m a side: not convex."""
    walls = [([0.2, 0.2, 0.02], [0, 0, 0.01])]
    walls += [([0.02, 0.2, 0.2], [x, 0, 0.1]) for x in (-0.09, 0.09)]
    walls += [([0.2, 0.02, 0.2], [0, y, 0.1]) for y in (-0.09, 0.09)]
    parts = [trimesh.creation.box(size) for size, _ in walls]
    for part, (_, place) in zip(parts, walls, strict=True):
        part.apply_translation(place)
    return trimesh.util.concatenate(parts)
