"""Convex hulls of points, however degenerate."""

from typing import Any

import numpy as np
from jaxtyping import Float, Int

FLATNESS_TOLERANCE = 1e-9
"""Points thinner than this fraction of their size count as flat (or straight)."""
CONVEXITY_TOLERANCE = 1e-6
"""A surface no farther below its hull than this fraction of its size is convex."""
MAX_DISTANCES_PER_BATCH = 4_000_000
FARTHEST_POINT_COUNT = 8
"""So many points are kept for being far apart before gaps are looked at."""


def hull_vertices(points: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "m 3"]:
    """The extreme points, which span the convex hull of all of them.

    Args:
        points: at least one, finite; they may be flat, straight or coincide.
    """
    points = np.unique(np.asarray(points, float), axis=0)
    coordinates, hull = _principal_hull(points)
    if hull is not None:
        return points[np.sort(hull.vertices)]
    if coordinates.shape[1] == 0:
        return points[:1]
    return points[[coordinates[:, 0].argmin(), coordinates[:, 0].argmax()]]


def outer_hull(
    points: Float[np.ndarray, "n 3"], max_vertices: int
) -> Float[np.ndarray, "m 3"]:
    """Vertices of a hull that contains all points, at most so many of them.

    The extreme points if they are few enough. Otherwise those that the hull of the
    others misses most, moved outwards from the centre until their hull contains all.
    Points too thin for that keep all their extreme points.

    Args:
        points: at least one, finite.
        max_vertices: at least 8.
    """
    from scipy.spatial import ConvexHull, QhullError

    corners = hull_vertices(points)
    if len(corners) <= max_vertices:
        return corners
    kept = [int(np.linalg.norm(corners - corners.mean(0), axis=1).argmax())]
    try:
        while len(kept) < max_vertices:
            if len(kept) < FARTHEST_POINT_COUNT:
                away = corners[:, None] - corners[kept]
                missed = np.linalg.norm(away, axis=2).min(1)
            else:
                planes = ConvexHull(corners[kept]).equations
                missed = (corners @ planes[:, :3].T + planes[:, 3]).max(1)
            kept.append(int(missed.argmax()))
        planes = ConvexHull(corners[kept]).equations
    except QhullError:
        return corners
    centre = corners[kept].mean(0)
    room = -(planes[:, :3] @ centre + planes[:, 3])
    growth = ((corners - centre) @ planes[:, :3].T / room).max()
    return centre + max(growth, 1.0) * (corners[kept] - centre)


def is_convex(
    vertices: Float[np.ndarray, "vertices 3"], faces: Int[np.ndarray, "faces 3"]
) -> bool:
    """Whether triangles cover the surface of their hull, and lie nowhere else.

    The centre of a triangle in the hull is no farther from a plane than a third of its
    farthest corner, so centres tell.

    Args:
        vertices: all of them in some face.
        faces: without twins.
    """
    points, hull = _principal_hull(vertices)
    if hull is None:
        return True
    a, b, c = vertices[faces].swapaxes(0, 1)
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2
    flat = points.shape[1] == 2  # where qhull calls the length area, the area volume
    if area < (1 - CONVEXITY_TOLERANCE) * (hull.volume if flat else hull.area):
        return False
    if flat:
        return True
    planes = np.unique(hull.equations, axis=0)
    allowed = CONVEXITY_TOLERANCE * np.linalg.norm(np.ptp(points, axis=0))
    centres = points[faces].mean(1)
    step = max(1, MAX_DISTANCES_PER_BATCH // len(planes))
    return all(
        (-(part @ planes[:, :3].T + planes[:, 3])).min(1).max() <= allowed
        for part in np.split(centres, range(step, len(centres), step))
    )


def hull_planes(points: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "m 4"]:
    """Planes (normal, offset) with normal · x <= offset for each x in the hull.

    A flat hull has two faces, a hair apart; a straight one, or a point, has no planes.

    Args:
        points: at least one, finite; they may be flat, straight or coincide.
    """
    points = np.unique(np.asarray(points, float), axis=0)
    coordinates, hull = _principal_hull(points)
    if hull is None:
        return np.zeros((0, 4))
    middle, axes = _principal_axes(points)
    rank = coordinates.shape[1]
    equations = np.unique(hull.equations, axis=0)
    normals = equations[:, :rank] @ axes[:rank]
    planes = np.column_stack([normals, normals @ middle - equations[:, rank]])
    if rank == 3:
        return planes
    face, hair = axes[2], FLATNESS_TOLERANCE * np.ptp(points, axis=0).max()
    over, under = [*face, face @ middle + hair], [*-face, hair - face @ middle]
    return np.concatenate([planes, [over, under]])


def surface_simplices(
    points: Float[np.ndarray, "n 3"],
) -> list[Float[np.ndarray, "k 3"]]:
    """Corners of the triangles that cover the hull's surface.

    A flat hull is covered once; a straight one is a segment, a point itself.
    """
    points = np.unique(np.asarray(points, float), axis=0)
    coordinates, hull = _principal_hull(points)
    match coordinates.shape[1]:
        case 3:
            return list(points[hull.simplices])
        case 2:
            around = points[hull.vertices]
            return [around[[0, i, i + 1]] for i in range(1, len(around) - 1)]
    return [hull_vertices(points)]


def volume_and_centroid(
    points: Float[np.ndarray, "n 3"],
) -> tuple[float, Float[np.ndarray, "3"]]:
    """Volume [m³] and centroid of the hull; of one without volume, of its corners."""
    corners = hull_vertices(points)
    middle = corners.mean(0)
    if _principal_hull(corners)[0].shape[1] < 3:
        return 0.0, middle
    triangles = np.array(surface_simplices(corners)) - middle
    volumes = np.abs(np.linalg.det(triangles)) / 6
    centres = triangles.sum(1) / 4
    return float(volumes.sum()), middle + volumes @ centres / volumes.sum()


def _principal_hull(points: np.ndarray) -> tuple[np.ndarray, Any]:
    """Coordinates (n, rank) along the principal axes, and their hull for rank 2, 3."""
    from scipy.spatial import ConvexHull, QhullError

    middle, axes = _principal_axes(points)
    coordinates = (points - middle) @ axes.T
    extents = np.ptp(coordinates, axis=0)
    rank = int((extents > FLATNESS_TOLERANCE * extents.max()).sum())
    for kept in range(rank, 1, -1):
        try:
            return coordinates[:, :kept], ConvexHull(coordinates[:, :kept])
        except QhullError:  # too thin for qhull: one axis less
            rank = kept - 1
    return coordinates[:, :rank], None


def _principal_axes(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The middle of points, and three orthogonal axes, the longest extent first."""
    middle = points.mean(0)
    axes = np.linalg.svd(points - middle, full_matrices=len(points) < 3)[2]
    return middle, axes
