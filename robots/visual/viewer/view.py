"""Views of a world: pages in the browser that follow the world."""

import atexit
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np
from jaxtyping import Float

from ...errors import ConfigError, unknown_name
from ...typing import FrameName, StrPath
from ...validation import number
from ..viewable_world import ViewableWorld
from .animation import Animation
from .clearance_curve import ClearanceCurve
from .gizmo import Gizmo
from .layers import OverlayLayers
from .overlays import OVERLAYS, floor_scale
from .player import Player
from .scene import FrameScene
from .server import HOST, open_page, start_server, stop_server


class View:
    """A world in the browser, on this machine only, until closed or the process ends.

    Attributes:
        config: The world that is shown.
        url: The address of the page.
    """

    def __init__(
        self,
        config: ViewableWorld,
        animation: Animation | None = None,
        browser: bool = True,
    ) -> None:
        """Start the server, draw the world, and open the page.

        Args:
            config: The world.
            animation: What to play; None: the present state of the world.
            browser: Open the page (where there is a desktop), and print its address on
                stderr.

        Raises:
            ImportError: When viser is not installed; the message names the extra.
        """
        self.config = config
        self._lock = RLock()
        self._server: Any = start_server()
        atexit.register(self.close)
        self.url = f"http://{HOST}:{self._server.get_port()}"
        self._scene, self._drawn = FrameScene(self._server), ()
        self._animation, self._player = animation, None
        self._curve: ClearanceCurve | None = None
        self._gizmos: dict[str, Gizmo] = {}
        if animation is not None:
            self._player = Player(self._server, animation.pauses, self._show_slice)
        self._layers = OverlayLayers(self._server, self._toggle)
        self.update()
        poses = [config.poses()] if animation is None else [*animation.poses]
        self.show("grid")
        self._server.gui.add_markdown(floor_scale(self._world()))
        self._text: Any = self._server.gui.add_markdown("")
        self._scene.look_at_all(self.config.frames, poses[:: max(len(poses) // 20, 1)])
        if browser:
            open_page(self.url)

    @property
    def closed(self) -> bool:
        """Whether the server has stopped."""
        return self._server is None

    @property
    def overlays(self) -> tuple[str, ...]:
        """Names of the overlays that are shown."""
        return self._layers.shown

    def update(self) -> None:
        """Show the present state of the world, or the chosen slice of a path.

        Raises:
            ConfigError: When the view is closed.
        """
        with self._lock:
            self._running()
            drawn = _drawn_state(self.config)
            if drawn != self._drawn:
                self._layers.clear()
                self._scene.draw(self.config.frames)
                for name in self._layers.shown:
                    self._layers.show(name, self.config)
                self._drawn = drawn
            if self._player is not None:
                self._show_slice(self._player.slice)
                return
            self._scene.move(self.config.poses())
            self._layers.follow(self.config)
            for frame, gizmo in self._gizmos.items():
                gizmo.place(self.config.pose(frame))

    def show(self, *overlays: str, margin: float | None = None) -> None:
        """Show overlays over the world; the page has a check box for each.

        Args:
            *overlays: "grid" (of the floor, shown at first), "names" (of bodies),
                "clearance" (of the nearest pair; of a path also as a curve),
                "collision_shapes" (what collides, over what is drawn), "collisions"
                (witness points of pairs that overlap or are near), "frames" (axes and
                names), "regions" (cavities and supports of objects), "rooms", "cameras"
                (view cones), "reach" (of agents).
            margin: Distance below which a pair counts as near [m]; default: 0.02.

        Raises:
            ConfigError: For an unknown name, with near matches, or a closed view.
        """
        with self._lock:
            self._running()
            if margin is not None:
                self._layers.margin = number("margin", margin, "one number (metres)")
            for name in _check_overlays(overlays):
                self._layers.show(name, self._world())
            self._update_curve()

    def hide(self, *overlays: str) -> None:
        """Remove overlays, with the names that `show` takes.

        Raises:
            ConfigError: For an unknown name, with near matches, or a closed view.
        """
        with self._lock:
            self._running()
            for name in _check_overlays(overlays):
                self._layers.hide(name)
            self._update_curve()

    def on_move(self, frame: FrameName, react: Callable[[ViewableWorld], Any]) -> None:
        """Let a frame be dragged with the mouse.

        While it is dragged, its latest pose is set in the world, `react` is called in a
        thread of the view, and the world is shown. A pose that the frame's joint cannot
        reach is not set.

        A view of a path shows its animation, and not the world that `react` changes:
        there `react` may show another path by `play`. `KOMO.view` does so.

        Args:
            frame: A frame whose pose can be set.
            react: Function of the world, which it may change: solve, and set `C.q`.

        Raises:
            ConfigError: For an unknown frame, or a closed view.
        """
        with self._lock:
            server = self._running()
            if self.config.index(frame) == len(self.config.frames):
                raise ConfigError("The world itself cannot be dragged; name a frame.")
            if frame in self._gizmos:
                self._gizmos[frame].stop()

            def on_drag(pose: Float[np.ndarray, "7"]) -> None:
                self._drag(frame, pose, react)

            pose = self.config.pose(frame)
            self._gizmos[frame] = Gizmo(server, frame, pose, on_drag)

    def play(self, animation: Animation) -> None:
        """Show another animation in a view of a path; the chosen slice stays.

        Args:
            animation: Poses of the same frames in as many slices.

        Raises:
            ConfigError: For another number of slices or frames, a view that plays no
                path, or a closed view.
        """
        with self._lock:
            self._running()
            old = None if self._animation is None else self._animation.poses.shape
            if animation.poses.shape != old:
                raise ConfigError(
                    f"animation has the shape {animation.poses.shape} (slices, frames,"
                    f" 7), but this view plays {old or 'no path'}; open another view."
                )
            self._animation = animation
            if self._player is not None:
                self._player.pauses = animation.pauses
            if self._curve is not None:
                self._curve.replace(animation)
            self.update()

    def write(self, text: str) -> None:
        """Write a text (Markdown) below the check boxes, in place of the last one.

        Raises:
            ConfigError: When the view is closed.
        """
        with self._lock:
            self._running()
            self._text.content = text

    def save(self, file: StrPath) -> Path:
        """Write the view as one HTML page that works without a server or a network.

        A path plays in a loop.

        Args:
            file: The file to write, e.g. "reach.html".

        Returns:
            The path of the file.

        Raises:
            ConfigError: When the view is closed, or the file does not end in `.html`.
        """
        file = Path(file)
        if file.suffix.lower() not in (".html", ".htm"):
            raise ConfigError(f"file is {str(file)!r}, expected a name like 'x.html'.")
        with self._lock:
            server = self._running()
            pauses = () if self._animation is None else self._animation.pauses
            if len(pauses):
                self._show_slice(0)
            recording = server.get_scene_serializer()
            for t, pause in enumerate(pauses):
                self._show_slice(t)
                recording.insert_sleep(float(pause))
            page = recording.as_html()
            self.update()
        file.write_text(page, encoding="utf-8")
        return file

    def close(self) -> None:
        """Stop the server; open pages no longer follow the world."""
        with self._lock:
            server, self._server = self._server, None
        if server is None:
            return
        atexit.unregister(self.close)
        if self._player is not None:
            self._player.stop()
        for gizmo in self._gizmos.values():
            gizmo.stop()
        stop_server(server)

    def __enter__(self) -> "View":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"View({'closed' if self.closed else self.url})"

    def _running(self) -> Any:
        if self._server is None:
            raise ConfigError("This view is closed; call view() for a new one.")
        return self._server

    def _world(self) -> ViewableWorld:
        """Return the world that is shown."""
        if self._animation is None or self._player is None:
            return self.config
        return self._animation.world(self._player.slice)

    def _show_slice(self, t: int) -> None:
        with self._lock:
            if self.closed or self._animation is None:
                return
            self._scene.move(self._animation.poses[t])
            if self._curve is not None:
                self._curve.mark(t)
            if self._layers.has_live_overlay:
                self._layers.follow(self._animation.world(t))

    def _update_curve(self) -> None:
        """Show the curve of the clearance of a path together with its overlay."""
        is_shown = "clearance" in self._layers.shown
        if self._animation is None or is_shown == (self._curve is not None):
            return
        if self._curve is not None:
            self._curve.remove()
            self._curve = None
            return
        self._curve = ClearanceCurve(self._running(), self._animation)
        self._show_slice(self._player.slice if self._player else 0)

    def _toggle(self, overlay: str, on: bool) -> None:
        """Show or hide an overlay, when its check box changes."""
        with self._lock:
            if self.closed or on == (overlay in self._layers.shown):
                return
            (self.show if on else self.hide)(overlay)

    def _drag(
        self, frame: FrameName, pose: Float[np.ndarray, "7"], react: Callable[..., Any]
    ) -> None:
        try:
            # A pose that the joint cannot reach is skipped.
            with suppress(ConfigError):
                self.config.set_pose(frame, pose)
            react(self.config)
        finally:
            self._follow()

    def _follow(self) -> None:
        with self._lock:
            if not self.closed:
                self.update()


def _check_overlays(overlays: tuple[str, ...]) -> tuple[str, ...]:
    for name in overlays:
        if name not in OVERLAYS:
            raise ConfigError(unknown_name("overlay", name, OVERLAYS))
    return overlays


def _drawn_state(C: ViewableWorld) -> tuple[Any, ...]:
    """Return the parts of a world that are redrawn when they change."""
    frames = ((f.name, f.geometries) for f in C.frames)
    return (
        *frames,
        *C.annotations.regions,
        C.annotations.rooms,
        *C.annotations.cameras.values(),
        *C.annotations.agents.values(),
    )
