"""At which places a thing may be seen: by nine rays, for choosing starts."""

import numpy as np
from jaxtyping import Bool, Float

from posewise.robots.config import Config
from posewise.robots.kinematics.transforms import quat_to_matrix

from ..geometry.frame_groups import (
    FrameGroup,
    bounding_box,
    first_hits,
    has_collision_shape,
)
from .pixel_visibility import box_corners, find_camera, find_visible_object

SAMPLED_BOX_SCALE = 0.9
"""Rays go to the corners of a box that is so much smaller than the thing's."""


def sees_box(
    C: Config, name: str, camera: str, poses: Float[np.ndarray, "n 7"]
) -> Bool[np.ndarray, " n"]:
    """Whether a camera sees the middle and the corners of the box about a thing.

    Args:
        C: the world, in which all else stays.
        name: of the thing.
        camera: of the camera, or of an agent.
        poses: of the thing's root frame.
    """
    thing, made = find_visible_object(C, name), find_camera(C, camera)
    R, p = thing.pose(thing.frames[0])
    low, high = bounding_box(thing, R)
    corners = np.concatenate([box_corners(low[None], high[None]), [(low + high) / 2]])
    corners = corners[-1] + SAMPLED_BOX_SCALE * (corners - corners[-1]) - p @ R
    points = corners @ quat_to_matrix(poses[:, 3:]).swapaxes(1, 2) + poses[:, None, :3]
    eye_R, eye = (x[C.index(made.name)] for x in C.forward_pass().frames)
    depth, left, up = np.moveaxis((points - eye) @ eye_R, -1, 0)
    high_edge = np.tan(made.vertical_fov / 2) * depth
    inside = (depth > made.near) & (depth < made.far) & (np.abs(up) < high_edge)
    inside &= np.abs(left) < high_edge * made.width / made.height
    others = [i for i in range(len(C.frames)) if has_collision_shape(C, i)]
    others = [i for i in others if i not in thing.frames]
    rays = (points - eye).reshape(-1, 3)
    hit = first_hits(FrameGroup(C, "", tuple(others)), eye[None], rays)
    return (inside & (hit.reshape(depth.shape) > 1)).all(-1)
