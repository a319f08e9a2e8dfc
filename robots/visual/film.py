"""Film strips: a world at several moments, as one picture for still pages."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float

from ..errors import ConfigError, PosewiseError
from ..typing import FrameName, StrPath
from ..validation import float_array
from .camera_images import named_camera
from .containers import hiding_frames, with_translucent
from .drawn_scene import DrawnScene, drawn_scene
from .eyes import Eye, camera_eye, fit_eye
from .figures import new_figure
from .labels import label_places, spread_labels
from .rendering import render
from .viewable_world import ViewableWorld

PANEL_WIDTH = 3.0
"""Width and height of one picture of several [inch]; a larger one shows more detail."""
SINGLE_SIZE = (6.0, 4.5)
"""Width and height of a single picture [inch]."""
PIXELS_PER_INCH = 120
"""Number of pixels per inch that are drawn; more are sharper, but take longer."""
PICTURE_SHRINKAGE = 1.05
"""Ratio of the pixels that are drawn to those shown, a little more than margins take;
a larger one keeps labels farther apart."""
MAX_COLUMNS = 4
"""Largest number of pictures side by side; more are in further rows."""
LABEL_SIZE = 7.0
"""Size of the font of labels [point]; larger ones hide more of the picture."""
LABEL_COLOR = "0.15"
LINE_HEIGHT = 1.3
"""Ratio of the height of a line to the font size; larger ones keep labels apart."""
DEFAULT_VIEW = (25.0, -55.0)
"""Elevation and azimuth of the eye [degrees]."""


def save_picture(
    world: ViewableWorld,
    file: StrPath | None,
    view: tuple[float, float],
    frames: Sequence[FrameName] | None,
    names: bool,
    camera: str | None,
) -> Any:
    """Return a figure of one world, and save it if there is a file.

    `Config.picture` says more.
    """
    figure = film_strip([world], [""], checked_view(view), frames, names, camera)
    if file is not None:
        figure.savefig(file)
    return figure


def checked_view(
    view: tuple[float, float], error: type[PosewiseError] = ConfigError
) -> tuple[float, float]:
    """Return elevation and azimuth of the eye [degrees].

    Raises:
        error: For anything but two finite numbers.
    """
    expected = "two numbers: elevation and azimuth of the eye (degrees)"
    angles = float_array("view", view, expected, error)
    if angles.shape != (2,) or not np.isfinite(angles).all():
        raise error(f"view is {view!r}, expected {expected}.")
    return float(angles[0]), float(angles[1])


def film_strip(
    worlds: Sequence[ViewableWorld],
    titles: Sequence[str],
    view: tuple[float, float] = DEFAULT_VIEW,
    frames: Sequence[FrameName] | None = None,
    names: bool = False,
    camera: str | None = None,
) -> Any:
    """Return a matplotlib figure with one picture of each world, from the same side.

    Args:
        worlds: Worlds of the same frames, each at its state.
        titles: Titles of the pictures.
        view: Elevation and azimuth of the eye [degrees].
        frames: Names of the frames that are drawn; None: all.
        names: Whether bodies are labelled with their names.
        camera: Name of a camera of the worlds that sees them, in place of `view`.

    Raises:
        ImportError: When matplotlib is not installed; the message names the extra.
        ConfigError: For unknown frames and cameras, with near matches.
    """
    size = _picture_size(worlds, camera)
    shape = (round(PIXELS_PER_INCH * size[1]), round(PIXELS_PER_INCH * size[0]))
    columns = _column_count(len(worlds))
    rows = -(-len(worlds) // columns)
    drawn = worlds[0].frame_names if frames is None else tuple(frames)
    scenes = [drawn_scene(world, drawn) for world in worlds]
    points = np.concatenate([scene.points for scene in scenes])
    floor = min(scene.floor for scene in scenes)
    scenes = [replace(scene, points=points, floor=floor) for scene in scenes]
    if camera is None:
        eyes: list[Eye] = [fit_eye(points, view, shape)] * len(worlds)
        scenes = _opened(worlds, scenes, eyes[0])
    else:
        # A camera sees what is below what a picture frames.
        lowest = [scene.corners[..., 2].min(initial=floor) for scene in scenes]
        scenes = [replace(scene, floor=float(min(lowest))) for scene in scenes]
        eyes = [
            camera_eye(world.annotations.cameras[camera], world.pose(camera), shape)
            for world in worlds
        ]
    figure = new_figure(size[0] * columns, size[1] * rows)
    for k, (world, scene, eye) in enumerate(zip(worlds, scenes, eyes, strict=True)):
        axes = figure.add_subplot(rows, columns, k + 1)
        if titles[k]:
            axes.set_title(titles[k], fontsize=9, loc="left", color="0.3")
        axes.set_axis_off()
        axes.imshow(render(scene, eye))
        if names:
            _draw_labels(figure, axes, label_places(world, drawn), eye)
    return figure


def _picture_size(
    worlds: Sequence[ViewableWorld], camera: str | None
) -> tuple[float, float]:
    """Return width and height of each picture [inch], in the ratio of a camera's."""
    width, height = SINGLE_SIZE if len(worlds) == 1 else (PANEL_WIDTH, PANEL_WIDTH)
    if camera is None:
        return width, height
    eye = named_camera(worlds[0], camera)
    ratio = eye.width / eye.height
    return min(width, height * ratio), min(height, width / ratio)


