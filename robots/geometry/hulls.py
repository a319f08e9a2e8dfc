"""Convex hulls of points, however degenerate."""

from itertools import product
from typing import Any

import numpy as np
from jaxtyping import Float, Int

FLATNESS_TOLERANCE = 1e-9
"""Thickness, as a fraction of their size, below which points count as flat (or
straight)."""
CONVEXITY_TOLERANCE = 1e-6
"""A surface counts as convex if it is no farther below its hull than this fraction of
its size."""
MAX_DISTANCES_PER_BATCH = 4_000_000
"""Distances of points and planes that are computed at once (count); more need more
memory."""


def unique_rows(points: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "_ 3"]:
    """Return the distinct points, sorted, as `np.unique` does in twice the time."""
    ordered = points[np.lexsort(points.T[::-1])]
    is_new = (ordered[1:] != ordered[:-1]).any(1)
    return ordered[np.concatenate([[True], is_new])]


def hull_vertices(points: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "m 3"]:
    """Return the extreme points, which span the convex hull of all points.

    Args:
        points: At least one, finite; they may be flat, straight or coincide.
    """
    points = unique_rows(np.asarray(points, float))
    coordinates, hull = principal_hull(points)
    if hull is not None:
        return points[np.sort(hull.vertices)]
    if coordinates.shape[1] == 0:
        return points[:1]
    return points[[coordinates[:, 0].argmin(), coordinates[:, 0].argmax()]]


def is_convex(
    vertices: Float[np.ndarray, "vertices 3"], faces: Int[np.ndarray, "faces 3"]
) -> bool:
    """Whether triangles cover the surface of their hull, and lie nowhere else.

    Args:
        vertices: Vertices, each of them in some face.
        faces: Indices of the corners of each triangle, without duplicates.
    """
    points, hull = principal_hull(vertices)
    if hull is None:
        return True
    a, b, c = vertices[faces].swapaxes(0, 1)
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2
    is_flat = points.shape[1] == 2
    # In two dimensions qhull calls the area "volume" and the circumference "area".
    if area < (1 - CONVEXITY_TOLERANCE) * (hull.volume if is_flat else hull.area):
        return False
    if is_flat:
        return True
    planes = np.unique(hull.equations, axis=0)
    allowed = CONVEXITY_TOLERANCE * np.linalg.norm(np.ptp(points, axis=0))
    # The centre of a triangle in the hull is at least a third as far from a plane as
    # its farthest corner, so testing centres is enough.
    centres = points[faces].mean(1)
    step = max(1, MAX_DISTANCES_PER_BATCH // len(planes))
    return all(
        (-(part @ planes[:, :3].T + planes[:, 3])).min(1).max() <= allowed
        for part in np.split(centres, range(step, len(centres), step))
    )


def hull_planes(points: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "m 4"]:
    """Return planes (normal, offset) with normal · x <= offset for each x in the hull.

    A flat hull has two faces slightly apart; a straight one, or a point, has no planes.

    Args:
        points: At least one, finite; they may be flat, straight or coincide.
    """
    points = unique_rows(np.asarray(points, float))
    coordinates, hull = principal_hull(points)
    if hull is None:
        return np.zeros((0, 4))
    middle, axes = principal_axes(points)
    rank = coordinates.shape[1]
    equations = np.unique(hull.equations, axis=0)
    normals = equations[:, :rank] @ axes[:rank]
    planes = np.column_stack([normals, normals @ middle - equations[:, rank]])
    if rank == 3:
        return planes
    normal, gap = axes[2], FLATNESS_TOLERANCE * np.ptp(points, axis=0).max()
    upper, lower = [*normal, normal @ middle + gap], [*-normal, gap - normal @ middle]
    return np.concatenate([planes, [upper, lower]])


def surface_simplices(
    points: Float[np.ndarray, "n 3"],
) -> list[Float[np.ndarray, "k 3"]]:
    """Return the corners of the triangles that cover the hull's surface.

    A flat hull is covered once; a straight one gives a segment, a single point itself.
    """
    points = unique_rows(np.asarray(points, float))
    coordinates, hull = principal_hull(points)
    match coordinates.shape[1]:
        case 3:
            return list(points[hull.simplices])
        case 2:
            outline = points[hull.vertices]
            return [outline[[0, i, i + 1]] for i in range(1, len(outline) - 1)]
    return [hull_vertices(points)]


def volume_and_centroid(
    points: Float[np.ndarray, "n 3"],
) -> tuple[float, Float[np.ndarray, "3"]]:
    """Return the volume [m³] and centroid of the hull.

    The centroid of a hull without volume is the mean of its corners.
    """
    corners = hull_vertices(points)
    middle = corners.mean(0)
    if principal_hull(corners)[0].shape[1] < 3:
        return 0.0, middle
    triangles = np.array(surface_simplices(corners)) - middle
    volumes = np.abs(np.linalg.det(triangles)) / 6
    centres = triangles.sum(1) / 4
    return float(volumes.sum()), middle + volumes @ centres / volumes.sum()


def principal_hull(points: np.ndarray) -> tuple[np.ndarray, Any]:
    """Return coordinates (n, rank) along principal axes, and their hull if rank > 1."""
    from scipy.spatial import ConvexHull, QhullError

    middle, axes = principal_axes(points)
    coordinates = (points - middle) @ axes.T
    extents = np.ptp(coordinates, axis=0)
    rank = int((extents > FLATNESS_TOLERANCE * extents.max()).sum())
    for dim in range(rank, 1, -1):
        try:
            return coordinates[:, :dim], ConvexHull(coordinates[:, :dim])
        except QhullError:  # too thin for qhull: drop the shortest axis
            rank = dim - 1
    return coordinates[:, :rank], None


def principal_axes(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean of points, and three principal axes, largest variance first."""
    middle = points.mean(0)
    axes = np.linalg.svd(points - middle, full_matrices=len(points) < 3)[2]
    return middle, axes


def cube_directions() -> Float[np.ndarray, "98 3"]:
    """Return unnormalized directions: grid points on a cube of 4 cells a side."""
    grid = [d for d in product(range(-2, 3), repeat=3) if max(map(abs, d)) == 2]
    return np.array(grid, float)
