"""Cameras with rai's conventions: z forward, y down, intrinsics in pixels."""

from dataclasses import dataclass, replace

import numpy as np

import posewise as pw
from posewise.robots.kinematics.transforms import quat_to_matrix
from posewise.robots.typing import VectorLike
from posewise.robots.visual.camera_images import CameraImage, camera_image
from posewise.robots.visual.eyes import CameraEye

from .features import HasWorld
from .frame import Frame

VIEW_POSE = (2.0, 5.0, 1.7, -0.1247964, 0.1420823, 0.7377407, -0.6480518)
"""Pose of the eye of a new viewer."""
DEFAULT_FOCAL_LENGTH = 3.0**0.5
"""Focal length of a new viewer, as a ratio to the height of its image; a longer one
shows less."""
MIN_NEAR_DISTANCE = 0.01
"""Least depth of what cameras without one see [m]; a larger one hides more."""


@dataclass(frozen=True)
class PinholeCamera:
    """Camera by rai's attributes of a frame."""

    pose: np.ndarray
    """World pose (7,)."""
    focal_length: float
    """Ratio of the focal length to the height of the image."""
    width: int
    """Number of pixel columns."""
    height: int
    """Number of pixel rows."""
    near: float
    """Least depth that is seen [m]."""
    far: float
    """Largest depth that is seen [m]."""

    @property
    def fxycxy(self) -> np.ndarray:
        """Focal lengths and the middle of the image `(fx, fy, cx, cy)` [pixels]."""
        f = self.focal_length * self.height
        return np.array([f, f, self.width / 2, self.height / 2])

    def image(self, C: pw.Config) -> CameraImage:
        """Return what the camera sees of a world."""
        right, down, forward = np.asarray(quat_to_matrix(self.pose[3:])).T
        axes, shape = np.stack([right, -down, forward]), (self.height, self.width)
        position, f = self.pose[:3], self.focal_length * self.height
        return camera_image(C, CameraEye(axes, position, f, self.near, self.far, shape))


def default_camera(width: int, height: int) -> PinholeCamera:
    """Return the camera of a new viewer."""
    pose = np.array(VIEW_POSE)
    near = MIN_NEAR_DISTANCE
    return PinholeCamera(pose, DEFAULT_FOCAL_LENGTH, width, height, near, 100.0)


def frame_camera(frame: Frame) -> PinholeCamera:
    """Return the camera of a frame with attributes focalLength, width, height, zRange.

    Attributes that are missing are those of a new viewer.
    """
    attributes = frame.getAttributes()
    width, height = (int(attributes.get(k, n)) for k, n in _SIZE.items())
    near, far = attributes.get("zRange", (MIN_NEAR_DISTANCE, 100.0))
    camera = default_camera(width, height)
    length = float(attributes.get("focalLength", camera.focal_length))
    pose = frame.getPose()
    near = max(float(near), MIN_NEAR_DISTANCE)
    return replace(camera, pose=pose, focal_length=length, near=near, far=float(far))


_SIZE = {"width": 640, "height": 480}
"""Number of pixels of cameras whose frame does not tell."""


def rai_depth(image: CameraImage) -> np.ndarray:
    """Return depths as rai does: float32, -1 where nothing is seen [m]."""
    return np.where(np.isfinite(image.depth), image.depth, -1.0).astype(np.float32)


class CameraView:
    """Camera of a configuration that makes images and depths."""

    def __init__(self, C: HasWorld) -> None:
        self._config = C
        self._frame: Frame | None = None

    def setCamera(self, cameraFrameName: Frame) -> PinholeCamera:
        """Look from a frame that has a camera's attributes."""
        self._frame = cameraFrameName
        return frame_camera(cameraFrameName)

    def getFxycxy(self) -> np.ndarray:
        """Return focal lengths and the middle of the image `(fx, fy, cx, cy)`.

        Raises:
            ConfigError: before `setCamera`.
        """
        if self._frame is None:
            raise pw.ConfigError("The view has no camera; call setCamera(frame).")
        return frame_camera(self._frame).fxycxy

    def computeImageAndDepth(
        self,
        config: HasWorld,
        simulateDepthNoise: bool = False,
        visualsOnly: bool = True,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return colors (h, w, 3), 0 to 255, and depths (h, w) [m], -1 for nothing.

        Args:
            config: the configuration, in a state.
            simulateDepthNoise: ignored, because depths have no noise.
            visualsOnly: ignored.
        """
        if self._frame is None:
            camera = default_camera(*_SIZE.values())
        else:
            camera = frame_camera(Frame(config.C, self._frame.name))
        image = camera.image(config.C)
        return image.rgb, rai_depth(image)


def depthImage2PointCloud(depth: np.ndarray, fxycxy: VectorLike) -> np.ndarray:
    """Return the points (h, w, 3) of depths (h, w) in the camera's frame [m].

    Args:
        depth: distances along the camera's axis.
        fxycxy: focal lengths and the middle of the image [pixels].
    """
    fx, fy, cx, cy = np.ravel(fxycxy)
    rows, columns = np.indices(np.shape(depth))
    directions = [(columns - cx) / fx, (rows - cy) / fy, np.ones(np.shape(depth))]
    return np.stack(directions, -1) * np.asarray(depth, float)[..., None]