def _opened(
    worlds: Sequence[ViewableWorld], scenes: Sequence[DrawnScene], eye: Eye
) -> list[DrawnScene]:
    """Return scenes in which containers that hide what is inside are translucent.

    A container that opened in some pictures only would look like another one.
    """
    direction = eye.directions(scenes[0].points)[0]
    hiding = {
        frame
        for world, scene in zip(worlds, scenes, strict=True)
        for frame in hiding_frames(world, scene, direction)
    }
    return [with_translucent(scene, hiding) for scene in scenes]


def _draw_labels(
    figure: Any, axes: Any, places: Mapping[str, Float[np.ndarray, "3"]], eye: Eye
) -> None:
    """Write labels of points in the picture, with a line to those that moved away."""
    from matplotlib.patheffects import withStroke

    height, width = eye.shape
    pixels = {name: eye.project(place)[0] for name, place in places.items()}
    # A camera has NaN for what it does not see.
    names = [
        name for name, (x, y) in pixels.items() if 0 <= x < width and 0 <= y < height
    ]
    if not names:
        return
    anchors = np.stack([pixels[name] for name in names])
    sizes = _label_sizes(figure, names)
    spots = spread_labels(anchors, sizes, eye.shape)
    halo = [withStroke(linewidth=1.5, foreground="white", alpha=0.7)]
    for name, place, spot in zip(names, anchors, spots, strict=True):
        if spot[1] != place[1]:
            line = dict(color=LABEL_COLOR, linewidth=0.4, alpha=0.6)
            axes.plot(*np.stack([place, spot], 1), **line)
        style = dict(ha="center", va="bottom", fontsize=LABEL_SIZE, color=LABEL_COLOR)
        text = axes.text(*spot, _plain(name), **style, clip_on=True)
        text.set_path_effects(halo)


def _label_sizes(figure: Any, names: Sequence[str]) -> Float[np.ndarray, "n 2"]:
    """Return width and height of labels in the picture [pixels]."""
    from matplotlib.font_manager import FontProperties

    renderer, font = figure.canvas.get_renderer(), FontProperties(size=LABEL_SIZE)
    widths = [
        renderer.get_text_width_height_descent(name, font, False)[0] for name in names
    ]
    height = LINE_HEIGHT * LABEL_SIZE / 72 * figure.dpi
    sizes = np.stack([np.array(widths) + height / 3, np.full(len(names), height)], 1)
    # Around pictures there are margins, so that they are shown a little smaller.
    return sizes * PIXELS_PER_INCH / figure.dpi * PICTURE_SHRINKAGE


def _plain(name: str) -> str:
    """Return a text for matplotlib, in which dollars would begin a formula."""
    return name.replace("$", r"\$")


def _column_count(count: int) -> int:
    """Return `count` up to three pictures, else a number that fills rows evenly."""
    return count if count <= 3 else min(-(-count // 2), MAX_COLUMNS)
