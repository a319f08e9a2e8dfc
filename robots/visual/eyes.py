"""Eyes that pictures are seen with: from far away, in parallel, and pinhole cameras."""

from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from ..annotations.agents import Camera
from ..kinematics.transforms import quat_to_matrix
from .drawn_scene import DrawnScene

MIN_SIGHT_DEPTH = 1e-3
"""Least depth from which a camera sees [m]; nearer corners of triangles would lie
beyond any number of pixels."""
MIN_LEVEL_SINE = 0.05
"""Sine of the angle above the floor below which an eye far away sees no floor [1]."""


@runtime_checkable
class Eye(Protocol):
    """A projection to a picture.

    The nearness of a point is linear along the picture of a plane, and larger the
    nearer the point is.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width [pixels]."""

    def finer(self, factor: int) -> "Eye":
        """Return the same eye with more pixels along each side."""

    def clipped(self, scene: DrawnScene) -> DrawnScene:
        """Return what of a scene is neither too near to the eye nor too far."""

    def project(
        self, points: Float[np.ndarray, "*n 3"]
    ) -> tuple[Float[np.ndarray, "*n 2"], Float[np.ndarray, "*n"]]:
        """Return the pixels of points, and their nearness."""

    def unproject(
        self, nearness: Float[np.ndarray, "h w"]
    ) -> Float[np.ndarray, "h w 3"]:
        """Return the points in the middles of all pixels at some nearness."""

    def floor_nearness(self, height: float) -> Float[np.ndarray, "h w"]:
        """Return the nearness of a level plane in all pixels; -inf: it is not seen."""

    def floor_middle(self, height: float) -> Float[np.ndarray, "2"]:
        """Return the place on a level plane about which it is drawn."""

    def directions(
        self, points: Float[np.ndarray, "*n 3"]
    ) -> Float[np.ndarray, "*n 3"]:
        """Return unit vectors from points to the eye."""

    def pixels_per_metre(
        self, points: Float[np.ndarray, "*n 3"]
    ) -> Float[np.ndarray, "*n"]:
        """Return the scale of the picture at points."""


@dataclass(frozen=True, eq=False)
class ParallelEye:
    """A parallel projection; nearness is the coordinate towards the eye [m]."""

    axes: Float[np.ndarray, "3 3"]
    """Rows: to the right, up, and towards the eye, in the world."""
    centre: Float[np.ndarray, "3"]
    """Point in the middle of the picture."""
    scale: float
    """Pixels per metre."""
    shape: tuple[int, int]
    """Height and width [pixels]."""

    def finer(self, factor: int) -> "ParallelEye":
        shape = (self.shape[0] * factor, self.shape[1] * factor)
        return replace(self, scale=self.scale * factor, shape=shape)

    def clipped(self, scene: DrawnScene) -> DrawnScene:
        return scene

    def project(
        self, points: Float[np.ndarray, "*n 3"]
    ) -> tuple[Float[np.ndarray, "*n 2"], Float[np.ndarray, "*n"]]:
        local = (points - self.centre) @ self.axes.T
        middle = np.array([self.shape[1], self.shape[0]]) / 2
        return middle + self.scale * local[..., :2] * [1, -1], local[..., 2]

    def unproject(
        self, nearness: Float[np.ndarray, "h w"]
    ) -> Float[np.ndarray, "h w 3"]:
        x, y = _pixel_middles(self.shape)
        local = [x / self.scale, y / self.scale, nearness]
        return np.stack(local, -1) @ self.axes + self.centre

    def floor_nearness(self, height: float) -> Float[np.ndarray, "h w"]:
        upward = self.axes[2, 2]
        if upward < MIN_LEVEL_SINE:
            return np.full(self.shape, -np.inf)
        # Along its ray each pixel meets the floor at this depth.
        return (height - self.unproject(np.zeros(self.shape))[..., 2]) / upward

    def floor_middle(self, height: float) -> Float[np.ndarray, "2"]:
        distance = (height - self.centre[2]) / self.axes[2, 2]
        return (self.centre + distance * self.axes[2])[:2]

    def directions(
        self, points: Float[np.ndarray, "*n 3"]
    ) -> Float[np.ndarray, "*n 3"]:
        return np.broadcast_to(self.axes[2], points.shape)

    def pixels_per_metre(
        self, points: Float[np.ndarray, "*n 3"]
    ) -> Float[np.ndarray, "*n"]:
        return np.full(points.shape[:-1], self.scale)


