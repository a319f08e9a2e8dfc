"""Bounding boxes of shapes along their own axes."""

import numpy as np
from jaxtyping import Float

from . import shapes


def local_bounds(
    shape: shapes.Shape,
) -> tuple[Float[np.ndarray, "3"], Float[np.ndarray, "3"]]:
    """Return the lower and the upper corner of the box about a shape [m].

    The box is in the frame of the shape; a marker is measured as it is drawn.

    Raises:
        ConfigError: For a mesh file that cannot be read.
        ValueError: For a plane, which has no box.
    """
    match shape:
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
        case shapes.Convex(points, margin) | shapes.PointCloud(points, margin):
            return points.min(0) - margin, points.max(0) + margin
        case shapes.Mesh() as mesh:
            low, high = np.asarray(mesh.mesh.bounds, float)
            return low, high
        case _:
            raise ValueError(f"{shape!r} has no bounding box.")
    return -half, half
