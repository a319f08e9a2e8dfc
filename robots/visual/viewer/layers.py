"""Which overlays lie over a world, and the check boxes that say so."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .overlays import LIVE_OVERLAYS, OVERLAYS, OverlayContext

if TYPE_CHECKING:
    from ...config import Config


class OverlayLayers:
    """The overlays that are shown, and their nodes."""

    def __init__(self, server: Any, toggle: Callable[[str, bool], None]) -> None:
        self.margin = 0.02
        self._scene = server.scene
        self._handles: dict[str, list[Any]] = {}
        self._boxes = {n: server.gui.add_checkbox(n, False) for n in OVERLAYS}
        for name, box in self._boxes.items():
            box.on_update(lambda event, name=name: toggle(name, event.target.value))

    @property
    def shown(self) -> tuple[str, ...]:
        """Names of the overlays that are shown."""
        return tuple(self._handles)

    @property
    def has_live_overlay(self) -> bool:
        """Whether one is shown that is drawn anew whenever something has moved."""
        return bool(LIVE_OVERLAYS & self._handles.keys())

    def show(self, name: str, world: "Config") -> None:
        """Draw an overlay, anew if it is there."""
        self._remove(name)
        self._handles[name] = OVERLAYS[name](
            OverlayContext(self._scene, world, self.margin)
        )
        self._boxes[name].value = True

    def hide(self, name: str) -> None:
        """Take an overlay away."""
        self._remove(name)
        self._handles.pop(name, None)
        self._boxes[name].value = False

    def clear(self) -> None:
        """Remove all nodes; what is shown is yet to be drawn again."""
        for name in self._handles:
            self._remove(name)

    def follow(self, world: "Config") -> None:
        """Draw anew what has nodes of its own where things have moved."""
        for name in LIVE_OVERLAYS & self._handles.keys():
            self.show(name, world)

    def _remove(self, name: str) -> None:
        for handle in self._handles.get(name, []):
            handle.remove()
        if name in self._handles:
            self._handles[name] = []
