"""A world as coloured triangles, and which part of it a picture should show."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from ..geometry.shapes import Marker, Mesh
from ..typing import RGBA, FrameName
from ..world.frame import Geometry
from ..world.palette import body_colors
from .framing import floor_height, framed_points
from .triangles import flat_normals, marker_triangles, shape_triangles
from .viewable_world import ViewableWorld
from .visible_shapes import drawn_frames

AXIS_COLORS = np.array([[0.84, 0.15, 0.16], [0.17, 0.63, 0.17], [0.12, 0.47, 0.71]])
"""Colours of the axes of markers: x red, y green, z blue."""


@dataclass(frozen=True, eq=False)
class DrawnScene:
    """Triangles of a world, in the world."""

    corners: Float[np.ndarray, "n 3 3"]
    normals: Float[np.ndarray, "n 3 3"]
    colors: Float[np.ndarray, "n 4"]
    bodies: Int[np.ndarray, " n"]
    """Number of the frame that each belongs to; edges between bodies are drawn."""
    points: Float[np.ndarray, "m 3"]
    """Points that a picture should show."""
    floor: float
    """Height of the floor [m]."""


def drawn_scene(world: ViewableWorld, names: Sequence[FrameName]) -> DrawnScene:
    """Return the visual shapes of some frames of a world at its state.

    Links without visual shapes are drawn by those for collision.

    Raises:
        ConfigError: For unknown frames, with near matches; a mesh that cannot be read.
    """
    drawn = drawn_frames(world.frames)
    poses, colors = world.poses(), body_colors(drawn)
    transforms = world.forward_pass().frames
    parts: list[tuple[np.ndarray, ...]] = []
    chosen = [world.index(name) for name in names]
    for i in chosen:
        R, p = transforms.R[i], transforms.p[i]
        for geometry in drawn[i].geometries:
            for corners, normals, rgba in _pieces(geometry, colors[i]):
                count = len(corners)
                parts.append((
                    corners @ R.T + p, normals @ R.T,
                    np.broadcast_to(rgba, (count, 4)), np.full(count, i),
                ))  # fmt: skip
    empty = (np.zeros((0, 3, 3)), np.zeros((0, 3, 3)), np.zeros((0, 4)), np.zeros(0))
    joined = [np.concatenate(group) for group in zip(*(parts or [empty]), strict=True)]
    frames = [drawn[i] for i in chosen]
    points = framed_points(drawn, [poses], chosen)
    corners, normals, rgba, bodies = joined
    floor = floor_height(frames, poses[chosen], points)
    return DrawnScene(corners, normals, rgba, bodies.astype(int), points, floor)


def _pieces(
    geometry: Geometry, default: RGBA
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return corners, normals and colours of the parts of a shape in its frame."""
    if not geometry.visual:
        return []
    if isinstance(geometry.shape, Marker):
        bars = marker_triangles(geometry.shape.size)
        return [
            (
                corners,
                np.repeat(flat_normals(corners)[:, None], 3, 1),
                np.append(AXIS_COLORS[axis], 1),
            )
            for axis, corners in bars
        ]
    triangles = shape_triangles(geometry)
    rgba = np.ones(4)
    color = geometry.color or default
    rgba[: len(color)] = color
    if isinstance(geometry.shape, Mesh) and geometry.color is None:
        mesh_colors = _mesh_colors(geometry.shape)
        return [(*triangles, rgba if mesh_colors is None else mesh_colors)]
    return [(*triangles, rgba)]


def _mesh_colors(mesh: Mesh) -> np.ndarray | None:
    """Return the colours (n or 1, 4) that a mesh file gives its faces, if any."""
    visual: Any = mesh.mesh.visual
    if visual.kind is None:
        return None
    if visual.kind == "texture":
        return np.asarray(visual.material.main_color, float)[None] / 255
    return np.asarray(visual.face_colors, float) / 255
