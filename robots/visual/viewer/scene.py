"""The frames of a world as nodes `/frames/NAME`, each at its pose in the world."""

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from ...world.frame import Frame
from .bodies import draw_geometry

if TYPE_CHECKING:
    from viser import ViserServer

AXES_LENGTH = 0.08
"""Length of the axes of a frame [m]."""
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

        A world that has shapes, but none that is drawn, costs a warning.
        """
        _warn_if_invisible(frames)
        for handle in self.handles:
            handle.remove()
        self._poses = np.full((len(frames), 7), np.nan)
        self.handles = []
        scene = self._server.scene
        for node, frame in zip(node_names(frames), frames, strict=True):
            self.handles.append(scene.add_frame(node, **AXES_STYLE, show_axes=False))
            for k, geometry in enumerate(frame.geometries):
                if geometry.visual:
                    kind = type(geometry.shape).__name__.lower()
                    draw_geometry(scene, f"{node}/{kind}{k or ''}", geometry)

    def move(self, poses: Float[np.ndarray, "frames 7"]) -> None:
        """Put all frames at their poses, at once."""
        moved = np.flatnonzero((poses != self._poses).any(1))
        with self._server.atomic():
            for i in moved:
                self.handles[i].position = poses[i, :3]
                self.handles[i].wxyz = poses[i, 3:]
        self._poses = poses.copy()

    def look_at_all(self) -> None:
        """Set the initial camera so that all frames are in sight."""
        centre, size = np.zeros(3), 0.5
        if len(self._poses):
            low, high = self._poses[:, :3].min(0), self._poses[:, :3].max(0)
            centre, size = (low + high) / 2, max(float(np.linalg.norm(high - low)), 0.5)
        camera = self._server.initial_camera
        camera.look_at = centre
        camera.position = centre + size * np.array([1.0, -1.0, 0.6])


def _warn_if_invisible(frames: Sequence[Frame]) -> None:
    has_shapes = any(f.geometries or f.missing_shapes for f in frames)
    if has_shapes and not any(g.visual for f in frames for g in f.geometries):
        warnings.warn(
            "The view draws frames, but no shapes: none of this world is visual. Its"
            " file has shapes for collisions only, or the others were left out when it"
            " was read; then a warning said why.",
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