@dataclass(frozen=True, eq=False)
class CameraEye:
    """A pinhole camera; nearness is the inverse of the depth [1/m]."""

    axes: Float[np.ndarray, "3 3"]
    """Rows: to the right, up, and ahead, in the world."""
    position: Float[np.ndarray, "3"]
    """Position of the pinhole in the world [m]."""
    focal_length: float
    """Pixels per metre at a depth of one metre."""
    near: float
    """Least depth that is seen [m]."""
    far: float
    """Largest depth that is seen [m]."""
    shape: tuple[int, int]
    """Height and width [pixels]."""

    def finer(self, factor: int) -> "CameraEye":
        shape = (self.shape[0] * factor, self.shape[1] * factor)
        return replace(self, focal_length=self.focal_length * factor, shape=shape)

    def clipped(self, scene: DrawnScene) -> DrawnScene:
        scene = _ahead_of_plane(scene, self._depth(scene.corners) - self.near)
        return _ahead_of_plane(scene, self.far - self._depth(scene.corners))

    def project(
        self, points: Float[np.ndarray, "*n 3"]
    ) -> tuple[Float[np.ndarray, "*n 2"], Float[np.ndarray, "*n"]]:
        """Return the pixels of points, and their nearness.

        That of points that are not between `near` and `far` is -inf, and their pixels
        are NaN.
        """
        local = (points - self.position) @ self.axes.T
        depth = local[..., 2]
        # Corners that triangles were cut at may be off by rounding.
        is_seen = (depth >= 0.999999 * self.near) & (depth <= 1.000001 * self.far)
        safe = np.where(is_seen, depth, 1.0)
        middle = np.array([self.shape[1], self.shape[0]]) / 2
        pixels = middle + self.focal_length * local[..., :2] * [1, -1] / safe[..., None]
        pixels = np.where(is_seen[..., None], pixels, np.nan)
        return pixels, np.where(is_seen, 1 / safe, -np.inf)

    def unproject(
        self, nearness: Float[np.ndarray, "h w"]
    ) -> Float[np.ndarray, "h w 3"]:
        return self.position + self._rays() / nearness[..., None]

    def floor_nearness(self, height: float) -> Float[np.ndarray, "h w"]:
        below = self.position[2] - height
        if below <= 0:
            return np.full(self.shape, -np.inf)
        nearness = -self._rays()[..., 2] / below
        return np.where(nearness > 1 / self.far, nearness, -np.inf)

    def floor_middle(self, height: float) -> Float[np.ndarray, "2"]:
        return self.position[:2]

    def directions(
        self, points: Float[np.ndarray, "*n 3"]
    ) -> Float[np.ndarray, "*n 3"]:
        back = self.position - points
        return back / np.maximum(np.linalg.norm(back, axis=-1, keepdims=True), 1e-9)

    def pixels_per_metre(
        self, points: Float[np.ndarray, "*n 3"]
    ) -> Float[np.ndarray, "*n"]:
        return self.focal_length / np.maximum(self._depth(points), self.near)

    def _depth(self, points: Float[np.ndarray, "*n 3"]) -> Float[np.ndarray, "*n"]:
        return (points - self.position) @ self.axes[2]

    def _rays(self) -> Float[np.ndarray, "h w 3"]:
        """Return vectors of unit depth through the middles of all pixels."""
        x, y = _pixel_middles(self.shape)
        local = [x / self.focal_length, y / self.focal_length, np.ones(self.shape)]
        return np.stack(local, -1) @ self.axes


