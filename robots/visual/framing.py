"""Framing of a view: the shapes that are drawn, without the ground below."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from ..geometry import shapes
from ..kinematics.transforms import quat_to_matrix
from ..world.frame import Frame, Geometry
from .palette import body_roots

GROUND_RATIO = 3.0
"""A body this many times as large as all others together is a ground, not framed."""
MIN_SIZE = 0.1
"""Least size of what is framed [m]."""
LEVEL = 1 - 1e-6
"""Least cosine of the inclination of a plane that is a floor."""
SIGNS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])


def bounding_corners(
    frames: Sequence[Frame], poses: Float[np.ndarray, "frames 7"]
) -> list[Float[np.ndarray, "8 3"]]:
    """Return the corners, in the world, of a box about each shape that is drawn.

    Planes have none.

    Args:
        frames: The frames.
        poses: Their poses in the world.
    """
    boxes = []
    for frame, pose in zip(frames, poses, strict=True):
        R = quat_to_matrix(pose[3:])
        for geometry in frame.geometries:
            if geometry.visual and not isinstance(geometry.shape, shapes.Plane):
                low, high = _local_box(geometry)
                corners = (low + high) / 2 + SIGNS * (high - low) / 2
                corners = corners @ quat_to_matrix(geometry.pose[3:]).T
                boxes.append((corners + geometry.pose[:3]) @ R.T + pose[:3])
    return boxes


def body_boxes(
    frames: Sequence[Frame], poses: Float[np.ndarray, "frames 7"]
) -> dict[int, Float[np.ndarray, "n 3"]]:
    """Return corners about what is drawn of each body, by the index of its root."""
    boxes: dict[int, list[np.ndarray]] = {}
    for i, root in enumerate(body_roots(frames)):
        own = bounding_corners(frames[i : i + 1], poses[i : i + 1])
        boxes.setdefault(root, []).extend(own)
    return {root: np.concatenate(parts) for root, parts in boxes.items() if parts}


def visible_bounds(
    boxes: Sequence[Float[np.ndarray, "8 3"]], origins: Float[np.ndarray, "n 3"]
) -> Float[np.ndarray, "m 3"]:
    """Return the corners of the boxes without grounds; without boxes, the origins."""
    kept = [*boxes]
    while len(kept) > 1:
        sizes = [_diagonal(box) for box in kept]
        largest = int(np.argmax(sizes))
        others = kept[:largest] + kept[largest + 1 :]
        if sizes[largest] < GROUND_RATIO * max(_diagonal(np.concatenate(others)), 1e-9):
            break
        kept = others
    points = np.concatenate(kept) if kept else np.reshape(origins, (-1, 3))
    if not len(points):
        points = np.zeros((1, 3))
    low, high = points.min(0), points.max(0)
    if np.linalg.norm(high - low) < MIN_SIZE:
        points = (low + high) / 2 + SIGNS * MIN_SIZE / 4
    return points


def floor_height(
    frames: Sequence[Frame],
    poses: Float[np.ndarray, "frames 7"],
    points: Float[np.ndarray, "m 3"],
) -> float:
    """Return the height of the highest level plane below points, or of the lowest [m].

    Args:
        frames: Frames, of which some may be planes.
        poses: Their poses in the world.
        points: The points that are framed.
    """
    lowest = float(points[:, 2].min())
    planes = [-np.inf]
    for frame, pose in zip(frames, poses, strict=True):
        R = quat_to_matrix(pose[3:])
        for geometry in frame.geometries:
            if geometry.visual and isinstance(geometry.shape, shapes.Plane):
                up = (R @ quat_to_matrix(geometry.pose[3:]))[:, 2]
                height = float((R @ geometry.pose[:3] + pose[:3])[2])
                if up[2] > LEVEL and height <= lowest + 1e-3:
                    planes.append(height)
    return max(planes) if len(planes) > 1 else lowest


def grid_cell(size: float) -> float:
    """Return the edge of the squares of a floor grid: 1, 2 or 5 times a power of 10.

    Args:
        size: Size of what stands on the floor, of about ten squares [m].
    """
    rough = size / 10
    power = 10.0 ** np.floor(np.log10(rough))
    return float(power * max(step for step in (1, 2, 5) if step * power <= rough))


def _diagonal(points: np.ndarray) -> float:
    return float(np.linalg.norm(points.max(0) - points.min(0)))


def _local_box(geometry: Geometry) -> tuple[np.ndarray, np.ndarray]:
    """Return the lower and upper corner of a box about a shape, in its own axes."""
    match geometry.shape:
        case shapes.Box(size):
            half = size / 2
        case shapes.Cylinder(length, radius):
            half = np.array([radius, radius, length / 2])
        case shapes.Capsule(length, radius):
            half = np.array([radius, radius, length / 2 + radius])
        case shapes.Sphere(radius):
            half = np.full(3, radius)
        case shapes.Ellipsoid(radii):
            half = radii
        case shapes.Marker(size):
            half = np.full(3, size / 2)
        case shapes.Convex(points) | shapes.PointCloud(points):
            return points.min(0), points.max(0)
        case shapes.Mesh() as mesh:
            return tuple(np.asarray(mesh.mesh.bounds, float))
        case shape:
            raise TypeError(f"no box about {shape!r}")
    return -half, half
