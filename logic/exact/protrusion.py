"""Protrusion: how far an object sticks out of another one that is around its centre."""

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.geometry.hulls import cube_directions, hull_planes
from posewise.robots.geometry.tessellation import polygons
from posewise.robots.kinematics.transforms import quat_to_matrix
from posewise.robots.typing import FrameName

from ..geometry.frame_groups import FrameGroup, bounding_box, find_object

MAX_PROTRUSION = 5e-3
"""Length by which contents may stick out of their container [m]; less tells rounding
of shapes and of solves."""


def protrusions_at(
    C: Config, a: FrameName, b: FrameName, poses: Float[np.ndarray, "n 7"]
) -> Float[np.ndarray, " n"]:
    """Return how far an object sticks out of another one at poses of its root [m].

    It is the largest distance of its corners below the other one's top from the convex
    hulls of the other one's links. So what is in an open drawer does not stick out, nor
    what looks out of a bowl, but what lies on an open door does. Of an object the
    corners farthest in 98 directions count; round shapes have those of their drawings.

    Args:
        C: the world.
        a: the object that may stick out.
        b: the object around it.
        poses: of a's root frame.
    """
    upper, around = find_object(C, a, b), find_object(C, b, a)
    corners, hulls = _corners(upper), _hulls_of_links(around)
    if not len(corners) or not hulls:
        return np.zeros(len(poses))
    R, p = upper.pose(upper.frames[0])
    extremes = (corners @ cube_directions().T).argmax(0)
    local = (corners[np.unique(extremes)] - p) @ R
    top = bounding_box(around)[1][2]
    turns = quat_to_matrix(poses[:, 3:])
    lengths = np.zeros(len(poses))
    # One by one, since meshes have thousands of faces.
    for k, (turn, position) in enumerate(zip(turns, poses[:, :3], strict=True)):
        points = local @ turn.T + position
        points = points[points[:, 2] <= top]
        outside = [(points @ planes[:, :3].T - planes[:, 3]).max(1) for planes in hulls]
        lengths[k] = np.min(outside, axis=0).max(initial=0.0)
    return lengths


def _hulls_of_links(group: FrameGroup) -> list[Float[np.ndarray, "planes 4"]]:
    """Return the planes of the hulls of parts that never move relative to each other.

    Parts without any, such as half-spaces, are left out.
    """
    moves = group.C.tree.model.kinematics.dof_mask
    links: dict[bytes, list[int]] = {}
    for i in group.collision_frames:
        links.setdefault(moves[i].tobytes(), []).append(i)
    hulls = []
    for frames in links.values():
        corners = _corners(FrameGroup(group.C, group.name, tuple(frames)))
        if len(corners) and len(planes := hull_planes(corners)):
            hulls.append(planes)
    return hulls


def _corners(group: FrameGroup) -> Float[np.ndarray, "n 3"]:
    """Return the corners of the collision shapes of frames in the world [m]."""
    corners = [np.zeros((0, 3))]
    for i in group.collision_frames:
        R, p = group.pose(i)
        for g in group.C.frames[i].geometries:
            if g.collision:
                corners += [face @ R.T + p for face in polygons(g.shape, g.pose)]
    return np.unique(np.concatenate(corners), axis=0)