def fit_eye(
    points: Float[np.ndarray, "n 3"],
    view: tuple[float, float],
    shape: tuple[int, int],
    fill: float = 0.92,
) -> ParallelEye:
    """Return the parallel projection in which points just fill a picture.

    Args:
        points: What is to be seen [m].
        view: Elevation and azimuth of the eye [degrees].
        shape: Height and width [pixels].
        fill: Share of the picture that they fill.
    """
    axes = _axes(*np.deg2rad(view))
    local = points @ axes.T
    low, high = local.min(0), local.max(0)
    extent = np.maximum((high - low)[:2], 1e-6)
    scale = fill * float((np.array([shape[1], shape[0]]) / extent).min())
    return ParallelEye(axes, (low + high) / 2 @ axes, scale, shape)


def camera_eye(
    camera: Camera, pose: Float[np.ndarray, "7"], shape: tuple[int, int]
) -> CameraEye:
    """Return the projection of a camera, whose frame has x forward, y left, z up.

    Args:
        camera: The camera; of its pixels only their ratio counts.
        pose: Pose of its frame in the world.
        shape: Height and width of the picture [pixels].
    """
    forward, leftward, upward = quat_to_matrix(pose[3:]).T
    focal_length = shape[0] / 2 / np.tan(camera.vertical_fov / 2)
    near = max(camera.near, MIN_SIGHT_DEPTH)
    axes = np.stack([-leftward, upward, forward])
    return CameraEye(axes, pose[:3], float(focal_length), near, camera.far, shape)


def _ahead_of_plane(scene: DrawnScene, height: Float[np.ndarray, "n 3"]) -> DrawnScene:
    """Return the triangles of a scene, cut where their height over a plane is 0."""
    is_ahead = height >= 0
    if is_ahead.all():
        return scene
    pieces = [(np.flatnonzero(is_ahead.all(1)), np.broadcast_to(np.eye(3), (1, 3, 3)))]
    for k in range(3):
        # The corner k, next, last: in their order, so that normals keep their sides.
        order = [k, (k + 1) % 3, (k + 2) % 3]
        for count in (1, 2):
            pattern = np.arange(3) < count
            chosen = np.flatnonzero((is_ahead[:, order] == pattern).all(1))
            corners = _cut_corners(height[chosen][:, order], count)
            back = np.argsort(order)
            pieces += [(chosen, weights[:, :, back]) for weights in corners]
    rows = np.concatenate([chosen for chosen, _ in pieces])
    weights = np.concatenate(
        [np.broadcast_to(part, (len(chosen), 3, 3)) for chosen, part in pieces]
    )
    return replace(
        scene,
        corners=weights @ scene.corners[rows],
        normals=weights @ scene.normals[rows],
        colors=scene.colors[rows],
        bodies=scene.bodies[rows],
    )


def _cut_corners(
    height: Float[np.ndarray, "n 3"], count: int
) -> list[Float[np.ndarray, "n 3 3"]]:
    """Return triangles ahead of a plane, as weights of the corners of one they are of.

    Args:
        height: Of the corners over the plane; only the first ones are not below 0.
        count: How many these are: of 1 a triangle is left, of 2 a quadrilateral.
    """
    corner = np.broadcast_to(np.eye(3), (len(height), 3, 3))

    def crossing(a: int, b: int) -> np.ndarray:
        share = (height[:, a] / (height[:, a] - height[:, b]))[:, None]
        return (1 - share) * corner[:, a] + share * corner[:, b]

    if count == 1:
        return [np.stack([corner[:, 0], crossing(0, 1), crossing(0, 2)], 1)]
    near_b, near_a = crossing(1, 2), crossing(0, 2)
    return [
        np.stack([corner[:, 0], corner[:, 1], near_b], 1),
        np.stack([corner[:, 0], near_b, near_a], 1),
    ]


def _pixel_middles(shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Return coordinates of pixels from the middle, to the right and up."""
    height, width = shape
    y, x = np.mgrid[:height, :width] + 0.5
    return x - width / 2, height / 2 - y


def _axes(elevation: float, azimuth: float) -> Float[np.ndarray, "3 3"]:
    """Return the directions right, up and towards the eye."""
    right = np.array([-np.sin(azimuth), np.cos(azimuth), 0.0])
    level = np.cos(elevation)
    eye = np.array(
        [level * np.cos(azimuth), level * np.sin(azimuth), np.sin(elevation)]
    )
    return np.stack([right, np.cross(eye, right), eye])
