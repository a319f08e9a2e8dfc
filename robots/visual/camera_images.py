"""Images of a pinhole camera in a world: colours and depths, without a GPU."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, UInt8

from .drawn_scene import drawn_scene
from .eyes import CameraEye
from .rasterizer import rasterize
from .rendering import render
from .viewable_world import ViewableWorld


class CameraImage(NamedTuple):
    """Picture and depths of a camera, row by row from the top left."""

    rgb: UInt8[np.ndarray, "height width 3"]
    """Colours, 0 to 255."""
    depth: Float[np.ndarray, "height width"]
    """Distance along the camera's axis [m]; inf where it sees nothing."""


def camera_image(world: ViewableWorld, eye: CameraEye) -> CameraImage:
    """Return what a camera sees of the visual shapes.

    The floor and translucent shapes have no depth.

    Raises:
        ConfigError: For a mesh that cannot be read.
    """
    scene = drawn_scene(world, world.frame_names)
    picture = render(scene, eye)
    clipped = eye.clipped(scene)
    pixels, nearness = eye.project(clipped.corners[clipped.colors[:, 3] >= 1])
    buffer = rasterize(pixels, nearness, eye.shape)
    is_seen = buffer.triangle >= 0
    depth = np.where(is_seen, 1 / np.where(is_seen, buffer.depth, 1.0), np.inf)
    return CameraImage(np.round(255 * picture).astype(np.uint8), depth)
