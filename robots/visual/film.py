"""Film strips: a world at several moments, as one picture for still pages."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from ..config import Config
from ..geometry.shapes import Marker
from .drawing import draw_shapes, polygons
from .figures import new_figure

PANEL_WIDTH = 3.0
"""Of one picture [inch]."""
SHADOW_COLOR = (0.9, 0.9, 0.92, 1.0)
MAX_COLUMNS = 4
"""Pictures side by side."""


def film_strip(
    worlds: Sequence[Config],
    titles: Sequence[str],
    view: tuple[float, float] = (25.0, -55.0),
    frames: Sequence[str] | None = None,
) -> Any:
    """A matplotlib figure with one picture of each world, all from the same side.

    Args:
        worlds: of the same frames, each at its state.
        titles: of the pictures.
        view: height and direction of the eye [degrees].
        frames: names of those that are drawn; None: all.

    Raises:
        ImportError: without matplotlib; names the extra.
        ConfigError: for unknown frames, with near matches.
    """
    names = worlds[0].frame_names if frames is None else tuple(frames)
    faces = [_world_faces(world, names) for world in worlds]
    points = _points(worlds, names, faces)
    columns = _columns(len(worlds))
    rows = -(-len(worlds) // columns)
    made = new_figure(PANEL_WIDTH * columns, PANEL_WIDTH * rows)
    for k, (world, title) in enumerate(zip(worlds, titles, strict=True)):
        axes = made.add_subplot(rows, columns, k + 1, projection="3d")
        axes.set_title(title, fontsize=9, loc="left", color="0.3")
        axes.set_axis_off()
        _set_view(axes, points, view)
        _draw_shadow(axes, faces[k], points[:, 2].min())
        draw_shapes(axes, (world, names, 1.0))
        _draw_markers(axes, world, names)
    return made


def _columns(count: int) -> int:
    """One row for up to three pictures, else rows of about the same length."""
    return count if count <= 3 else min(-(-count // 2), MAX_COLUMNS)


def _world_faces(world: Config, names: Sequence[str]) -> list[np.ndarray]:
    """Polygons (k, 3) in the world, of all that is drawn of frames."""
    walk = world.forward_pass().frames
    found = []
    for name in names:
        i = world.index(name)
        shapes = [g for g in world.frame(name).geometries if g.visual]
        found += [f @ walk.R[i].T + walk.p[i] for g in shapes for f in polygons(g)]
    return found


def _points(
    worlds: Sequence[Config], names: Sequence[str], faces: Sequence[list[np.ndarray]]
) -> Float[np.ndarray, "n 3"]:
    """Corners of what is drawn and of its shadow, origins of frames with a shape."""
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
    """Without perspective, so that just the points fill the square of the axes."""
    from mpl_toolkits.mplot3d.proj3d import proj_transform

    height, turn = np.deg2rad(view)
    right = np.array([-np.sin(turn), np.cos(turn), 0.0])
    flat = np.cos(height)
    eye = np.array([flat * np.cos(turn), flat * np.sin(turn), np.sin(height)])
    basis = np.stack([right, np.cross(eye, right), eye])
    seen = points @ basis.T
    low, high = seen.min(0), seen.max(0)
    centre = (low + high) / 2 @ basis
    half = max(0.52 * (high - low)[:2].max(), 0.05)
    near, far = centre - half, centre + half
    axes.set(
        xlim=(near[0], far[0]), ylim=(near[1], far[1]), zlim=(near[2], far[2]),
        proj_type="ortho", box_aspect=(1, 1, 1),
    )  # fmt: skip
    axes.view_init(*view)
    edge = proj_transform(*(centre + half * right), axes.get_proj())[0]
    axes.set_box_aspect((1, 1, 1), zoom=axes.viewLim.x1 / edge)


def _draw_shadow(axes: Any, faces: Sequence[np.ndarray], floor: float) -> None:
    """What light from straight above leaves dark on the floor."""
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    flat = [np.column_stack([f[:, :2], np.full(len(f), floor)]) for f in faces]
    if flat:
        style = dict(
            facecolors=[SHADOW_COLOR], edgecolors=[SHADOW_COLOR], linewidths=0.3
        )
        axes.add_collection3d(Poly3DCollection(flat, zorder=0, **style))


def _draw_markers(axes: Any, world: Config, names: Sequence[str]) -> None:
    """The axes of markers: x red, y green, z blue."""
    walk = world.forward_pass().frames
    for name in names:
        i = world.index(name)
        for geometry in world.frame(name).geometries:
            if isinstance(geometry.shape, Marker):
                for axis, color in enumerate(("tab:red", "tab:green", "tab:blue")):
                    end = walk.p[i] + geometry.shape.size / 2 * walk.R[i][:, axis]
                    line = np.stack([walk.p[i], end])
                    axes.plot(*line.T, color=color, linewidth=2, zorder=10)
