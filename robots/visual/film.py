"""Film strips: a world at several moments, as one picture for still pages."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from ..config import Config
from ..geometry.shapes import Marker
from ..geometry.tessellation import polygons
from ..typing import FrameName
from .drawing import draw_shapes
from .figures import new_figure

PANEL_WIDTH = 3.0
"""Width and height of one picture [inch]."""
SHADOW_COLOR = (0.9, 0.9, 0.92, 1.0)
MAX_COLUMNS = 4
"""Largest number of pictures side by side."""


def film_strip(
    worlds: Sequence[Config],
    titles: Sequence[str],
    view: tuple[float, float] = (25.0, -55.0),
    frames: Sequence[FrameName] | None = None,
) -> Any:
    """Return a matplotlib figure with one picture of each world, from the same side.

    Args:
        worlds: Worlds of the same frames, each at its state.
        titles: Titles of the pictures.
        view: Elevation and azimuth of the eye [degrees].
        frames: Names of the frames that are drawn; None: all.

    Raises:
        ImportError: When matplotlib is not installed; the message names the extra.
        ConfigError: For unknown frames, with near matches.
    """
    names = worlds[0].frame_names if frames is None else tuple(frames)
    faces = [_world_faces(world, names) for world in worlds]
    points = _bounding_points(worlds, names, faces)
    columns = _column_count(len(worlds))
    rows = -(-len(worlds) // columns)
    figure = new_figure(PANEL_WIDTH * columns, PANEL_WIDTH * rows)
    for k, (world, title) in enumerate(zip(worlds, titles, strict=True)):
        axes = figure.add_subplot(rows, columns, k + 1, projection="3d")
        axes.set_title(title, fontsize=9, loc="left", color="0.3")
        axes.set_axis_off()
        _set_view(axes, points, view)
        _draw_shadow(axes, faces[k], points[:, 2].min())
        draw_shapes(axes, (world, names, 1.0))
        _draw_markers(axes, world, names)
    return figure


def _column_count(count: int) -> int:
    """Return `count` up to three pictures, else a number that fills rows evenly."""
    return count if count <= 3 else min(-(-count // 2), MAX_COLUMNS)


def _world_faces(world: Config, names: Sequence[FrameName]) -> list[np.ndarray]:
    """Return the polygons (k, 3), in the world, of the visual shapes of frames."""
    poses = world.forward_pass().frames
    faces = []
    for name in names:
        i = world.index(name)
        visuals = [g for g in world.frame(name).geometries if g.visual]
        faces += [f @ poses.R[i].T + poses.p[i] for g in visuals for f in polygons(g)]
    return faces


def _bounding_points(
    worlds: Sequence[Config],
    names: Sequence[FrameName],
    faces: Sequence[list[np.ndarray]],
) -> Float[np.ndarray, "n 3"]:
    """Return the corners of all faces and their shadows, and the origins of frames."""
    origins = [
        world.pose(name)[:3]
        for world in worlds
        for name in names
        if world.frame(name).geometries
    ]
    corners = [corner for one in faces for face in one for corner in face]
    points = np.reshape(origins + corners or np.zeros(3), (-1, 3))
    return np.concatenate([points, points * [1, 1, 0] + [0, 0, points[:, 2].min()]])


def _set_view(
    axes: Any, points: Float[np.ndarray, "n 3"], view: tuple[float, float]
) -> None:
    """Set an orthographic view in which the points just fill the square of the axes."""
    from mpl_toolkits.mplot3d.proj3d import proj_transform

    elevation, azimuth = np.deg2rad(view)
    right = np.array([-np.sin(azimuth), np.cos(azimuth), 0.0])
    flat = np.cos(elevation)
    eye = np.array([flat * np.cos(azimuth), flat * np.sin(azimuth), np.sin(elevation)])
    basis = np.stack([right, np.cross(eye, right), eye])
    in_view = points @ basis.T
    low, high = in_view.min(0), in_view.max(0)
    centre = (low + high) / 2 @ basis
    half = max(0.52 * (high - low)[:2].max(), 0.05)
    near, far = centre - half, centre + half
    axes.set(
        xlim=(near[0], far[0]), ylim=(near[1], far[1]), zlim=(near[2], far[2]),
        proj_type="ortho", box_aspect=(1, 1, 1),
    )  # fmt: skip
    axes.view_init(*view)
    # matplotlib leaves room about the box of the axes; measure and remove it.
    edge = proj_transform(*(centre + half * right), axes.get_proj())[0]
    axes.set_box_aspect((1, 1, 1), zoom=axes.viewLim.x1 / edge)


def _draw_shadow(axes: Any, faces: Sequence[np.ndarray], floor: float) -> None:
    """Draw the shadow on the floor of a light straight above."""
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    flat = [np.column_stack([f[:, :2], np.full(len(f), floor)]) for f in faces]
    if flat:
        colors = [SHADOW_COLOR]
        style = dict(facecolors=colors, edgecolors=colors, linewidths=0.3)
        axes.add_collection3d(Poly3DCollection(flat, zorder=0, **style))


def _draw_markers(axes: Any, world: Config, names: Sequence[FrameName]) -> None:
    """Draw the axes of markers: x red, y green, z blue."""
    poses = world.forward_pass().frames
    for name in names:
        i = world.index(name)
        for geometry in world.frame(name).geometries:
            if isinstance(geometry.shape, Marker):
                for axis, color in enumerate(("tab:red", "tab:green", "tab:blue")):
                    end = poses.p[i] + geometry.shape.size / 2 * poses.R[i][:, axis]
                    line = np.stack([poses.p[i], end])
                    axes.plot(*line.T, color=color, linewidth=2, zorder=10)
