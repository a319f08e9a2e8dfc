"""Images of a pinhole camera in a world: colours and depths, without a GPU."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, UInt8

from ..annotations.agents import Camera
from ..errors import ConfigError, unknown_name
from .drawn_scene import drawn_scene
from .eyes import CameraEye, camera_eye
from .rasterizer import rasterize
from .rendering import render
from .viewable_world import ViewableWorld


class CameraImage(NamedTuple):
    """Picture and depths of a camera, row by row from the top left."""

    rgb: UInt8[np.ndarray, "height width 3"]
    """Colours, 0 to 255."""
    depth: Float[np.ndarray, "height width"]
    """Distance along the camera's axis [m]; inf where it sees nothing."""
    points: Float[np.ndarray, "height width 3"]
    """Points that are seen, in the world [m]; NaN where it sees nothing."""


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
    nearness = np.where(is_seen, buffer.depth, np.nan)
    depth = np.where(is_seen, 1 / nearness, np.inf)
    rgb = np.round(255 * picture).astype(np.uint8)
    return CameraImage(rgb, depth, eye.unproject(nearness))


def image_of_named_camera(world: ViewableWorld, name: str) -> CameraImage:
    """Return what a camera of the world's annotations sees, in its own pixels.

    Raises:
        ConfigError: For an unknown camera, and a mesh that cannot be read.
    """
    camera = named_camera(world, name)
    eye = camera_eye(camera, world.pose(name), (camera.height, camera.width))
    return camera_image(world, eye)


def named_camera(world: ViewableWorld, name: str) -> Camera:
    """Return a camera of the world's annotations.

    Raises:
        ConfigError: For an unknown name, with near matches.
    """
    cameras = world.annotations.cameras
    if name not in cameras:
        raise ConfigError(
            f"{unknown_name('camera', name, cameras)} C.annotations.add_camera"
            " adds one."
        )
    return cameras[name]
