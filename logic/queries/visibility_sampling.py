"""Poses at which an object is probably visible, by nine rays, for random starts."""

import numpy as np
from jaxtyping import Bool, Float

from posewise.robots.config import Config
from posewise.robots.kinematics.transforms import quat_to_matrix
from posewise.robots.typing import FrameName

from ..geometry.camera_rays import frames_of_others
from ..geometry.frame_groups import FrameGroup, bounding_box, first_hits
from .pixel_visibility import box_corners, find_camera, find_visible_object

SAMPLED_BOX_SCALE = 0.9
"""Size of the box whose corners are sampled, relative to the object's box [1]; a larger
one counts an object as hidden that others hide only at its corners."""


def sees_box(
    C: Config, name: FrameName, camera: str, poses: Float[np.ndarray, "n 7"]
) -> Bool[np.ndarray, " n"]:
    """Return whether a camera sees the middle and the corners of an object's box.

    Args:
        C: the world, in which all other frames stay.
        name: of the object.
        camera: a camera, or an agent that has one.
        poses: of the object's root frame.
    """
    group, view = find_visible_object(C, name), find_camera(C, camera)
    R, p = group.pose(group.frames[0])
    low, high = bounding_box(group, R)
    middle = (low + high) / 2
    corners = np.concatenate([box_corners(low[None], high[None]), [middle]])
    corners = middle + SAMPLED_BOX_SCALE * (corners - middle) - p @ R
    points = corners @ quat_to_matrix(poses[:, 3:]).swapaxes(1, 2) + poses[:, None, :3]
    R_eye, eye = (x[C.index(view.name)] for x in C.forward_pass().frames)
    depth, leftward, up = np.moveaxis((points - eye) @ R_eye, -1, 0)
    high_edge = np.tan(view.vertical_fov / 2) * depth
    in_view = (depth > view.near) & (depth < view.far) & (np.abs(up) < high_edge)
    in_view &= np.abs(leftward) < high_edge * view.width / view.height
    rays = (points - eye).reshape(-1, 3)
    others = FrameGroup(C, "", tuple(frames_of_others(group)))
    hit = first_hits(others, eye[None], rays)
    return (in_view & (hit.reshape(depth.shape) > 1)).all(-1)
