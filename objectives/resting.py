"""How a thing lies on a level floor: on which faces, and turned how."""

from itertools import product

import numpy as np
from jaxtyping import Float

from ..features.regions import extent
from ..robots.config import Config
from ..robots.frame import Geometry
from ..robots.hulls import simplices, volume_and_centre
from ..robots.shapes import Marker, Plane, PointCloud
from ..robots.transforms import (
    pose_inverse,
    pose_multiply,
    quat_multiply,
    quat_normalize,
    quat_to_matrix,
)

DIRECTIONS = np.array([d for d in product((-2, -1, 0, 1, 2), repeat=3) if any(d)])
"""In which round shapes are given points of their surface."""


def surface(world: Config, name: str) -> Float[np.ndarray, "n 3"]:
    """Points of a frame and all on it, in the frame; their hull is about the thing's.

    Planes have none.
    """
    root, poses = world.index(name), world.poses()
    below = {root}
    found = [np.zeros((0, 3))]
    for i, frame in enumerate(world.frames):
        if i != root and frame.parent not in below:
            continue
        below.add(i)
        pose = pose_multiply(pose_inverse(poses[root]), poses[i])
        R, p = quat_to_matrix(pose[3:]), pose[:3]
        for g in frame.geometries:
            if g.collision and not isinstance(g.shape, Plane | Marker):
                found.append(_points(g, frame.name) @ R.T + p)
    return np.concatenate(found)


def _points(g: Geometry, frame: str) -> Float[np.ndarray, "n 3"]:
    if isinstance(g.shape, PointCloud):
        return g.shape.points @ quat_to_matrix(g.pose[3:]).T + g.pose[:3]
    core, axes = extent(g, frame)
    units = DIRECTIONS / np.linalg.norm(DIRECTIONS, axis=1, keepdims=True)
    return np.unique((core[:, None] + units @ axes.mT).reshape(-1, 3), axis=0)


def at_rest(
    points: Float[np.ndarray, "n 3"], turned: Float[np.ndarray, "k 4"]
) -> Float[np.ndarray, "k 4"]:
    """Orientations turned by as little as makes a thing lie on one of its faces.

    Args:
        points: whose hull it is, of uniform density.
        turned: orientations.
    """
    faces = resting_faces(points)
    if not len(faces):
        return turned
    R = quat_to_matrix(turned)
    down = faces[np.argmax(-R[:, 2] @ faces.T, 1)]
    now = np.einsum("kij,kj->ki", R, down)
    # the quaternion that turns `now` to -z; where they are opposite, about x
    half = np.stack([1 - now[:, 2], -now[:, 1], now[:, 0], np.zeros(len(now))], -1)
    half[now[:, 2] > 1 - 1e-9] = [0, 1, 0, 0]
    return quat_normalize(quat_multiply(quat_normalize(half), turned))


def resting_faces(points: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "faces 3"]:
    """Outward normals of those faces of a hull that its centroid is straight above.

    None for points without volume.
    """
    if len(points) < 4:
        return np.zeros((0, 3))
    volume, centre = volume_and_centre(points)
    if volume == 0:
        return np.zeros((0, 3))
    corners = np.array(simplices(points)) - centre
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    size = np.linalg.norm(normals, axis=1)
    corners, normals = corners[size > 0], normals[size > 0] / size[size > 0, None]
    away = np.sign(np.einsum("fi,fi->f", normals, corners[:, 0]))
    normals *= away[:, None]
    # the centroid's foot is in the triangle: on the same side of all its edges
    foot = np.einsum("fi,fi->f", normals, corners[:, 0])[:, None] * normals
    edges = np.roll(corners, -1, 1) - corners
    sides = np.cross(edges, foot[:, None] - corners)
    signs = np.einsum("fki,fi->fk", sides, normals) * away[:, None]
    return normals[(signs >= -1e-12).all(1)]
