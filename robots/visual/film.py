"""Film strips: a world at several moments, as one picture for still pages."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float

from ..errors import ConfigError, PosewiseError
from ..typing import FrameName, StrPath
from ..validation import float_array
from .containers import hiding_frames, with_translucent
from .drawn_scene import DrawnScene, drawn_scene
from .figures import new_figure
from .labels import label_places, spread_labels
from .rendering import Eye, fit_eye, render
from .viewable_world import ViewableWorld

PANEL_WIDTH = 3.0
"""Width and height of one picture of several [inch]; a larger one shows more detail."""
SINGLE_SIZE = (6.0, 4.5)
"""Width and height of a single picture [inch]."""
PIXELS_PER_INCH = 120
"""Number of pixels per inch that are drawn; more are sharper, but take longer."""
MAX_COLUMNS = 4
"""Largest number of pictures side by side; more are in further rows."""
LABEL_SIZE = 7.0
"""Size of the font of labels [point]; larger ones hide more of the picture."""
LABEL_COLOR = "0.15"
LETTER_WIDTH, LINE_HEIGHT = 0.6, 1.3
"""Width of a letter, on average, and height of a line divided by the font size."""
DEFAULT_VIEW = (25.0, -55.0)
"""Elevation and azimuth of the eye [degrees]."""


def save_picture(
    world: ViewableWorld,
    file: StrPath | None,
    view: tuple[float, float],
    frames: Sequence[FrameName] | None,
    names: bool,
) -> Any:
    """Return a figure of one world, and save it if there is a file.

    `Config.picture` says more.
    """
    figure = film_strip([world], [""], checked_view(view), frames, names)
    if file is not None:
        figure.savefig(file)
    return figure


def checked_view(
    view: tuple[float, float], error: type[PosewiseError] = ConfigError
) -> tuple[float, float]:
    """Return elevation and azimuth of a camera [degrees].

    Raises:
        error: For anything but two finite numbers.
    """
    expected = "two numbers: elevation and azimuth of the camera (degrees)"
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
) -> Any:
    """Return a matplotlib figure with one picture of each world, from the same side.

    Args:
        worlds: Worlds of the same frames, each at its state.
        titles: Titles of the pictures.
        view: Elevation and azimuth of the eye [degrees].
        frames: Names of the frames that are drawn; None: all.
        names: Whether bodies are labelled with their names.

    Raises:
        ImportError: When matplotlib is not installed; the message names the extra.
        ConfigError: For unknown frames, with near matches.
    """
    is_single = len(worlds) == 1
    columns = _column_count(len(worlds))
    rows = -(-len(worlds) // columns)
    size = SINGLE_SIZE if is_single else (PANEL_WIDTH, PANEL_WIDTH)
    figure = new_figure(size[0] * columns, size[1] * rows)
    drawn = worlds[0].frame_names if frames is None else tuple(frames)
    scenes = [drawn_scene(world, drawn) for world in worlds]
    points = np.concatenate([scene.points for scene in scenes])
    floor = min(scene.floor for scene in scenes)
    shape = (round(PIXELS_PER_INCH * size[1]), round(PIXELS_PER_INCH * size[0]))
    eye = fit_eye(points, view, shape)
    # A container that opened in some pictures only would look like another one.
    hiding = {
        frame
        for world, scene in zip(worlds, scenes, strict=True)
        for frame in hiding_frames(world, scene, eye.axes[2])
    }
    for k, (world, scene, title) in enumerate(zip(worlds, scenes, titles, strict=True)):
        axes = figure.add_subplot(rows, columns, k + 1)
        if title:
            axes.set_title(title, fontsize=9, loc="left", color="0.3")
        axes.set_axis_off()
        shown_scene = with_translucent(_on_floor(scene, points, floor), hiding)
        axes.imshow(render(shown_scene, eye))
        if names:
            _draw_labels(axes, label_places(world, drawn), eye)
    return figure


def _draw_labels(
    axes: Any, places: Mapping[str, Float[np.ndarray, "3"]], eye: Eye
) -> None:
    """Write labels of points in the picture, with a line to those that moved away."""
    height, width = eye.shape
    pixels = {name: eye.project(place)[0] for name, place in places.items()}
    names = [
        name for name, (x, y) in pixels.items() if 0 <= x < width and 0 <= y < height
    ]
    if not names:
        return
    anchors = np.stack([pixels[name] for name in names])
    letter = LABEL_SIZE / 72 * PIXELS_PER_INCH
    sizes = letter * np.array([[LETTER_WIDTH * len(n), LINE_HEIGHT] for n in names])
    spots = spread_labels(anchors, sizes, eye.shape)
    for name, place, spot in zip(names, anchors, spots, strict=True):
        if spot[1] != place[1]:
            line = dict(color=LABEL_COLOR, linewidth=0.4, alpha=0.6)
            axes.plot(*np.stack([place, spot], 1), **line)
        style = dict(ha="center", va="bottom", fontsize=LABEL_SIZE, color=LABEL_COLOR)
        # Dollars would begin a formula.
        axes.text(*spot, name.replace("$", r"\$"), **style, clip_on=True)


def _column_count(count: int) -> int:
    """Return `count` up to three pictures, else a number that fills rows evenly."""
    return count if count <= 3 else min(-(-count // 2), MAX_COLUMNS)


def _on_floor(scene: DrawnScene, points: np.ndarray, floor: float) -> DrawnScene:
    """Return a scene with the same floor as those beside it."""
    return replace(scene, points=points, floor=floor)
