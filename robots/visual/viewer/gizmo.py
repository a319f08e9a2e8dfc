"""Gizmos: arrows and rings with which frames are dragged."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from .latest_value import LatestValueWorker

if TYPE_CHECKING:
    from viser import ViserServer

GIZMO_SIZE = 0.15
"""Length of the arrows [m]; longer ones hide more."""


class Gizmo:
    """Arrows and rings at a pose; `on_drag` gets the latest pose of a drag."""

    def __init__(
        self,
        server: "ViserServer",
        frame: str,
        pose: Float[np.ndarray, "7"],
        on_drag: Callable[[Float[np.ndarray, "7"]], None],
    ) -> None:
        self._is_dragged = False
        self._worker = LatestValueWorker(f"posewise drag {frame}", on_drag)
        node = f"/drag/{frame.replace('/', '|')}"
        self._controls = server.scene.add_transform_controls(node, scale=GIZMO_SIZE)
        self.place(pose)
        self._controls.on_update(self._handle_update)

    def place(self, pose: Float[np.ndarray, "7"]) -> None:
        """Move the gizmo to a pose, unless it is being dragged."""
        if not self._is_dragged:
            self._controls.position, self._controls.wxyz = pose[:3], pose[3:]

    def stop(self) -> None:
        """Handle no further poses."""
        self._worker.stop()

    async def _handle_update(self, event: Any) -> None:
        self._is_dragged = event.phase != "end"
        pose = np.concatenate([self._controls.position, self._controls.wxyz])
        self._worker.put(pose)
