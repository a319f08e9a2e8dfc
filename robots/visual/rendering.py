"""Pictures of a world by a depth buffer: shaded, with shadows and a grid on the floor.

Neither a browser nor a graphics library is needed.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from .drawn_scene import DrawnScene
from .framing import grid_cell
from .rasterizer import Buffer, corner_weights, rasterize

LIGHT = np.array([0.35, -0.40, 0.85]) / np.linalg.norm([0.35, -0.40, 0.85])
"""Direction to the light."""
AMBIENT, SKY, DIFFUSE = 0.48, 0.14, 0.46
"""Shares of light: from everywhere, from above, and from the light."""
SAMPLES_PER_PIXEL_SIDE = 2
"""Number of samples along each side of a pixel; more make edges smoother, but take
longer."""
SHADOW_PIXELS = 900
"""Width and height of the depth buffer of the light [pixels]; more make shadows
sharper."""
EDGE_BRIGHTNESS_FACTOR = 0.72
"""Factor of the brightness at edges between bodies; a lower one makes them darker."""
FLOOR_COLOR, LINE_COLOR = np.full(3, 0.955), np.full(3, 0.80)
SHADOW_BRIGHTNESS_FACTOR = 0.84
"""Factor of the brightness in shadows on the floor; a lower one makes them darker."""


@dataclass(frozen=True, eq=False)
class Eye:
    """A parallel projection."""

    axes: Float[np.ndarray, "3 3"]
    """Rows: to the right, up, and towards the eye, in the world."""
    centre: Float[np.ndarray, "3"]
    """Point in the middle of the picture."""
    scale: float
    """Pixels per metre."""
    shape: tuple[int, int]
    """Height and width [pixels]."""

    def project(
        self, points: Float[np.ndarray, "*n 3"]
    ) -> tuple[Float[np.ndarray, "*n 2"], Float[np.ndarray, "*n"]]:
        """Return the pixels of points, and their depths towards the eye [m]."""
        local = (points - self.centre) @ self.axes.T
        middle = np.array([self.shape[1], self.shape[0]]) / 2
        return middle + self.scale * local[..., :2] * [1, -1], local[..., 2]

    def unproject(self, depth: Float[np.ndarray, "h w"]) -> Float[np.ndarray, "h w 3"]:
        """Return the points in the middles of all pixels at some depths."""
        height, width = self.shape
        y, x = np.mgrid[:height, :width] + 0.5
        local = [(x - width / 2) / self.scale, (height / 2 - y) / self.scale, depth]
        return np.stack(local, -1) @ self.axes + self.centre


def fit_eye(
    points: Float[np.ndarray, "n 3"],
    view: tuple[float, float],
    shape: tuple[int, int],
    fill: float = 0.92,
) -> Eye:
    """Return the projection in which points just fill a picture.

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
    return Eye(axes, (low + high) / 2 @ axes, scale, shape)


def render(scene: DrawnScene, eye: Eye) -> Float[np.ndarray, "height width 3"]:
    """Return the picture of a scene, RGB from 0 to 1."""
    fine = Eye(
        eye.axes,
        eye.centre,
        eye.scale * SAMPLES_PER_PIXEL_SIDE,
        (eye.shape[0] * SAMPLES_PER_PIXEL_SIDE, eye.shape[1] * SAMPLES_PER_PIXEL_SIDE),
    )
    light = _LightMap(scene)
    pixels, depth = fine.project(scene.corners)
    picture, seen_depth = _floor(scene, fine, light)
    is_opaque = scene.colors[:, 3] >= 1
    layers = [is_opaque]
    layers += [
        (scene.bodies == body) & ~is_opaque
        for body in _far_to_near(scene, depth, ~is_opaque)
    ]
    for layer in layers:
        index = np.flatnonzero(layer)
        buffer = rasterize(pixels[index], depth[index], fine.shape)
        is_seen = (buffer.triangle >= 0) & (buffer.depth > seen_depth)
        _paint(picture, scene, fine, light, index, buffer, is_seen)
        if layer is is_opaque:
            seen_depth = np.where(is_seen, buffer.depth, seen_depth)
    height, width = eye.shape
    tiles = picture.reshape(
        height, SAMPLES_PER_PIXEL_SIDE, width, SAMPLES_PER_PIXEL_SIDE, 3
    )
    return np.clip(tiles.mean((1, 3)), 0, 1)


class _LightMap:
    """Depths as the light sees them."""

    def __init__(self, scene: DrawnScene) -> None:
        shape = (SHADOW_PIXELS, SHADOW_PIXELS)
        shadowing = scene.corners[scene.colors[:, 3] >= 0.5]
        points = np.concatenate([scene.points, shadowing.reshape(-1, 3)])
        azimuth, elevation = np.arctan2(LIGHT[1], LIGHT[0]), np.arcsin(LIGHT[2])
        degrees = float(np.rad2deg(elevation)), float(np.rad2deg(azimuth))
        self._eye = fit_eye(points, degrees, shape)
        self._depth = rasterize(*self._eye.project(shadowing), shape).depth
        self._bias = 3.0 / self._eye.scale

    def light(self, points: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, " n"]:
        """Return the share of light that reaches points, from 0 to 1."""
        pixels, depth = self._eye.project(points)
        total = np.zeros(len(points))
        offsets = np.array([[-0.7, -0.3], [0.3, -0.7], [0.7, 0.3], [-0.3, 0.7]])
        for offset in offsets:
            x, y = np.floor(pixels + offset).astype(int).T
            height, width = self._eye.shape
            inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
            cover = np.full(len(points), -np.inf)
            cover[inside] = self._depth[y[inside], x[inside]]
            total += cover <= depth + self._bias
        return total / len(offsets)


