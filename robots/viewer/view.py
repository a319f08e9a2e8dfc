"""A window on a world: a page that a browser shows, kept in step with the world."""

import atexit
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError
from .clip import Clip
from .player import Player
from .scene import Scene
from .server import HOST, open_page, start_server, stop_server

if TYPE_CHECKING:
    from ..config import Config


class View:
    """A world in the browser, on this machine only, until it is closed.

    Attributes:
        config: the world that is shown.
        url: where the page is.
    """

    def __init__(
        self, config: "Config", clip: Clip | None = None, browser: bool = True
    ) -> None:
        """Start the server, draw the world, and open the page.

        Args:
            config: the world.
            clip: what to play; None: the world as it stands.
            browser: whether to open the page (where there is a desktop) and to say on
                stderr where it is.

        Raises:
            ImportError: without viser; names the extra.
        """
        self.config = config
        self._lock = RLock()
        self._server: Any = start_server()
        atexit.register(self.close)
        self.url = f"http://{HOST}:{self._server.get_port()}"
        self._scene = Scene(self._server)
        self._clip = clip
        self._player = None
        self.update()
        self._scene.look_at_all()
        if clip is not None:
            self._player = Player(self._server, clip, self._show_slice)
        if browser:
            open_page(self.url)

    @property
    def closed(self) -> bool:
        """Whether the server has stopped."""
        return self._server is None

    def update(self) -> None:
        """Show the world as it stands now.

        Raises:
            ConfigError: when the view is closed.
        """
        with self._lock:
            self._running()
            frames = self.config.frames
            if self._scene.differs(frames):
                self._scene.draw(frames)
            self._scene.move(self.config.poses())

    def close(self) -> None:
        """Stop the server; the page stays as it is but no longer follows."""
        with self._lock:
            server, self._server = self._server, None
        if server is not None:
            atexit.unregister(self.close)
            if self._player is not None:
                self._player.stop()
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

    def _show_slice(self, t: int) -> None:
        with self._lock:
            if self._clip is None or self.closed:
                return
            self._scene.move(self._clip.poses[t])

    def save(self, file: Any) -> Path:
        """Write what is shown as one HTML page that needs nothing else, nor a network.

        A path plays in it.

        Args:
            file: where to, e.g. "reach.html".

        Raises:
            ConfigError: when the view is closed, or the file is no `.html`.
        """
        file = Path(file)
        if file.suffix.lower() not in (".html", ".htm"):
            raise ConfigError(f"file is {str(file)!r}, expected a name like 'x.html'.")
        with self._lock:
            recording = self._running().get_scene_serializer()
            if self._clip is not None:
                for t, pause in enumerate(self._clip.pauses):
                    self._show_slice(t)
                    recording.insert_sleep(float(pause))
            page = recording.as_html()
        file.write_text(page, encoding="utf-8")
        return file
