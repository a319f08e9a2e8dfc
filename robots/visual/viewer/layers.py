"""The overlays that are shown over a world, and their check boxes."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..viewable_world import ViewableWorld
from .overlays import LIVE_OVERLAYS, OVERLAYS, OverlayContext

if TYPE_CHECKING:
    from viser import ViserServer


class OverlayLayers:
    """The overlays that are shown, and their nodes."""

    def __init__(
        self, server: "ViserServer", toggle: Callable[[str, bool], None]
    ) -> None:
        self.margin = 0.02
        self._scene = server.scene
        self._handles: dict[str, list[Any]] = {}
        self._boxes: dict[str, Any] = {
            n: server.gui.add_checkbox(n, False) for n in OVERLAYS
        }
        for name, box in self._boxes.items():
            box.on_update(lambda event, name=name: toggle(name, event.target.value))

    @property
    def shown(self) -> tuple[str, ...]:
        """Names of the overlays that are shown."""
        return tuple(self._handles)

    @property
    def has_live_overlay(self) -> bool:
        """Whether an overlay is shown that is redrawn whenever a frame moves."""
        return bool(LIVE_OVERLAYS & self._handles.keys())

    def show(self, name: str, world: ViewableWorld) -> None:
        """Draw an overlay, or redraw it."""
        self._remove(name)
        context = OverlayContext(self._scene, world, self.margin)
        self._handles[name] = OVERLAYS[name](context)
        self._boxes[name].value = True

    def hide(self, name: str) -> None:
        """Remove an overlay."""
        self._remove(name)
        self._handles.pop(name, None)
        self._boxes[name].value = False

    def clear(self) -> None:
        """Remove all nodes; the overlays still count as shown, to be redrawn."""
        for name in self._handles:
            self._remove(name)

    def follow(self, world: ViewableWorld) -> None:
        """Redraw the overlays whose nodes are not children of the frames that moved."""
        for name in LIVE_OVERLAYS & self._handles.keys():
            self.show(name, world)

    def _remove(self, name: str) -> None:
        for handle in self._handles.get(name, []):
            handle.remove()
        if name in self._handles:
            self._handles[name] = []
