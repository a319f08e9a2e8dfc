"""Shapes as triangles with normals, to be shaded."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ..geometry import shapes
from ..geometry.tessellation import polygons
from ..kinematics.transforms import quat_to_matrix
from ..world.frame import Geometry

NUM_SEGMENTS = 36
"""Number of triangles about the axis of a round shape; more make it smoother."""
CREASE = np.cos(np.deg2rad(40))
"""Cosine of the angle between faces above which their common edge is sharp."""
MIN_POINT_RADIUS = 0.002
"""Least radius at which points are drawn [m], so that those without one are seen."""
MAX_SHARED = 48
"""Largest number of faces about a vertex that are averaged; more take longer."""


class Triangles(NamedTuple):
    """Triangles in some frame."""

    corners: Float[np.ndarray, "n 3 3"]
    """Positions of the three corners [m]."""
    normals: Float[np.ndarray, "n 3 3"]
    """Unit normals of the surface at the corners."""


@lru_cache(maxsize=1024)
def shape_triangles(geometry: Geometry) -> Triangles:
    """Return the triangles of a shape in its frame; planes and markers have none.

    Raises:
        ConfigError: For a mesh file that cannot be read.
    """
    pose: np.ndarray | None = geometry.pose
    match geometry.shape:
        case shapes.Box(size):
            local = _box_corners(size / 2)
        case shapes.Convex(vertices):
            import trimesh

            local = trimesh.convex.convex_hull(vertices).triangles
        case shapes.Mesh() as mesh:
            local = mesh.mesh.triangles
        case shapes.PointCloud(points, radius):
            corners = _octahedron_corners() * max(radius, MIN_POINT_RADIUS)
            local = (points[:, None, None] + corners).reshape(-1, 3, 3)
        case _:
            local, pose = (
                _fans(polygons(geometry.shape, geometry.pose, NUM_SEGMENTS)),
                None,
            )
    corners = np.asarray(local, float)
    if pose is not None:
        corners = corners @ quat_to_matrix(pose[3:]).T + pose[:3]
    return Triangles(corners, _smooth_normals(corners))


def marker_triangles(size: float) -> list[tuple[int, Float[np.ndarray, "n 3 3"]]]:
    """Return a thin bar along each axis, and the axis it stands for."""
    half = np.full(3, size / 60)
    bars = []
    for axis in range(3):
        long = half.copy()
        long[axis] = size / 4
        bars.append((axis, _box_corners(long) + size / 4 * np.eye(3)[axis]))
    return bars


def flat_normals(corners: Float[np.ndarray, "n 3 3"]) -> Float[np.ndarray, "n 3"]:
    """Return the unit normals of triangles; 0 for those without an area."""
    cross = _areas(corners)
    length = np.linalg.norm(cross, axis=-1, keepdims=True)
    return cross / np.where(length > 0, length, 1)


def _areas(corners: np.ndarray) -> np.ndarray:
    return np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])


def _fans(faces: list[np.ndarray]) -> np.ndarray:
    """Return the triangles of convex polygons."""
    fans = [np.stack([[f[0], f[k], f[k + 1]] for k in range(1, len(f) - 1)])
            for f in faces]  # fmt: skip
    return np.concatenate(fans) if fans else np.zeros((0, 3, 3))


def _box_corners(half: Float[np.ndarray, "3"]) -> Float[np.ndarray, "12 3 3"]:
    square = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1.0]])
    faces = []
    for axis in range(3):
        for side in (-1.0, 1.0):
            face = np.insert(square[:: int(side)], axis, side, 1) * half
            # The middle axis is left-handed in this order of the others.
            faces.append(face[::-1] if axis == 1 else face)
    return _fans(faces)


def _octahedron_corners() -> Float[np.ndarray, "8 3 3"]:
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    faces = np.eye(3) * signs[:, None]
    is_clockwise = signs.prod(1) < 0
    faces[is_clockwise] = faces[is_clockwise][:, ::-1]
    return faces


def _smooth_normals(corners: Float[np.ndarray, "n 3 3"]) -> Float[np.ndarray, "n 3 3"]:
    """Return normals at corners: means over the faces there that are nearly level."""
    areas, flat = _areas(corners), flat_normals(corners)
    count = 3 * len(corners)
    if not count:
        return np.zeros((0, 3, 3))
    face = np.repeat(np.arange(len(corners)), 3)
    scale = max(float(np.abs(corners).max()), 1e-9) * 1e-7
    keys = np.round(corners.reshape(-1, 3) / scale).astype(np.int64)
    key = keys @ np.array([73856093, 19349663, 83492791])
    order = np.argsort(key, kind="stable")
    first = np.flatnonzero(np.diff(key[order], prepend=key[order][0] - 1))
    shared = np.diff(np.append(first, count))
    start, size = np.repeat(first, shared), np.repeat(shared, shared)
    rank = np.arange(count) - start
    mine = face[order]
    total = np.zeros((count, 3))
    for shift in range(min(int(shared.max()), MAX_SHARED)):
        other = mine[start + (rank + shift) % size]
        alike = (flat[mine] * flat[other]).sum(1) > CREASE
        total += np.where((alike & (shift < size))[:, None], areas[other], 0)
    length = np.linalg.norm(total, axis=1, keepdims=True)
    total = np.where(length > 0, total / np.where(length > 0, length, 1), flat[mine])
    normals = np.empty_like(total)
    normals[order] = total
    return normals.reshape(-1, 3, 3)