def _floor(
    scene: DrawnScene, eye: Eye, light: _LightMap
) -> tuple[Float[np.ndarray, "h w 3"], Float[np.ndarray, "h w"]]:
    """Return a picture of the floor with its grid, and its depth; white around it."""
    picture = np.ones((*eye.shape, 3))
    depth = np.full(eye.shape, -np.inf)
    upward = eye.axes[2, 2]
    if upward < 0.05:
        return picture, depth
    flat = eye.unproject(np.zeros(eye.shape))
    # Along its ray each pixel meets the floor at this depth.
    down = (scene.floor - flat[..., 2]) / upward
    points = flat + down[..., None] * eye.axes[2]
    low, high = scene.points.min(0)[:2], scene.points.max(0)[:2]
    radius = max(float(np.linalg.norm(high - low)) / 2, 0.05)
    behind = eye.centre + (scene.floor - eye.centre[2]) / upward * eye.axes[2]
    middles = ((low + high) / 2, behind[:2])
    away = [np.linalg.norm(points[..., :2] - middle, axis=-1) for middle in middles]
    away = np.minimum(*away) / radius
    fade = np.clip((2.6 - away) / 1.4, 0, 1)[..., None]
    color = FLOOR_COLOR + (LINE_COLOR - FLOOR_COLOR) * _grid_lines(
        points[..., :2], grid_cell(2 * radius), eye.scale, upward
    )
    lit = light.light(points.reshape(-1, 3)).reshape(eye.shape)[..., None]
    color = color * (SHADOW_BRIGHTNESS_FACTOR + (1 - SHADOW_BRIGHTNESS_FACTOR) * lit)
    # A floor that the scene touches must not hide what stands in it.
    return picture + fade * (color - picture), down - 1e-3 / upward


def _grid_lines(
    points: Float[np.ndarray, "h w 2"], cell: float, scale: float, upward: float
) -> Float[np.ndarray, "h w 1"]:
    """Return the coverage of pixels by the lines of a grid, from 0 to 1."""
    nearest = np.abs(points - cell * np.round(points / cell))
    pixels = nearest.min(-1) * scale * np.sqrt(upward)
    return np.clip(SAMPLES_PER_PIXEL_SIDE * 0.9 - pixels, 0, 1)[..., None]


def _far_to_near(
    scene: DrawnScene, depth: Float[np.ndarray, "n 3"], chosen: Bool[np.ndarray, " n"]
) -> list[int]:
    """Return the bodies of chosen triangles, the farthest first."""
    bodies = np.unique(scene.bodies[chosen])
    middles = [depth[chosen & (scene.bodies == body)].mean() for body in bodies]
    return [int(bodies[k]) for k in np.argsort(middles)]


def _paint(
    picture: Float[np.ndarray, "h w 3"],
    scene: DrawnScene,
    eye: Eye,
    light: _LightMap,
    index: np.ndarray,
    buffer: Buffer,
    is_seen: Bool[np.ndarray, "h w"],
) -> None:
    """Paint the triangles of a buffer over a picture."""
    if not is_seen.any():
        return
    triangle = index[buffer.triangle[is_seen]]
    middles = np.argwhere(is_seen)[:, ::-1] + 0.5
    weights = corner_weights(eye.project(scene.corners[triangle])[0], middles)
    normals = (weights[..., None] * scene.normals[triangle]).sum(1)
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-9)
    # Of a surface without an inside the side is seen that faces the eye.
    normals *= np.where(normals @ eye.axes[2] < 0, -1, 1)[:, None]
    points = eye.unproject(np.where(is_seen, buffer.depth, 0))[is_seen]
    direct = np.clip(normals @ LIGHT, 0, 1)
    lit = light.light(points + 1.5e-3 * normals) * direct
    shade = AMBIENT + SKY * (0.5 + 0.5 * normals[:, 2]) + DIFFUSE * lit
    shade *= np.where(
        _edges(buffer, scene.bodies[index])[is_seen], EDGE_BRIGHTNESS_FACTOR, 1
    )
    color = scene.colors[triangle, :3] * shade[:, None]
    opacity = scene.colors[triangle, 3:]
    picture[is_seen] += opacity * (color - picture[is_seen])


def _edges(buffer: Buffer, bodies: np.ndarray) -> Bool[np.ndarray, "h w"]:
    """Return the pixels at which one body ends and another one, or nothing, begins."""
    body = np.where(buffer.triangle >= 0, bodies[buffer.triangle], -1)
    edges = np.zeros(body.shape, bool)
    edges[:-1] |= body[:-1] != body[1:]
    edges[1:] |= body[:-1] != body[1:]
    edges[:, :-1] |= body[:, :-1] != body[:, 1:]
    edges[:, 1:] |= body[:, :-1] != body[:, 1:]
    return edges


def _axes(elevation: float, azimuth: float) -> Float[np.ndarray, "3 3"]:
    """Return the directions right, up and towards the eye."""
    right = np.array([-np.sin(azimuth), np.cos(azimuth), 0.0])
    flat = np.cos(elevation)
    eye = np.array([flat * np.cos(azimuth), flat * np.sin(azimuth), np.sin(elevation)])
    return np.stack([right, np.cross(eye, right), eye])
