"""Small boxes around points."""

import numpy as np
from jaxtyping import Float

from ...kinematics.transforms import matrix_to_quat
from ..hulls import principal_axes, surface_simplices
from ..shapes import Box
from .surface import CONTAINMENT_MARGIN, PosedShape


def enclosing_box(points: Float[np.ndarray, "n 3"], faces: int) -> PosedShape:
    """Return a box around points, of nearly the least volume.

    A side is normal to a principal axis or lies on a face of the hull; seen along its
    normal the box is the smallest rectangle.

    Args:
        points: At least one, finite; they may be flat, straight or coincide.
        faces: Number of faces of the hull that are tried, the largest ones.
    """
    normals = principal_axes(points)[1]
    triangles = [t for t in surface_simplices(points) if len(t) == 3]
    if faces and triangles:
        a, b, c = np.array(triangles).swapaxes(0, 1)
        crosses = np.cross(b - a, c - a)
        areas = np.linalg.norm(crosses, axis=1)
        largest = np.argsort(-areas, kind="stable")[:faces]
        normals = np.concatenate([normals, crosses[largest] / areas[largest, None]])
    frames = [_smallest_frame(points, normal) for normal in normals]
    R = min(frames, key=lambda R: np.ptp(points @ R, axis=0).prod())
    local = points @ R
    middle = R @ (local.min(0) + local.max(0)) / 2
    # The margin is of the whole size, because a side may have no length.
    size = np.ptp(local, axis=0)
    pose = np.concatenate([middle, np.asarray(matrix_to_quat(R))])
    return PosedShape(Box(size + CONTAINMENT_MARGIN * size.max()), pose)


def _smallest_frame(
    points: Float[np.ndarray, "n 3"], normal: Float[np.ndarray, "3"]
) -> Float[np.ndarray, "3 3"]:
    """Return the axes, as columns, of the smallest box with a side of that normal.

    One side of a smallest rectangle lies on an edge of the points' outline.
    """
    from scipy.spatial import ConvexHull, QhullError

    x = np.cross(normal, np.eye(3)[np.abs(normal).argmin()])
    x /= np.linalg.norm(x)
    plane = np.stack([x, np.cross(normal, x)])
    flat = points @ plane.T
    try:
        outline = flat[ConvexHull(flat).vertices]
        edges = np.roll(outline, -1, 0) - outline
    except (QhullError, ValueError):  # all points lie on a line
        outline, edges = flat, np.ptp(flat, axis=0)[None]
    lengths = np.linalg.norm(edges, axis=1)
    along = edges[lengths > 0] / lengths[lengths > 0, None]
    along = along if len(along) else np.eye(2)[:1]
    across = along[:, ::-1] * [-1, 1]
    areas = np.ptp(along @ outline.T, axis=1) * np.ptp(across @ outline.T, axis=1)
    u = along[areas.argmin()] @ plane
    return np.column_stack([u, np.cross(normal, u), normal])
