"""How a thing lies on a level floor: on which faces, and turned how."""

from itertools import product

import numpy as np
from jaxtyping import Float

from posewise.features.regions import bounding_ellipsoids
from posewise.robots.config import Config
from posewise.robots.geometry.hulls import surface_simplices, volume_and_centroid
from posewise.robots.geometry.shapes import Marker, Plane, PointCloud
from posewise.robots.kinematics.transforms import (
    pose_inverse,
    pose_multiply,
    quat_multiply,
    quat_normalize,
    quat_to_matrix,
)
from posewise.robots.world.frame import Geometry

SURFACE_DIRECTIONS = np.array(
    [d for d in product((-2, -1, 0, 1, 2), repeat=3) if any(d)]
)
"""In which round shapes are given points of their surface."""


def collision_points(world: Config, name: str) -> Float[np.ndarray, "n 3"]:
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
    core, axes = bounding_ellipsoids(g, frame)
    units = SURFACE_DIRECTIONS / np.linalg.norm(
        SURFACE_DIRECTIONS, axis=1, keepdims=True
    )
    return np.unique((core[:, None] + units @ axes.mT).reshape(-1, 3), axis=0)


def settle_on_face(
    points: Float[np.ndarray, "n 3"], turned: Float[np.ndarray, "k 4"]
) -> Float[np.ndarray, "k 4"]:
    """Orientations turned until a thing lies on the face its centroid is above.

    So thin edges are chosen rarely, as when it is thrown.

    Args:
        points: whose hull it is, of uniform density.
        turned: orientations.
    """
    faces, heights = stable_faces(points)
    if not len(faces):
        return turned
    R = quat_to_matrix(turned)
    down = faces[np.argmax(-R[:, 2] @ faces.T / heights, 1)]
    now = np.einsum("kij,kj->ki", R, down)
    # the quaternion that turns `now` to -z; where they are opposite, about x
    half = np.stack([1 - now[:, 2], -now[:, 1], now[:, 0], np.zeros(len(now))], -1)
    half[now[:, 2] > 1 - 1e-9] = [0, 1, 0, 0]
    return quat_normalize(quat_multiply(quat_normalize(half), turned))


def stable_faces(
    points: Float[np.ndarray, "n 3"],
) -> tuple[Float[np.ndarray, "faces 3"], Float[np.ndarray, " faces"]]:
    """Those faces of a hull that its centroid is straight above when they are below.

    Outward normals, and how far from the centroid they are [m]. None for points without
    volume.
    """
    none = np.zeros((0, 3)), np.zeros(0)
    if len(points) < 4:
        return none
    volume, centre = volume_and_centroid(points)
    if volume == 0:
        return none
    corners = np.array(surface_simplices(points)) - centre
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    heights = np.einsum("fi,fi->f", normals, corners[:, 0])
    size = np.linalg.norm(normals, axis=1) * np.sign(heights)
    solid = size != 0
    corners, heights = corners[solid], heights[solid] / size[solid]
    normals = normals[solid] / size[solid, None]
    # the centroid's foot is in the triangle: on the same side of all its edges
    foot = heights[:, None] * normals
    edges = np.roll(corners, -1, 1) - corners
    sides = np.cross(edges, foot[:, None] - corners)
    signs = np.einsum("fki,fi->fk", sides, normals) * np.sign(size[solid])[:, None]
    stable = (signs >= -1e-12).all(1)
    return normals[stable], heights[stable]
