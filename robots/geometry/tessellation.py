"""Tessellation of shapes into polygons, for drawing."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from ..kinematics.transforms import IDENTITY, quat_to_matrix
from . import shapes

DEFAULT_COLOR = (0.62, 0.68, 0.74, 1.0)
"""RGBA of shapes without a colour."""
MAX_DRAWN_TRIANGLES = 3000
"""Number of triangles above which a mesh is drawn as its convex hull."""
PROFILE_POINTS = 12
"""Number of points on the profile of a ball, from pole to pole; more make it
smoother."""


def polygons(
    shape: shapes.Shape,
    pose: Float[np.ndarray, "7"] = IDENTITY,
    segments: int = 20,
) -> list[np.ndarray]:
    """Return the faces (k, 3) of a shape in the frame in which it has a pose [m].

    Planes, markers and point clouds have none; rounded edges are drawn sharp.

    Args:
        shape: The shape.
        pose: Its pose in the frame.
        segments: Number of segments about the axis of a round shape.
    """
    match shape:
        case shapes.Box(size, _):
            faces = _box_faces(size / 2)
        case shapes.Cylinder(length, radius, _):
            faces = _revolve([(0, -0.5), (1, -0.5), (1, 0.5), (0, 0.5)], segments)
            faces = [f * [radius, radius, length] for f in faces]
        case shapes.Sphere(radius):
            faces = _revolve(_capsule_profile(0.0, radius), segments)
        case shapes.Capsule(length, radius):
            faces = _revolve(_capsule_profile(length, radius), segments)
        case shapes.Ellipsoid(radii):
            faces = [f * radii for f in _revolve(_capsule_profile(0.0, 1.0), segments)]
        case shapes.Convex(vertices, _):
            import trimesh

            faces = list(trimesh.convex.convex_hull(vertices).triangles)
        case shapes.Mesh() as mesh:
            triangles = mesh.mesh
            if len(triangles.faces) > MAX_DRAWN_TRIANGLES:
                triangles = triangles.convex_hull
            faces = list(triangles.triangles)
        case _:
            return []
    R = quat_to_matrix(pose[3:])
    return [np.asarray(f) @ R.T + pose[:3] for f in faces]


def _box_faces(half: np.ndarray, max_size: float = 0.08) -> list[np.ndarray]:
    """Return the six faces of a box, cut into patches of at most `max_size` [m].

    matplotlib sorts polygons by one depth each, which fails for large ones.
    """
    square = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    faces = []
    for axis in range(3):
        sides = np.delete(half, axis)
        cuts = np.maximum(np.ceil(2 * sides / max_size), 1).astype(int)
        for corner in np.ndindex(*cuts):
            patch = ((square + corner) / cuts * 2 - 1) * sides
            for side in (-half[axis], half[axis]):
                faces.append(np.insert(patch, axis, side, 1))
    return faces


def _capsule_profile(length: float, radius: float) -> list[tuple[float, float]]:
    """Return the profile (r, z) of a capsule, from the lower to the upper pole."""
    angles = np.linspace(-np.pi / 2, np.pi / 2, PROFILE_POINTS)
    side = np.where(angles < 0, -length / 2, length / 2)
    r, z = radius * np.cos(angles), radius * np.sin(angles) + side
    return list(zip(r, z, strict=True))


def _revolve(profile: Sequence[tuple[float, float]], segments: int) -> list[np.ndarray]:
    """Return the quadrilaterals of a profile (r, z) revolved about z."""
    angle = np.linspace(0, 2 * np.pi, segments + 1)
    ring = np.stack([np.cos(angle), np.sin(angle)], -1)
    faces = []
    for (r0, z0), (r1, z1) in zip(profile[:-1], profile[1:], strict=True):
        for a, b in zip(ring[:-1], ring[1:], strict=True):
            corners = [(*(r0 * a), z0), (*(r0 * b), z0), (*(r1 * b), z1)]
            faces.append(np.array([*corners, (*(r1 * a), z1)]))
    return faces
