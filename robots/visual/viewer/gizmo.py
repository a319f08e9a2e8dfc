"""Handles with which frames are dragged."""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

from .latest_value import LatestValueWorker

GIZMO_SIZE = 0.15
"""Length of the arrows [m]."""


class Gizmo:
    """Arrows and rings at a pose; `moved` gets the newest pose they are dragged to."""

    def __init__(
        self,
        server: Any,
        frame: str,
        pose: Float[np.ndarray, "7"],
        moved: Callable[[Float[np.ndarray, "7"]], None],
    ) -> None:
        self._held = False
        self._newest = LatestValueWorker(f"posewise drag {frame}", moved)
        node = f"/drag/{frame.replace('/', '|')}"
        self._gizmo = server.scene.add_transform_controls(node, scale=GIZMO_SIZE)
        self.place(pose)
        self._gizmo.on_update(self._dragged)

    def place(self, pose: Float[np.ndarray, "7"]) -> None:
        """Put the handle at a pose, unless it is being dragged."""
        if not self._held:
            self._gizmo.position, self._gizmo.wxyz = pose[:3], pose[3:]

    def stop(self) -> None:
        """Handle no further pose."""
        self._newest.stop()

    async def _dragged(self, event: Any) -> None:
        self._held = event.phase != "end"
        self._newest.put(np.concatenate([self._gizmo.position, self._gizmo.wxyz]))
