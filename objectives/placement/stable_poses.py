"""Faces on which an object rests on a level floor, and orientations on them.

`trimesh.poses.compute_stable_poses` finds the same faces, but needs networkx, which is
no dependency of posewise, and takes longer, because it also computes probabilities.
"""

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
"""Directions in which round shapes get points of their surface; more directions
follow the shape more closely."""


def collision_points(world: Config, name: str) -> Float[np.ndarray, "n 3"]:
    """Return points whose hull approximates a frame with all that is attached to it.

    The points (n, 3) are in the frame [m]. Planes have no points.
    """
    root, poses = world.index(name), world.poses()
    subtree = {root}
    points = [np.zeros((0, 3))]
    for i, frame in enumerate(world.frames):
        if i != root and frame.parent not in subtree:
            continue
        subtree.add(i)
        pose = pose_multiply(pose_inverse(poses[root]), poses[i])
        R, p = quat_to_matrix(pose[3:]), pose[:3]
        for g in frame.geometries:
            if g.collision and not isinstance(g.shape, Plane | Marker):
                points.append(_surface_points(g, frame.name) @ R.T + p)
    return np.concatenate(points)


def _surface_points(g: Geometry, frame: str) -> Float[np.ndarray, "n 3"]:
    """Return points on the surface of a shape, in its frame [m]."""
    if isinstance(g.shape, PointCloud):
        return g.shape.points @ quat_to_matrix(g.pose[3:]).T + g.pose[:3]
    core, axes = bounding_ellipsoids(g, frame)
    units = SURFACE_DIRECTIONS / np.linalg.norm(
        SURFACE_DIRECTIONS, axis=1, keepdims=True
    )
    return np.unique((core[:, None] + units @ axes.mT).reshape(-1, 3), axis=0)


def settle_on_face(
    points: Float[np.ndarray, "n 3"], orientations: Float[np.ndarray, "k 4"]
) -> Float[np.ndarray, "k 4"]:
    """Return orientations rotated until the object lies on a stable face.

    The face is the one that the vertical through the centroid meets, so that small
    faces are chosen rarely, as by a thrown object.

    Args:
        points: their hull is the object, of uniform density.
        orientations: unit quaternions.
    """
    faces, heights = stable_faces(points)
    if not len(faces):
        return orientations
    R = quat_to_matrix(orientations)
    # A ray from the centroid along d leaves the plane of face f at h_f / (n_f · d);
    # the smallest such distance belongs to the face that it meets.
    chosen = faces[np.argmax(-R[:, 2] @ faces.T / heights, 1)]
    normal = np.einsum("kij,kj->ki", R, chosen)
    return quat_normalize(quat_multiply(turn_face_down(normal), orientations))


def turn_face_down(normals: Float[np.ndarray, "k 3"]) -> Float[np.ndarray, "k 4"]:
    """Return the least rotations that turn outward normals of faces straight down."""
    # The quaternion (1 + a · b, a × b) rotates unit vector a to b, here the normal to
    # -z; if they are opposite it vanishes, and half a turn about x serves.
    x, y, z = np.moveaxis(normals, -1, 0)
    turn = np.stack([1 - z, -y, x, np.zeros_like(z)], -1)
    turn[z > 1 - 1e-9] = [0, 1, 0, 0]
    return quat_normalize(turn)


def stable_faces(
    points: Float[np.ndarray, "n 3"],
) -> tuple[Float[np.ndarray, "faces 3"], Float[np.ndarray, " faces"]]:
    """Return the faces of a hull on which it rests, with its centroid above them.

    Args:
        points: their hull is the object, of uniform density.

    Returns:
        Outward normals, and distances of the faces from the centroid [m]. There is no
        face if the points have no volume.
    """
    no_faces = np.zeros((0, 3)), np.zeros(0)
    if len(points) < 4:
        return no_faces
    volume, centre = volume_and_centroid(points)
    if volume == 0:
        return no_faces
    corners = np.array(surface_simplices(points)) - centre
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    heights = np.einsum("fi,fi->f", normals, corners[:, 0])
    size = np.linalg.norm(normals, axis=1) * np.sign(heights)
    solid = size != 0
    corners, heights = corners[solid], heights[solid] / size[solid]
    normals = normals[solid] / size[solid, None]
    # A face is stable if the foot of the centroid is inside of the triangle: on the
    # same side of all its edges.
    foot = heights[:, None] * normals
    edges = np.roll(corners, -1, 1) - corners
    sides = np.cross(edges, foot[:, None] - corners)
    signs = np.einsum("fki,fi->fk", sides, normals) * np.sign(size[solid])[:, None]
    stable = (signs >= -1e-12).all(1)
    return normals[stable], heights[stable]
