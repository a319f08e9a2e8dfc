"""Pictures of a world by a depth buffer: shaded, with shadows and a grid on the floor.

Neither a browser nor a graphics library is needed.
"""

import numpy as np
from jaxtyping import Bool, Float

from .drawn_scene import DrawnScene
from .eyes import Eye, fit_eye
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


def render(scene: DrawnScene, eye: Eye) -> Float[np.ndarray, "height width 3"]:
    """Return the picture of a scene, RGB from 0 to 1."""
    fine = eye.finer(SAMPLES_PER_PIXEL_SIDE)
    light = _LightMap(scene)
    picture, seen_depth = _floor(scene, fine, light)
    scene = fine.clipped(scene)
    pixels, depth = fine.project(scene.corners)
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
    depth = eye.floor_nearness(scene.floor)
    is_seen = np.isfinite(depth)
    if not is_seen.any():
        return picture, depth
    points = eye.unproject(np.where(is_seen, depth, 1.0))[is_seen]
    low, high = scene.points.min(0)[:2], scene.points.max(0)[:2]
    radius = max(float(np.linalg.norm(high - low)) / 2, 0.05)
    middles = ((low + high) / 2, eye.floor_middle(scene.floor))
    away = [np.linalg.norm(points[:, :2] - middle, axis=-1) for middle in middles]
    away = np.minimum(*away) / radius
    fade = np.clip((2.6 - away) / 1.4, 0, 1)[:, None]
    # A floor is narrower in the picture the flatter the eye looks on it.
    upward = np.maximum(eye.directions(points)[..., 2], 0)
    scale = eye.pixels_per_metre(points) * np.sqrt(upward)
    lines = _grid_lines(points[:, :2], grid_cell(2 * radius), scale)[:, None]
    color = FLOOR_COLOR + (LINE_COLOR - FLOOR_COLOR) * lines
    lit = light.light(points)[:, None]
    color = color * (SHADOW_BRIGHTNESS_FACTOR + (1 - SHADOW_BRIGHTNESS_FACTOR) * lit)
    picture[is_seen] += fade * (color - 1)
    # A floor that the scene touches must not hide what stands in it.
    return picture, eye.floor_nearness(scene.floor - 1e-3)


def _grid_lines(
    points: Float[np.ndarray, "n 2"], cell: float, scale: Float[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    """Return the coverage of points by the lines of a grid, from 0 to 1.

    Args:
        points: Places on the floor [m].
        cell: Edge of the squares [m].
        scale: Pixels per metre.
    """
    nearest = np.abs(points - cell * np.round(points / cell))
    return np.clip(SAMPLES_PER_PIXEL_SIDE * 0.9 - nearest.min(-1) * scale, 0, 1)


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
    points = eye.unproject(np.where(is_seen, buffer.depth, 1.0))[is_seen]
    facing = (normals * eye.directions(points)).sum(-1)
    normals *= np.where(facing < 0, -1, 1)[:, None]
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
