"""The frames of a world as nodes `/frames/NAME`, each at its pose in the world."""

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from ...typing import RGBA
from ...world.frame import Frame
from ...world.palette import body_colors
from ..framing import framed_points
from ..visible_shapes import drawn_frames
from .bodies import draw_geometry

if TYPE_CHECKING:
    from viser import ViserServer

AXES_LENGTH = 0.08
"""Length of the axes of a frame [m]; longer ones hide more of the world."""
FIELD_OF_VIEW = np.deg2rad(45)
"""Vertical angle of the camera [rad]."""
VIEW_DIRECTION = np.array([0.57, -0.82, 0.55])
"""Direction from what is shown to the first camera."""
FILLED, ASPECT = 0.8, 1.2
"""Share of the page's height that is filled, and of width to height of its middle."""
BRIGHTNESS_FACTOR = 0.8
"""Factor of colours that bodies get, because the lights of the page are bright; larger
ones fade colours."""
AXES_STYLE: dict[str, Any] = dict(axes_length=AXES_LENGTH, axes_radius=AXES_LENGTH / 25)


class FrameScene:
    """The nodes of all frames.

    All nodes are children of the world, so that frames may be attached to other frames
    while a path plays.
    """

    def __init__(self, server: "ViserServer") -> None:
        self._server = server
        self._poses = np.zeros((0, 7))
        self.handles: list[Any] = []

    def draw(self, frames: Sequence[Frame]) -> None:
        """Draw frames and their visual shapes in place of the old ones, unposed.

        Links without visual shapes are drawn by those for collision. A world that has
        shapes, but none that is drawn, costs a warning.
        """
        frames = drawn_frames(tuple(frames))
        _warn_if_invisible(frames)
        for handle in self.handles:
            handle.remove()
        self._poses = np.full((len(frames), 7), np.nan)
        self.handles = []
        scene = self._server.scene
        colors = [_dimmed(color) for color in body_colors(frames)]
        for i, (node, frame) in enumerate(zip(node_names(frames), frames, strict=True)):
            self.handles.append(scene.add_frame(node, **AXES_STYLE, show_axes=False))
            for k, geometry in enumerate(frame.geometries):
                if geometry.visual:
                    kind = type(geometry.shape).__name__.lower()
                    name = f"{node}/{kind}{k or ''}"
                    draw_geometry(scene, name, geometry, colors[i])

    def move(self, poses: Float[np.ndarray, "frames 7"]) -> None:
        """Put all frames at their poses, at once."""
        moved = np.flatnonzero((poses != self._poses).any(1))
        with self._server.atomic():
            for i in moved:
                self.handles[i].position = poses[i, :3]
                self.handles[i].wxyz = poses[i, 3:]
        self._poses = poses.copy()

    def look_at_all(
        self, frames: Sequence[Frame], poses: Sequence[Float[np.ndarray, "frames 7"]]
    ) -> None:
        """Set the initial camera so that what is drawn fills the page.

        Args:
            frames: The frames.
            poses: Their poses in all slices that are shown.
        """
        camera = self._server.initial_camera
        camera.fov = FIELD_OF_VIEW
        camera.look_at, camera.position = fit_camera(
            framed_points(drawn_frames(tuple(frames)), poses)
        )


def _dimmed(color: RGBA) -> RGBA:
    """Return a colour that stays one under the lights of the page."""
    return (*(BRIGHTNESS_FACTOR * c for c in color[:3]), 1.0)


def fit_camera(
    points: Float[np.ndarray, "n 3"],
) -> tuple[Float[np.ndarray, "3"], Float[np.ndarray, "3"]]:
    """Return where a camera looks and stands that has points in its field of view."""
    centre = (points.min(0) + points.max(0)) / 2
    eye = VIEW_DIRECTION / np.linalg.norm(VIEW_DIRECTION)
    right = np.cross([0, 0, 1.0], eye)
    right /= np.linalg.norm(right)
    offsets = points - centre
    half = np.tan(FIELD_OF_VIEW / 2) * FILLED
    aside = np.stack([offsets @ right / ASPECT, offsets @ np.cross(eye, right)], -1)
    distance = float((np.abs(aside).max(-1) / half + offsets @ eye).max())
    return centre, centre + distance * eye


def _warn_if_invisible(frames: Sequence[Frame]) -> None:
    has_shapes = any(f.geometries or f.missing_shapes for f in frames)
    if has_shapes and not any(g.visual for f in frames for g in f.geometries):
        warnings.warn(
            "The view draws frames, but no shapes: those of this world were left out"
            " when its file was read, and a warning said why; or all are hidden.",
            UserWarning,
            stacklevel=2,
        )


def node_names(frames: Sequence[Frame]) -> list[str]:
    """Return a unique node `/frames/NAME` for each frame.

    A "/" in a name is replaced, because it would nest nodes.
    """
    names: list[str] = []
    for i, frame in enumerate(frames):
        name = f"/frames/{frame.name.replace('/', '|')}"
        names.append(name if name not in names else f"{name}#{i}")
    return names
